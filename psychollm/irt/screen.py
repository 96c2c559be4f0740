r"""Screening for miskeyed, dead (zero-variance) and empty (uninformative) items.

* *Dead* items: all respondents give the same answer, or no respondent answers.
* *Miskeyed* items: respondents with higher scores on the other items answer yes less often.
  With few models, negative item-rest correlations often occur by chance, so a permutation test is
  used. If the item's codes y are assigned to its n respondents at random, the sum of products of
  codes and rest scores r has mean and variance

  .. math:: E = n\,\bar y\,\bar r, \qquad
            V = \frac{n^2}{n - 1}\,\overline{(y - \bar y)^2}\;\overline{(r - \bar r)^2}.  \quad (1)

  The standardised sum is compared with the lower tail of a normal distribution, and the p-values
  are Holm-adjusted over items. With a dozen models most results are inconclusive.
* *Empty* items: items with varying answers that have less than a tenth of the mean information.
  Information is averaged over the population of abilities, and the mean is taken over items.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import check_fraction
from psychollm._base.multiplicity import adjust_p_values
from psychollm._base.result import Result
from psychollm._base.types import BoolArray, FloatArray
from psychollm.data.labels import Labels
from psychollm.data.responses import ResponsesLike
from psychollm.irt.answers import answers_to
from psychollm.irt.result import IRTFit

if TYPE_CHECKING:
    import pandas as pd


EVEN_SHARE = 0.1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ItemScreen(Result):
    """Flags of zero-variance, miskeyed and uninformative items.

    Attributes
    ----------
    yes_rate : ndarray of shape (items,)
        Proportion of yes answers or, for graded items, mean code scaled from 0 to 1; NaN without
        answers.
    rest_correlation : ndarray of shape (items,)
        Item-rest correlation.
    p_value, adjusted : ndarray of shape (items,)
        Permutation p-values of a negative item-rest correlation, unadjusted and Holm-adjusted.
    information_share : ndarray of shape (items,)
        Item's proportion of the test information, averaged over N(0, 1) abilities.
    dead, miskeyed, empty : bool ndarray of shape (items,)
        Flags: zero variance, negative item-rest correlation, and near-zero information.
    alpha : float
        Family-wise error rate of the flag `miskeyed`.
    labels : tuple
        Names of the items.
    """

    yes_rate: FloatArray  # (J,)
    rest_correlation: FloatArray  # (J,)
    p_value: FloatArray  # (J,)
    adjusted: FloatArray  # (J,)
    information_share: FloatArray  # (J,)
    dead: BoolArray  # (J,)
    miskeyed: BoolArray  # (J,)
    empty: BoolArray  # (J,)
    alpha: float
    labels: Labels  # J

    _AXES = Axes(
        {"item": "labels"},
        "yes_rate",
        "rest_correlation",
        "p_value",
        "adjusted",
        "information_share",
        "dead",
        "miskeyed",
        "empty",
    )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per item, sorted by p-value."""
        return Result.to_frame(self).sort_values("p_value", ignore_index=True)

    def summary(self) -> str:
        """Describe how many items are flagged, and which are miskeyed."""
        named = [str(self.labels[j]) for j in np.flatnonzero(self.miskeyed)]
        shown = ", ".join(named[:3]) + (", ..." if len(named) > 3 else "")
        return (
            f"{int(self.dead.sum())} of {len(self.labels)} items have zero variance; "
            f"{int(self.empty.sum())} have near-zero information. "
            f"{len(named)} are significantly miskeyed{': ' + shown if named else ''}."
        )


def item_screen(
    fit: IRTFit,
    responses: ResponsesLike,
    *,
    alpha: float = 0.05,
) -> ItemScreen:
    """Flag zero-variance, miskeyed and uninformative items.

    Parameters
    ----------
    fit : IRTFit
        Item response model fitted to the same answers. Use a 2PL, because its slopes may be
        negative.
    responses : Responses or table
        The answers used in the fit.
    alpha : float
        Family-wise error rate of the flag `miskeyed`: probability of flagging at least one correct
        key.

    Returns
    -------
    ItemScreen
        Flags of each item, with the statistics on which they are based.

    Raises
    ------
    ShapeError
        If the items differ from the items of the fit.
    OptionError
        If `alpha` is not between 0 and 1.

    Examples
    --------
    >>> from psychollm.irt.fit import fit_irt
    >>> rng = np.random.default_rng(1)
    >>> answers = (rng.random((400, 9)) < 1 / (1 + np.exp(-1.5 * rng.normal(size=(400, 1))))) * 1
    >>> answers[:, 4] = 1 - answers[:, 4]
    >>> item_screen(fit_irt(answers), answers).miskeyed.nonzero()[0]
    array([4])
    """
    check_fraction("alpha", alpha)
    codes = answers_to(responses, fit.labels, fit.respondents).codes
    answered = codes >= 0
    places = np.arange(len(fit.shares))
    share = np.where(answered, fit.shares[places, np.maximum(codes, 0)], 0.0)
    rate, correlation, p_value = against_rest(share, answered)
    adjusted = adjust_p_values(p_value)
    share = _information_share(fit)
    dead = ~(fit.fitted)
    return ItemScreen(
        yes_rate=rate,
        rest_correlation=correlation,
        p_value=p_value,
        adjusted=adjusted,
        information_share=share,
        dead=dead,
        miskeyed=np.nan_to_num(adjusted, nan=1.0) <= alpha,
        empty=~dead & (share < EVEN_SHARE / max(int((~dead).sum()), 1)),
        alpha=alpha,
        labels=fit.labels,
    )


def against_rest(
    share: FloatArray, answered: BoolArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return mean answers, item-rest correlations, and p-values of the permutation test.

    `share` contains answers between 0 and 1 (respondents, items), and 0 for missing answers.
    """
    total, n_items = share.sum(axis=1, keepdims=True), answered.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        rest = (total - share) / (n_items - answered)
        use = answered & np.isfinite(rest)
        n, share = use.sum(axis=0), share * use
        rest = np.where(use, rest, 0.0)
        mean, own = rest.sum(axis=0) / n, share.sum(axis=0) / n
        spread = ((rest - mean) ** 2 * use).sum(axis=0) / n
        own_spread = (share**2).sum(axis=0) / n - own**2
        surplus = (rest * share).sum(axis=0) - n * own * mean
        z = surplus / np.sqrt(n**2 / (n - 1.0) * own_spread * spread)
        return own, z / np.sqrt(n - 1.0), _lower_tail(z)


def _lower_tail(z: FloatArray) -> FloatArray:
    """Return P(Z <= z) for standard normal Z; NaN if z is not finite."""
    from scipy.special import ndtr

    return np.asarray(ndtr(np.where(np.isfinite(z), z, np.nan)), dtype=np.float64)


def _information_share(fit: IRTFit) -> FloatArray:
    """Return each item's proportion of the test information, averaged over N(0, 1) abilities."""
    nodes = np.linspace(-4.0, 4.0, 81)
    weights = np.exp(-0.5 * nodes**2)
    share = np.full(len(fit.labels), np.nan)
    mean = fit.family.information(fit.parameters[fit.fitted], nodes) @ weights
    share[fit.fitted] = mean / mean.sum()
    return share
