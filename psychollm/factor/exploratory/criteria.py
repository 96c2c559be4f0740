r"""Rotation criteria with gradients.

With loadings :math:`\Lambda` (k, m) and squares :math:`s_{ij} = \lambda_{ij}^2`,

.. math:: \text{varimax: } -\tfrac14 \sum_j \Big(\sum_i s_{ij}^2
          - \tfrac1k \Big(\sum_i s_{ij}\Big)^2\Big),                                   \quad (1)

.. math:: \text{quartimax: } -\tfrac14 \sum_{ij} s_{ij}^2,                             \quad (2)

.. math:: \text{oblimin: } \tfrac14 \sum_{j \ne l} \Big(\sum_i s_{ij} s_{il}
          - \tfrac{\gamma}{k} \sum_i s_{ij} \sum_i s_{il}\Big).                        \quad (3)

Direct oblimin is direct quartimin for :math:`\gamma = 0`. The Crawford-Ferguson family weights the
complexity of rows against the complexity of columns,

.. math:: \tfrac14 (1 - \kappa) \sum_i \sum_{j \ne l} s_{ij} s_{il}
          + \tfrac14 \kappa \sum_j \sum_{i \ne q} s_{ij} s_{qj}.                          \quad (4)

The criterion in equation (4) is equamax for :math:`\kappa = m / 2k` and parsimax for
:math:`\kappa = (m - 1) / (k + m - 2)`. Geomin is

.. math:: \sum_i \Big(\prod_j (s_{ij} + \epsilon)\Big)^{1/m}.                            \quad (5)

The bifactor criterion applies equation (3) to all columns except the first. The criterion of a
partially specified target H is :math:`\tfrac12 \sum (\lambda_{ij} - h_{ij})^2` over its given
entries. Criteria are functions of stacks of loadings; `gradient_projection` handles
transformations.

References
----------
Kaiser, H. F. (1958). The varimax criterion for analytic rotation in factor analysis.
Psychometrika, 23(3), 187-200. https://doi.org/10.1007/BF02289233

Jennrich, R. I., & Sampson, P. F. (1966). Rotation for simple loadings. Psychometrika, 31(3),
313-323. https://doi.org/10.1007/BF02289465

Crawford, C. B., & Ferguson, G. A. (1970). A general rotation criterion and its use in orthogonal
rotation. Psychometrika, 35(3), 321-332. https://doi.org/10.1007/BF02310792

Yates, A. (1987). Multivariate exploratory data analysis: A perspective on exploratory factor
analysis. State University of New York Press. (Geomin.)

Jennrich, R. I., & Bentler, P. M. (2011). Exploratory bi-factor analysis. Psychometrika, 76(4),
537-549. https://doi.org/10.1007/s11336-011-9218-4

Browne, M. W. (2001). An overview of analytic rotation in exploratory factor analysis. Multivariate
Behavioral Research, 36(1), 111-150. https://doi.org/10.1207/S15327906MBR3601_05
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from psychollm._base.checks import float_array
from psychollm._base.errors import InputError, OptionError, ShapeError
from psychollm._base.types import FloatArray

# Function from loadings (b, k, m) to values (b,) and gradients (b, k, m).
Evaluate = Callable[[FloatArray], tuple[FloatArray, FloatArray]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Criterion:
    """Rotation criterion, which measures the complexity of loadings."""

    name: str
    # loadings (b, k, m) to values (b,) and gradients (b, k, m)
    evaluate: Evaluate
    # whether the factors may correlate
    oblique: bool
    # whether rows are scaled to length one by default (Kaiser)
    normalise: bool = False
    # number of leading factors with fixed positions: 1 for a bifactor solution
    leading: int = 0
    # whether all factors keep position and sign, as for a target
    fixed: bool = False


def _varimax(loadings: FloatArray) -> tuple[FloatArray, FloatArray]:
    squares = loadings**2
    centred = squares - squares.mean(axis=1, keepdims=True)
    return -0.25 * np.sum(centred**2, axis=(1, 2)), -loadings * centred


def _quartimax(loadings: FloatArray) -> tuple[FloatArray, FloatArray]:
    cubes = loadings**3
    return -0.25 * np.sum(cubes * loadings, axis=(1, 2)), -cubes


def oblimin(gamma: float = 0.0) -> Criterion:
    """Return the direct oblimin criterion, equation (3); lower gamma reduces correlations."""

    def evaluate(loadings: FloatArray) -> tuple[FloatArray, FloatArray]:
        squares = loadings**2
        others = squares.sum(axis=2, keepdims=True) - squares
        if gamma:
            others = others - gamma * others.mean(axis=1, keepdims=True)
        return 0.25 * np.sum(squares * others, axis=(1, 2)), loadings * others

    return Criterion(name="oblimin", evaluate=evaluate, oblique=True)


def crawford_ferguson(kappa: float, *, oblique: bool = True) -> Criterion:
    """Return equation (4): a kappa of 0 simplifies rows, a kappa of 1 simplifies columns."""
    if not 0.0 <= kappa <= 1.0:
        msg = f"kappa={kappa!r} must be a number from 0 to 1"
        raise OptionError(msg)
    return _family("Crawford-Ferguson", lambda k, m: kappa, oblique=oblique)


def _family(name: str, weight: Callable[[int, int], float], *, oblique: bool) -> Criterion:
    """Return the criterion of equation (4); kappa may depend on the table's dimensions."""

    def evaluate(loadings: FloatArray) -> tuple[FloatArray, FloatArray]:
        kappa = weight(*loadings.shape[1:])
        squares = loadings**2
        rows = squares.sum(axis=2, keepdims=True) - squares
        columns = squares.sum(axis=1, keepdims=True) - squares
        mixed = (1.0 - kappa) * rows + kappa * columns
        return 0.25 * np.sum(squares * mixed, axis=(1, 2)), loadings * mixed

    return Criterion(name=name, evaluate=evaluate, oblique=oblique)


def geomin(epsilon: float = 0.01, *, oblique: bool = True) -> Criterion:
    """Return the geomin criterion of equation (5): small if each row has a loading near zero."""
    # A small epsilon leads to simpler loadings and more local minima.
    if not epsilon > 0.0:
        msg = f"epsilon={epsilon!r} must be positive"
        raise OptionError(msg)

    def evaluate(loadings: FloatArray) -> tuple[FloatArray, FloatArray]:
        shifted = loadings**2 + epsilon
        means = np.exp(np.log(shifted).mean(axis=2, keepdims=True))
        return means.sum(axis=(1, 2)), 2.0 / loadings.shape[2] * loadings / shifted * means

    return Criterion(name="geomin", evaluate=evaluate, oblique=oblique)


def bifactor(*, oblique: bool = False) -> Criterion:
    """Return the bifactor criterion: equation (3) over all factors except the first."""
    groups = oblimin()

    def evaluate(loadings: FloatArray) -> tuple[FloatArray, FloatArray]:
        slopes = np.zeros_like(loadings)
        values, slopes[:, :, 1:] = groups.evaluate(loadings[:, :, 1:])
        return values, slopes

    return Criterion(name="bifactor", evaluate=evaluate, oblique=oblique, leading=1)


def target(values: Any, *, oblique: bool = True) -> Criterion:
    """Return the distance from a target (k, m) as a criterion; NaN marks its free entries."""
    wanted = float_array(values, "target")
    if wanted.ndim != 2:
        msg = f"a target must have shape (k, m), as the loadings have, got {wanted.shape}"
        raise ShapeError(msg)
    given = np.isfinite(wanted)
    if not given.any():
        msg = "a target needs at least one number: use NaN for free loadings"
        raise InputError(msg)

    def evaluate(loadings: FloatArray) -> tuple[FloatArray, FloatArray]:
        if loadings.shape[1:] != wanted.shape:
            msg = f"the target has shape {wanted.shape}, the loadings {loadings.shape[1:]}"
            raise ShapeError(msg)
        apart = np.where(given, loadings - np.where(given, wanted, 0.0), 0.0)
        return 0.5 * np.sum(apart**2, axis=(1, 2)), apart

    return Criterion(name="target", evaluate=evaluate, oblique=oblique, fixed=True)


VARIMAX = Criterion(name="varimax", evaluate=_varimax, oblique=False, normalise=True)
QUARTIMAX = Criterion(name="quartimax", evaluate=_quartimax, oblique=False)
EQUAMAX = _family("equamax", lambda k, m: m / (2.0 * k), oblique=False)
PARSIMAX = _family("parsimax", lambda k, m: (m - 1.0) / (k + m - 2.0), oblique=False)
QUARTIMIN = oblimin()

CRITERIA = {
    "varimax": VARIMAX,
    "quartimax": QUARTIMAX,
    "equamax": EQUAMAX,
    "parsimax": PARSIMAX,
    "oblimin": QUARTIMIN,
    "quartimin": QUARTIMIN,
    "geomin": geomin(),
    "bifactor": bifactor(),
}
"""Names of criteria for `rotate`, which also accepts a `Criterion`."""
