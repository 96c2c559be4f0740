r"""`schmid_leiman`: general factor and orthogonal group factors from correlated factors.

Correlated factors share a general factor. With pattern loadings :math:`\Lambda` and loadings
:math:`\gamma` of the factors on the general factor, the loadings g on the general factor and F on
the group factors are

.. math:: g = \Lambda \gamma, \qquad
          F_{\cdot j} = \Lambda_{\cdot j} \sqrt{1 - \gamma_j^2} .                      \quad (1)

The general factor and the group factors are orthogonal. If the general factor reproduces the
factor correlations, communalities do not change. The general factor of three factors always
reproduces their correlations, unless a loading :math:`\gamma_j` would exceed one. With two
factors, the two loadings on the general factor are not identified, and both are set to
:math:`\sqrt{|\phi|}`.

References
----------
Schmid, J., & Leiman, J. M. (1957). The development of hierarchical factor solutions.
Psychometrika, 22(1), 53-61. https://doi.org/10.1007/BF02289209
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import check_choice, float_array
from psychollm._base.errors import InputError
from psychollm._base.result import Result
from psychollm._base.types import BoolArray, FloatArray
from psychollm.factor.exploratory.discrepancy import ML, ULS
from psychollm.factor.exploratory.extract import NEAR_BOUND, principal_axes
from psychollm.factor.exploratory.minimise import minimise, squared_multiple
from psychollm.factor.exploratory.rotate import read_loadings

SecondOrderMethod = Literal["minres", "ml", "principal_axis"]

LOW = 0.005
"""Smallest uniqueness of a factor."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SchmidLeiman(Result):
    """Loadings on a general factor and on group factors, all orthogonal.

    Examples
    --------
    >>> L = np.kron(np.eye(3), np.full((3, 1), 0.8))
    >>> found = schmid_leiman(L, factor_correlation=0.36 + 0.64 * np.eye(3))
    >>> found.general.round(4)[0], round(found.explained_common_variance, 4)
    (np.float64(0.48), 0.36)
    """

    general: FloatArray  # (k,)
    groups: FloatArray  # (k, m)
    second_order: FloatArray  # (m,) loadings of the factors on the general factor
    communalities: FloatArray  # (k,)
    uniquenesses: FloatArray  # (k,)
    identified: bool  # whether there are three factors or more
    heywood: bool  # whether a factor has no specific variance
    labels: tuple[Hashable, ...]  # (k,)

    _AXES = Axes(
        {"model": "labels"},
        "general",
        "factor_{}=groups",
        "communality=communalities",
        "uniqueness=uniquenesses",
        "general_share=general_shares",
    )

    @property
    def explained_common_variance(self) -> float:
        """Proportion of the explained variance that is due to the general factor."""
        common = float(np.sum(self.general**2))
        return common / (common + float(np.sum(self.groups**2)))

    @property
    def general_shares(self) -> FloatArray:
        """Proportion of each variable's communality that is due to the general factor (k,)."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(self.general**2 / self.communalities, dtype=np.float64)


def schmid_leiman(
    solution: Any,
    *,
    factor_correlation: Any = None,
    method: SecondOrderMethod = "minres",
    tolerance: float = 1e-12,
) -> SchmidLeiman:
    """Transform correlated factors into a general factor and orthogonal group factors.

    Parameters
    ----------
    solution : Rotation, DataFrame or array_like (k, m)
        Oblique rotation, or the pattern loadings of an oblique rotation.
    factor_correlation : array_like (m, m), optional
        Factor correlations; needed if `solution` does not include them.
    method : {"minres", "ml", "principal_axis"}
        Extraction of the general factor from the factor correlations. For three factors all
        methods agree.
    tolerance : float
        Tolerance for principal axes: the iteration stops if the sum of communalities changes by
        less than this value.

    Returns
    -------
    SchmidLeiman
        Loadings on the general and the group factors. A single factor is the general factor. With
        two factors, `identified` is False and both loadings on the general factor are set equal.

    Raises
    ------
    InputError
        If the factor correlations are missing or invalid.
    OptionError
        If the method does not exist.

    References
    ----------
    Schmid, J., & Leiman, J. M. (1957). The development of hierarchical factor solutions.
    Psychometrika, 22(1), 53-61. https://doi.org/10.1007/BF02289209

    Examples
    --------
    >>> L = np.kron(np.eye(2), np.full((3, 1), 0.8))
    >>> found = schmid_leiman(L, factor_correlation=[[1, 0.25], [0.25, 1]])
    >>> found.second_order, found.identified
    (array([0.5, 0.5]), False)
    """
    check_choice("method", method, SecondOrderMethod)
    loadings, labels = read_loadings(solution)
    m = loadings.shape[1]
    phi = _factor_correlation(solution, factor_correlation, m)
    higher = second_order(phi[None], method=method, tolerance=tolerance)
    gamma = higher.loadings[0]
    general, groups = transformed(loadings, gamma)
    if general.sum() < 0.0:
        general, gamma = -general, -gamma
    communalities = np.einsum("kj,jl,kl->k", loadings, phi, loadings)
    return SchmidLeiman(
        general=general,
        groups=groups,
        second_order=gamma,
        communalities=communalities,
        uniquenesses=1.0 - communalities,
        identified=m > 2,
        heywood=bool(higher.heywood[0]),
        labels=labels,
    )


class SecondOrder(NamedTuple):
    """Loadings (b, m) of factors on the general factor, and a mask of loadings at the bound."""

    loadings: FloatArray
    heywood: BoolArray  # (b,)


def second_order(
    phi: FloatArray, *, method: SecondOrderMethod = "minres", tolerance: float = 1e-12
) -> SecondOrder:
    """Extract the general factor from a stack of factor correlations (b, m, m)."""
    b, m = phi.shape[:2]
    if m == 1:
        return SecondOrder(np.ones((b, 1)), np.zeros(b, dtype=np.bool_))
    if m == 2:
        shared = phi[:, 0, 1]
        root = np.sqrt(np.abs(shared))
        signed = np.stack([root, root * np.sign(shared)], axis=1)
        return SecondOrder(signed, np.asarray(1.0 - root**2 <= LOW, dtype=np.bool_))
    if method == "principal_axis":
        loadings = principal_axes(phi, 1, tolerance).loadings[:, :, 0]
    else:
        start = np.clip(1.0 - squared_multiple(phi), 0.05, 1.0)
        discrepancy = ULS if method == "minres" else ML
        loadings = minimise(discrepancy, phi, start, 1, LOW).loadings[:, :, 0]
    at_bound = 1.0 - loadings**2 <= LOW + NEAR_BOUND
    return SecondOrder(loadings, np.asarray(at_bound.any(axis=1), dtype=np.bool_))


def transformed(loadings: FloatArray, gamma: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return general loadings (..., k) and group loadings (..., k, m) by equation (1)."""
    general = np.einsum("...kj,...j->...k", loadings, gamma)
    # A single factor is the general factor. In an ultra-Heywood case (loading above one), the
    # loadings on the group factor are zero.
    rest = np.sqrt(np.maximum(1.0 - gamma**2, 0.0))
    return general, loadings * rest[..., None, :]


def _factor_correlation(solution: Any, given: Any, m: int) -> FloatArray:
    if given is None:
        given = getattr(solution, "factor_correlation", None)
    if given is None:
        msg = "factor_correlation is missing: pass it with plain loadings, or pass a Rotation"
        raise InputError(msg)
    phi = float_array(given, "factor_correlation")
    fits = phi.shape == (m, m) and bool(np.allclose(phi, phi.T, rtol=0.0, atol=1e-10))
    if not fits or bool((np.abs(np.diagonal(phi) - 1.0) > 1e-10).any()):
        msg = f"factor_correlation must be a symmetric ({m}, {m}) matrix with ones on its diagonal"
        raise InputError(msg)
    return phi
