"""Result for several attempts: success of each model, differences, variance components."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import (
    check_count,
    check_counts,
    check_fraction,
    check_generator,
)
from psychollm._base.errors import OptionError
from psychollm._base.numbers import count, percent, with_interval
from psychollm._base.result import Result, drawn_by
from psychollm._base.types import FloatArray, IntArray, RandomState
from psychollm._base.wording import parameter
from psychollm.data.labels import Labels, listed
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.findings import (
    Finding,
    Findings,
    Study,
    exhibit,
    first_rows,
    sentence_list,
)
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import Bootstrap, Resampling
from psychollm.estimates.verdict import (
    SMALLEST,
    SmallestEffects,
    Verdicts,
    every,
    judged_pairs,
    outcome,
)
from psychollm.reliability.means.score_differences import ScoreDifferences
from psychollm.studies.attempts.closed_forms import AT_LEAST_ONE, EVERY, QUANTITIES, Quantity
from psychollm.studies.attempts.foretelling import Foretold, foretold
from psychollm.studies.attempts.frontier import COST, SECONDS, Frontier, frontier_of
from psychollm.studies.comparison.ranks import enough

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes as Drawn

_SHOWN = 10  # maximum number of models in the summary


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Attempts(Study, Result):
    """pass@k and pass^k of each model, differences between models, and variance components.

    Examples
    --------
    >>> import pandas as pd
    >>> from psychollm.studies.attempts.study import attempts
    >>> tries = pd.DataFrame({"model": ["a", "a", "b", "b"], "task": [1, 2, 1, 2],
    ...                       "right": [4, 2, 1, 0], "tried": [4, 4, 4, 4]})
    >>> found = attempts(tries, question="task", successes="right", trials="tried", k=2, rng=1)
    >>> found.pass_hat_k[2].value.round(3).tolist()
    [0.583, 0.0]
    """

    pass_at_k: Mapping[int, Estimate]  # by k: success in at least one of k attempts (models,)
    pass_hat_k: Mapping[int, Estimate]  # by k: success in all of k attempts (models,)
    # differences of all pairs, by quantity such as "pass^3"
    differences: Mapping[str, ScoreDifferences]
    shares: Estimate  # (components,) proportions of the variance of one attempt
    successes: FloatArray  # (models, questions)
    trials: FloatArray  # (models, questions), 0 without attempts
    labels: Labels  # (models,)
    questions: Labels
    level: float
    # By "cost" and "seconds": mean per attempt (models, questions), NaN if unknown.
    spent: Mapping[str, FloatArray] = field(default_factory=dict)
    clusters: IntArray | None = None  # (questions,)

    _AXES = Axes(
        {"model": "labels", "question": "questions"},
        arrays={"model question": "successes trials"},
    )

    @property
    def k(self) -> tuple[int, ...]:
        """Requested numbers of attempts."""
        return tuple(self.pass_at_k)

    def estimates(self) -> Iterator[tuple[Quantity, int, Estimate]]:
        """Yield each estimate, preceded by its quantity and its number of attempts k."""
        for quantity, of in zip(QUANTITIES, (self.pass_at_k, self.pass_hat_k), strict=True):
            for k, estimate in of.items():
                yield quantity, k, estimate

    def to_frame(self) -> "pd.DataFrame":
        """Return one row per model, quantity and k: value, lower, upper, flag."""
        import pandas as pd

        parts = [
            pd.DataFrame(
                {
                    "model": list(estimate.labels),
                    "quantity": quantity.name,
                    "k": k,
                    "value": estimate.value,
                    "lower": estimate.interval[:, 0],
                    "upper": estimate.interval[:, 1],
                    "flag": list(estimate.flags),
                }
            )
            for quantity, k, estimate in self.estimates()
        ]
        return pd.concat(parts, ignore_index=True)

    def pairs(self) -> "pd.DataFrame":
        """Return one row per quantity and pair of models: the difference and its interval."""
        import pandas as pd

        parts = [
            found.to_frame().assign(quantity=name) for name, found in self.differences.items()
        ]
        frame = pd.concat(parts, ignore_index=True)
        return frame[["quantity", *(name for name in frame if name != "quantity")]]

    def tables(self) -> "dict[str, pd.DataFrame]":
        """Return the tables of the study by name."""
        return {
            "models": self.to_frame(),
            "pairs": self.pairs(),
            "shares": self.shares.to_frame(),
            **{f"frontier_{of}": self.frontier(of).to_frame() for of in self.spent},
        }

    def foretell(
        self,
        k: int | Sequence[int],
        *,
        level: float | None = None,
        n_draws: int = 4000,
        rng: RandomState = 0,
    ) -> Foretold:
        """Predict pass@k and pass^k at the study's questions with a beta-binomial model.

        The success probabilities of each model are assumed to follow a beta distribution over
        questions. The interval predicts pass@k and pass^k of the same questions after k attempts
        at each, including the attempts already made.

        Parameters
        ----------
        k : int or sequence of int
            Numbers of attempts.
        level : float, optional
            Coverage of the intervals; by default, the level of the study.
        n_draws : int
            Number of draws of probabilities and future attempts.
        rng : Generator, int or None
            Source of randomness.

        Returns
        -------
        Foretold
            Values are undefined for k > 1 if a model made only one attempt at each question.

        Raises
        ------
        OptionError
            If k is not a positive integer, or an option is out of range.

        Examples
        --------
        >>> import pandas as pd
        >>> from psychollm.studies.attempts.study import attempts
        >>> tries = pd.DataFrame({"model": "a", "task": range(40), "tried": 3,
        ...                       "right": [0, 1, 3, 3] * 10})
        >>> found = attempts(tries, question="task", successes="right", trials="tried", k=3, rng=1)
        >>> found.foretell(5).to_frame()[["quantity", "k", "value"]].round(2)
          quantity  k  value
        0   pass@k  5   0.79
        1   pass^k  5   0.45
        """
        wanted = attempts_asked(k)
        coverage = check_fraction("level", self.level if level is None else level)
        draws = check_count("n_draws", n_draws, low=100)
        source = check_generator(rng)
        models, names, ks, values, bounds, flags = [], [], [], [], [], []
        for one in wanted:
            for row, model in enumerate(self.labels):
                tried = self.trials[row] > 0
                s, n = self.successes[row, tried], self.trials[row, tried]
                undefined = bool(n.max(initial=0) < 2 and one > 1)
                value, interval = np.full(2, np.nan), np.full((2, 2), np.nan)
                if not undefined:
                    value, interval = foretold(
                        s, n, one, level=coverage, n_draws=draws, source=source
                    )
                flag = (
                    Reason.ONE_ATTEMPT
                    if undefined
                    else Reason.FORETOLD
                    if (n < one).any()
                    else Reason.NONE
                )
                models += [model] * 2
                names += [quantity.name for quantity in QUANTITIES]
                ks += [one] * 2
                flags += [flag] * 2
                values.append(value)
                bounds.append(interval)
        return Foretold(
            model=tuple(models),
            quantity=tuple(names),
            k=tuple(ks),
            value=np.concatenate(values),
            interval=np.concatenate(bounds),
            flags=tuple(flags),
            level=coverage,
        )

    def frontier(
        self,
        of: str | None = None,
        *,
        quantity: str | None = None,
        level: float | None = None,
        bootstrap: Bootstrap | int = 2000,
        rng: RandomState = 0,
    ) -> Frontier:
        """Return the models that no other model beats in both success and cost.

        Parameters
        ----------
        of : {"cost", "seconds"}, optional
            Quantity to compare with success; by default cost, or time if no cost is known.
        quantity : str, optional
            Measure of success, such as "pass^3"; by default "pass@1", or the smallest k.
        level : float, optional
            Coverage of the intervals; by default, the level of the study.
        bootstrap : int or Bootstrap
            Number of resamples of questions, or of their clusters.
        rng : Generator, int or None
            Source of randomness.

        Returns
        -------
        Frontier
            Cost and success of each model, its position relative to the frontier, and a
            significantly better model if one exists.

        Raises
        ------
        OptionError
            If no cost or time is known, or the chosen quantity was not computed.

        Examples
        --------
        >>> import pandas as pd
        >>> from psychollm.studies.attempts.study import attempts
        >>> tries = pd.DataFrame({"model": ["a"] * 4 + ["b"] * 4, "task": [1, 2, 3, 4] * 2,
        ...                       "right": [4, 2, 3, 4, 1, 0, 2, 1], "tried": 4, "s": [9, 7] * 4})
        >>> found = attempts(tries, question="task", successes="right", trials="tried",
        ...                  seconds="s", k=1, rng=1)
        >>> found.frontier("seconds").beaten_by
        ('–', '–')
        """
        if not self.spent:
            msg = "no costs or times are known: pass cost= or seconds= to attempts()"
            raise OptionError(msg)
        of = next(iter(self.spent)) if of is None else of
        quantity = AT_LEAST_ONE.called(min(self.k)) if quantity is None else quantity
        named = {kind.called(k): (kind, k, one) for kind, k, one in self.estimates()}
        for name, value, known in (("of", of, self.spent), ("quantity", quantity, named)):
            if value not in known:
                msg = f"{parameter(name, value)} is unknown: use one of {listed([*known])}"
                raise OptionError(msg)
        kind, k, score = named[quantity]
        coverage = check_fraction("level", self.level if level is None else level)
        return frontier_of(
            kind.of(self.successes, self.trials, k), self.spent[of], score, self.clusters, of,
            Resampling.of(bootstrap, coverage, rng).required(),
        )  # fmt: skip

    def findings(self, *, smallest: SmallestEffects = SMALLEST) -> Findings:
        """Return success rates, differences between models, and components of variance."""
        top = max(self.k)
        judged = self.outcomes(top, smallest=smallest)
        items = (
            Finding(
                statement=self._verdict(top, judged),
                numbers={EVERY.called(top): self.pass_hat_k[top]},
                outcome=judged,
            ),
            Finding(
                key="models",
                question="How often does each model succeed?",
                rows=first_rows(
                    self.order, lambda row: self._model(row, top), most=_SHOWN, table="models"
                ),
                explanation=(
                    "pass@k is the probability that at least one of k attempts at a question "
                    "succeeds, pass^k the probability that all succeed. Intervals generalise to "
                    "the question population; they are computed over questions or clusters."
                ),
                numbers={
                    quantity.called(k): estimate for quantity, k, estimate in self.estimates()
                },
            ),
            Finding(
                key="differences",
                question=(
                    "How much does each model differ from the next-ranked one in "
                    f"{self._top(top)}?"
                ),
                rows=tuple(self._next(top)),
                explanation=(
                    "Differences between models are computed on the questions that both "
                    "attempted. Intervals of differences are simultaneous over all pairs of "
                    "models."
                ),
                numbers={name: found.value for name, found in self.differences.items()},
            ),
            Finding(
                key="shares",
                question="Where does the variance of attempts come from?",
                statement=self._reasons(),
                explanation=(
                    "The variance of one attempt is partitioned into components of questions, "
                    "models, their interaction, and attempts of one model at one question."
                ),
                numbers={"share": self.shares},
            ),
            *map(self._frontier, self.spent),
        )
        tried = self.trials[self.trials > 0]
        made = count(tried.min()) if tried.min() == tried.max() else (
            f"{count(tried.min())} to {count(tried.max())}"
        )  # fmt: skip
        head = (
            f"{len(self.labels)} model{'s' * (len(self.labels) > 1)}, "
            f"{count(len(self.questions))} question{'s' * (len(self.questions) > 1)}, {made} "
            f"attempt{'s' * (made != '1')} per question."
        )
        return exhibit(Findings(items=items, head=head), self, smallest)

    def _frontier(self, of: str) -> Finding:
        found = self.frontier(of)
        what = {COST: "cost", SECONDS: "time"}[of]
        shown = [row for row in found.order if np.isfinite(found.share[row])]
        front = [str(self.labels[row]) for row in shown if found.on_frontier[row]]
        beaten = sum(one != "–" for one in found.beaten_by)
        told = f"On the frontier of {what} and {found.score.name}: {sentence_list(front)}."
        if beaten:
            told += (
                f" {count(beaten)} of {len(self.labels)} models {'are' if beaten > 1 else 'is'} "
                f"significantly worse in {what} and success than another."
            )
        return Finding(
            key=f"frontier_{of}",
            question=f"Which models are worth their {what}?",
            statement=told if front else f"No attempt has a known {what}.",
            rows=first_rows(
                shown,
                lambda row: f"{self.labels[row]}: {found.text(row)}",
                most=_SHOWN,
                table="models",
            ),
            explanation=(
                f"A model is on the frontier if no other model succeeds as often for less {what}. "
                f"The {what} is the mean of one attempt. The percentage is the proportion of "
                "resamples of questions in which the model is on the frontier. One model beats "
                "another if simultaneous intervals of both differences exclude zero."
            ),
            numbers={"score": found.score, of: found.spent, "share": found.share},
        )

    def outcomes(self, k: int, *, smallest: SmallestEffects = SMALLEST) -> Verdicts:
        """Return whether each pair of models differs in pass^k, is equivalent, or is inconclusive.

        Parameters
        ----------
        k : int
            One of `k`.
        smallest : SmallestEffects
            Smallest effects of interest; only `share` is used.
        """
        pairs = self.differences.get(self._top(k))
        if pairs is None:
            return Verdicts((), ())
        return Verdicts(
            tuple(f"{a} - {b}" for a, b in zip(pairs.first, pairs.second, strict=True)),
            tuple(
                outcome(bounds, smallest=smallest.share, enough=bool(known))
                for bounds, known in zip(pairs.interval, enough(pairs), strict=True)
            ),
        )

    @property
    def order(self) -> list[int]:
        """Models in descending order of pass@k at the smallest k."""
        first = self.pass_at_k[min(self.k)].value
        places = np.argsort(-np.nan_to_num(first, nan=-1.0), kind="stable")
        return [int(place) for place in places]

    def plot(self, *, ax: "Drawn | None" = None) -> "Drawn":
        """Plot each model's range from pass^k to pass@k: `psychollm.plots.plot_attempts`."""
        return drawn_by("plot_attempts")(self, ax=ax)

    def _verdict(self, k: int, judged: Verdicts) -> str:
        success = self.pass_hat_k[k]
        if not success.defined.any():
            return f"No question has {k} attempts: choose a smaller k."
        best = int(np.nanargmax(success.value))
        name, once = self._top(k), self.pass_at_k[min(self.k)]
        sentence = f"{self.labels[best]} has the highest {name}, {success.text(best, 3)}"
        if k > 1:
            sentence += f": the probability that {every(k, 'attempt')} at a question succeed"
        if min(self.k) == 1 and k > 1:
            sentence += (
                f". A single attempt by {self.labels[best]} succeeds with a probability of "
                f"{once.text(best, 3)}"
            )
        return f"{sentence}. {self._compared(judged)}".rstrip()

    def _compared(self, judged: Verdicts) -> str:
        if len(judged.outcomes) != 1:
            return judged_pairs(judged) if judged.outcomes else ""
        return judged_pairs(judged) or (
            "It is significantly better than the other."
            if judged.outcomes[0].shown
            else "The difference is inconclusive."
        )

    def _model(self, row: int, k: int) -> str:
        parts = [
            f"{quantity.called(one)} {estimate.text(row, 3)}"
            for quantity, one, estimate in self.estimates()
            if one in {min(self.k), k} and not (one == 1 and quantity is EVERY)
        ]
        return f"{self.labels[row]}: {', '.join(parts)}"

    def _top(self, k: int) -> str:
        return EVERY.called(k) if k > 1 else AT_LEAST_ONE.called(1)

    def _next(self, k: int) -> Iterator[str]:
        """Yield the difference between each model and the next in `order`."""
        pairs = self.differences.get(self._top(k))
        if pairs is None:
            return
        places = {
            pair: row for row, pair in enumerate(zip(pairs.first, pairs.second, strict=True))
        }
        order = [self.labels[row] for row in self.order[: _SHOWN + 1]]
        for first, second in pairwise(order):
            sign = 1.0 if (first, second) in places else -1.0
            row = places.get((first, second), places.get((second, first), 0))
            bounds = np.sort(sign * pairs.interval[row])
            gap = with_interval(sign * pairs.value[row], bounds, 3, signed=True)
            yield f"{first} minus {second}: {gap}"

    def _reasons(self) -> str:
        sources = {
            "question": "differences between questions",
            "attempt": "differences between attempts",
            "model:question": "the interaction of models and questions",
            "model": "differences between models",
            "model in its family": "differences between models of a family",
            "family": "differences between families",
        }
        if not self.shares.defined.any():
            return "Not estimated: several models, questions and attempts are needed."
        parts = [
            f"{percent(max(value, 0.0))} {'is due ' * (k == 0)}to {sources[name]}"
            for k, (name, value) in enumerate(
                zip(self.shares.labels, self.shares.value, strict=True)
            )
        ]
        return f"Of the variance of one attempt, {sentence_list(parts)}."


def attempts_asked(k: int | Sequence[int]) -> tuple[int, ...]:
    """Return the distinct numbers of attempts in ascending order."""
    return tuple(sorted(set(check_counts("k", k))))
