r"""`procrustes`: rotation of loadings towards target loadings.

For orthogonal factors, the rotation has a closed form. With the singular value decomposition
:math:`\Lambda^\top H = U S V^\top`, the orthonormal T for which :math:`\Lambda T` is nearest to H
is :math:`T = U V^\top` (Schonemann, 1966). For correlated factors, an iteration starts at the
orthogonal rotation.

References
----------
Schonemann, P. H. (1966). A generalized solution of the orthogonal Procrustes problem.
Psychometrika, 31(1), 1-10. https://doi.org/10.1007/BF02289451

Browne, M. W. (1967). On oblique Procrustes rotation. Psychometrika, 32(2), 125-132.
https://doi.org/10.1007/BF02289420
"""

from __future__ import annotations

from typing import Any

import numpy as np

from psychollm._base.convergence import Convergence
from psychollm._base.errors import LabelError, ShapeError
from psychollm._base.types import FloatArray
from psychollm.data.labels import listed
from psychollm.factor.exploratory.criteria import target as target_criterion
from psychollm.factor.exploratory.gradient_projection import turn
from psychollm.factor.exploratory.rotate import Rotation, correlation_of, read_loadings


def procrustes(loadings: Any, target: Any, *, oblique: bool = False) -> Rotation:
    """Rotate loadings towards a fully specified target.

    Parameters
    ----------
    loadings : Extraction, DataFrame or array_like (k, m)
        Loadings on orthogonal factors.
    target : the same
        Target loadings. If loadings and target have row labels, the rows of the target are
        reordered to match.
    oblique : bool
        Whether the factors may correlate.

    Returns
    -------
    Rotation
        Factors in the order and with the signs of the target. `criterion` is half the remaining
        sum of squared differences.

    Raises
    ------
    ShapeError
        If the shapes of the loadings and the target differ.
    LabelError
        If row labels differ.

    See Also
    --------
    rotate : with ``method=target(...)`` for partially specified targets.

    Examples
    --------
    >>> turned = procrustes([[0.5, 0.5], [0.5, -0.5]], [[0.7, 0.0], [0.0, 0.7]])
    >>> abs(turned.loadings).round(3)
    array([[0.707, 0.   ],
           [0.   , 0.707]])
    """
    A, labels = read_loadings(loadings)
    H = _target(target, A, labels, labelled=hasattr(loadings, "labels"))
    left, _, right = np.linalg.svd(A.T @ H)
    T = np.asarray(left @ right, dtype=np.float64)
    ending = Convergence(
        converged=True,
        iterations=0,
        reason="closed form",
        objective=0.5 * float(np.sum((A @ T - H) ** 2)),
    )
    if oblique:
        turned = turn(target_criterion(H), A[None], T[None])
        T = turned.transformations[0]
        ending = turned.ending(0)
        ending.warn("the Procrustes rotation")
    return Rotation(
        loadings=A @ np.linalg.inv(T).T,
        factor_correlation=correlation_of(T),
        transformation=T,
        communalities=np.sum(A**2, axis=1),
        criterion=ending.objective,
        minima=1,
        method="oblique Procrustes" if oblique else "Procrustes",
        labels=labels,
        convergence=ending,
    )


def _target(target: Any, A: FloatArray, labels: tuple[Any, ...], *, labelled: bool) -> FloatArray:
    H, names = read_loadings(target)
    if H.shape != A.shape:
        msg = f"target has shape {H.shape}, but loadings have {A.shape}"
        raise ShapeError(msg)
    if not labelled or not hasattr(target, "labels"):
        return H
    if set(names) != set(labels):
        alone = [name for name in names if name not in set(labels)]
        msg = f"target has rows that loadings lack: {listed(alone)}"
        raise LabelError(msg)
    where = {name: i for i, name in enumerate(names)}
    return H[[where[label] for label in labels]]
