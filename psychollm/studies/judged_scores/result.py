"""Result for judged scores: human scores, judge's scores, bias, and differences of models."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import check_share
from psychollm._base.numbers import count, extent, number, with_interval
from psychollm._base.result import Result, view
from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.data.labels import Labels
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.findings import (
    Finding,
    Findings,
    Study,
    exhibit,
    first_rows,
    sentence_list,
)
from psychollm.estimates.verdict import (
    SMALLEST,
    Outcome,
    SmallestEffects,
    Verdicts,
    judged_pairs,
    outcome,
    verdicts,
)
from psychollm.reliability.means.score_differences import ScoreDifferences
from psychollm.studies.comparison.ranks import enough
from psychollm.studies.judged_scores.planning import (
    LabelPlan,
    Variances,
    chances_of,
    needed,
    unsure_of,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes as Drawn

_SHOWN, _GAPS = 5, 3  # numbers of models and of differences in the summary
TARGETS = {  # in words
    "these questions": "the given questions",
    "questions like these": "the population of the questions",
}
_HELPS = 1.1  # the judge is useful if one label with it is worth this many labels without it


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JudgedScores(Study, Result):
    """Estimated human scores, the judge's scores, and the judge's bias.

    Examples
    --------
    >>> from psychollm.studies.judged_scores.study import judged_scores
    >>> rng = np.random.default_rng(1)
    >>> truth = (rng.random((2, 400)) < [[0.8], [0.6]]).astype(float)
    >>> judge = np.where(rng.random((2, 400)) < 0.1, 1.0, truth)
    >>> people = np.where(rng.permutation(400) < 60, truth, np.nan)
    >>> found = judged_scores(judge, people, rng=1)
    >>> found.score.text(0), found.tier.tolist()
    ('0.80 [0.75, 0.83]', [1, 2])
    """

    score: Estimate  # (models,) estimated human score
    raw: Estimate  # (models,) judge's score; the interval generalises to the question population
    bias: Estimate  # (models,) raw minus score
    # differences of all pairs of scores, with simultaneous intervals
    differences: ScoreDifferences
    rank: FloatArray  # (models,) 1 for the best; NaN without a score
    rank_interval: IntArray  # (models, 2) simultaneous bounds of the rank; 0 without a score
    tier: IntArray  # (models,) 1 for the best and models indistinguishable from it
    weight: FloatArray  # (models,) weight of the judge; 0 if only labels are used
    alone: FloatArray  # (models,) standard error from labels alone
    corrected: FloatArray  # (models,) standard error with the judge; both SEs ignore rare errors
    label_variance: FloatArray  # (models, questions) variance of labels around the prediction
    beyond: FloatArray  # (models,) variance that labels do not reduce, for the question population
    n_answers: FloatArray  # (models,) number of answers with a verdict or label
    judges: Labels
    judge_weights: FloatArray  # (judges,) weights in the best combination
    family_bias: Estimate | None  # (families,)
    family_differences: ScoreDifferences | None  # differences of the bias between families
    labels: Labels  # (models,)
    questions: Labels
    target: str
    level: float
    span: float = 1.0  # range of the labels' scale; 1 if labels are between 0 and 1

    _AXES = Axes(
        {"model": "labels"},
        "score=score.value",
        "{bound}=score.interval",
        "raw=raw.value",
        "bias=bias.value",
        ("n_labels", lambda found: found.score.n.astype(np.int64)),
        labels={"question": "questions", "judge": "judges"},
        arrays={
            "model": "rank tier weight",
            "model question": "label_variance",
            "judge": "judge_weights",
        },
    )

    @property
    def worth(self) -> float:
        """Number of labels without the judge that are as informative as one label with the judge.

        The number is NaN if no answer is labelled.
        """
        known = np.isfinite(self.alone) & np.isfinite(self.corrected) & (self.score.n > 2)
        apart, together = (self.alone[known] ** 2).sum(), (self.corrected[known] ** 2).sum()
        if not known.any() or apart == 0.0:
            return np.nan
        return float(apart / together) if together > 0.0 else np.inf

    @property
    def helps(self) -> bool:
        """Whether labels are more informative with the judge than without it."""
        return bool(self.worth >= _HELPS)

    @property
    def bias_gaps(self) -> FloatArray:
        """Judge's bias for each pair's first model minus its second, with simultaneous bounds."""
        i, j = np.triu_indices(len(self.labels), 1)
        gap = self.bias.value[i] - self.bias.value[j]
        # The judge's verdicts on these answers are fixed, so only the scores vary.
        low, high = (self.differences.interval - self.differences.value[:, None]).T
        return np.stack([gap, gap - high, gap - low], axis=1)

    @property
    def errs_differently(self) -> BoolArray:
        """Pairs of models that differ significantly in the judge's bias (pairs,)."""
        _, low, high = self.bias_gaps.T
        with np.errstate(invalid="ignore"):
            shown = (low > 0.0) | (high < 0.0)
        return np.asarray(shown & enough(self.differences))

    @property
    def remarks(self) -> tuple[str, ...]:
        """Notes on the use of the estimated scores."""
        return tuple(self._remarks())

    def tables(self) -> "dict[str, pd.DataFrame]":
        """Return the tables of the study by name."""
        models = self.to_frame().assign(
            bias_lower=self.bias.interval[:, 0],
            bias_upper=self.bias.interval[:, 1],
            rank=self.rank,
            tier=self.tier,
            flag=[str(flag) for flag in self.score.flags],
        )
        found = {"models": models, "pairs": self.differences.to_frame()}
        if self.family_bias is not None:
            found["families"] = self.family_bias.to_frame()
        return found

    def plan(self, *, half_width: float) -> LabelPlan:
        """Return how many labels a margin of error requires, and which answers to label.

        Parameters
        ----------
        half_width : float
            Maximum margin of error of every interval, on the scale of the labels: for labels of 0
            and 1, three percentage points are 0.03.

        Returns
        -------
        LabelPlan
            Total number of labels, including existing labels; NaN if no number suffices. Without
            labels, the largest possible variance is assumed.

        Raises
        ------
        OptionError
            If `half_width` is not positive, or exceeds the range of the scale.

        Examples
        --------
        >>> from psychollm.studies.judged_scores.study import judged_scores
        >>> rng = np.random.default_rng(1)
        >>> truth = (rng.random((1, 400)) < 0.7).astype(float)
        >>> judge = np.where(rng.random((1, 400)) < 0.1, 1.0, truth)
        >>> people = np.where(rng.permutation(400) < 40, truth, np.nan)
        >>> judged_scores(judge, people, rng=1).plan(half_width=0.04).equal
        array([37.])
        """
        check_share("half_width", half_width, high=self.span)
        variances = Variances(of=self.label_variance, size=self.n_answers, beyond=self.beyond)
        equal, unsure = (
            needed(
                variances, half_width, self.level, unsure=where,
                sampled=self.target != "these questions",
            )
            for where in (False, True)
        )  # fmt: skip
        most = np.nanmax(unsure) if np.isfinite(unsure).any() else float(len(self.questions))
        low, high = self.score.interval.T
        return LabelPlan(
            half_width=0.5 * (high - low),
            equal=equal,
            unsure=unsure,
            probability=chances_of(unsure_of(variances), most),
            wanted=float(half_width),
            labels=self.labels,
            questions=self.questions,
            level=self.level,
        )

    def outcomes(self, *, smallest: SmallestEffects = SMALLEST) -> Verdicts:
        """Return the conclusion about each pair of models, from the interval of its difference.

        Parameters
        ----------
        smallest : SmallestEffects
            Smallest effects of interest; `share` applies to differences, as a proportion of the
            range of the scale.
        """
        pairs, least = self.differences, smallest.share * self.span
        return Verdicts(
            tuple(f"{a} - {b}" for a, b in zip(pairs.first, pairs.second, strict=True)),
            tuple(
                outcome(bounds, smallest=least, enough=bool(known))
                for bounds, known in zip(pairs.interval, enough(pairs), strict=True)
            ),
        )

    def findings(self, *, smallest: SmallestEffects = SMALLEST) -> Findings:
        """Return human scores, the judge's bias, and differences between models."""
        judged, order = self.outcomes(smallest=smallest), self.order
        items = [
            Finding(
                statement=self._verdict(judged), numbers={"score": self.score}, outcome=judged
            ),
            Finding(
                key="scores",
                question="Which score would people give each model?",
                rows=first_rows(order, self._model, most=_SHOWN, table="models"),
                explanation=(
                    "A score is the judge's mean over all answers, corrected with human labels "
                    "of some answers. The corrected score is unbiased for any judge, and more "
                    "precise for a more accurate judge. Intervals are pointwise and refer to "
                    f"{TARGETS[self.target]}."
                ),
                numbers={"raw": self.raw, "bias": self.bias},
            ),
            Finding(
                key="judge",
                question="Is the judge biased?",
                statement=self._trust(smallest.share * self.span),
                rows=self.remarks,
                explanation=(
                    "Bias is the judge's score minus the human score. A bias that is equal for "
                    "all models does not change their order; an unequal bias can."
                ),
                numbers={"worth": self.worth, "weight": self.weight},
            ),
        ]
        if len(self.labels) > 1:
            items.append(
                Finding(
                    key="differences",
                    question="How much does each model differ from the next-ranked one?",
                    rows=tuple(self._next()),
                    explanation=(
                        "Differences are between corrected scores; their intervals are "
                        "simultaneous over all pairs of models."
                    ),
                    numbers={
                        "value": self.differences.value,
                        "interval": self.differences.interval,
                    },
                )
            )
        if self.family_bias is not None:
            items.append(
                Finding(
                    key="families",
                    question="Does the judge favour a family of models?",
                    statement=self._families(),
                    numbers={"family_bias": self.family_bias},
                )
            )
        return exhibit(Findings(items=tuple(items), head=self._head()), self, smallest)

    @property
    def order(self) -> list[int]:
        """Models in descending order of score; models without a score are last."""
        by = np.where(self.score.defined, self.score.value, np.nan_to_num(self.raw.value) - 1e9)
        return [int(place) for place in np.argsort(-by, kind="stable")]

    def plot(self, *, ax: "Drawn | None" = None) -> "Drawn":
        """Plot the judge's score and the estimated human score of each model."""
        draw = view("studies.judged_scores.figures", "plot_judged_scores")
        axes: Drawn = draw(self, ax=ax)
        return axes

    @property
    def judge(self) -> str:
        """Name of the judge in words."""
        if len(self.judges) == 1:
            return str(self.judges[0])
        return f"the combination of {len(self.judges)} judges"

    def _head(self) -> str:
        n = self.score.n
        labelled = n[n > 0]
        labels = "no labels"
        if labelled.size:
            labels = f"{extent(labelled, 0)} labels per model"
            if labelled.size < n.size:
                labels = f"{extent(labelled, 0)} labels for each of {labelled.size} models"
        return (
            f"{len(self.labels)} model{'s' * (len(self.labels) > 1)}, "
            f"{count(len(self.questions))} questions, {labels}."
        )

    def _verdict(self, judged: Verdicts) -> str:
        if not self.score.defined.any():
            return (
                "No human labels: the judge's scores cannot be corrected, and their bias "
                "is unknown."
            )
        best = self.order[0]
        said, name = self.score.text(best, 3), self.labels[best]
        raw = self.raw.value[best]
        told = "" if np.isnan(raw) else f" (score by {self.judge}: {number(raw, 3)})"
        if len(self.labels) == 1:
            return f"People would give {name} {said}{told}."
        rest = judged_pairs(judged) if len(judged.outcomes) > 1 else self._two(judged)
        return f"People would score {name} highest, {said}{told}. {rest}".rstrip()

    def _two(self, judged: Verdicts) -> str:
        if judged.outcomes[0] is Outcome.SMALL:
            return "The two are equivalent."
        if judged.outcomes[0].shown:
            return "It is significantly better than the other."
        return "The difference is inconclusive."

    def _model(self, row: int) -> str:
        raw, name = number(self.raw.value[row], 3), self.labels[row]
        if not self.score.defined[row]:
            return f"{name}: judge's score {raw}; {self.score.flags[row]}"
        text = f"{name}: human score {self.score.text(row, 3)}, judge's score {raw}"
        if self.bias.defined[row]:
            text += f" (bias {self.bias.text(row, 3, signed=True)})"
        return text + (f", tier {self.tier[row]}" if len(self.labels) > 1 else "")

    def _trust(self, smallest: float) -> str:
        if not self.bias.defined.any():
            return "Unknown without human labels."
        found = verdicts(self.bias, smallest=smallest)
        lenient, strict = found.which(Outcome.ABOVE), found.which(Outcome.BELOW)
        parts = []
        if lenient:
            parts.append(f"it is too lenient with {_some(lenient, len(self.labels))}")
        if strict:
            parts.append(f"too strict with {_some(strict, len(self.labels))}")
        known = self.bias.value[self.bias.defined]
        size = f"bias {extent(known, 3, signed=True)}"
        if not parts:
            fine = found.count(Outcome.SMALL) == len(known)
            told = f"smaller than {smallest:g}" if fine else "not significant for any model"
            return f"The bias of {self.judge} is {told} ({size})."
        text = " and ".join(parts)
        text = text if lenient else f"it is {text}"
        return f"{_capital(self.judge)} is biased: {text} ({size})."

    def _remarks(self) -> Iterator[str]:
        if not self.score.defined.any():
            yield (
                "without human labels, only the judge's score is known: have people label 30 "
                "answers"
            )
            return
        worth = self.worth
        if np.isfinite(worth) and not self.helps:
            yield (
                "the judge does not help: one human label with the judge is as informative as "
                f"{number(max(worth, 0.0), 2)} without it"
            )
        elif np.isfinite(worth):
            n = self.score.n[self.score.n > 0].mean()
            yield (
                f"{count(n)} human labels with the judge are as informative as "
                f"{count(round(n * worth))} human labels without it"
            )
        pairs = np.flatnonzero(self.errs_differently)
        if pairs.size:
            gaps = self.bias_gaps
            top = pairs[np.argmax(np.abs(gaps[pairs, 0]))]
            value, low, high = gaps[top]
            pair = f"{self.differences.first[top]} minus {self.differences.second[top]}"
            yield (
                f"the judge's bias differs between models in {count(pairs.size)} of "
                f"{count(len(gaps))} pairs; {pair}: "
                f"{with_interval(value, np.array([low, high]), 3, signed=True)}"
            )
        bare = [str(self.labels[row]) for row in np.flatnonzero(self.score.n == 0)]
        if bare:
            yield f"no score, because no answer has a label: {sentence_list(bare[:4])}" + (
                f" and {len(bare) - 4} more" if len(bare) > 4 else ""
            )

    def _next(self) -> Iterator[str]:
        """Yield the difference between each model and the next model in `order`."""
        pairs = self.differences
        places = {
            pair: row for row, pair in enumerate(zip(pairs.first, pairs.second, strict=True))
        }
        order = [self.labels[row] for row in self.order if self.score.defined[row]]
        for first, second in pairwise(order[: _GAPS + 1]):
            sign = 1.0 if (first, second) in places else -1.0
            row = places.get((first, second), places.get((second, first), 0))
            bounds = np.sort(sign * pairs.interval[row])
            gap = with_interval(sign * pairs.value[row], bounds, 3, signed=True)
            yield f"{first} minus {second}: {gap}"

    def _families(self) -> str:
        assert self.family_bias is not None  # noqa: S101 -- for the type checker
        assert self.family_differences is not None  # noqa: S101 -- for the type checker
        found = self.family_bias
        each = ", ".join(
            f"{label} {found.text(row, 3, signed=True)}" for row, label in enumerate(found.labels)
        )
        shown = self.family_differences.adjusted < 1.0 - self.level
        if not shown.any():
            return f"No significant difference in bias: {each}."
        return f"Yes, in {count(shown.sum())} of {count(shown.size)} pairs of families: {each}."


def _some(names: list[str], total: int) -> str:
    if len(names) == total > 1:
        return "both models" if total == 2 else f"all {total} models"
    listed = sentence_list(names[:3])
    return listed if len(names) <= 3 else f"{len(names)} of {total} models"


def _capital(text: str) -> str:
    return f"T{text[1:]}" if text.startswith("the ") else text  # other names stay unchanged
