r"""What a rotation makes small: one record per criterion, with its gradient.

With loadings :math:`\Lambda` (k, m) and squares :math:`s_{ij} = \lambda_{ij}^2`,

.. math:: \text{varimax: } -\tfrac14 \sum_j \Big(\sum_i s_{ij}^2
          - \tfrac1k \Big(\sum_i s_{ij}\Big)^2\Big),                                   \quad (1)

.. math:: \text{quartimax: } -\tfrac14 \sum_{ij} s_{ij}^2,                             \quad (2)

.. math:: \text{oblimin: } \tfrac14 \sum_{j \ne l} \Big(\sum_i s_{ij} s_{il}
          - \tfrac{\gamma}{k} \sum_i s_{ij} \sum_i s_{il}\Big),                        \quad (3)

the last with :math:`\gamma = 0` direct quartimin. A criterion is a function of a stack of loadings
and knows nothing of transformations: those are in `gradient_projection`.

References
----------
Kaiser, H. F. (1958). The varimax criterion for analytic rotation in factor analysis.
Psychometrika, 23(3), 187-200. https://doi.org/10.1007/BF02289233

Jennrich, R. I., & Sampson, P. F. (1966). Rotation for simple loadings. Psychometrika, 31(3),
313-323. https://doi.org/10.1007/BF02289465
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from psychollm._base.types import FloatArray

# loadings (b, k, m) -> values (b,), gradients (b, k, m)
Evaluate = Callable[[FloatArray], tuple[FloatArray, FloatArray]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Criterion:
    """A criterion of simplicity.

    Attributes
    ----------
    name : str
        What it is called.
    evaluate : callable
        Loadings (b, k, m) to values (b,) and gradients (b, k, m).
    oblique : bool
        Whether the factors may correlate.
    normalize : bool
        Whether rows are scaled to length one first (Kaiser) unless the caller says otherwise.
    """

    name: str
    evaluate: Evaluate
    oblique: bool
    normalize: bool = False


def _varimax(loadings: FloatArray) -> tuple[FloatArray, FloatArray]:
    squares = loadings**2
    centred = squares - squares.mean(axis=1, keepdims=True)
    return -0.25 * np.sum(centred**2, axis=(1, 2)), -loadings * centred


def _quartimax(loadings: FloatArray) -> tuple[FloatArray, FloatArray]:
    cubes = loadings**3
    return -0.25 * np.sum(cubes * loadings, axis=(1, 2)), -cubes


def oblimin(gamma: float = 0.0) -> Criterion:
    """Return direct oblimin (3): zero is quartimin, lower makes the factors less correlated.

    Examples
    --------
    >>> value, gradient = oblimin().evaluate(np.array([[[1.0, 0.0], [0.0, 1.0]]]))
    >>> value, bool(gradient.any())
    (array([0.]), False)
    """

    def evaluate(loadings: FloatArray) -> tuple[FloatArray, FloatArray]:
        squares = loadings**2
        others = squares.sum(axis=2, keepdims=True) - squares
        if gamma:
            others = others - gamma * others.mean(axis=1, keepdims=True)
        return 0.25 * np.sum(squares * others, axis=(1, 2)), loadings * others

    return Criterion(name="oblimin", evaluate=evaluate, oblique=True)


VARIMAX = Criterion(name="varimax", evaluate=_varimax, oblique=False, normalize=True)
QUARTIMAX = Criterion(name="quartimax", evaluate=_quartimax, oblique=False)
QUARTIMIN = oblimin()

CRITERIA = {
    "varimax": VARIMAX,
    "quartimax": QUARTIMAX,
    "oblimin": QUARTIMIN,
}
"""Names that `rotate` understands; it takes any other `Criterion` as it is."""
