r"""Decompose the variance of one attempt into question, model, interaction and error.

Let p be the proportion of successes in the n attempts of one model at one question (a cell). The
variance of attempts within cells, :math:`\sigma^2_e`, is estimated by the mean of :math:`n p (1 -
p) / (n - 1)`. Half the mean squared difference between the proportions of two cells, minus their
mean sampling variance, estimates a sum of components:

.. math:: \begin{aligned}
          \text{one question, two models:} \quad & \sigma^2_m + \sigma^2_{mq}, \\
          \text{one model, two questions:} \quad & \sigma^2_q + \sigma^2_{mq}, \\
          \text{neither in common:} \quad & \sigma^2_m + \sigma^2_q + \sigma^2_{mq}.
          \end{aligned}                                                                   \quad (1)

Solving equations (1) gives the variance components of models, questions and interaction, for any
pattern of missing cells. With families of models, pairs of models within and between families
identify separate components. The sampling variance of each estimate is the sum of its jackknife
variances over questions and over models.
"""

from dataclasses import dataclass

import numpy as np

from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.data.labels import Labels
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.intervals import normal_multiplier
from psychollm.estimates.reasons import Reason

_GROUPS = 60  # maximum number of jackknife groups of questions or models


@dataclass(frozen=True, slots=True)
class _Cells:
    mean: FloatArray  # (models, questions) proportion of successes, 0 if missing
    noise: FloatArray  # (models, questions) variance of the mean
    within: FloatArray  # (models, questions) sums of squares of attempts
    freedom: FloatArray  # (models, questions) degrees of freedom of `within`
    there: BoolArray  # (models, questions) whether there are attempts

    def taken(self, models: BoolArray, questions: BoolArray) -> "_Cells":
        at = np.ix_(models, questions)
        return _Cells(
            self.mean[at], self.noise[at], self.within[at], self.freedom[at], self.there[at]
        )


def shares_of(
    successes: FloatArray, trials: FloatArray, families: IntArray | None, *, level: float
) -> Estimate:
    """Return each component's proportion of the variance of one attempt."""
    cells = _cells(successes, trials)
    names: Labels = ("question", "attempt", "model:question", "model")
    if families is not None:
        names = (*names[:3], "model in its family", "family")
    value = _shares(cells, families)
    variance = _jackknife(cells, families, along=1) + _jackknife(cells, families, along=0)
    se = np.sqrt(variance)
    margin = normal_multiplier(level) * se[:, None] * [-1.0, 1.0]
    few = cells.there.any(axis=1).sum() < 5 or cells.there.any(axis=0).sum() < 5
    flags = [
        Reason.TOO_FEW
        if np.isnan(one)
        else Reason.NEGATIVE_COMPONENT
        if one < 0
        else Reason.FEW_CLUSTERS
        if few
        else Reason.NONE
        for one in value
    ]
    return Estimate(
        name="share of variance",
        value=value,
        se=se,
        interval=np.clip(value[:, None] + margin, np.minimum(value, 0.0)[:, None], 1.0),
        n=np.full(len(names), float(cells.there.sum())),
        flags=tuple(flags),
        method="jackknife over questions and models",
        level=level,
        labels=names,
        axis="component",
    )


def _cells(successes: FloatArray, trials: FloatArray) -> _Cells:
    there = trials > 0
    with np.errstate(invalid="ignore", divide="ignore"):
        p = np.where(there, successes / trials, 0.0)
        within = np.where(trials > 1, trials * p * (1.0 - p), 0.0)
        freedom = np.where(trials > 1, trials - 1.0, 0.0)
        own = within / freedom
        common = within.sum() / freedom.sum()
        noise = np.where(trials > 1, own, common) / trials
    return _Cells(p, np.where(there, noise, 0.0), within, freedom, there)


def _shares(cells: _Cells, families: IntArray | None) -> FloatArray:
    """Return proportions of variance: question, attempt, interaction, model (and family)."""
    with np.errstate(invalid="ignore", divide="ignore"):
        attempt = cells.within.sum() / cells.freedom.sum()
        same_question, n_question = _half_squares(cells.mean, cells.noise, cells.there, axis=0)
        same_model, n_model = _half_squares(cells.mean, cells.noise, cells.there, axis=1)
        whole, n_whole = _half_squares(
            cells.mean.reshape(1, -1), cells.noise.reshape(1, -1), cells.there.reshape(1, -1), 1
        )
        neither = (whole - same_question - same_model) / (n_whole - n_question - n_model)
        of_question, of_model = same_question / n_question, same_model / n_model
        model, question = neither - of_model, neither - of_question
        both = of_question + of_model - neither
        parts = [question, attempt, both]
        if families is None:
            parts.append(model)
        else:
            family = _between_families(cells, families, neither, n_whole - n_question - n_model)
            parts += [model - family, family]
        total = question + attempt + both + model
        return np.asarray(np.array(parts) / total, dtype=np.float64)


def _between_families(
    cells: _Cells, families: IntArray, neither: np.float64, n_pairs: np.float64
) -> np.float64:
    """Return the component of families, from pairs that share neither model nor question."""
    same, n_same = np.float64(0.0), np.float64(0.0)
    for family in range(int(families.max()) + 1):
        own = families == family
        mean, noise, there = cells.mean[own], cells.noise[own], cells.there[own]
        whole, n_whole = _half_squares(
            mean.reshape(1, -1), noise.reshape(1, -1), there.reshape(1, -1), axis=1
        )
        by_question, n_question = _half_squares(mean, noise, there, axis=0)
        by_model, n_model = _half_squares(mean, noise, there, axis=1)
        same += whole - by_question - by_model
        n_same += n_whole - n_question - n_model
    between = (neither * n_pairs - same) / (n_pairs - n_same)
    return np.float64(between - same / n_same)


def _half_squares(
    mean: FloatArray, noise: FloatArray, there: BoolArray, axis: int
) -> tuple[np.float64, np.float64]:
    """Return the sum of half the squared differences, minus noise, and the number of pairs."""
    m = there.sum(axis=axis)
    sums, squares = mean.sum(axis=axis), (mean**2).sum(axis=axis)
    raw = m * squares - sums**2  # half the sum over both orders of each pair
    known = raw - (m - 1) * noise.sum(axis=axis)
    return np.float64(known[m > 1].sum()), np.float64((m * (m - 1))[m > 1].sum())


def _jackknife(cells: _Cells, families: IntArray | None, *, along: int) -> FloatArray:
    """Return the jackknife variance of the proportions over questions (1) or models (0)."""
    n = cells.there.shape[along]
    groups = np.arange(n) % min(n, _GROUPS)
    every = [np.ones(size, dtype=np.bool_) for size in cells.there.shape]
    found = []
    for group in range(int(groups.max()) + 1):
        kept = [*every]
        kept[along] = groups != group
        rest = families if families is None or along else families[kept[0]]
        found.append(_shares(cells.taken(*kept), rest))
    g = len(found)
    return np.asarray((g - 1) / g * ((np.array(found) - np.mean(found, axis=0)) ** 2).sum(axis=0))
