"""Omega of sums of categorical scores from known loadings and thresholds."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.checks import float_array
from psychollm._base.errors import InputError, ShapeError
from psychollm._base.result import Result
from psychollm._base.types import FloatArray
from psychollm.data.labels import Labels, listed
from psychollm.data.matrix_input import correlation_matrix
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.intervals import RELIABILITY
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import Replicates
from psychollm.factor.exploratory.rotate import read_loadings
from psychollm.kernels.ordinal_covariance import score_covariances
from psychollm.reliability.omegas.latent_response import NUMBERS, reliability_numbers

if TYPE_CHECKING:
    import pandas as pd


NAMES = {
    "total": "categorical omega",
    "alpha": "alpha of the scores",
    "latent": "omega of latent responses",
    "latent_alpha": "alpha of latent responses",
    "average_variance": "average variance extracted",
}


def coefficient_rows(result: Any, names: Mapping[str, str]) -> "pd.DataFrame":
    """Return the concatenated tables of several estimates, with a column of estimate names."""
    import pandas as pd

    rows = []
    for field, name in names.items():
        estimate: Estimate = getattr(result, field)
        table = estimate.to_frame().rename(columns={estimate.axis: "of"})
        table.insert(0, "coefficient", name)
        rows.append(table)
    return pd.concat(rows, ignore_index=True)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OmegaCategorical(Result):
    """Reliability of a sum of categorical scores and of the sum of their latent responses.

    Examples
    --------
    >>> from psychollm.reliability.omegas.omega_of_loadings import omega_of_loadings
    >>> found = omega_of_loadings([0.7, 0.7, 0.7, 0.7], thresholds=[0.0, 0.5, -0.5, 1.0])
    >>> found.total.value.round(3), found.latent.value.round(3)
    (array([0.62]), array([0.794]))
    """

    total: Estimate  # (1,) Green and Yang's omega of the total score
    alpha: Estimate  # (1,) alpha of the scores
    latent: Estimate  # (1,) omega of latent responses
    latent_alpha: Estimate  # (1,) alpha of latent responses ("ordinal alpha")
    average_variance: Estimate  # (1,) mean communality of latent responses
    loadings: FloatArray  # (items, factors) NaN for a zero-variance item
    thresholds: FloatArray  # (items, categories - 1) NaN for missing categories
    items: tuple[Any, ...]
    n: float  # number of rows; NaN if only a solution was given
    heywood: bool  # whether a loading is at its bound
    variance: str  # source of the variance of the total score

    def to_frame(self) -> "pd.DataFrame":
        """Return a table with one row per coefficient."""
        return coefficient_rows(self, NAMES).drop(columns="of")

    def summary(self) -> str:
        """Return sentences that describe the findings.

        Examples
        --------
        >>> from psychollm.reliability.omegas.omega_of_loadings import omega_of_loadings
        >>> print(omega_of_loadings([0.7] * 4, thresholds=[0.0] * 4).summary())
        Sum-score reliability (categorical omega) is 0.66 (4 items).
        """
        total, k = self.total, len(self.items)
        rows = f", {self.n:g} respondents" if np.isfinite(self.n) else ""
        flag = total.flags[0]
        if not np.isfinite(total.value[0]):
            return f"Categorical omega is undefined: {flag} ({k} items{rows})."
        note = f"; {flag}." if flag else "."
        return (
            f"Sum-score reliability (categorical omega) is {total.text()} ({k} items{rows}){note}"
        )


def categorical_result(
    replicates: Replicates,
    reason: Reason,
    *,
    n: float,
    loadings: FloatArray,
    thresholds: FloatArray,
    items: Labels,
    heywood: bool,
    variance: str,
) -> OmegaCategorical:
    """Return the result from replicates of the five coefficients."""
    estimates: dict[str, Any] = {}
    for row, name in enumerate(NUMBERS):
        defined = bool(np.isfinite(replicates.value[row]))
        estimates[name] = replicates.each(slice(row, row + 1)).estimate(
            NAMES[name],
            scale=RELIABILITY,
            over="respondents",
            n=np.array([n]),
            flags=(reason or (Reason.NONE if defined else Reason.NO_VARIANCE),),
            labels=("all",),
            axis="condition",
        )
    return OmegaCategorical(
        **estimates,
        loadings=loadings,
        thresholds=thresholds,
        items=items,
        n=n,
        heywood=heywood,
        variance=variance,
    )


_FULL = 1.0 - 1e-12


def omega_of_loadings(
    solution: Any, *, thresholds: Any = None, correlation: Any = None
) -> OmegaCategorical:
    """Compute Green and Yang's omega from loadings and thresholds.

    Parameters
    ----------
    solution : PairwiseLikelihood, FullInformation, DataFrame or array_like (items, factors)
        Loadings of latent responses on one factor (a vector is allowed) or on several orthogonal
        factors.
    thresholds : array_like (items,) or (items, categories - 1), or sequence of sequences
        Increasing thresholds of the latent responses. Items with fewer categories have shorter
        sequences, or sequences padded with NaN. Thresholds are not required if `solution` has
        thresholds.
    correlation : Correlation, Smoothing, DataFrame or array_like (items, items), optional
        Observed tetrachoric or polychoric correlations, used to compute the variance of the total
        score. By default the correlations implied by the loadings are used.

    Returns
    -------
    OmegaCategorical
        Coefficients without intervals.

    Raises
    ------
    InputError
        If a loading is undefined or exceeds 1, or thresholds are missing or do not increase.
    ShapeError
        If the shapes of loadings, thresholds and correlations do not match.

    References
    ----------
    Green, S. B., & Yang, Y. (2009). Reliability of summed item scores using structural equation
    modeling: An alternative to coefficient alpha. Psychometrika, 74(1), 155-167.
    https://doi.org/10.1007/s11336-008-9099-3

    Examples
    --------
    >>> five = [[-1.5, -0.5, 0.5, 1.5]] * 3
    >>> omega_of_loadings([0.8, 0.7, 0.6], thresholds=five).total.value.round(3)
    array([0.711])
    """
    loadings, items = read_loadings(solution)
    _check_communalities(loadings, items)
    cuts = _thresholds(getattr(solution, "thresholds", None) if thresholds is None else thresholds)
    _check_thresholds(cuts, items)
    common = loadings @ loadings.T
    latent = common.copy()
    if correlation is not None:
        latent, _ = correlation_matrix(correlation, "correlation")
        if len(latent) != len(items):
            msg = f"correlation has {len(latent)} items, but loadings have {len(items)}"
            raise ShapeError(msg)
    np.fill_diagonal(latent, 1.0)
    variance = np.empty(latent.shape)
    score_covariances(cuts, latent, variance)
    value = reliability_numbers(common, cuts, latent, variance)
    heywood = bool((np.diagonal(common) >= _FULL).any())
    negative = Reason.NEGATIVE_ITEMS if bool((loadings[:, 0] < 0.0).any()) else Reason.NONE
    return categorical_result(
        Replicates.unknown(value, 0.95),
        Reason.HEYWOOD if heywood else negative,
        n=np.nan,
        loadings=loadings,
        thresholds=cuts,
        items=tuple(items),
        heywood=heywood,
        variance="implied" if correlation is None else "observed",
    )


def _check_communalities(loadings: FloatArray, items: Labels) -> None:
    above = np.flatnonzero(np.sum(loadings**2, axis=1) > 1.0 + 1e-10)
    if above.size:
        names = listed([items[i] for i in above])
        msg = f"the communalities of {names} exceed 1: pass standardised loadings"
        raise InputError(msg)


def _thresholds(given: Any) -> FloatArray:
    """Return thresholds (k, C), NaN for missing categories."""
    if given is None:
        msg = "thresholds are needed with plain loadings: pass one (or several) per item"
        raise InputError(msg)
    if not isinstance(given, list | tuple):
        table = np.atleast_1d(float_array(given, "thresholds"))
        return table[:, None] if table.ndim == 1 else table
    rows = [np.atleast_1d(float_array(row, "thresholds")) for row in given]
    width = max((row.size for row in rows), default=0)
    cuts = np.full((len(rows), width), np.nan)
    for item, row in enumerate(rows):
        cuts[item, : row.size] = row
    return cuts


def _check_thresholds(cuts: FloatArray, items: Labels) -> None:
    if len(cuts) != len(items):
        msg = f"thresholds have {len(cuts)} items, but loadings have {len(items)}"
        raise ShapeError(msg)
    for item, row in zip(items, cuts, strict=True):
        defined = row[~np.isnan(row)]
        if not (defined.size and np.isfinite(defined).all() and (np.diff(defined) > 0.0).all()):
            msg = f"thresholds of {item!r} must be increasing numbers, got {defined.tolist()}"
            raise InputError(msg)
