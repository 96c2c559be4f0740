r"""Andersen's test of equal item difficulties in groups of respondents.

If the Rasch model is true, difficulties are equal in all groups of respondents, even if groups are
formed by scores. With conditional log-likelihoods of the groups and of all respondents,

.. math:: LR = 2\Big(\sum_g \log L_c^{(g)} - \log L_c\Big)                              \quad (1)

is chi-square with (G - 1)(J - 1) degrees of freedom (Andersen, 1973). For a single item, Wald's
statistic

.. math:: W_j = \sum_g \frac{(\hat b_{jg} - \bar b_j)^2}{s_{jg}^2}, \qquad
          \bar b_j = \sum_g \hat b_{jg} s_{jg}^{-2} \Big/ \sum_g s_{jg}^{-2},           \quad (2)

with difficulties of mean 0 in each group, has G - 1 degrees of freedom; with two groups it is the
square of :math:`(\hat b_{j1} - \hat b_{j2}) / (s_{j1}^2 + s_{j2}^2)^{1/2}` (Fischer &
Scheiblechner, 1970).

A split by score tests whether slopes are equal: an item with a steeper slope than the others is
relatively harder in the lower group and easier in the upper group.

References
----------
Andersen, E. B. (1973). A goodness of fit test for the Rasch model. Psychometrika, 38(1), 123-140.
https://doi.org/10.1007/BF02291180
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from psychollm._base.axes import Axes, Interleaved
from psychollm._base.errors import OptionError, ShapeError
from psychollm._base.multiplicity import adjust_p_values
from psychollm._base.numbers import p_equals
from psychollm._base.result import Result
from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.data.labels import Labels, unit_labels
from psychollm.data.responses import ResponsesLike, as_responses
from psychollm.estimates.reasons import Reason
from psychollm.irt.answers import Respondents, orient, spread
from psychollm.irt.conditional.likelihood import climb, connected, sufficient
from psychollm.irt.conditional.rasch import check_items

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike


Split: TypeAlias = Literal["median", "mean"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class AndersenTest(Result):
    """Andersen's test of Rasch difficulties in groups of respondents.

    Attributes
    ----------
    statistic, df, p_value : float, int, float
        Andersen's likelihood-ratio test.
    groups : tuple
        Names of the groups; "low" and "high" for a split by score.
    group_sizes : int ndarray of shape (groups,)
        Number of respondents in each group.
    difficulty, se : ndarray of shape (groups, items)
        Difficulties with mean 0 in each group, and standard errors. NaN for items without an
        estimate in at least one group.
    wald, wald_p_value, adjusted : ndarray of shape (items,)
        Wald statistic of each item with G - 1 degrees of freedom, its p-value, and the
        Holm-adjusted p-value.
    reasons : tuple of Reason
        Reason for the omission of each omitted item.
    labels : tuple
        Names of the items.
    """

    statistic: float
    df: int
    p_value: float
    groups: tuple[Any, ...]  # G
    group_sizes: IntArray  # (G,)
    difficulty: FloatArray  # (G, J)
    se: FloatArray  # (G, J)
    wald: FloatArray  # (J,)
    wald_p_value: FloatArray  # (J,)
    adjusted: FloatArray  # (J,)
    reasons: tuple[Reason, ...]  # J
    labels: Labels  # J

    _AXES = Axes(
        {"item": "labels"},
        Interleaved(
            ("difficulty_{group}", lambda test: test.difficulty.T),
            ("se_{group}", lambda test: test.se.T),
        ),
        "wald",
        "p_value=wald_p_value",
        "adjusted",
        "reason=reasons",
        labels={"group": "groups"},
    )

    def summary(self) -> str:
        """Describe the test and the items that differ, in sentences."""
        moved = np.flatnonzero(np.nan_to_num(self.adjusted, nan=1.0) <= 0.05)
        named = ", ".join(str(self.labels[j]) for j in moved[:3]) + (
            ", ..." if moved.size > 3 else ""
        )
        items = (
            f"{moved.size} items differ (Holm, 5 %): {named}" if moved.size else "no item differs"
        )
        sizes = ", ".join(
            f"{group}: {size}" for group, size in zip(self.groups, self.group_sizes, strict=True)
        )
        return (
            f"Andersen's LR({self.df}) = {self.statistic:.2f}, {p_equals(self.p_value)} "
            f"({sizes}); {items}."
        )


def andersen_test(
    responses: ResponsesLike,
    *,
    split: Split | Sequence[Any] | ArrayLike = "median",
    respondents: Respondents = "models",
) -> AndersenTest:
    """Test whether Rasch difficulties are equal in groups of respondents.

    Parameters
    ----------
    responses : Responses or table of shape (models, questions)
        Binary answers; missing answers are ignored.
    split : {"median", "mean"} or sequence
        Split of respondents at the median or mean yes rate, or the group of each respondent;
        respondents with None or NaN are in no group. Respondents at the split value belong to the
        group "low" or, if no respondent is above the split value, to the group "high". Respondents
        with constant answers carry no information and are not counted.
    respondents : {"models", "questions"}
        Side of the table that contains the respondents.

    Returns
    -------
    AndersenTest
        Likelihood-ratio test, and a Wald test of each item.

    Raises
    ------
    OptionError
        If `split` is an unknown option.
    ShapeError
        If `split` does not have one group per respondent, if there are fewer than two groups, or
        if fewer than two items have estimates in every group.

    Examples
    --------
    >>> answers = np.random.default_rng(3).random((600, 5)) < [0.2, 0.4, 0.5, 0.6, 0.8]
    >>> test = andersen_test(answers)
    >>> test.df, test.p_value > 0.05
    (4, True)
    """
    from scipy.stats import chi2

    table = as_responses(responses, binary=True)
    answers = orient(table, respondents)
    check_items(answers.codes)
    groups, member = _groups(answers.codes, split, answers.respondents)
    parts = [answers.codes[member == place] for place in range(len(groups))]
    keep = _everywhere(parts)
    tops = [climb(sufficient(part[:, keep])) for part in parts]
    for group, top in zip(groups, tops, strict=True):
        top.convergence.warn(f"the conditional Rasch fit of group {group!r}")
    together = climb(sufficient(np.concatenate(parts)[:, keep]))
    statistic = 2.0 * (sum(top.log_likelihood for top in tops) - together.log_likelihood)
    df = (len(groups) - 1) * (int(keep.sum()) - 1)
    difficulty = np.stack([-top.easiness for top in tops])
    se = np.sqrt(np.stack([np.diagonal(top.covariance) for top in tops]))
    wald = _wald(difficulty, se)
    p_value = np.asarray(chi2.sf(wald, len(groups) - 1))
    own = answers.reasons()
    return AndersenTest(
        statistic=max(statistic, 0.0),
        df=df,
        p_value=float(chi2.sf(statistic, df)),
        groups=groups,
        group_sizes=np.array([part.shape[0] for part in parts]),
        difficulty=spread(difficulty.T, keep).T,
        se=spread(se.T, keep).T,
        wald=spread(wald, keep),
        wald_p_value=spread(p_value, keep),
        adjusted=spread(adjust_p_values(p_value), keep),
        reasons=tuple(
            why or (Reason.NONE if kept else Reason.UNBOUNDED)
            for why, kept in zip(own, keep, strict=True)
        ),
        labels=answers.items,
    )


def _groups(
    codes: IntArray, split: object, respondents: Labels
) -> tuple[tuple[Any, ...], IntArray]:
    """Return the names of the groups and the group of each respondent; -1 without a group."""
    if isinstance(split, str):
        return _by_score(codes, split)
    labels = unit_labels(split, respondents, argument="split", kind="respondent", optional=True)
    names = sorted(
        {label for label in labels if label is not None}, key=lambda x: (str(type(x)), x)
    )
    if len(names) < 2:
        msg = f"split: all respondents are in one group, {names}: a comparison needs two"
        raise ShapeError(msg)
    place = {name: i for i, name in enumerate(names)}
    return tuple(names), np.array([place.get(label, -1) for label in labels])


def _by_score(codes: IntArray, split: str) -> tuple[tuple[Any, ...], IntArray]:
    """Split informative respondents at the median or mean of their yes rates."""
    if split not in ("median", "mean"):
        msg = f"split={split!r} is not an option: use 'median', 'mean' or a group per respondent"
        raise OptionError(msg)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = (codes == 1).sum(axis=1) / (codes >= 0).sum(axis=1)
    known = (share > 0.0) & (share < 1.0)
    if not known.any() or np.ptp(share[known]) == 0.0:
        msg = f"split={split!r} puts all respondents into one group: pass a group for each"
        raise ShapeError(msg)
    centre = np.median(share[known]) if split == "median" else share[known].mean()
    above = share > centre if (share[known] > centre).any() else share >= centre
    return ("low", "high"), np.where(known, above.astype(np.int64), -1)


def _everywhere(parts: list[IntArray]) -> BoolArray:
    """Return the items with finite difficulties in every group (J,)."""
    keep = np.ones(parts[0].shape[1], dtype=np.bool_)
    while True:
        places = np.flatnonzero(keep)
        inside = np.logical_and.reduce([connected(part[:, places]) for part in parts])
        if inside.sum() < 2:
            msg = (
                "responses: fewer than two items have finite difficulties in all groups: use "
                "larger groups, or another split"
            )
            raise ShapeError(msg)
        if inside.all():
            return keep
        keep = np.zeros_like(keep)
        keep[places[inside]] = True


def _wald(difficulty: FloatArray, se: FloatArray) -> FloatArray:
    """Return Wald's statistic, equation (2), of each item."""
    weight = se**-2.0
    mean = (weight * difficulty).sum(axis=0) / weight.sum(axis=0)
    return np.asarray((weight * (difficulty - mean) ** 2).sum(axis=0))
