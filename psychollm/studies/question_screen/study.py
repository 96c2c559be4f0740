r"""Screening of questions from scores alone.

A question has *zero variance* (field ``dead``) if all models have the same score, so that it does
not distinguish them. A question is *hard* if its mean score is low.

A question has a *negative item-rest correlation* (field ``against``) if better models fail more
often, as they would with a wrong key. The null distribution assigns the scores of a question to
models at random (equation 1 of `psychollm.irt.item_screen`). P-values are adjusted over questions
by Holm's method.

Two questions are *duplicates* (method ``redundant``) if models answer them alike more often than
ability and difficulty explain. A logistic curve for each question gives the probability
:math:`p_{iq}` that model i is right on question q (score above .5). Equation (1) is the
probability that model i answers questions q and r alike.

.. math:: a_i = p_{iq} p_{ir} + (1 - p_{iq})(1 - p_{ir}).                                 \quad (1)

The number of models that answer the two questions alike is Poisson-binomial. The exact upper tail
probability is multiplied by the number of pairs (Bonferroni). Normal priors shrink slopes towards
1 and abilities towards 0.

With few models, no test can be significant, because p-values are multiplied by a large number of
pairs. By guessing at random, n models answer two questions alike with probability :math:`2^{-n}`.

The tests for negative item-rest correlation and for duplicates assume independent models. With
`families`, the tests use the mean score of each family.

References
----------
Saracco, F., Straka, M. J., Di Clemente, R., Gabrielli, A., Caldarelli, G., & Squartini, T. (2017).
Inferring monopartite projections of bipartite networks: an entropy-based approach. New Journal of
Physics, 19, 053022. https://doi.org/10.1088/1367-2630/aa6b38
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtri

from psychollm._base.axes import Axes
from psychollm._base.checks import check_fraction
from psychollm._base.errors import CodeError
from psychollm._base.multiplicity import adjust_p_values
from psychollm._base.numbers import count, number, p_equals, percent
from psychollm._base.result import Result
from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm._base.wording import parameter
from psychollm.data.labels import Labels, numbered, unit_labels
from psychollm.estimates.findings import Finding, Findings, Study, sentence_list
from psychollm.estimates.verdict import SMALLEST, SmallestEffects, futile
from psychollm.irt.screen import against_rest
from psychollm.reliability.means.repeated_scores import answers_of, means_of
from psychollm.studies.question_screen.redundancy import redundant_pairs

if TYPE_CHECKING:
    import pandas as pd

_SHOWN = 12  # number of questions, or pairs, that the summary lists
ALL_RIGHT, ALL_WRONG, ALL_ALIKE, UNANSWERED = "all right", "all wrong", "all alike", "no answer"
_WORDS = {
    ALL_RIGHT: "solved by all models",
    ALL_WRONG: "solved by none",
    ALL_ALIKE: "scored alike by all models",
    UNANSWERED: "without an answer",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QuestionScreen(Study, Result):
    """Screening results of each question, and duplicate pairs."""

    score: FloatArray  # (questions,) mean over models, NaN without answers
    n: IntArray  # (questions,) number of models with a score
    rest_correlation: FloatArray  # (questions,) correlation with the mean of all other questions
    against_p: FloatArray  # (questions,) p-value of the negative correlation, adjusted by Holm
    dead: tuple[str, ...]  # (questions,) kind of zero variance, "" if the scores vary
    hard: BoolArray  # (questions,) whether the mean score is at most `hard`
    against: BoolArray  # (questions,) whether the item-rest correlation is significantly negative
    pairs: IntArray  # (pairs, 2) indices of duplicate questions
    # (pairs, 2) numbers of models (or families) with equal answers, and with both answers
    alike: IntArray
    pairs_p: FloatArray  # (pairs,) p-value of the number of equal answers, adjusted by Bonferroni
    n_models: int
    hard_share: float
    alpha: float
    labels: Labels  # (questions,)
    families: Labels = ()  # families, each counted as one model; empty if none were given

    _AXES = Axes(
        {"question": "labels"},
        "score",
        "n",
        "rest_correlation",
        "against_p",
        "dead",
        "hard",
        "against",
        ("redundant_with", lambda screen: ["; ".join(map(str, one)) for one in screen.partners()]),
    )

    def partners(self) -> tuple[Labels, ...]:
        """Return the duplicates of each question (questions,)."""
        found: list[list[Any]] = [[] for _ in self.labels]
        for first, second in self.pairs.tolist():
            found[first].append(self.labels[second])
            found[second].append(self.labels[first])
        return tuple(map(tuple, found))

    def redundant(self) -> "pd.DataFrame":
        """Return one row per duplicate pair, the smallest p-value first."""
        import pandas as pd

        first, second = (self._labelled(places) for places in self.pairs.T)
        return pd.DataFrame(
            {
                "first": first,
                "second": second,
                "alike": self.alike[:, 0],
                "n": self.alike[:, 1],
                "p": self.pairs_p,
            }
        )

    def _labelled(self, places: IntArray) -> list[Any]:
        return [self.labels[place] for place in places]

    def tables(self) -> "dict[str, pd.DataFrame]":
        """Return the tables of the study, by name."""
        return {"questions": self.to_frame(), "redundant": self.redundant()}

    def findings(self, *, smallest: SmallestEffects = SMALLEST) -> Findings:
        """Return zero-variance, hard, negatively correlated and duplicate questions."""
        items = (
            Finding(statement=self._verdict()),
            Finding(
                key="dead",
                question="Which questions have zero variance?",
                rows=tuple(self._dead_rows()),
                statement=self._no_dead(),
                explanation=(
                    "All models have the same score on a question with zero variance, so asking "
                    "it does not change the ranking."
                ),
                numbers={"dead": self.dead},
            ),
            Finding(
                key="hard",
                question="Which questions are hard?",
                rows=_first(self._hard_row, self._hardest()),
                statement="" if len(self._hardest()) else "None.",
                explanation=(
                    f"A question is hard if its mean score is {percent(self.hard_share)} or less."
                ),
                numbers={"score": self.score},
            ),
            Finding(
                key="against",
                question="Which questions correlate negatively with the rest?",
                rows=_first(self._against_row, self._contrary()),
                statement=self._no_against(),
                explanation=(
                    "If models that score higher on all other questions fail more often on a "
                    "question, check its key. The probability of one or more false positives is "
                    f"at most {percent(self.alpha)}."
                ),
                numbers={"rest_correlation": self.rest_correlation, "p": self.against_p},
            ),
            Finding(
                key="redundant",
                question="Which pairs of questions are duplicates?",
                rows=_first(self._pair_row, range(len(self.pairs))),
                statement=self._no_pairs(),
                explanation=(
                    "Two questions may be duplicates if models answer both correctly, or both "
                    "incorrectly, more often than ability and difficulty explain. The "
                    "probability of one or more false positives is at most "
                    f"{percent(self.alpha)}."
                ),
                numbers={"p": self.pairs_p},
            ),
        )
        models = "1 model" if self.n_models == 1 else f"{count(self.n_models)} models"
        if self.families:
            models += f" of {count(len(self.families))} families"
        return Findings(items=items, head=f"{models}, {count(len(self.labels))} questions.")

    @property
    def _units(self) -> tuple[int, str]:
        """Number and name of the independent units."""
        n, one, several = self.n_models, "model", "models"
        if self.families:
            n, one, several = len(self.families), "family", "families"
        return n, one if n == 1 else several

    def _verdict(self) -> str:
        total, dead = len(self.labels), sum(map(bool, self.dead))
        n_hard = len(self._hardest())
        some = count(n_hard) if n_hard else "none"
        be = "are" if n_hard > 1 else "is"
        if self.n_models == 1:
            others = "All other checks require several models."
            return f"Of {count(total)} questions, {some} {be} hard. {others}"
        distinct = [why for why in dict.fromkeys(self.dead) if why]
        kinds = [
            f"{f'{self.dead.count(why)} ' * (len(distinct) > 1)}{_WORDS.get(why, why)}"
            for why in distinct
        ]
        why = f" ({', '.join(kinds)})" if kinds else ""
        gone = f"{count(dead) if dead else 'none'} {'have' if dead > 1 else 'has'} zero variance"
        against, pairs = int(self.against.sum()), len(self.pairs)
        contrary = f"{count(against)} questions have" if against > 1 else "1 question has"
        contrary = contrary if against else "No question has"
        alike = f"{count(pairs)} pairs are" if pairs > 1 else f"{pairs or 'no'} pair is"
        return (
            f"{count(total - dead)} of {count(total)} questions distinguish between models, and "
            f"{some} of these {be} hard; {gone}{why}. {contrary} a significant "
            f"negative item-rest correlation; {alike} flagged as "
            f"{'duplicates' if pairs > 1 else 'a duplicate'}."
        )

    def _no_dead(self) -> str:
        if self.n_models == 1:
            return "This check requires several models."
        return "" if any(self.dead) else "None."

    def _no_against(self) -> str:
        if self.against.any():
            return ""
        text = self._too_few("item-rest correlation", self._models_for_one())
        if text or not np.isfinite(self.against_p).any():
            return text or "No question could be tested."
        nearest = int(np.nanargmin(self.rest_correlation))
        correlation = self.rest_correlation[nearest]
        if correlation >= 0.0:
            return "No item-rest correlation is negative."
        return (
            "No negative item-rest correlation is significant; the lowest is "
            f"{number(correlation, signed=True)} ({self.labels[nearest]})."
        )

    def _no_pairs(self) -> str:
        if len(self.pairs):
            return ""
        return self._too_few("pair", self._models_for_two()) or "No pair is significant."

    def _too_few(self, what: str, least: int) -> str:
        n, units = self._units
        if n >= least:
            return ""
        return f"{futile(n, units, f'{what} can be significant', least)}."

    def _models_for_one(self) -> int:
        """Return the smallest number of models that can make one question significant."""
        tested = max(int(np.isfinite(self.against_p).sum()), 1)
        return 1 + int(np.ceil(ndtri(self.alpha / tested) ** 2))

    def _models_for_two(self) -> int:
        """Return the smallest number of models that can make one pair of questions significant."""
        live = self.dead.count("")
        return int(np.ceil(np.log2(max(live * (live - 1) / 2, 1) / self.alpha)))

    def _named(self, places: Any) -> str:
        return sentence_list(self._labelled(places), most=_SHOWN)

    def _dead_rows(self) -> Iterator[str]:
        for why in dict.fromkeys(self.dead):
            if why:
                places = [place for place, own in enumerate(self.dead) if own == why]
                yield f"{_WORDS.get(why, why)}: {self._named(places)}"

    def _hardest(self) -> IntArray:
        """Return the hard questions with nonzero variance, the hardest first."""
        living = np.array([not why for why in self.dead])
        places = np.flatnonzero(self.hard & living)
        return places[np.argsort(self.score[places], kind="stable")]

    def _contrary(self) -> IntArray:
        places = np.flatnonzero(self.against)
        return places[np.argsort(self.against_p[places], kind="stable")]

    def _hard_row(self, place: int) -> str:
        models = "1 model" if self.n[place] == 1 else f"{self.n[place]} models"
        return f"{self.labels[place]}: mean score {percent(self.score[place])} ({models})"

    def _against_row(self, place: int) -> str:
        return (
            f"{self.labels[place]}: item-rest correlation "
            f"{number(self.rest_correlation[place], signed=True)}, "
            f"{p_equals(self.against_p[place])}"
        )

    def _pair_row(self, row: int) -> str:
        first, second = self._labelled(self.pairs[row])
        same, both = self.alike[row]
        return (
            f"{first} and {second}: answered alike by {same} of {both} {self._units[1]}, "
            f"{p_equals(self.pairs_p[row])}"
        )


def _first(row: Callable[[int], str], places: Sequence[int] | IntArray) -> tuple[str, ...]:
    """Return the first rows, and the number of further rows."""
    left = len(places) - _SHOWN
    return (*map(row, places[:_SHOWN]), *([f"and {count(left)} more"] if left > 0 else []))


def question_screen(
    scores: Any,
    *,
    families: Any = None,
    threshold: float | None = None,
    hard: float = 0.2,
    alpha: float = 0.05,
) -> QuestionScreen:
    """Screen for hard, zero-variance, negatively correlated and duplicate questions.

    Parameters
    ----------
    scores : ScoreLog, Responses, RepeatedScores, DataFrame, DataArray or array_like
        Scores from 0 to 1, such as 1 for right, in a table models x questions or models x
        questions x repeats; or the result of `read_scores` or `read_logs`. NaN marks missing
        scores.
    families : mapping or array_like (models,), optional
        Family of each model. The tests use the mean score of each family, because related models
        are not independent.
    threshold : float, optional
        Scores above this threshold count as right; needed if scores are not between 0 and 1.
    hard : float
        A question is hard if its mean score is at most this value.
    alpha : float
        Familywise error rate of the test of negative correlations, and of the test of duplicates.

    Returns
    -------
    QuestionScreen
        The result has a row per question; `pairs` lists the duplicates, the smallest p-value
        first.

    Raises
    ------
    CodeError
        If a score is not between 0 and 1, and there is no threshold.
    ShapeError, LabelError
        If there is no score, or families do not match the models.
    OptionError
        If an option is out of range.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> ability, easiness = rng.normal(size=(40, 1)), rng.normal(size=60)
    >>> right = (rng.normal(size=(40, 60)) < ability + easiness).astype(int)
    >>> right[:, 8], right[:, 9] = right[:, 7], 1
    >>> print(question_screen(right).summary())
    40 models, 60 questions.
    59 of 60 questions distinguish between models, and 8 of these are hard; 1 has zero variance
      (solved by all models). No question has a significant negative item-rest correlation; 1 pair
      is flagged as a duplicate.
    Which questions have zero variance?
      solved by all models: 9
    Which questions are hard?
      37: mean score 10 % (40 models)
      55: mean score 10 % (40 models)
      23: mean score 12 % (40 models)
      28: mean score 12 % (40 models)
      42: mean score 12 % (40 models)
      58: mean score 15 % (40 models)
      18: mean score 18 % (40 models)
      22: mean score 20 % (40 models)
    Which questions correlate negatively with the rest? No item-rest correlation is negative.
    Which pairs of questions are duplicates?
      7 and 8: answered alike by 40 of 40 models, p < .001
    """
    check_fraction("hard", hard)
    check_fraction("alpha", alpha)
    answers = answers_of(scores)
    if threshold is not None:
        right = np.where(answers.present, answers.values > threshold, np.nan)
        answers = type(answers).from_array(
            right, models=answers.models, questions=answers.questions, runs=answers.runs
        )
    values = means_of(answers)
    _check_shares(values)
    known = np.isfinite(values)
    n = known.sum(axis=0)
    share = np.where(known, values, 0.0)
    score = np.divide(share.sum(axis=0), n, out=np.full(n.size, np.nan), where=n > 0)
    dead = _dead(values, n)
    values, named = _by_family(values, families, answers.models)
    alive = np.array([not why for why in _dead(values, np.isfinite(values).sum(axis=0))])
    live = alive & (np.isfinite(values).sum(axis=0) > 1)
    known, values = np.isfinite(values[:, live]), values[:, live]
    correlation, p_value = np.full(n.size, np.nan), np.full(n.size, np.nan)
    _, correlation[live], p_value[live] = against_rest(np.where(known, values, 0.0), known)
    adjusted = adjust_p_values(p_value)
    pairs, alike, pairs_p = redundant_pairs(values, alpha)
    return QuestionScreen(
        score=score,
        n=n,
        rest_correlation=correlation,
        against_p=adjusted,
        dead=dead,
        hard=np.nan_to_num(score, nan=1.0) <= hard,
        against=np.nan_to_num(adjusted, nan=1.0) <= alpha,
        pairs=np.flatnonzero(live)[pairs],
        alike=alike,
        pairs_p=pairs_p,
        n_models=len(answers.models),
        families=named,
        hard_share=hard,
        alpha=alpha,
        labels=answers.questions,
    )


def _by_family(values: FloatArray, families: Any, models: Labels) -> tuple[FloatArray, Labels]:
    """Return the mean of each family's known scores (families, questions), and the families."""
    if families is None:
        return values, ()
    member, names = numbered(unit_labels(families, models, argument="families", kind="model"))
    inside, known = member == np.arange(len(names))[:, None], np.isfinite(values)
    n = inside.astype(np.float64) @ known
    total = inside @ np.where(known, values, 0.0)
    return np.divide(total, n, out=np.full(n.shape, np.nan), where=n > 0), names


def _check_shares(values: FloatArray) -> None:
    known = values[np.isfinite(values)]
    if known.min() < 0.0 or known.max() > 1.0:
        msg = (
            f"scores run from {known.min():g} to {known.max():g}: pass {parameter('threshold')}, "
            "above which an answer counts as right, or rescale them to 0 to 1"
        )
        raise CodeError(msg)


def _dead(values: FloatArray, n: IntArray) -> tuple[str, ...]:
    """Return the reason for zero variance of each question, "" if scores vary or n is 1."""
    low = np.where(n > 0, np.nanmin(np.where(n > 0, values, 0.0), axis=0), 0.0)
    high = np.where(n > 0, np.nanmax(np.where(n > 0, values, 0.0), axis=0), 0.0)
    why = np.full(n.size, "", dtype=object)
    constant = (n > 1) & (low == high)
    why[constant] = ALL_ALIKE
    why[constant & (low == 1.0)] = ALL_RIGHT
    why[constant & (low == 0.0)] = ALL_WRONG
    why[n == 0] = UNANSWERED
    return tuple(why)
