"""`factor_analysis`: rotated factors of a correlation matrix, with fit and warnings."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from psychollm._base.checks import LARGEST, check_choice, check_count, check_fraction, check_number
from psychollm._base.convergence import Convergence
from psychollm._base.errors import InputError, OptionError
from psychollm._base.types import FloatArray, RandomState
from psychollm.data.labels import Labels
from psychollm.data.matrix_input import adjusted_pairs, correlation_matrix, square_of
from psychollm.factor.exploratory.criteria import Criterion
from psychollm.factor.exploratory.discrepancy import ULS
from psychollm.factor.exploratory.extract import (
    DISCREPANCIES,
    NEAR_BOUND,
    check_identified,
    degrees_of_freedom,
    extract,
    positive_definite,
    with_positive_sums,
)
from psychollm.factor.exploratory.minimise import MOST_STARTS, uniqueness_starts
from psychollm.factor.exploratory.minimum_rank import minimum_rank
from psychollm.factor.exploratory.rotate import Rotation, RotationMethod, rotate
from psychollm.factor.exploratory.solution import FactorSolution
from psychollm.factor.exploratory.weighted import weigh_each, weigh_jointly, weighted_factors
from psychollm.factor.fit import fit_of_loadings
from psychollm.factor.robust_test import full_weights, gamma_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

FactorMethod: TypeAlias = Literal["minres", "ml", "wls", "dwls", "principal_axis", "minimum_rank"]
FactorRotation: TypeAlias = RotationMethod | Criterion | Literal["none"]

NEED_DEFINITE = ("ml", "minimum_rank")


class _Found(NamedTuple):
    """Result of an extraction by any method."""

    loadings: FloatArray  # (k, m)
    uniquenesses: FloatArray  # (k,)
    gradient: float
    minima: int
    convergence: Convergence


def factor_analysis(
    correlation: Any,
    n_factors: int,
    *,
    method: FactorMethod = "minres",
    rotation: FactorRotation = "oblimin",
    n: float | None = None,
    weights: ArrayLike | None = None,
    covariance: ArrayLike | None = None,
    normalise: bool | None = None,
    n_starts: int = 16,
    min_uniqueness: float = 0.005,
    rng: RandomState = 0,
) -> FactorSolution:
    """Fit an exploratory factor model to a correlation matrix.

    Parameters
    ----------
    correlation : Correlation, PolychoricCorrelation, Smoothing, DataFrame or array_like (k, k)
        Correlations of models or other variables.
    n_factors : int
        Number of factors m.
    method : {"minres", "ml", "wls", "dwls", "principal_axis", "minimum_rank"}
        ``"minres"`` (unweighted least squares) accepts any matrix. ``"ml"`` is for correlations of
        normal variables. ``"dwls"`` weights each correlation by its precision. ``"wls"`` weights
        the correlations by the inverse of their covariance matrix, which needs thousands of
        observations. ``"principal_axis"`` has the same solution as minres, without a bound on
        uniquenesses. ``"minimum_rank"`` minimises the unexplained common variance.
    rotation : str or Criterion
        ``"oblimin"`` (or ``"quartimin"``), ``"geomin"`` and ``"promax"`` let factors correlate.
        ``"varimax"``, ``"quartimax"``, ``"equamax"``, ``"parsimax"`` and ``"bifactor"`` keep the
        factors orthogonal. ``"none"`` does not rotate.
    n : float, optional
        Number of observations, for the test of fit. The default is the number in `correlation`
        (harmonic mean over pairs).
    weights : array of shape (k, k), optional
        Weights of the pairs, for ``"dwls"``; by default 1 / se^2 of the correlation.
    covariance : array of shape (p, p), optional
        Covariance matrix of the p = k (k - 1) / 2 correlations below the diagonal, row by row,
        such as ``polychoric(...).covariance()``. The covariance matrix is required for ``"wls"``.
        If `covariance` is given, the test of fit is scaled and shifted, and is valid for
        correlations of ordered answers.
    normalise : bool, optional
        Whether rows of loadings are scaled to length one during rotation (Kaiser). By default,
        rows are scaled only for varimax and promax.
    n_starts : int
        Number of starts of the rotation; the first is the unrotated axes, the others are random.
    min_uniqueness : float
        Smallest uniqueness allowed. Principal axes and minimum rank have no bound.
    rng : Generator, int or None
        Random generator or seed of the starts; fixed by default, so that results are reproducible.

    Returns
    -------
    FactorSolution
        Factors in descending order of variance explained, with positive column sums.

    Raises
    ------
    ShapeError
        If the factors are not identified: m factors need ``(k - m)**2 >= k + m``.
    InputError, OptionError
        If the matrix does not contain correlations, or if an option does not apply to the method.

    Warns
    -----
    ConvergenceWarning
        If an iteration stopped before convergence.
    PsychollmWarning
        If the method needs a positive definite matrix and `correlation` is not positive definite.
        A matrix that is not positive definite is shrunk until its smallest eigenvalue is 0.01.

    Notes
    -----
    Without `covariance` the statistic is the likelihood ratio of normal variables with Bartlett's
    correction, for all methods. The likelihood ratio is not valid for tetrachoric, polychoric or
    smoothed correlations. For such correlations, chi-square and the indices based on it require
    `covariance`.

    References
    ----------
    Harman, H. H., & Jones, W. H. (1966). Factor analysis by minimizing residuals (minres).
    Psychometrika, 31(3), 351-368. https://doi.org/10.1007/BF02289468

    Joreskog, K. G. (1967). Some contributions to maximum likelihood factor analysis.
    Psychometrika, 32(4), 443-482. https://doi.org/10.1007/BF02289658

    ten Berge, J. M. F., & Kiers, H. A. L. (1991). A numerical approach to the approximate and the
    exact minimum rank of a covariance matrix. Psychometrika, 56(2), 309-315.
    https://doi.org/10.1007/BF02294464

    Browne, M. W. (1984). Asymptotically distribution-free methods for the analysis of covariance
    structures. British Journal of Mathematical and Statistical Psychology, 37(1), 62-83.
    https://doi.org/10.1111/j.2044-8317.1984.tb00789.x

    Examples
    --------
    >>> import psychollm as psy
    >>> answers = psy.load_example("shared_confidence").confidence
    >>> found = factor_analysis(psy.tetrachoric(answers, of="models"), 2)
    >>> found.loadings.shape, bool(found.gradient < 1e-10)
    ((19, 2), True)
    """
    check_choice("method", method, FactorMethod)
    low = check_fraction("min_uniqueness", min_uniqueness)
    R, labels = correlation_matrix(correlation, "correlation")
    m = check_count("n_factors", n_factors)
    check_identified(len(R), m)
    size = observations(correlation, n)
    gamma = None if covariance is None else gamma_of(covariance, len(R), size)
    normal = of_normal(correlation)
    W = _weights(correlation, method, weights, gamma, len(R), labels)
    R, shrinkage = positive_definite(R, method) if method in NEED_DEFINITE else (R, 0.0)
    extracted = _extracted(R, m, method, low, W)
    turned = _rotated(extracted.loadings, labels, rotation, normalise, n_starts, rng)
    communalities = 1.0 - extracted.uniquenesses
    common = float(communalities.sum())
    return FactorSolution(
        loadings=turned.loadings,
        factor_correlation=turned.factor_correlation,
        uniquenesses=extracted.uniquenesses,
        communalities=communalities,
        variance_explained=turned.shares * len(R),
        explained_common_variance=(
            float(np.sum(extracted.loadings**2)) / common if common > 0.0 else float("nan")
        ),
        objective=extracted.convergence.objective,
        gradient=extracted.gradient,
        heywood=extracted.uniquenesses <= low + NEAR_BOUND,
        degrees_of_freedom=degrees_of_freedom(len(R), m),
        extraction_minima=extracted.minima,
        rotation_minima=turned.minima,
        transformation=turned.transformation,
        method=method,
        rotation=turned.method,
        n=size,
        shrinkage=shrinkage,
        adjusted_pairs=adjusted_pairs(correlation),
        fit=fit_of_loadings(R, extracted.loadings, method, size, W, gamma, normal=normal),
        labels=labels,
        factors=tuple(f"factor_{j + 1}" for j in range(m)),
        convergence=extracted.convergence,
        rotation_convergence=turned.convergence,
        _matrix=R,
        _weights=W,
        _normal=normal,
    )


def observations(correlation: Any, n: float | None) -> float:
    """Return the number of observations: the given number, the mean over pairs, or NaN."""
    if n is not None:
        if not 1.0 < (size := check_number("n", n)) <= 1e9:
            msg = f"n={n!r} must be a number of observations above 1, and at most 1e9"
            raise OptionError(msg)
        return size
    pairs = getattr(correlation, "n", None)
    if not isinstance(pairs, np.ndarray) or pairs.ndim != 2:
        return float("nan")
    lower = pairs[np.tril_indices(len(pairs), -1)]
    return float(lower.size * (lower[0] / np.sum(lower[0] / lower)))


def of_normal(correlation: Any) -> bool:
    """Return whether a matrix may contain unadjusted correlations of normal variables."""
    return not any(hasattr(correlation, name) for name in ("thresholds", "eigenvalues_before"))


def _weights(
    correlation: Any,
    method: str,
    weights: Any,
    gamma: FloatArray | None,
    k: int,
    labels: Labels,
) -> FloatArray | None:
    """Return weights of shape (k, k) for dwls and (p, p) for wls, and None otherwise."""
    if weights is not None and method != "dwls":
        msg = f"weights are for method='dwls', not method={method!r}"
        raise OptionError(msg)
    if method == "wls":
        if gamma is None:
            msg = (
                "method='wls' needs the covariance of the correlations: pass covariance, or use "
                "dwls"
            )
            raise OptionError(msg)
        return full_weights(gamma)
    if method != "dwls":
        return None
    if weights is None and gamma is not None:
        W = np.zeros((k, k))
        W[np.tril_indices(k, -1)] = 1.0 / np.diagonal(gamma)
        return W + W.T
    W = square_of(weights, "weights", k) if weights is not None else _precisions(correlation)
    np.fill_diagonal(W, 0.0)
    if not np.isfinite(W).all() or (W < 0.0).any() or not W.max() > 1.0 / LARGEST:
        msg = "weights must be finite, not negative, and not all zero"
        raise InputError(msg)
    return W


def _precisions(correlation: Any) -> FloatArray:
    """Return 1 / (n se^2) of the pairs; zero without a standard error."""
    se = getattr(correlation, "se", None)
    if se is None:
        msg = "method='dwls' needs precisions: pass weights, covariance, or a Correlation with se"
        raise OptionError(msg)
    with np.errstate(divide="ignore", invalid="ignore"):
        precisions = 1.0 / np.asarray(se, dtype=np.float64) ** 2 / correlation.n
    return np.asarray(np.where(np.isfinite(precisions), precisions, 0.0), dtype=np.float64)


def _extracted(R: FloatArray, m: int, method: Any, low: float, W: FloatArray | None) -> _Found:
    """Return unrotated loadings in descending order of explained variance, with positive sums."""
    fitted: Any
    if W is not None:
        weigh = weigh_each(W) if method == "dwls" else weigh_jointly(W, len(R))
        # Start from the minres solution, then from uniform uniquenesses.
        minres = extract(R, n_factors=m, min_uniqueness=low).loadings
        uniform = uniqueness_starts(R, low, MOST_STARTS)[1:]
        spectra = ULS.decompose(np.broadcast_to(R, (len(uniform), *R.shape)), uniform, m)
        starts = np.concatenate([minres[None], ULS.loadings(spectra, uniform, m)])
        fitted = weighted_factors(R, weigh, starts, low)
        psi, minima = 1.0 - np.sum(fitted.loadings**2, axis=1), fitted.minima
    elif method == "minimum_rank":
        fitted, minima, _ = minimum_rank(R, m)
        psi = fitted.uniquenesses
    else:
        return _by_extract(R, m, method, low)
    ending = Convergence.of_gradient(
        converged=fitted.converged,
        steps=fitted.steps,
        gradient=fitted.gradient,
        objective=fitted.objective,
    )
    ending.warn(f"the extraction of {m} factors")
    return _Found(with_positive_sums(fitted.loadings), psi, fitted.gradient, minima, ending)


def _by_extract(R: FloatArray, m: int, method: Any, low: float) -> _Found:
    extraction = extract(R, n_factors=m, method=method, min_uniqueness=low)
    discrepancy = DISCREPANCIES.get(method, DISCREPANCIES["minres"])
    psi = np.clip(extraction.uniquenesses, low, 1.0)
    if method == "principal_axis":
        psi = np.array(extraction.uniquenesses)
    parameters = discrepancy.to_parameters(psi)[None]
    slope = discrepancy.evaluate(R[None], parameters, m)[1][0]
    free = ~(((psi <= low + NEAR_BOUND) & (slope > 0)) | ((psi >= 1.0 - NEAR_BOUND) & (slope < 0)))
    gradient = float(np.abs(np.where(free, slope, 0.0)).max())
    loadings, own = np.array(extraction.loadings), np.array(extraction.uniquenesses)
    return _Found(loadings, own, gradient, extraction.minima, extraction.convergence)


def _rotated(
    loadings: FloatArray,
    labels: Labels,
    rotation: FactorRotation,
    normalise: bool | None,  # noqa: FBT001
    n_starts: int,
    rng: RandomState,
) -> Rotation:
    """Rotate the loadings; a single factor is not rotated."""
    m = loadings.shape[1]
    if rotation != "none":
        if isinstance(rotation, str):
            check_choice("rotation", rotation, RotationMethod)
        if m > 1:
            rotated = rotate(
                loadings, method=rotation, normalise=normalise, n_starts=n_starts, rng=rng
            )
            return replace(rotated, labels=labels)
    return Rotation(
        loadings=loadings,
        factor_correlation=np.eye(m),
        transformation=np.eye(m),
        communalities=np.sum(loadings**2, axis=1),
        criterion=float("nan"),
        minima=1,
        method="none",
        labels=labels,
        convergence=Convergence(
            converged=True, iterations=0, reason="nothing to rotate", objective=float("nan")
        ),
    )
