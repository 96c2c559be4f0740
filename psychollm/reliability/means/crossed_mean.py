r"""Inference for a mean over a sample of people and a sample of questions.

Person p answers question q with :math:`y_{pq} = \mu + a_p + b_q + c_{pq}`. The estimate is the
mean over questions of their mean scores, which gives each cell a weight :math:`w_{pq}`; the
weights sum to 1. With P people and Q questions, the variance of the estimate is

.. math:: V = \frac{\sigma_a^2}{P} + \frac{\sigma_b^2}{Q} + \frac{\sigma_c^2}{PQ}
            = V_P + V_Q - V_{PQ}.                                                        \quad (1)

Here :math:`V_P` is the variance if only people are sampled, :math:`V_Q` is the variance if only
questions (or clusters of questions) are sampled, and :math:`V_{PQ}` is the part that :math:`V_P`
and :math:`V_Q` have in common. Let :math:`\hat a, \hat b, \hat c` be the least-squares estimates
of the additive model, :math:`h` the proportion of the total weight of a person or a cluster, and
:math:`\nu_{PQ} = N - P - Q + 1` for N cells. Then

.. math:: V_P = \sum_p \frac{1}{1 - h_p} \Big[\sum_q w_{pq} (\hat a_p + \hat c_{pq})\Big]^2, \quad
          V_Q = \sum_q \frac{1}{1 - h_q} \Big[\sum_p w_{pq} (\hat b_q + \hat c_{pq})\Big]^2, \quad
          V_{PQ} = \frac{N}{\nu_{PQ}} \sum_{pq} \big[w_{pq} \hat c_{pq}\big]^2.           \quad (2)

In a complete table, the variances, equation (2), are the mean squares of the analysis of variance
divided by PQ. V is at least the larger of :math:`V_P` and :math:`V_Q`. The variance V has
Satterthwaite's degrees of freedom,

.. math:: \nu = V^2 \big/ \big(V_P^2 / \nu_P + V_Q^2 / \nu_Q + V_{PQ}^2 / \nu_{PQ}\big). \quad (3)

A small sample rarely includes the most extreme people. If a few people contribute most of
:math:`V_P`, the estimate of :math:`V_P` is only as precise as an estimate from these people alone.
:math:`\nu_P` is therefore at most 1.2 times the effective number of people, `telling_clusters`.
The factor of 1.2 was chosen by simulation (``validation/people_coverage.py``).

References
----------
Cameron, A. C., Gelbach, J. B., & Miller, D. L. (2011). Robust inference with multiway clustering.
Journal of Business & Economic Statistics, 29, 238-249. https://doi.org/10.1198/jbes.2010.07136

Satterthwaite, F. E. (1946). An approximate distribution of estimates of variance components.
Biometrics Bulletin, 2, 110-114. https://doi.org/10.2307/3002019
"""

from dataclasses import dataclass

import numpy as np

from psychollm._base.types import FloatArray, IntArray
from psychollm.estimates.clustered import satterthwaite, telling_clusters
from psychollm.reliability.means.clustered import ROUNDING

_TELLING = 1.2
_ROUNDS = 50  # iterations of the additive fit; a complete table requires one


@dataclass(frozen=True, slots=True)
class CrossedMean:
    """Mean over people and questions, with its standard error."""

    value: float
    variance: float  # variance (1); NaN with one person, or with one cluster of questions
    of_questions: float  # V_Q of (2), the variance due to the sample of questions alone
    df: float  # (3)
    n_people: int
    n_clusters: int  # number of clusters, or of questions without clusters


def crossed_mean(
    values: FloatArray, clusters: IntArray | None = None, *, fixed: bool = False
) -> CrossedMean:
    """Return the mean of a table (people, questions) with its variance.

    Parameters
    ----------
    values : ndarray (people, questions)
        Numeric answers; NaN where an answer is missing. All questions have equal weight.
    clusters : int array (questions,), optional
        Cluster of each question.
    fixed : bool
        Whether only people are sampled, because the questions are the whole population (for
        example, all items of a scale).

    Examples
    --------
    >>> found = crossed_mean(np.array([[1.0, 0, 1], [1, 1, 1], [0, 0, 1]]))
    >>> round(found.value, 3), round(found.variance, 4), round(float(found.df), 2)
    (0.667, 0.0556, 2.12)
    """
    known = np.isfinite(values)
    values, known = values[known.any(axis=1)], known[known.any(axis=1)]
    kept = known.any(axis=0)
    values, known = values[:, kept], known[:, kept]
    if not values.size:
        return CrossedMean(np.nan, np.nan, np.nan, np.nan, 0, 0)
    codes = np.arange(values.shape[1]) if clusters is None else clusters[kept]
    member = (codes[:, None] == np.unique(codes)).astype(np.float64)
    n_people, n_clusters = len(values), member.shape[1]
    weight = known / known.sum(axis=0) / values.shape[1]
    y = np.where(known, values, 0.0)
    # One score is subtracted so that the mean of equal scores is exact.
    first = float(values[known][0])
    mean = first + float((weight * np.where(known, y - first, 0.0)).sum())
    person, question = _additive(np.where(known, y - mean, 0.0), known)
    rest = np.where(known, y - mean - person[:, None] - question, 0.0)
    if n_people < 2 or (n_clusters < 2 and not fixed):
        return CrossedMean(mean, np.nan, np.nan, np.nan, n_people, n_clusters)
    size = ROUNDING * np.abs(weight * (y - mean)).sum()
    # V_P is computed from people, V_Q from clusters of questions and V_PQ from cells.
    own, share = (weight * (person[:, None] + rest)).sum(axis=1), weight.sum(axis=1)
    of_people = float((own**2 / (1.0 - share)).sum())
    with np.errstate(invalid="ignore", divide="ignore"):
        telling = _TELLING * float(telling_clusters(own))
    df_people = max(np.fmin(float(satterthwaite(share)), telling), 1.0)
    if fixed:
        of_people = of_people if of_people > size**2 else 0.0
        return CrossedMean(mean, of_people, 0.0, df_people, n_people, n_clusters)
    at, shares = (weight * (question + rest)).sum(axis=0) @ member, weight.sum(axis=0) @ member
    of_questions = float((at**2 / (1.0 - shares)).sum())
    cells = (weight * rest) @ member
    n_cells = int((known @ member > 0).sum())
    free = n_cells - n_people - n_clusters + 1
    of_cells = float((cells**2).sum()) * n_cells / free if free > 0 else 0.0
    variance = max(of_people + of_questions - of_cells, of_people, of_questions)
    if variance <= size**2:
        return CrossedMean(mean, 0.0, 0.0, np.inf, n_people, n_clusters)
    parts = [of_people**2 / df_people, of_questions**2 / float(satterthwaite(shares))]
    parts += [of_cells**2 / free] if free > 0 else []
    df = max(variance**2 / sum(parts), 1.0)
    return CrossedMean(mean, variance, of_questions, df, n_people, n_clusters)


def _additive(values: FloatArray, known: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Fit additive effects of people and questions by alternating least squares."""
    rows, columns = known.sum(axis=1), known.sum(axis=0)
    person, question = np.zeros(len(rows)), np.zeros(len(columns))
    for _ in range(_ROUNDS):
        before = person
        person = (values.sum(axis=1) - known @ question) / rows
        question = (values.sum(axis=0) - person @ known) / columns
        if np.abs(person - before).max() <= 1e-10 * (np.abs(person).max() + 1e-300):
            break
    return person, question
