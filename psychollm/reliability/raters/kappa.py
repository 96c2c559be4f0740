r"""Cohen's kappa: agreement of two runs beyond chance.

Let :math:`p_{ij}` be the proportion of questions with category i in the first run and j in the
second, with margins :math:`p_{i\cdot}` and :math:`p_{\cdot j}`. The weights :math:`w_{ij}` are 1
on the diagonal; off the diagonal they give partial credit for disagreements. Cohen's kappa is

.. math:: \kappa = \frac{P_o - P_e}{1 - P_e}, \quad P_o = \sum_{ij} w_{ij} p_{ij}, \quad
          P_e = \sum_{ij} w_{ij} p_{i\cdot} p_{\cdot j} .                                 \quad (1)

The large-sample variance of kappa (Fleiss, Cohen and Everitt, 1969) is

.. math:: \frac{\sum_{ij} p_{ij} \left[ w_{ij} (1 - P_e) - (\bar w_{i\cdot} + \bar w_{\cdot j})
          (1 - P_o) \right]^2 - (P_o P_e - 2 P_e + P_o)^2}{n (1 - P_e)^4},                \quad (2)

.. math:: \bar w_{i\cdot} = \sum_j w_{ij} p_{\cdot j}, \qquad
          \bar w_{\cdot j} = \sum_i w_{ij} p_{i\cdot}.                                    \quad (3)

The R package psych (version 2.2.9 and earlier) takes the sums of equation (3) along the wrong axis
of the weights. The standard errors of weighted kappa in psych are therefore too large or too small
by up to 30 %; the standard errors of unweighted kappa agree with equation (2).

References
----------
Cohen, J. (1968). Weighted kappa: Nominal scale agreement with provision for scaled disagreement or
partial credit. Psychological Bulletin, 70, 213-220. https://doi.org/10.1037/h0026256

Fleiss, J. L., Cohen, J., & Everitt, B. S. (1969). Large sample standard errors of kappa and
weighted kappa. Psychological Bulletin, 72, 323-327. https://doi.org/10.1037/h0028106

Fleiss, J. L. (1971). Measuring nominal scale agreement among many raters. Psychological Bulletin,
76, 378-382. https://doi.org/10.1037/h0031619
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import numpy as np

from psychollm._base.checks import check_choice, check_generator, check_held, float_array
from psychollm._base.errors import OptionError, ShapeError
from psychollm._base.types import FloatArray, IntArray, RandomState
from psychollm.calibration.stated import cluster_codes
from psychollm.data.labels import listed
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.intervals import normal_multiplier
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import Bootstrap, Resampling
from psychollm.kernels.agreement import sum_over_units
from psychollm.reliability.raters.agreement import FEW
from psychollm.reliability.raters.ratings import Ratings, as_ratings, category_values
from psychollm.reliability.raters.unit_bootstrap import (
    Panel,
    Panelist,
    estimate_panel,
)

KappaInterval: TypeAlias = Literal["posterior", "score", "asymptotic", "bca", "percentile"]
KappaWeights: TypeAlias = Literal["linear", "quadratic"]

_PRIOR = 2.0  # weight of the prior, in numbers of questions
_POSTERIOR_DRAWS = 20_000


def cohen_kappa(
    first: Any,
    second: Any = None,
    *,
    weights: KappaWeights | Any = None,
    categories: Iterable[Hashable] | None = None,
    clusters: Any = None,
    interval: KappaInterval = "posterior",
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> Estimate:
    """Compute Cohen's kappa of two runs (or two raters), for every model.

    Parameters
    ----------
    first, second : Responses, DataFrame, DataArray or array_like (models, questions)
        Answers in each run, as numbers or words. Missing values are allowed, and a vector contains
        the answers of one model. Alternatively, pass `Ratings` with two runs as `first` and omit
        `second`.
    weights : {"linear", "quadratic"} or array_like (categories, categories), optional
        Partial credit for disagreements. A matrix of weights has ones on its diagonal and smaller
        values elsewhere. By default disagreements get no credit. "linear" and "quadratic" credit
        decreases with the distance between the ranks of two categories. A flag marks numeric
        categories with unequal spacing; in this case pass `categories` or a matrix of weights.
    categories : iterable, optional
        All categories in increasing order; by default the sorted categories of the data.
    clusters : array_like (questions,), optional
        Cluster of each question, such as its passage; the jackknife and the bootstrap omit or
        resample whole clusters.
    interval : {"posterior", "score", "asymptotic", "bca", "percentile"}
        Interval method. "posterior" uses the posterior distribution of the proportions of answer
        pairs, under a uniform Dirichlet prior with the weight of two questions. The coverage of
        "posterior" is also correct with few questions and rare answers. With clusters, "posterior"
        is replaced by "score", the score interval of `agreement`. "asymptotic" uses equation (2)
        with normal quantiles, clipped to [-1, 1]; it does not support clusters, and has zero
        length at perfect agreement.
    bootstrap : int or Bootstrap
        Number of resamples of questions. All models use the same resamples, so differences are
        paired.
    level : float
        Coverage of the intervals, between 0 and 1.
    rng : Generator, int or None
        Random generator or seed. The result does not depend on `n_jobs`.

    Returns
    -------
    Estimate
        Kappa of every model. Kappa is NaN with a reason if only one value occurs, or no question
        was answered in both runs.

    Raises
    ------
    ShapeError, LabelError
        If the runs differ in their models or questions, or if the number of runs is not two.
    CodeError
        If a rating is infinite or is not one of `categories`.
    OptionError
        If the weights do not match the categories, or require an order that the categories do not
        have.

    Examples
    --------
    >>> kappa = cohen_kappa([1, 2, 3, 3, 1], [1, 2, 3, 2, 1], weights="quadratic", rng=0)
    >>> kappa.value.round(4)
    array([0.8571])
    """
    check_choice("interval", interval, KappaInterval)
    pair = _two_runs(first, second, categories)
    credit = kappa_weights(weights, pair)
    uneven = isinstance(weights, str) and not _equally_spaced(pair)
    numbers = None if clusters is None else cluster_codes(clusters, pair.questions)
    if interval == "asymptotic" and numbers is not None:
        msg = 'interval="asymptotic" assumes independent questions: omit it if there are clusters'
        raise OptionError(msg)
    of_table = interval in {"posterior", "asymptotic"} and numbers is None
    bounds = "score" if interval in {"posterior", "asymptotic"} else interval
    estimate = estimate_panel(
        Panel(
            names=("Cohen's kappa" if weights is None else "weighted kappa",),
            members=[_member(codes, credit, uneven) for codes in pair.codes],
            labels=pair.models,
            clusters=numbers,
            options=Resampling.of(bootstrap, level, rng, bounds),
        )
    )[0]
    if not of_table:
        return estimate
    tables = [_table(codes, credit.shape[0]) for codes in pair.codes]
    if interval == "posterior":
        return _posterior(estimate, tables, credit, rng)
    return _asymptotic(estimate, tables, credit)


def kappa_weights(weights: Any, ratings: Ratings) -> FloatArray:
    """Return the validated weight of each pair of categories (categories, categories)."""
    size = len(ratings.categories)
    if weights is None:
        return np.eye(size)
    if isinstance(weights, str):
        check_choice("weights", weights, KappaWeights)
        if not ratings.ordered:
            msg = f"weights={weights!r} need an order: pass categories= in increasing order"
            raise OptionError(msg)
        rank = np.arange(size)
        distance = np.abs(rank[:, None] - rank) / max(size - 1, 1)
        return np.asarray(1.0 - distance ** (1 if weights == "linear" else 2))
    credit = float_array(weights, "weights")
    if credit.shape != (size, size) or not np.isfinite(credit).all():
        msg = (
            f"weights must be finite, with one row and column for each of the {size} categories "
            f"{listed(ratings.categories)}, got shape {credit.shape}"
        )
        raise OptionError(msg)
    if (np.diag(credit) != 1.0).any() or (credit > 1.0).any():
        msg = "weights are credit for agreement: 1 on the diagonal and at most 1 off it"
        raise OptionError(msg)
    return credit


def kappa_of(tables: FloatArray, credit: FloatArray) -> FloatArray:
    """Return kappas of tables (n, categories, categories), by equation (1); NaN if undefined."""
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = tables / tables.sum(axis=(1, 2), keepdims=True)
        # Losses are used instead of credits, so that agreement contributes exactly zero.
        loss = 1.0 - credit
        rows, columns = shares.sum(axis=2), shares.sum(axis=1)
        expected = (rows[:, :, None] * columns[:, None, :] * loss).sum(axis=(1, 2))
        kappa = 1.0 - (shares * loss).sum(axis=(1, 2)) / expected
    return np.where(expected > 1e-15, kappa, np.nan)


def kappa_variance(table: FloatArray, credit: FloatArray) -> float:
    """Return the large-sample variance of kappa for one table of counts, by equation (2)."""
    n = float(table.sum())
    shares = table / n
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    observed = float((credit * shares).sum())
    expected = float((credit * np.outer(rows, columns)).sum())
    marginal = (credit @ columns)[:, None] + rows @ credit
    spread = (shares * (credit * (1.0 - expected) - marginal * (1.0 - observed)) ** 2).sum()
    centre = observed * expected - 2.0 * expected + observed
    return float(max(spread - centre**2, 0.0) / (n * (1.0 - expected) ** 4))


def _two_runs(first: Any, second: Any, categories: Iterable[Hashable] | None) -> Ratings:
    check_held(second, "second")
    if second is not None:
        check_held(first, "first")
        return Ratings.from_runs([first, second], categories=categories)
    pair = as_ratings(first, "first", categories=categories)
    if len(pair.runs) != 2:
        msg = (
            f"Cohen's kappa compares two runs, got {len(pair.runs)}: pass two tables, choose with "
            "Ratings.select(runs=...), or use fleiss_kappa"
        )
        raise ShapeError(msg)
    return pair


def _equally_spaced(ratings: Ratings) -> bool:
    """Return whether the numeric categories are equally spaced."""
    if not all(isinstance(category, int | float) for category in ratings.categories):
        return True
    steps = np.diff(category_values(ratings))
    return bool(np.allclose(steps, steps[:1]))


def _member(codes: IntArray, credit: FloatArray, uneven: bool) -> Panelist:  # noqa: FBT001
    """Return kappa of one model as a function of counts, from category indices (questions, 2)."""
    size = credit.shape[0]
    both = np.asarray((codes >= 0).all(axis=1), dtype=np.bool_)
    cell = codes[both, 0] * size + codes[both, 1]
    start = np.zeros(both.size + 1, dtype=np.int64)
    start[1:] = np.cumsum(both)
    ones = np.ones(cell.size)

    def compute(counts: FloatArray) -> FloatArray:
        tables = np.empty((counts.shape[0], size * size))
        sum_over_units(counts, start, cell, ones, tables)
        return kappa_of(tables.reshape(len(counts), size, size), credit)[:, None]

    return Panelist(
        compute=compute,
        paired=both,
        flags=(_reason(codes, credit, uneven),),
        expected=np.array([_expected(_table(codes, size), credit)]),
        pairs=max(float(both.sum()), 1.0),
        shares=(None,),
    )


def _table(codes: IntArray, size: int) -> FloatArray:
    """Return the counts of each pair of categories (categories, categories)."""
    both = codes[(codes >= 0).all(axis=1)]
    table = np.zeros((size, size))
    np.add.at(table, (both[:, 0], both[:, 1]), 1.0)
    return table


def _expected(table: FloatArray, credit: FloatArray) -> float:
    """Return the loss expected by chance, as a proportion of the maximum loss."""
    loss = 1.0 - credit
    chance = np.outer(table.sum(axis=1), table.sum(axis=0)) / max(float(table.sum()), 1.0) ** 2
    return max(float((chance * loss).sum()) / max(float(loss.max(initial=0.0)), 1e-12), 1e-12)


def _reason(codes: IntArray, credit: FloatArray, uneven: bool) -> Reason:  # noqa: FBT001
    if not (codes >= 0).any():
        return Reason.NO_RATINGS
    table = _table(codes, credit.shape[0])
    if not table.any():
        return Reason.NO_PAIRS
    value = float(kappa_of(table[None], credit)[0])
    if np.isnan(value):
        return Reason.SINGLE_VALUE
    if value == 1.0:
        return Reason.PERFECT_AGREEMENT
    if uneven:
        return Reason.UNEQUAL_STEPS
    graded = bool((credit[~np.eye(len(credit), dtype=bool)] > 0).any())
    if graded and table.sum() - np.trace(table) < FEW:
        return Reason.FEW_VARY
    usual = (table.sum(axis=0) + table.sum(axis=1)).argmax()
    return Reason.FEW_VARY if table.sum() - table[usual, usual] < FEW else Reason.NONE


def _posterior(
    estimate: Estimate, tables: Sequence[FloatArray], credit: FloatArray, rng: RandomState
) -> Estimate:
    """Replace bounds by quantiles of the posterior, widened to include the estimate."""
    seed = int(check_generator(rng).integers(2**63))
    tails = [0.5 * (1.0 - estimate.level), 0.5 * (1.0 + estimate.level)]
    bounds = np.full((len(tables), 2), np.nan)
    for row, table in enumerate(tables):
        if not estimate.defined[row] or table.sum() < 2.0:
            continue
        # All models use the same random stream, so that the interval of a model does not depend on
        # the other models.
        generator = np.random.default_rng(seed)
        shares = generator.dirichlet(table.ravel() + _PRIOR / table.size, size=_POSTERIOR_DRAWS)
        kappas = kappa_of(shares.reshape(-1, *table.shape), credit)
        low, high = np.nanquantile(kappas, tails)
        bounds[row] = min(low, estimate.value[row]), max(high, estimate.value[row])
    flags = tuple(
        Reason.FEW_VARY if flag is Reason.ONE_VARIES else flag for flag in estimate.flags
    )
    return replace(
        estimate, interval=bounds, flags=flags, method="posterior of the table of pairs"
    )


def _asymptotic(estimate: Estimate, tables: Sequence[FloatArray], credit: FloatArray) -> Estimate:
    """Replace bounds and standard errors by asymptotic values from equation (2)."""
    variance = np.array(
        [
            kappa_variance(table, credit) if known else np.nan
            for table, known in zip(tables, estimate.defined, strict=True)
        ]
    )
    se = np.sqrt(variance)
    step = normal_multiplier(estimate.level) * se
    bounds = np.stack([estimate.value - step, estimate.value + step], axis=1)
    return replace(estimate, se=se, interval=np.clip(bounds, -1.0, 1.0), method="asymptotic")
