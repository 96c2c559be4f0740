r"""Rules for the number of factors that need only a correlation matrix.

* Minimum average partial (MAP): the m with the smallest mean squared partial correlation after m
  principal components.
* Very simple structure (VSS): the m with the largest fit in equation (1). The matrix S keeps only
  the c largest varimax loadings of each variable, and the sums include the diagonal, as in psych.

.. math:: 1 - \frac{\sum_{ij} (r_{ij} - (SS^\top)_{ij})^2}{\sum_{ij} r_{ij}^2}            \quad (1)

* Empirical Kaiser criterion (EKC): the number of eigenvalues above the reference values of
  uncorrelated variables, given the preceding eigenvalues,

.. math:: \max\Big(1,\; \frac{k - \sum_{l < j} \gamma_l}{k - j + 1}
          \big(1 + \sqrt{k / n}\big)^2\Big) .                                             \quad (2)

* Hull: the fit of 0, 1, ... factors is plotted against the number of parameters. Among solutions
  on the upper convex hull, the method chooses the solution after which the gain in fit per
  parameter drops most. Fit is 1 minus the Kaiser-Meyer-Olkin measure of the residual correlations.

References
----------
Velicer, W. F. (1976). Determining the number of components from the matrix of partial
correlations. Psychometrika, 41(3), 321-327. https://doi.org/10.1007/BF02293557

Revelle, W., & Rocklin, T. (1979). Very simple structure: An alternative procedure for estimating
the optimal number of interpretable factors. Multivariate Behavioral Research, 14(4), 403-414.
https://doi.org/10.1207/s15327906mbr1404_2

Braeken, J., & van Assen, M. A. L. M. (2017). An empirical Kaiser criterion. Psychological
Methods, 22(3), 450-466. https://doi.org/10.1037/met0000074

Lorenzo-Seva, U., Timmerman, M. E., & Kiers, H. A. L. (2011). The hull method for selecting the
number of common factors. Multivariate Behavioral Research, 46(2), 340-364.
https://doi.org/10.1080/00273171.2011.564527

Kaiser, H. F. (1974). An index of factorial simplicity. Psychometrika, 39(1), 31-36.
https://doi.org/10.1007/BF02291575
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.result import Result
from psychollm._base.types import FloatArray, IntArray
from psychollm.data.matrix_input import correlation_matrix
from psychollm.factor.exploratory.extract import degrees_of_freedom, extract, shrunk
from psychollm.factor.exploratory.factor_analysis import observations, of_normal
from psychollm.factor.exploratory.minimise import squared_multiple
from psychollm.factor.exploratory.rotate import rotate
from psychollm.factor.number_of_factors.parallel import leading


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SamplingAdequacy(Result):
    """Sampling adequacy of correlations for factor analysis.

    Examples
    --------
    >>> found = sampling_adequacy(np.full((4, 4), 0.5) + 0.5 * np.eye(4), n=100)
    >>> round(found.kmo, 3), found.df
    (0.8, 6)
    """

    kmo: float  # Kaiser-Meyer-Olkin measure
    of_each: FloatArray  # (k,) KMO of each variable
    squared_multiple: FloatArray  # (k,) squared multiple correlations
    chi_square: float  # Bartlett's test of no correlation; NaN without n, or for ordered answers
    df: int
    p_value: float
    labels: tuple[Hashable, ...]  # k

    _AXES = Axes({"model": "labels"}, "adequacy=of_each", "squared_multiple")


class Hull(NamedTuple):
    """Fit of solutions with 0, 1, ... factors, and the hull statistic."""

    fit: FloatArray  # (m + 1,)
    parameters: IntArray  # (m + 1,)
    bend: FloatArray  # (m + 1,) hull statistic; NaN off the hull and at its ends
    n_factors: int


def sampling_adequacy(correlation: Any, *, n: float | None = None) -> SamplingAdequacy:
    """Compute the KMO measure of sampling adequacy and Bartlett's test of sphericity.

    Parameters
    ----------
    correlation : Correlation, DataFrame or array_like (k, k)
        Correlations; the pseudo-inverse is used if the matrix is not positive definite.
    n : float, optional
        Number of observations, for Bartlett's test. Bartlett's test assumes normal variables, and
        is NaN for tetrachoric, polychoric and smoothed correlations.

    Returns
    -------
    SamplingAdequacy
        KMO measure, squared multiple correlations and Bartlett's test.

    Raises
    ------
    InputError
        If the matrix does not contain correlations.

    Examples
    --------
    >>> round(sampling_adequacy(np.full((3, 3), 0.6) + 0.4 * np.eye(3)).kmo, 3)
    0.719
    """
    from scipy.stats import chi2

    R, labels = correlation_matrix(correlation, "correlation")
    size, k = observations(correlation, n), len(R)
    total, each = _adequacy(R)
    sign, log_determinant = np.linalg.slogdet(R)
    scale = size - 1.0 - (2.0 * k + 5.0) / 6.0
    testable = sign > 0 and of_normal(correlation)
    statistic = float(-scale * log_determinant) if testable else float("nan")
    df = k * (k - 1) // 2
    return SamplingAdequacy(
        kmo=total,
        of_each=each,
        squared_multiple=squared_multiple(R[None])[0],
        chi_square=statistic,
        df=df,
        p_value=float(chi2.sf(statistic, df)),
        labels=labels,
    )


def _adequacy(R: FloatArray) -> tuple[float, FloatArray]:
    """Return the overall KMO and the KMO of each variable; NaN without partial correlations."""
    if np.linalg.eigvalsh(R)[0] < -1e-10:
        return float("nan"), np.full(len(R), np.nan)
    inverse = np.linalg.pinv(R, hermitian=True)
    spread = np.sqrt(np.diagonal(inverse))
    partial = (inverse / np.outer(spread, spread)) ** 2
    plain = R**2
    np.fill_diagonal(partial, 0.0)
    np.fill_diagonal(plain, 0.0)
    rows, rest = plain.sum(axis=1), partial.sum(axis=1)
    with np.errstate(invalid="ignore"):
        return float(rows.sum() / (rows.sum() + rest.sum())), np.asarray(rows / (rows + rest))


def minimum_average_partial(R: FloatArray, most: int) -> FloatArray:
    """Return mean squared partial correlations after removing 0, 1, ..., `most` components."""
    values, vectors = np.linalg.eigh(R)
    loadings = vectors[:, ::-1] * np.sqrt(np.maximum(values[::-1], 0.0))
    k = len(R)
    means = np.full(most + 1, np.nan)
    for m in range(most + 1):
        rest = R - loadings[:, :m] @ loadings[:, :m].T
        spread = np.diagonal(rest)
        if spread.min() <= 1e-12:
            break
        partial = rest / np.sqrt(np.outer(spread, spread))
        means[m] = (np.sum(partial**2) - k) / (k * (k - 1))
    return means


def very_simple_structure(R: FloatArray, most: int) -> FloatArray:
    """Return the fit by number of factors up to `most` (rows) and complexity 1 or 2 (columns)."""
    total = np.sum(R**2)
    fits = np.full((most, 2), np.nan)
    for m in range(1, most + 1):
        plain = extract(R, n_factors=m)
        spans = int(np.linalg.matrix_rank(plain.loadings, tol=1e-10)) == m
        loadings = rotate(plain, method="varimax").loadings if spans else plain.loadings
        order = np.argsort(-np.abs(loadings), axis=1, kind="stable")
        for c in (1, 2)[: min(m, 2)]:
            simple = np.zeros_like(loadings)
            at = order[:, :c]
            np.put_along_axis(simple, at, np.take_along_axis(loadings, at, axis=1), axis=1)
            fits[m - 1, c - 1] = 1.0 - np.sum((R - simple @ simple.T) ** 2) / total
    return fits


def empirical_kaiser(R: FloatArray, n: float) -> tuple[FloatArray, int]:
    """Return the reference values of equation (2) and the number of larger leading eigenvalues."""
    values: FloatArray = np.asarray(np.linalg.eigvalsh(R)[::-1], dtype=np.float64)
    k = len(R)
    before = np.concatenate([[0.0], np.cumsum(values)[:-1]])
    bars = (k - before) / (k - np.arange(k)) * (1.0 + np.sqrt(k / n)) ** 2
    bars = np.maximum(bars, 1.0)
    return bars, leading(values, bars)


def hull(R: FloatArray, most: int) -> Hull:
    """Return the hull of the fit (1 minus KMO of the residuals) for m = 0, 1, ..., `most`."""
    # The KMO of an indefinite matrix is undefined. Such a matrix is first mixed with the identity,
    # and numbers of factors with indefinite residuals are skipped.
    k, R = len(R), shrunk(R)[0]
    fit, parameters = np.empty(most + 1), np.empty(most + 1, dtype=np.int64)
    for m in range(most + 1):
        rest = R if m == 0 else np.array(extract(R, n_factors=m).residuals) + np.eye(k)
        # Residuals within rounding error count as a perfect fit.
        small = bool(np.abs(rest - np.eye(k)).max() < 1e-9)
        fit[m] = 1.0 if small else 1.0 - _adequacy(rest)[0]
        parameters[m] = k * (k - 1) // 2 - degrees_of_freedom(k, m)
    kept = _on_hull(parameters, fit)
    bend = np.full(most + 1, np.nan)
    for before, at, after in zip(kept[:-2], kept[1:-1], kept[2:], strict=True):
        gain = (fit[at] - fit[before]) / (parameters[at] - parameters[before])
        bend[at] = gain / max((fit[after] - fit[at]) / (parameters[after] - parameters[at]), 1e-12)
    best = int(np.nanargmax(bend)) if np.isfinite(bend).any() else int(kept[int(len(kept) > 1)])
    return Hull(fit, parameters, bend, best)


def _on_hull(x: IntArray, y: FloatArray) -> list[int]:
    """Return the increasing points on the upper convex hull."""
    kept = [0]
    for i in range(1, len(x)):
        if not y[i] > y[kept[-1]]:  # undefined points are skipped
            continue
        while len(kept) > 1:
            a, b = kept[-2:]
            if (y[b] - y[a]) * (x[i] - x[a]) > (y[i] - y[a]) * (x[b] - x[a]):
                break
            kept.pop()
        kept.append(i)
    return kept
