r"""`differential_items`: tests of differential item functioning by item response models.

Anchors are items that are assumed to be equal in all groups. The anchors define a common scale for
the abilities of all groups. An item is tested by two fits that differ in whether its parameters
are equal in all groups (Thissen, Steinberg & Wainer, 1993). Twice the difference of
log-likelihoods is chi-square, with one degree of freedom per freed parameter. Wald's statistic
(Lord, 1980) requires only the fit in which the item's parameters differ between groups. With C the
contrasts between groups of the item's parameters d, and V the covariance matrix of all parameters
including abilities,

.. math:: (C d)^\top (C V C^\top)^{-1} C d .                                             \quad (1)

Effect sizes are differences between the expected scores of an item in group g and in the reference
group, as proportions of the highest score. The mean and the root mean square over the abilities of
group g are reported.

If all other items are anchors, an item with differential functioning biases the tests of all other
items. Purification therefore frees flagged items and repeats the tests until the flags no longer
change (Kopf, Zeileis & Strobl, 2015). With given anchors, all other items are free while one of
them is tested.

References
----------
Thissen, D., Steinberg, L., & Wainer, H. (1993). Detection of differential item functioning using
the parameters of item response models. In P. W. Holland & H. Wainer (Eds.), Differential item
functioning (pp. 67-113). Erlbaum.

Lord, F. M. (1980). Applications of item response theory to practical testing problems. Erlbaum.

Kopf, J., Zeileis, A., & Strobl, C. (2015). Anchor selection strategies for DIF analysis: Review,
assessment, and new approaches. Educational and Psychological Measurement, 75(1), 22-56.
https://doi.org/10.1177/0013164414529792
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from psychollm._base.axes import Axes, Interleaved
from psychollm._base.checks import check_choice, check_fraction
from psychollm._base.errors import OptionError, ShapeError
from psychollm._base.multiplicity import Adjustment, adjust_p_values
from psychollm._base.numbers import signed
from psychollm._base.result import Result
from psychollm._base.types import BoolArray, FloatArray
from psychollm.data.labels import Labels, listed
from psychollm.data.responses import ResponsesLike
from psychollm.estimates.reasons import Reason
from psychollm.irt.answers import Respondents, spread
from psychollm.irt.families import Link
from psychollm.irt.groups.fit import inverse_information
from psychollm.irt.groups.population import Groups, Top, information, maximise
from psychollm.irt.groups.reading import GroupAnswers, check_linked, read_groups
from psychollm.irt.models import ItemModels
from psychollm.irt.priors import Priors

ItemTest = Literal["lr", "wald"]


class Fitted(NamedTuple):
    """Likelihood of several groups, with its maximum."""

    problem: Groups
    top: Top

    @property
    def size(self) -> int:
        """Number of free parameters."""
        return self.problem.n_parameters


class ItemTests(NamedTuple):
    """Statistic, degrees of freedom, p-value (3, J) and differences of scores (2, G, J)."""

    tests: FloatArray
    differences: FloatArray


def fitted(answers: GroupAnswers, free: BoolArray, near: Fitted | None = None) -> Fitted:
    """Fit with group-specific items `free` (J,), optionally starting from a previous fit."""
    problem = answers.model(free)
    if near is None:
        return Fitted(problem, maximise(problem, answers.start(problem.places)))
    x = near.problem.places.with_free(near.top.at.x, problem.places)
    return Fitted(problem, maximise(problem, x))


def item_tests(
    answers: GroupAnswers, base: Fitted, free: BoolArray, able: BoolArray, method: ItemTest
) -> ItemTests:
    """Test each item of the mask `able` by freeing it or, if it is free, by constraining it."""
    from scipy.stats import chi2

    tests = np.full((3, free.size), np.nan)
    differences = np.full((2, len(answers.names), free.size), np.nan)
    if not base.top.convergence.converged:
        return ItemTests(tests, differences)
    for j in np.flatnonzero(able).tolist():
        larger = base
        if not free[j] or method == "lr":
            other = free.copy()
            other[j] = not free[j]
            neighbour = fitted(answers, other, base)
            larger, smaller = (base, neighbour) if free[j] else (neighbour, base)
        differences[:, :, j] = _differences(larger, j, answers.shares[j])
        tests[:2, j] = _wald(larger, j) if method == "wald" else _ratio(larger, smaller)
    tests[2] = chi2.sf(tests[0], tests[1])
    return ItemTests(tests, differences)


def _ratio(larger: Fitted, smaller: Fitted) -> tuple[float, float]:
    """Return the likelihood-ratio statistic and degrees of freedom; NaN if a fit failed."""
    df = float(larger.size - smaller.size)
    if not (larger.top.convergence.converged and smaller.top.convergence.converged):
        return float("nan"), df
    return max(2.0 * (larger.top.at.objective - smaller.top.at.objective), 0.0), df


def _wald(larger: Fitted, item: int) -> tuple[float, float]:
    """Return Wald's statistic for equality of one item between groups."""
    places = larger.problem.places.items[:, item]
    contrasts = []
    for k in np.flatnonzero(~larger.problem.absent[item]):
        own = list(dict.fromkeys(places[:, k].tolist()))
        for place in own[1:]:
            row = np.zeros(larger.top.at.x.size)
            row[place], row[own[0]] = 1.0, -1.0
            contrasts.append(row)
    matrix = np.stack(contrasts)
    problem, top = larger
    known = information(problem, top.at, top.grids)
    spreads = matrix @ inverse_information(known) @ matrix.T
    if not larger.top.convergence.converged or not np.isfinite(spreads).all():
        return float("nan"), float(len(matrix))
    gap = matrix @ larger.top.at.x
    return float(gap @ np.linalg.solve(spreads, gap)), float(len(matrix))


def _differences(larger: Fitted, item: int, shares: FloatArray) -> FloatArray:
    """Return signed and root mean squared differences of expected scores (2, G)."""
    # `shares` (C,) are scores of the item's answers, from 0 to 1.
    problem, top = larger
    items, means, sds = problem.unpack(top.at.x)
    out = np.zeros((2, len(items)))
    for g, (own, grid) in enumerate(zip(problem.problems, top.grids, strict=True)):
        nodes = means[g] + sds[g] * grid.nodes
        twice = own.family.select(np.array([item, item]))
        score = shares @ np.exp(twice.log_probabilities(items[[g, 0], item], nodes))
        gap, weight = score[0] - score[1], np.exp(grid.log_weights)
        out[:, g] = weight @ gap, np.sqrt(weight @ gap**2)
    return out


AnchorRule = Literal["all_others", "purified"]
Anchors: TypeAlias = AnchorRule | Sequence[Hashable]

FEWEST = 5  # fewest respondents with each answer in each group
ROUNDS = 10


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class DifferentialItems(Result):
    """Tests of differential item functioning, with effect sizes.

    Attributes
    ----------
    statistic, df, p_value, adjusted : ndarray of shape (items,)
        Chi-square test that an item is equal in all groups, with unadjusted and adjusted p-values;
        NaN if not tested.
    flagged : ndarray of shape (items,)
        1 if the adjusted p-value is at most `alpha`, 0 if not, NaN if not tested.
    anchors : bool ndarray of shape (items,)
        Anchor items after purification.
    shift, distance : ndarray of shape (G, items)
        Mean and root mean squared difference in expected score from the reference group, over the
        abilities of each group, as proportions of the highest score.
    ability_mean, ability_sd : ndarray of shape (G,)
        Means and SDs of ability by group, from a fit in which all items that are not flagged have
        equal parameters in all groups. The first group is the reference.
    groups : tuple
        Names of the groups.
    method, adjustment : str
        Kind of test, and adjustment of its p-values.
    rounds : int
        Number of purification rounds.
    alpha : float
        Significance level: the error rate that `adjustment` controls.
    reasons : tuple of Reason
        Reason for each item that was not tested.
    labels : tuple
        Names of the items.
    """

    statistic: FloatArray  # (J,)
    df: FloatArray  # (J,)
    p_value: FloatArray  # (J,)
    adjusted: FloatArray  # (J,)
    flagged: FloatArray  # (J,)
    anchors: BoolArray  # (J,)
    shift: FloatArray  # (G, J)
    distance: FloatArray  # (G, J)
    ability_mean: FloatArray  # (G,)
    ability_sd: FloatArray  # (G,)
    groups: tuple[Hashable, ...]  # G
    method: ItemTest
    adjustment: Adjustment
    rounds: int
    alpha: float
    reasons: tuple[Reason, ...]  # J
    labels: Labels  # J

    def _axes(self) -> Axes:
        return Axes(
            {"item": "labels"},
            "statistic",
            "df",
            "p_value",
            "adjusted",
            "flagged",
            "anchors",
            Interleaved(
                ("shift_{group}", lambda test: test.shift[1:].T),
                ("distance_{group}", lambda test: test.distance[1:].T),
            ),
            "reason=reasons",
            labels={"group": self.groups[1:]},
        )

    def summary(self) -> str:
        """Describe which items differ, in sentences."""
        named = np.flatnonzero(self.flagged == 1.0)
        tested = int(np.isfinite(self.p_value).sum())
        test = "likelihood ratio" if self.method == "lr" else "Wald"
        lines = [
            f"{named.size} of {tested} tested items function differently in groups "
            f"{listed(self.groups)} at equal ability ({test} tests, {self.adjustment}, "
            f"level {self.alpha:g})."
        ]
        for j in named[np.argsort(self.p_value[named])][:10]:
            far = int(np.nanargmax(np.abs(self.distance[:, j])))
            lines.append(
                f"{self.labels[j]!r}: chi-square({self.df[j]:g}) = {self.statistic[j]:.1f}; "
                f"expected scores differ by {signed(self.shift[far, j], 3)} in "
                f"{self.groups[far]!r}."
            )
        return "\n".join(lines)


def differential_items(
    responses: ResponsesLike,
    groups: Sequence[Any],
    *,
    method: ItemTest = "lr",
    anchors: Anchors = "purified",
    model: ItemModels = "2pl",
    link: Link = "logit",
    respondents: Respondents = "models",
    priors: Priors | None = None,
    adjustment: Adjustment = "holm",
    alpha: float = 0.05,
) -> DifferentialItems:
    """Test items for differential functioning between groups of respondents.

    Parameters
    ----------
    responses : Responses or table of shape (models, questions)
        Binary answers, or codes 0, 1, 2, ... for models with more than two answer categories;
        missing answers are assumed missing at random. An item may be unanswered in some groups.
    groups : sequence of labels, one per respondent
        Group of each respondent. At least two groups are needed, and the first group that occurs
        is the reference.
    method : {"lr", "wald"}
        Likelihood-ratio test of two fits, or Wald test of one fit. Likelihood-ratio and Wald tests
        agree in large samples. In small samples, the false positive rate of the likelihood-ratio
        test is closer to the nominal level.
    anchors : {"purified", "all_others"} or sequence of labels
        Items that link the groups: all other items, all other items that were not flagged
        ("purified"), or the given items, which are not tested. Items that cannot be tested are
        also constrained to be equal in all groups.
    model : {"rasch", "1pl", "1plg", "2pl", "3pl", "4pl", "graded", "gpcm", "nominal"}
        Item model. Items of the Rasch and 1PL models can differ in difficulty only.
    link : {"logit", "probit"}
        Logistic or normal-ogive curves; probit slopes are about 1.7 times smaller. Partial credit
        and nominal models are log-linear and have no probit form.
    respondents : {"models", "questions"}
        Side of the table that has abilities; the other side contains the items.
    priors : Priors or None
        Priors added to the likelihood; priors make the tests conservative.
    adjustment : {"holm", "bonferroni", "bh", "by"}
        Adjustment of the p-values for the number of items.
    alpha : float
        Significance level of the adjusted p-values.

    Returns
    -------
    DifferentialItems
        Tests, effect sizes, and abilities of the groups.

    Raises
    ------
    LabelError, ShapeError, CodeError, OptionError
        If groups, anchors or options do not match the table, or fewer than two items can be
        tested.

    See Also
    --------
    differential_functioning : tests by logistic regression on the score.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> group = np.repeat([0, 1], 500)
    >>> z = rng.normal(size=(1000, 1)) + np.linspace(-1, 1, 8) + np.eye(8)[2] * group[:, None]
    >>> answers = rng.random(z.shape) < 1 / (1 + np.exp(-1.3 * z))
    >>> np.flatnonzero(differential_items(answers, group).flagged == 1)
    array([2])
    """
    check_choice("method", method, ItemTest)
    check_choice("adjustment", adjustment, Adjustment)
    check_fraction("alpha", alpha)
    answers = read_groups(
        responses, groups, model=model, link=link, respondents=respondents, priors=priors
    )
    reasons = _reasons(answers)
    able = np.array([not reason for reason in reasons])
    if isinstance(anchors, str) and anchors not in answers.items:
        check_choice("anchors", anchors, AnchorRule)
        given = None
    else:
        given = answers.chosen(anchors, "anchors")
        able &= ~given
    free = np.zeros(able.size, dtype=np.bool_) if given is None else able.copy()
    _check_enough(answers, able, free)
    purify, seen = given is None and anchors == "purified", list[bytes]()
    base = fitted(answers, free)
    while True:
        seen.append(free.tobytes())
        found = item_tests(answers, base, free, able, method)
        adjusted = adjust_p_values(found.tests[2], method=adjustment)
        flagged = np.asarray(adjusted <= alpha, dtype=np.bool_)
        again = purify and len(seen) < ROUNDS and _linked(answers, flagged)
        if not again or flagged.tobytes() in seen:
            break
        free = flagged
        base = fitted(answers, free, base)
    ends = flagged if _linked(answers, flagged) else free
    if not np.array_equal(ends, free):
        base = fitted(answers, ends, base)
    base.top.convergence.warn(f"the {answers.pooled.model} fit of {len(answers.names)} groups")
    return DifferentialItems(
        **_spread(answers, found, adjusted=adjusted, flagged=flagged, anchors=~free),
        **_abilities(base, unit_slope=answers.pooled.family.unit_slope),
        groups=answers.names,
        method=method,
        adjustment=adjustment,
        rounds=len(seen),
        alpha=alpha,
        reasons=_told(answers, reasons, able & ~np.isfinite(found.tests[0])),
        labels=answers.pooled.labels,
    )


def _reasons(answers: GroupAnswers) -> tuple[Reason, ...]:
    """Return the reasons why items with estimates cannot be tested."""
    short = answers.short(FEWEST)
    few, alone = short.sum(axis=0) > 0, answers.answered.sum(axis=0) < 2
    return tuple(
        Reason.UNANSWERED if single else Reason.TOO_FEW if rare else Reason.NONE
        for single, rare in zip(alone.tolist(), few.tolist(), strict=True)
    )


def _check_enough(answers: GroupAnswers, able: BoolArray, free: BoolArray) -> None:
    """Raise an error if no anchors or no items to test remain."""
    if not able.any() or able.size < 3:
        msg = (
            f"responses: {int(able.sum())} of {able.size} items can be tested: each needs "
            f"{FEWEST} of each answer in every group, and two other items as anchors"
        )
        raise ShapeError(msg)
    if free.all():
        msg = "anchors is empty: name items that are equal in all groups"
        raise OptionError(msg)
    check_linked(answers, free, "share no anchor")


def _linked(answers: GroupAnswers, free: BoolArray) -> bool:
    """Return whether enough items remain to link all groups."""
    try:
        check_linked(answers, free, "")
    except ShapeError:
        return False
    return bool((~free).sum() >= 2)


def _abilities(base: Fitted, *, unit_slope: bool) -> dict[str, Any]:
    """Return means and SDs of abilities, on the scale with slope 1 for the Rasch model."""
    _, means, sds = base.problem.unpack(base.top.at.x)
    slope = float(base.top.at.x[0]) if unit_slope else 1.0
    return {"ability_mean": slope * means, "ability_sd": slope * sds}


def _spread(
    answers: GroupAnswers,
    found: ItemTests,
    *,
    adjusted: FloatArray,
    flagged: BoolArray,
    anchors: BoolArray,
) -> dict[str, Any]:
    """Expand the results of tested items to all items."""
    kept = answers.kept
    names = ("statistic", "df", "p_value")
    out: dict[str, Any] = {
        name: spread(values, kept) for name, values in zip(names, found.tests, strict=True)
    }
    out["adjusted"] = spread(adjusted, kept)
    out["flagged"] = spread(np.where(np.isfinite(adjusted), flagged, np.nan), kept)
    out["anchors"] = np.zeros(kept.size, dtype=np.bool_)
    out["anchors"][kept] = anchors
    for name, values in zip(("shift", "distance"), found.differences, strict=True):
        out[name] = spread(values.T, kept).T
    return out


def _told(
    answers: GroupAnswers, reasons: tuple[Reason, ...], failed: BoolArray
) -> tuple[Reason, ...]:
    """Return the reason for each item that was not tested."""
    own = iter(
        Reason.NOT_CONVERGED if lost else reason
        for reason, lost in zip(reasons, failed.tolist(), strict=True)
    )
    pooled = zip(answers.kept.tolist(), answers.pooled.reasons, strict=True)
    return tuple(next(own) if kept else reason for kept, reason in pooled)
