r"""`rotate`: rotation of loadings to simple structure.

Rotation changes the interpretation of factors, but not the implied correlations :math:`\Lambda
\Phi \Lambda^\top`. A criterion may have several minima. The result is the lowest minimum from many
starts, with the number of distinct minima.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import DRAWS, check_choice, check_count, check_generator
from psychollm._base.convergence import Convergence
from psychollm._base.errors import InputError, OptionError, ShapeError
from psychollm._base.result import Result
from psychollm._base.types import FloatArray, IntArray, RandomState
from psychollm.data.labels import Labels, as_labels, listed
from psychollm.factor.congruence import read_columns
from psychollm.factor.exploratory.criteria import CRITERIA, VARIMAX, Criterion
from psychollm.factor.exploratory.gradient_projection import Turned, random_starts, turn
from psychollm.factor.exploratory.minimise import lowest_of

RotationMethod = Literal[
    "oblimin",
    "quartimin",
    "geomin",
    "promax",
    "varimax",
    "quartimax",
    "equamax",
    "parsimax",
    "bifactor",
]
SAME_MINIMUM = 1e-6
PROMAX_POWER = 4


def read_loadings(data: Any) -> tuple[FloatArray, Labels]:
    """Check and return loadings (k, m) and the labels of their rows."""
    values, rows, _ = read_columns(data, "loadings")
    if values.shape[0] < values.shape[1]:
        msg = f"loadings must have shape (k, m) with m at most k, got {values.shape}"
        raise ShapeError(msg)
    labels = as_labels("model", rows, len(values))
    bad = np.flatnonzero(np.isnan(values).any(axis=1))
    if bad.size:
        msg = f"loadings are undefined for {listed([labels[i] for i in bad])}: omit them"
        raise InputError(msg)
    return values, labels


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rotation(Result):
    """Rotated loadings, in descending order of variance, with positive column sums.

    Examples
    --------
    >>> found = rotate([[0.6, 0.6], [0.6, 0.6], [0.5, -0.5], [0.5, -0.5]], method="varimax")
    >>> abs(found.loadings.round(2)).T.tolist(), found.minima
    ([[0.85, 0.85, 0.0, 0.0], [0.0, 0.0, 0.71, 0.71]], 1)
    """

    loadings: FloatArray  # (k, m) pattern
    factor_correlation: FloatArray  # (m, m)
    transformation: FloatArray  # (m, m) T: loadings are the unrotated loadings times inv(T).T
    communalities: FloatArray  # (k,)
    criterion: float  # value of the criterion, for normalised loadings if `normalise`
    minima: int  # number of distinct minima found
    method: str
    labels: tuple[Hashable, ...]  # (k,)
    convergence: Convergence

    _AXES = Axes(
        {"model": "labels"},
        "factor_{}=loadings",
        "communality=communalities",
        "complexity",
    )

    @property
    def structure(self) -> FloatArray:
        """Correlations of variables with factors (k, m)."""
        return np.asarray(self.loadings @ self.factor_correlation, dtype=np.float64)

    @property
    def shares(self) -> FloatArray:
        """Proportion of variance of each factor (m,); factors divide the shared variance."""
        return np.asarray(np.sum(self.loadings * self.structure, axis=0) / len(self.loadings))

    @property
    def complexity(self) -> FloatArray:
        """Hofmann's complexity (k,): effective number of factors on which a variable loads."""
        return hofmann_complexity(self.loadings)

    def permuted(self, order: Sequence[int], signs: Sequence[float] | None = None) -> Rotation:
        """Return the same solution with reordered or reversed factors.

        Parameters
        ----------
        order : sequence of int (m,)
            Positions of the factors in the new order.
        signs : sequence of 1 or -1 (m,), optional
            Signs of the factors in the new order; -1 reverses a factor.

        Raises
        ------
        OptionError
            If `order` is not a permutation, or if a sign is neither 1 nor -1.

        Examples
        --------
        >>> found = rotate([[0.6, 0.6], [0.6, 0.6], [0.5, -0.5], [0.5, -0.5]], method="varimax")
        >>> found.permuted([1, 0], [1, -1]).loadings[0, 1].round(2)
        np.float64(-0.85)
        """
        index, turns = check_order(order, signs, self.loadings.shape[1])
        return replace(self, **permuted_fields(self, index, turns))


def rotate(
    loadings: Any,
    *,
    method: RotationMethod | Criterion = "oblimin",
    normalise: bool | None = None,
    n_starts: int = 16,
    rng: RandomState = 0,
) -> Rotation:
    """Rotate orthogonal loadings to a simple structure.

    Parameters
    ----------
    loadings : Extraction, DataFrame or array_like (k, m)
        Unrotated loadings.
    method : str or Criterion
        ``"oblimin"`` (or ``"quartimin"``), ``"geomin"`` and ``"promax"`` (least-squares fit to the
        fourth powers of varimax loadings) let factors correlate. ``"varimax"``, ``"quartimax"``,
        ``"equamax"``, ``"parsimax"`` and ``"bifactor"`` (a general factor first) keep the factors
        orthogonal. `psychollm.factor.exploratory.criteria` has functions for other criteria and
        for targets.
    normalise : bool, optional
        Whether to scale rows of loadings to length one during rotation (Kaiser). By default, rows
        are scaled only for varimax and promax.
    n_starts : int
        Number of starts; the first start is the unrotated axes, and the others are random axes.
    rng : Generator, int or None
        Random generator or seed for the starts. The default seed is fixed, so that results are
        reproducible.

    Returns
    -------
    Rotation
        Rotation with the lowest minimum of the criterion.

    Raises
    ------
    ShapeError, InputError
        If the input does not contain loadings, or if a factor is empty.
    OptionError
        If the method does not exist.

    Warns
    -----
    ConvergenceWarning
        If no start converged.

    References
    ----------
    Jennrich, R. I. (2002). A simple general method for oblique rotation. Psychometrika, 67(1),
    7-19. https://doi.org/10.1007/BF02294706

    Hendrickson, A. E., & White, P. O. (1964). Promax: A quick method for rotation to oblique
    simple structure. British Journal of Statistical Psychology, 17(1), 65-70.
    https://doi.org/10.1111/j.2044-8317.1964.tb00244.x

    Examples
    --------
    >>> from psychollm.factor.exploratory.extract import extract
    >>> blocks = np.array([[0.64, 0.2], [0.2, 0.49]])
    >>> R = np.kron(blocks, np.ones((3, 3)))
    >>> np.fill_diagonal(R, 1.0)
    >>> found = rotate(extract(R, n_factors=2))
    >>> abs(found.loadings[[0, 5]]).round(6), found.factor_correlation[0, 1].round(4)
    (array([[0.8, 0. ],
           [0. , 0.7]]), np.float64(0.3571))
    """
    A, labels = read_loadings(loadings)
    _check_rank(A)
    n_starts = check_count("n_starts", n_starts, high=DRAWS)
    promax = method == "promax"
    criterion = VARIMAX if promax else _criterion(method)
    lengths = np.sqrt(np.sum(A**2, axis=1, keepdims=True))
    if not (criterion.normalise if normalise is None else normalise):
        lengths = np.ones_like(lengths)
    scale = np.where(lengths > 0.0, lengths, 1.0)
    starts = random_starts(n_starts, A.shape[1], check_generator(rng))
    turned = turn(criterion, (A / scale)[None], starts)
    T, ending, minima = _best(turned)
    ending.warn(f"the rotation ({criterion.name})")
    if promax:
        T = _towards_powers(A / scale, T)
    rotated = A @ np.linalg.inv(T).T
    rotation = Rotation(
        loadings=rotated,
        factor_correlation=correlation_of(T),
        transformation=T,
        communalities=np.sum(A**2, axis=1),
        criterion=ending.objective,
        minima=minima,
        method="promax" if promax else criterion.name,
        labels=labels,
        convergence=ending,
    )
    return _arranged(rotation, criterion)


def hofmann_complexity(loadings: FloatArray) -> FloatArray:
    """Return the effective number of factors on which each variable loads (k,)."""
    squares = loadings**2
    with np.errstate(invalid="ignore"):
        complexity = squares.sum(axis=1) ** 2 / np.sum(squares**2, axis=1)
    return np.asarray(complexity, dtype=np.float64)


def check_order(
    order: Sequence[int], signs: Sequence[float] | None, m: int
) -> tuple[IntArray, FloatArray]:
    """Check and return an order of m factors and their signs as arrays."""
    index = np.array(order, dtype=np.int64)
    turns = np.ones(m) if signs is None else np.array(signs, dtype=np.float64)
    if sorted(index.tolist()) != list(range(m)) or turns.shape != (m,):
        msg = f"order={order!r}, signs={signs!r}: order must contain each of the {m} factors once"
        raise OptionError(msg)
    if not np.isin(turns, (-1.0, 1.0)).all():
        msg = f"signs={signs!r} must be 1 or -1"
        raise OptionError(msg)
    return index, turns


def permuted_fields(solution: Any, index: IntArray, turns: FloatArray) -> dict[str, Any]:
    """Return loadings, transformation and correlations with factors in another order."""
    return {
        "loadings": solution.loadings[:, index] * turns,
        "transformation": solution.transformation[:, index] * turns,
        "factor_correlation": solution.factor_correlation[np.ix_(index, index)]
        * np.outer(turns, turns),
    }


def _arranged(rotation: Rotation, criterion: Criterion) -> Rotation:
    """Order factors by variance and make column sums positive, unless the criterion fixes them."""
    if criterion.fixed:
        return rotation
    shares = rotation.shares.copy()
    shares[: criterion.leading] = np.inf
    order = np.argsort(-shares, kind="stable")
    signs = np.where(rotation.loadings.sum(axis=0)[order] < 0.0, -1.0, 1.0)
    return rotation.permuted(order.tolist(), signs.tolist())


def _check_rank(A: FloatArray) -> None:
    rank = int(np.linalg.matrix_rank(A, tol=1e-10))
    if rank < A.shape[1]:
        msg = f"loadings on {A.shape[1]} factors span {rank} dimensions: extract {rank} factors"
        raise InputError(msg)


def _criterion(method: RotationMethod | Criterion) -> Criterion:
    if isinstance(method, Criterion):
        return method
    check_choice("method", method, RotationMethod)
    return CRITERIA[method]


def _best(turned: Turned) -> tuple[FloatArray, Convergence, int]:
    """Return the transformation with the lowest value among converged starts."""
    arrived = turned.converged if turned.converged.any() else np.ones_like(turned.converged)
    values = np.where(arrived, turned.values, np.inf)
    best = int(values.argmin())
    # A start that does not move is on a ridge of the criterion, not at a minimum.
    moved = arrived & (turned.steps > 0)
    minima = lowest_of(values[moved if moved.any() else arrived], SAME_MINIMUM)[1]
    return turned.transformations[best], turned.ending(best), minima


def correlation_of(T: FloatArray) -> FloatArray:
    """Return the factor correlations (m, m) of a transformation."""
    phi = T.T @ T
    np.fill_diagonal(phi, 1.0)
    return np.asarray(phi, dtype=np.float64)


def _towards_powers(A: FloatArray, T: FloatArray) -> FloatArray:
    """Return the oblique promax transformation from the orthogonal varimax transformation."""
    simple = A @ T
    target = simple * np.abs(simple) ** (PROMAX_POWER - 1)
    U = T @ np.linalg.lstsq(simple, target, rcond=None)[0]
    # Loadings are A U with U = inv(T).T. With columns of T of this length, factors have variance
    # 1.
    oblique = np.linalg.inv(U).T
    return np.asarray(oblique / np.sqrt(np.sum(oblique**2, axis=0)), dtype=np.float64)
