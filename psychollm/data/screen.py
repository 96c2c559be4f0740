"""Validity screen, which flags models and states the reasons, but does not drop models.

Confidence that does not vary, or is inversely related to correctness, is not informative about
self-knowledge and biases a factor solution. Confidence that copies the confidence of another model
has the same two defects. The flags, each with a reason in words, are:

* too few: the model has fewer than `min_answers` answers.
* constant: all answers are yes, or all are no.
* near constant: the yes rate is below `near_constant` or above 1 - `near_constant`.
* inverted: yes is associated with wrong answers.
* clone: the agreement beyond chance with another model is at least `clone_agreement`.

Inversion is tested by a one-sided Fisher's exact test of each model's 2 x 2 table of yes and
correct. P-values are Holm-adjusted for the number of tested models. If no model is inverted, the
probability of flagging any model as inverted is at most `alpha`, for any number of questions.
Agreement beyond chance is Cohen's kappa. With balanced yes rates, a kappa of .95 corresponds to a
tetrachoric correlation of .997. Constant and nearly constant models are never flagged as clones,
because their lack of variance makes them agree.

References
----------
Cohen, J. (1960). A coefficient of agreement for nominal scales. Educational and Psychological
Measurement, 20, 37-46. https://doi.org/10.1177/001316446002000104

Holm, S. (1979). A simple sequentially rejective multiple test procedure. Scandinavian Journal of
Statistics, 6, 65-70.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.special import betaln, logsumexp

from psychollm._base.axes import Axes
from psychollm._base.checks import check_count, check_fraction
from psychollm._base.multiplicity import adjust_p_values
from psychollm._base.numbers import p_equals
from psychollm._base.result import Result
from psychollm._base.types import AnyArray, BoolArray, FloatArray, IntArray
from psychollm.data.labels import Labels, listed
from psychollm.data.pair_counts import PairCounts, binary_counts
from psychollm.data.responses import Responses, ResponsesLike, as_responses

_Arrays: TypeAlias = tuple[AnyArray, AnyArray]  # codes and missing


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Screen(Result):
    """Result of the validity screen for each model."""

    models: Labels  # (models,)
    answered: IntArray  # (models,)
    yes_rates: FloatArray  # (models,) NaN without answers
    auroc: FloatArray  # (models,) AUROC of yes for correctness; below .5, yes predicts errors
    p_inverted: FloatArray  # (models,) adjusted by Holm; NaN if not tested
    untested: tuple[str, ...]  # (models,) reason why p_inverted is NaN, else ""
    too_few: BoolArray  # (models,)
    constant: BoolArray  # (models,)
    near_constant: BoolArray  # (models,)
    inverted: BoolArray  # (models,)
    clones: tuple[Labels, ...]  # (models,) models with nearly the same answers
    reasons: tuple[tuple[str, ...], ...]  # (models,) a sentence per flag
    usable: BoolArray  # (models,)

    _AXES = Axes(
        {"model": "models"},
        "answered",
        "yes_rates",
        "auroc",
        "p_inverted",
        "untested",
        "too_few",
        "constant",
        "near_constant",
        "inverted",
        ("clone", lambda screen: [bool(partners) for partners in screen.clones]),
        "usable",
        ("reasons", lambda screen: ["; ".join(reasons) for reasons in screen.reasons]),
    )

    @property
    def flagged(self) -> BoolArray:
        """Whether a model has any flag (models,)."""
        return np.array([bool(reasons) for reasons in self.reasons])

    def summary(self) -> str:
        """Describe how many models are usable, and list the flags of each flagged model."""
        head = f"{int(self.usable.sum())} of {len(self.models)} models usable"
        lines = [
            f"{model}: {'; '.join(reasons)}{'' if usable else ' [not usable]'}"
            for model, reasons, usable in zip(self.models, self.reasons, self.usable, strict=True)
            if reasons
        ]
        return "\n".join([f"{head}, {len(lines)} flagged" + (":" if lines else "."), *lines])


def validity_screen(
    confidence: ResponsesLike,
    correctness: ResponsesLike | None = None,
    *,
    min_answers: int = 30,
    near_constant: float = 0.02,
    clone_agreement: float = 0.95,
    alpha: float = 0.05,
) -> Screen:
    """Flag models with invalid response patterns, without dropping any.

    Parameters
    ----------
    confidence : Responses, DataFrame, DataArray or array-like (models, questions)
        Reported confidence: 1 = yes, 0 = no.
    correctness : the same, optional
        Correctness (1 or 0) of the same models and questions, in any order; required to test for
        inversion.
    min_answers : int
        Minimum number of answers.
    near_constant : float
        Distance of the yes rate from 0 or 1 below which a model is nearly constant.
    clone_agreement : float
        Minimum Cohen's kappa of two clones.
    alpha : float
        Maximum probability of flagging any model as inverted if none is inverted.

    Returns
    -------
    Screen
        Flags, reasons and statistics of each model. `usable` is False for models with too few
        answers, constant and inverted models, and all clones except the first. Nearly constant
        models remain usable, because they may be genuinely cautious or bold.

    Raises
    ------
    LabelError
        If the two tables do not have the same models and questions.
    CodeError
        If the answers are not binary.

    Examples
    --------
    >>> says = np.array([[1, 0] * 20, [1] * 40])
    >>> right = np.array([[0, 1] * 20, [0, 1] * 20])
    >>> print(validity_screen(says, right).summary())
    0 of 2 models usable, 2 flagged:
    0: inverted: its yes goes with wrong answers (AUROC 0.00, p < .001 after Holm's correction)
    [not usable]
    1: always says yes (40 answers) [not usable]
    """
    answers = as_responses(confidence, argument="confidence", binary=True, needs="cells")
    rules = ScreenRules(
        min_answers=check_count("min_answers", min_answers),
        near_constant=check_fraction("near_constant", near_constant, high=0.5),
        clone_agreement=check_fraction("clone_agreement", clone_agreement),
        alpha=check_fraction("alpha", alpha),
    )
    right = None
    if correctness is not None:
        right = as_responses(
            correctness, argument="correctness", like=answers, binary=True, needs="cells"
        )
    return screened(answers, right, rules)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScreenRules:
    """Options of `validity_screen`."""

    min_answers: int = 30
    near_constant: float = 0.02
    clone_agreement: float = 0.95
    alpha: float = 0.05


def screened(answers: Responses, right: Responses | None, rules: ScreenRules) -> Screen:
    """Screen binary tables with the same labels in the same order."""
    counts, least = binary_counts(answers), rules.min_answers
    n, rates = answers.answered, counts.yes_rates
    too_few, constant = n < least, (rates == 0) | (rates == 1)
    near = ~constant & ((rates < rules.near_constant) | (rates > 1 - rules.near_constant))
    tests = inversion(answers, right)
    inverted = tests.p_value <= rules.alpha
    kappa, common = agreement_beyond_chance(counts, ~(constant | near), least)
    alike = kappa >= rules.clone_agreement
    sound = ~(too_few | constant | inverted)
    reasons = []
    for i in range(answers.n_models):
        why = []
        if too_few[i]:
            why.append(f"too few answers: {n[i]}, but at least {least} are required")
        if constant[i]:
            why.append(f"always says {'yes' if rates[i] else 'no'} ({n[i]} answers)")
        if near[i]:
            why.append(f"nearly constant: yes to {100 * rates[i]:.2f} % of {n[i]} questions")
        if inverted[i]:
            why.append(
                "inverted: its yes goes with wrong answers (AUROC "
                f"{tests.auroc[i]:.2f}, {p_equals(tests.p_value[i])} after Holm's correction)"
            )
        if alike[i].any():
            partners = np.flatnonzero(alike[i])
            nearest = partners[np.argmax(kappa[i, partners])]
            why.append(
                f"answers like {listed([answers.models[j] for j in partners])} (agreement beyond "
                f"chance {kappa[i, nearest]:.3f} over {common[i, nearest]:.0f} questions)"
            )
        reasons.append(tuple(why))
    return Screen(
        models=answers.models,
        answered=n,
        yes_rates=rates,
        auroc=tests.auroc,
        p_inverted=tests.p_value,
        untested=tests.untested,
        too_few=too_few,
        constant=constant,
        near_constant=near,
        inverted=inverted,
        clones=tuple(tuple(answers.models[j] for j in np.flatnonzero(row)) for row in alike),
        reasons=tuple(reasons),
        usable=sound & ~_repeats(alike, sound),
    )


def _repeats(alike: BoolArray, sound: BoolArray) -> BoolArray:
    """Return a mask of the models that repeat the answers of an earlier usable model."""
    earlier = np.tril(alike, -1) & sound
    return np.asarray(earlier.any(axis=1))


def agreement_beyond_chance(
    counts: PairCounts, eligible: BoolArray, min_answers: int
) -> tuple[FloatArray, FloatArray]:
    """Return Cohen's kappa of each pair of models, and the number of common questions."""
    n, own = counts.n, counts.yes
    other = own.T
    with np.errstate(invalid="ignore", divide="ignore"):
        observed = (n - own - other + 2.0 * counts.joint) / n
        expected = (own * other + (n - own) * (n - other)) / n**2
        kappa = (observed - expected) / (1.0 - expected)
    compared = eligible[:, None] & eligible & (n >= min_answers)
    np.fill_diagonal(compared, val=False)
    return np.where(compared, kappa, np.nan), n


@dataclass(frozen=True, slots=True, eq=False)
class Inversion:
    """Tests of a negative association between yes and correctness for each model."""

    auroc: FloatArray  # (models,)
    p_value: FloatArray  # (models,) adjusted by Holm, NaN if not tested
    untested: tuple[str, ...]  # (models,) reason why a model was not tested, or ""


def inversion(answers: Responses, right: Responses | None) -> Inversion:
    """Test whether each model's yes answers are associated with wrong answers."""
    k = answers.n_models
    if right is None:
        nothing = np.full(k, np.nan)
        return Inversion(nothing, nothing.copy(), ("no correctness was given",) * k)
    n, n_yes, n_correct, hits = np.sum(
        [_crossed(*both) for both in zip(answers.blocks(), right.blocks(), strict=True)], axis=0
    )
    untested = tuple(map(_why_untested, n, n_yes, n_correct))
    tested = np.array([not reason for reason in untested])
    p, auroc = np.full(k, np.nan), np.full(k, np.nan)
    for i in np.flatnonzero(tested):
        p[i] = fisher_lower(hits[i], n[i], n_yes[i], n_correct[i])
    hit_rate = np.divide(hits, n_correct, out=auroc.copy(), where=tested)
    false_rate = np.divide(n_yes - hits, n - n_correct, out=auroc.copy(), where=tested)
    return Inversion(0.5 * (1.0 + hit_rate - false_rate), adjust_p_values(p), untested)


def _crossed(answers: _Arrays, right: _Arrays) -> IntArray:
    """Count the answers of each model: all, yes, correct, and both yes and correct (4, models)."""
    both = ~(answers[1] | right[1])
    yes, correct = (answers[0] == 1) & both, (right[0] == 1) & both
    return np.array([part.sum(axis=1) for part in (both, yes, correct, yes & correct)])


def _why_untested(n: int, n_yes: int, n_correct: int) -> str:
    if n == 0:
        return "no question has both an answer and a correctness"
    if n_yes in {0, n}:
        return "always says yes" if n_yes else "always says no"
    if n_correct in {0, n}:
        return "always correct" if n_correct else "never correct"
    return ""


def fisher_lower(hits: int, n: int, n_yes: int, n_correct: int) -> float:
    """Return P(H <= hits) of a hypergeometric count, the lower tail of Fisher's exact test."""
    h = np.arange(max(0, n_yes + n_correct - n), hits + 1)
    terms = (
        _log_choose(n_correct, h)
        + _log_choose(n - n_correct, n_yes - h)
        - _log_choose(n, np.array(n_yes))
    )
    return float(min(1.0, np.exp(logsumexp(terms))))


def _log_choose(n: int, k: IntArray) -> FloatArray:
    return np.asarray(-np.log1p(n) - betaln(n - k + 1.0, k + 1.0), dtype=np.float64)
