"""How well extracted loadings fit: the test that holds for such correlations, or none."""

import numpy as np

from psychollm._base.types import FloatArray
from psychollm.factor.extract import degrees_of_freedom
from psychollm.factor.fit import FactorFit, fit_indices, likelihood_ratio
from psychollm.factor.robust_test import quadratic_test


def fit_of_loadings(
    R: FloatArray,
    loadings: FloatArray,
    method: str,
    n: float,
    W: FloatArray | None,
    gamma: FloatArray | None,
    *,
    normal: bool,
) -> FactorFit:
    """Return the fit of orthogonal loadings: robust where the correlations' covariance is known.

    Parameters
    ----------
    R : ndarray (k, k)
        Correlations.
    loadings : ndarray (k, m)
        Orthogonal.
    method : str
        Of extraction.
    n : float
        Observations; NaN where unknown.
    W : ndarray (k, k) or (p, p), optional
        Weights of ``"dwls"`` or ``"wls"``.
    gamma : ndarray (p, p), optional
        n times the covariance matrix of the correlations.
    normal : bool
        Whether normal theory may hold without gamma.

    Examples
    --------
    >>> R = np.full((4, 4), 0.36) + 0.64 * np.eye(4)
    >>> loadings = np.full((4, 1), 0.6)
    >>> fit_of_loadings(R, loadings, "ml", 100, None, None, normal=False).summary()
    'SRMR 0.000; no chi-square: normal theory does not hold, pass covariance'
    """
    k, m = loadings.shape
    pairs = np.tril_indices(k, -1)
    implied = loadings @ loadings.T
    rest = (R - implied)[pairs]
    d, d0 = degrees_of_freedom(k, m), k * (k - 1) // 2
    if gamma is None:
        np.fill_diagonal(implied, 1.0)
        T, T0, same = likelihood_ratio(R, implied, n if normal else float("nan"), m)
        words = "likelihood ratio, Bartlett-corrected"
        if not normal:
            words = "no chi-square: normal theory does not hold, pass covariance"
        elif not np.isfinite(n):
            words = "no chi-square without the number of observations: pass n"
        elif not np.isfinite(T):
            words = "no chi-square: the matrix is not positive definite"
        model, baseline = (T, float(d)), (T0, float(d0))
        return fit_indices(model, baseline, residuals=rest, n=n, test=words, same_correction=same)
    w = np.ones(d0) if W is None else W if method == "wls" else W[pairs]
    jacobian = _derivatives(loadings)
    robust = quadratic_test(rest, jacobian, w, gamma, n - 1.0)._replace(df=d)
    robust0 = quadratic_test(R[pairs], np.empty((d0, 0)), w, gamma, n - 1.0)
    test = "standard" if method == "wls" else "scaled_shifted"
    words = "weighted least squares" if method == "wls" else "scaled and shifted"
    return fit_indices(
        robust.corrected(test),  # type: ignore[arg-type]
        robust0.corrected(test),  # type: ignore[arg-type]
        residuals=rest,
        n=n,
        test=words,
    )


def _derivatives(loadings: FloatArray) -> FloatArray:
    """Return derivatives of the correlations below the diagonal by the loadings (p, k m)."""
    k, m = loadings.shape
    first, second = np.tril_indices(k, -1)
    found = np.zeros((first.size, k, m))
    at = np.arange(first.size)
    found[at, first] = loadings[second]
    found[at, second] = loadings[first]
    return found.reshape(first.size, k * m)
