r"""Means in which every stratum of questions, such as a task, counts alike.

With T strata of :math:`n_t` questions each the mean is :math:`\frac{1}{T} \sum_t \bar s_t`. The
strata are fixed: its error is that of the questions within them, whose deviations from
:math:`\bar s_t` are taken for residuals and enlarged by :math:`\sqrt{n_t / (n_t - 1)}` in place of
the factor that the mean of all questions would have.
"""

from typing import Any

import numpy as np

from psychollm._base.types import FloatArray
from psychollm.data.labels import Labels, numbered, unit_labels


def balanced(
    values: FloatArray, weight: FloatArray, strata: Any, questions: Labels
) -> tuple[FloatArray, FloatArray]:
    """Return scores and weights (rows, questions) whose weighted mean is that over strata.

    Scores are NaN in a row that holds fewer than two questions of any stratum.

    Examples
    --------
    >>> scores, weights = balanced(np.array([[1.0, 0, 1, 1, 1, 1]]), np.ones((1, 6)),
    ...                            list("aabbbb"), tuple(range(6)))
    >>> float((scores * weights).sum().round(12)), weights.round(3).tolist()
    (0.75, [[0.25, 0.25, 0.125, 0.125, 0.125, 0.125]])
    """
    codes, names = numbered(unit_labels(strata, questions, argument="tasks"))
    member = (codes[:, None] == np.arange(len(names))).astype(np.float64)
    n, known = weight @ member, weight > 0
    with np.errstate(invalid="ignore", divide="ignore"):
        means = (np.where(known, values, 0.0) @ member) / n
        size = n * len(names)
        factor = np.sqrt((1.0 - 1.0 / size) / (1.0 - 1.0 / n))
        shares = np.where(known, 1.0 / size[:, codes], 0.0)
        moved = means.mean(axis=1, keepdims=True) + (values - means[:, codes]) * factor[:, codes]
    enough = (n > 1).all(axis=1, keepdims=True)
    return np.where(enough, np.where(known, moved, 0.0), np.nan), np.where(enough, shares, weight)
