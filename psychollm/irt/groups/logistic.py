r"""Differential item functioning in two groups, by logistic regression.

For each item the answers are regressed on a matching score s and the group g,

.. math:: \mathrm{logit}\,P(\text{yes}) = b_0 + b_1 s + b_2 g + b_3 s g.              \quad (1)

Equation (1) is compared with the model that contains only s (Swaminathan & Rogers, 1990). The
coefficient b2 measures uniform and b3 non-uniform differential functioning. The matching score is
the yes rate on all other items. Flagged items are dropped from the matching score and all items
are tested again, until the set of flagged items no longer changes (purification).

Scores contain measurement error. If groups differ in ability, respondents of different groups with
equal scores therefore also differ in ability. The score x is replaced by the estimated true score,

.. math:: s = \bar x_g + \rho_g (x - \bar x_g),                                         \quad (2)

with the mean and the reliability of the respondent's group (Shealy & Stout, 1993). Tests are Rao's
score tests, which require a fit of the smaller model only. With a dozen respondents per group, the
false positive rate of score tests is close to the nominal level, whereas likelihood-ratio tests
reject too often. The variance in score tests includes the sampling error of means and
reliabilities. The standard error of coefficient alpha is
(1 - alpha) sqrt(2 k / ((k - 1) (n - 1))), with k items and n respondents (van Zyl, Neudecker &
Nel, 2000). p-values are adjusted over items. The effect size is the change in Nagelkerke's R
squared. The effect is negligible below 0.035, and large from 0.07 (Jodoin & Gierl, 2001). ETS
classifies items by the absolute log odds instead: A below 0.43, C from 0.64, and B between them,
which correspond to 1 and 1.5 on the delta scale (Zieky, 1993). ETS also requires significance; the
classes here depend on the size of the log odds only. The two rules may disagree: the change in R
squared also depends on how well the score predicts the answers.
`differential_items` uses item response models, and allows more than two groups or answer
categories.

References
----------
Swaminathan, H., & Rogers, H. J. (1990). Detecting differential item functioning using logistic
regression procedures. Journal of Educational Measurement, 27(4), 361-370.
https://doi.org/10.1111/j.1745-3984.1990.tb00754.x

Jodoin, M. G., & Gierl, M. J. (2001). Evaluating type I error and power rates using an effect size
measure with the logistic regression procedure for DIF detection. Applied Measurement in
Education, 14(4), 329-349.

Shealy, R., & Stout, W. (1993). A model-based standardization approach that separates true bias/DIF
from group ability differences and detects test bias/DTF as well as item bias/DIF. Psychometrika,
58(2), 159-194. https://doi.org/10.1007/BF02294572

van Zyl, J. M., Neudecker, H., & Nel, D. G. (2000). On the distribution of the maximum likelihood
estimator of Cronbach's alpha. Psychometrika, 65(3), 271-280. https://doi.org/10.1007/BF02296146

Zieky, M. (1993). Practical questions in the use of DIF statistics in test development. In P. W.
Holland & H. Wainer (Eds.), Differential item functioning (pp. 337-347). Erlbaum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import check_choice, check_fraction
from psychollm._base.errors import LabelError, ShapeError
from psychollm._base.multiplicity import Adjustment, adjust_p_values
from psychollm._base.result import Result
from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.data.labels import Labels, numbered, unit_labels
from psychollm.data.responses import ResponsesLike, as_responses
from psychollm.estimates.reasons import Reason
from psychollm.irt.answers import Respondents, orient
from psychollm.kernels.response_models import logistic, softplus

STEPS = 50
FEWEST = 5  # fewest respondents with each answer, and fewest in each group
LEAST = 0.05  # lower limit of a score's reliability
SINGULAR = 1e-6  # smallest information for which a test or shift is defined
ROUNDS = 10
NEGLIGIBLE, LARGE = 0.035, 0.07
ETS_DELTA, ETS_B, ETS_C = -2.35, 1.0, 1.5  # units of delta per log odds; bounds of the classes


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class DifferentialFunctioning(Result):
    """Logistic-regression tests of differential item functioning in two groups.

    Attributes
    ----------
    statistic, p_value, adjusted : ndarray of shape (items,)
        Joint score test of uniform and non-uniform DIF (2 degrees of freedom), with unadjusted and
        adjusted p-values; NaN if not tested.
    uniform, nonuniform : ndarray of shape (items,)
        p-values for a shift of the curve and for a change of its slope, each with 1 degree of
        freedom. `nonuniform` is NaN if a group has constant answers.
    log_odds : ndarray of shape (items,)
        Coefficient b2 of the model without b3: the shift in favour of the second group at equal
        score. The shift is NaN if there is no finite estimate, for example if a group has constant
        answers.
    effect : ndarray of shape (items,)
        Change in Nagelkerke's R squared.
    flagged : ndarray of shape (items,)
        1 if the adjusted p-value is at most `alpha`, 0 if not, NaN if not tested.
    size : tuple of str
        Size of `effect`, according to Jodoin and Gierl (2001): "negligible", "moderate" or
        "large"; "" if not tested.
    groups : tuple
        Labels of the reference group and of the other group.
    rounds : int
        Number of purification rounds.
    alpha : float
        Significance level: the error rate that the adjustment controls.
    reasons : tuple of Reason
        Reason for each item that was not tested: fewer than five respondents in a group or with
        one of the answers, a constant score in a group, or separation.
    labels : tuple
        Names of the items.
    """

    statistic: FloatArray  # (J,)
    p_value: FloatArray  # (J,)
    adjusted: FloatArray  # (J,)
    uniform: FloatArray  # (J,)
    nonuniform: FloatArray  # (J,)
    log_odds: FloatArray  # (J,)
    effect: FloatArray  # (J,)
    flagged: FloatArray  # (J,)
    size: tuple[str, ...]  # J
    groups: tuple[Any, Any]
    rounds: int
    alpha: float
    reasons: tuple[Reason, ...]  # J
    labels: Labels  # J

    _AXES = Axes(
        {"item": "labels"},
        "statistic",
        "p_value",
        "adjusted",
        "uniform",
        "nonuniform",
        "log_odds",
        "effect",
        "flagged",
        "size",
        "ets",
        "reason=reasons",
    )

    @property
    def ets(self) -> tuple[str, ...]:
        """ETS class of the absolute log odds: "A" (small), "B" or "C" (large); "" if undefined."""
        deltas = np.abs(ETS_DELTA * self.log_odds)
        return tuple(
            "" if np.isnan(delta) else "ABC"[int(delta >= ETS_B) + int(delta >= ETS_C)]
            for delta in deltas.tolist()
        )

    def summary(self) -> str:
        """Describe how many items function differently, and the rules for the size of effects."""
        flagged = np.flatnonzero(self.flagged == 1.0)
        tested = int(np.isfinite(self.p_value).sum())
        named = [
            f"{self.labels[j]}: {self.size[j]}{self.ets[j] and f', ETS class {self.ets[j]}'}"
            for j in flagged[:3]
        ]
        shown = f" ({'; '.join(named)}{'; ...' if flagged.size > 3 else ''})" if named else ""
        return (
            f"{flagged.size} of {tested} tested items function differently for "
            f"{self.groups[1]!r} than for {self.groups[0]!r} at equal score{shown}.\n"
            "Sizes refer to the change in R squared (Jodoin and Gierl, 2001), ETS classes to the "
            "log odds."
        )


def differential_functioning(
    responses: ResponsesLike,
    groups: Sequence[Any],
    *,
    respondents: Respondents = "models",
    purify: bool = True,
    adjustment: Adjustment = "holm",
    alpha: float = 0.05,
) -> DifferentialFunctioning:
    """Test items for differential functioning by logistic regression on the score.

    Parameters
    ----------
    responses : Responses or table of shape (models, questions)
        Binary answers.
    groups : sequence of two different labels, one per respondent
        Group of each respondent, for example its model family; the first group that occurs is the
        reference.
    respondents : {"models", "questions"}
        Side of the table to which the groups refer.
    purify : bool
        Whether to remove flagged items from the matching score.
    adjustment : {"holm", "bonferroni", "bh", "by"}
        Adjustment of the p-values for the number of items.
    alpha : float
        Significance level of the adjusted p-values.

    Returns
    -------
    DifferentialFunctioning
        Tests and effect sizes of each item.

    Raises
    ------
    LabelError
        If there are not exactly two groups, or a respondent has no label.
    ShapeError
        If there are fewer than three items.

    See Also
    --------
    differential_items : likelihood-ratio or Wald tests of item response models.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> group = np.repeat([0, 1], 500)
    >>> z = rng.normal(size=(1000, 1)) + np.linspace(-1, 1, 8) + np.eye(8)[2] * group[:, None]
    >>> answers = rng.random(z.shape) < 1 / (1 + np.exp(-1.3 * z))
    >>> np.flatnonzero(differential_functioning(answers, group).flagged == 1)
    array([2])
    """
    check_fraction("alpha", alpha)
    check_choice("adjustment", adjustment, Adjustment)
    table = as_responses(responses, binary=True)
    answers = orient(table, respondents)
    names, second = _two_groups(groups, answers.respondents)
    if len(answers.items) < 3:
        msg = (
            f"responses: {len(answers.items)} items are too few for a matching score: pass at "
            "least 3"
        )
        raise ShapeError(msg)
    untestable = _reasons(answers.codes, second, answers.reasons())
    anchor = np.array([not reason for reason in answers.reasons()])
    seen: set[bytes] = set()
    rounds, values, reasons = 0, np.empty((0, 0)), untestable
    while rounds < ROUNDS and anchor.tobytes() not in seen:
        seen.add(anchor.tobytes())
        rounds += 1
        values, reasons = _test_items(answers.codes, second, anchor, untestable)
        clean = ~(adjust_p_values(values[1], method=adjustment) <= alpha)
        usable = np.array([not reason for reason in answers.reasons()])
        if not purify or (clean & usable).sum() < 3:
            break
        anchor = clean & usable
    adjusted = adjust_p_values(values[1], method=adjustment)
    return DifferentialFunctioning(
        statistic=values[0],
        p_value=values[1],
        adjusted=adjusted,
        uniform=values[2],
        nonuniform=values[3],
        log_odds=values[4],
        effect=values[5],
        flagged=np.where(np.isfinite(adjusted), adjusted <= alpha, np.nan),
        size=tuple(map(_size, values[5])),
        groups=names,
        rounds=rounds,
        alpha=alpha,
        reasons=reasons,
        labels=answers.items,
    )


def _size(effect: float) -> str:
    """Return the size of an effect in words."""
    if np.isnan(effect):
        return ""
    if effect < NEGLIGIBLE:
        return "negligible"
    return "large" if effect >= LARGE else "moderate"


def _two_groups(groups: Any, respondents: Labels) -> tuple[tuple[Any, Any], BoolArray]:
    """Return the two labels and a mask of the second group."""
    of = unit_labels(groups, respondents, argument="groups", kind="respondent")
    member, names = numbered(of)
    if len(names) != 2:
        shown = ", ".join(map(repr, names[:5]))
        msg = f"groups must hold two different labels, got {len(names)}: {shown}"
        raise LabelError(msg)
    return (names[0], names[1]), member == 1


def _reasons(
    codes: IntArray, second: BoolArray, reasons: tuple[Reason, ...]
) -> tuple[Reason, ...]:
    """Return the reason for each untested item, such as few respondents in a group."""
    counts = [(codes == answer).sum(axis=0) for answer in (0, 1)]
    counts += [(codes[side] >= 0).sum(axis=0) for side in (second, ~second)]
    few = np.min(counts, axis=0) < FEWEST
    return tuple(
        reason or (Reason.TOO_FEW if few[j] else Reason.NONE) for j, reason in enumerate(reasons)
    )


def _test_items(
    codes: IntArray, second: BoolArray, anchor: BoolArray, reasons: tuple[Reason, ...]
) -> tuple[FloatArray, tuple[Reason, ...]]:
    """Return statistic, p-values, shift and effect of each item (6, J), and a mask of failures."""
    from scipy.stats import chi2

    answered, yes = codes >= 0, (codes == 1).astype(np.float64)
    total = (yes * anchor).sum(axis=1)
    n_items = (answered & anchor).sum(axis=1).astype(np.float64)
    noise = np.zeros(second.size)
    for side in (second, ~second):
        noise[side] = _noise(yes[np.ix_(side, anchor)], answered[np.ix_(side, anchor)])
    values, told = np.full((6, codes.shape[1]), np.nan), list(reasons)
    for j, reason in enumerate(reasons):
        size = n_items - answered[:, j] * anchor[j]
        use = answered[:, j] & (size > 0)
        sides = (use & second, use & ~second)
        score = (total - yes[:, j] * anchor[j]) / np.maximum(size, 1.0)
        if reason or min(np.ptp(score[side]) if side.any() else 0.0 for side in sides) == 0.0:
            told[j] = reason or Reason.NO_REST_VARIANCE
            continue
        # change of scores per standard error of the terms of (2)
        drift = np.zeros((score.size, 4))
        for k, side in enumerate(sides):
            found = _true_scores(score[side], noise[side] / size[side], size[side].mean())
            score[side], drift[side, 2 * k : 2 * k + 2] = found
        drift = drift[use] / score[use].std()
        score = (score[use] - score[use].mean()) / score[use].std()
        group = second[use].astype(np.float64)
        columns = np.column_stack([np.ones(score.size), score, group, score * group])
        fits = [_logistic_fit(columns[:, :k], yes[use, j]) for k in (1, 2, 3, 4)]
        tests = [
            _score_test(columns[:, :last], fits[k - 1][1], yes[use, j], drift)
            for k, last in ((2, 4), (2, 3), (3, 4))
        ]
        values[0, j] = tests[0]
        values[1:4, j] = chi2.sf(tests, (2, 1, 1))
        if np.isnan(tests[0]):
            told[j] = Reason.PERFECT
            continue
        if _information(columns[:, :3], columns[:, :3] @ fits[2][1], 2)[1].min() > SINGULAR:
            values[4, j] = fits[2][1][2]
        none, base, _, full = (value for value, _ in fits)
        top = 1.0 - np.exp(2.0 * none / score.size)
        cox = [1.0 - np.exp(2.0 * (none - value) / score.size) for value in (base, full)]
        values[5, j] = (cox[1] - cox[0]) / top
    return values, tuple(told)


def _noise(yes: FloatArray, answered: BoolArray) -> float:
    """Return the error variance of one answer, from residuals of an additive model."""
    n_items, n_rows = answered.sum(axis=1, keepdims=True), answered.sum(axis=0)
    rows = yes.sum(axis=1, keepdims=True) / np.maximum(n_items, 1)
    rest = (
        yes - rows - yes.sum(axis=0) / np.maximum(n_rows, 1) + yes.sum() / max(answered.sum(), 1)
    )
    freedom = answered.sum() - (n_items > 0).sum() - (n_rows > 0).sum() + 1
    return float((rest**2 * answered).sum() / max(freedom, 1))


def _true_scores(
    score: FloatArray, error: FloatArray, n_items: float
) -> tuple[FloatArray, FloatArray]:
    """Return true scores, equation (2), and changes per standard error of mean and variance."""
    variance, gap, n = score.var(ddof=1), score - score.mean(), score.size
    true = max(variance - error.mean(), 0.0)
    reliability = np.maximum(true / np.maximum(true + error, 1e-12), LEAST)
    spread = np.sqrt(2.0 * max(n_items, 2.0) / (max(n_items, 2.0) - 1.0) / (n - 1))
    drift = (1.0 - reliability) * np.stack([np.full(n, np.sqrt(variance / n)), gap * spread])
    return score.mean() + reliability * gap, drift.T


def _information(columns: FloatArray, z: FloatArray, k: int) -> tuple[FloatArray, FloatArray]:
    """Return the later columns, residualised on the first k, and their information at z."""
    p, q = logistic(z)
    weight = (p * q)[:, None]
    base, extra = columns[:, :k], columns[:, k:]
    known = np.linalg.lstsq(np.sqrt(weight) * base, np.sqrt(weight) * extra, rcond=None)[0]
    rest = extra - base @ known
    return rest, (weight * rest).T @ rest


def _score_test(columns: FloatArray, fit: FloatArray, yes: FloatArray, drift: FloatArray) -> float:
    """Return Rao's statistic of added columns, with estimated scores."""
    z = columns[:, : fit.size] @ fit
    rest, information = _information(columns, z, fit.size)
    if np.linalg.eigvalsh(information)[0] < SINGULAR:
        return float("nan")
    p, q = logistic(z)
    moved = fit[1] * (rest.T * (p * q)) @ drift
    gradient = rest.T @ (yes - p)
    return float(gradient @ np.linalg.solve(information + moved @ moved.T, gradient))


def _logistic_fit(columns: FloatArray, yes: FloatArray) -> tuple[float, FloatArray]:
    """Return the maximised log-likelihood and coefficients, by damped Newton steps."""
    point = np.zeros(columns.shape[1])
    value = -yes.size * np.log(2.0)
    for _ in range(STEPS):
        p, q = logistic(columns @ point)
        gradient = columns.T @ (yes - p)
        information = (columns.T * (p * q)) @ columns + 1e-10 * np.eye(point.size)
        step = np.linalg.solve(information, gradient)
        reached, after = value, point
        for halving in range(20):
            after = point + 0.5**halving * step
            z = columns @ after
            reached = float(yes @ z - softplus(z).sum())
            if reached >= value - 1e-12 * abs(value):
                break
        gain, value, point = reached - value, reached, after
        if abs(gain) < 1e-10:
            break
    return value, point
