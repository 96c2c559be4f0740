"""Predictive checks, which compare observed answers with draws from the prior or posterior.

New respondents are drawn from the families. The new respondents answer items with the parameters
of one draw, and the observed pattern of missing data is kept. The statistics are each item's yes
rate and item-rest correlation, and the SD of respondents' yes rates. With at most a hundred items,
a further statistic measures the deviations of item covariances from their means over replicates.
Large deviations indicate further dimensions. A posterior predictive p-value near 0 or 1 indicates
misfit. The p-value is conservative, because the data are used twice.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import DRAWS, check_choice, check_count, check_generator
from psychollm._base.result import Result
from psychollm._base.types import BoolArray, FloatArray, IntArray, RandomState
from psychollm.irt.bayes.draws import Kind, replicates
from psychollm.irt.bayes.result import BayesianIRT

MIDDLE = (0.025, 0.975)
MOST_PAIRED = 100  # largest number of items for pair covariances


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class PredictiveCheck(Result):
    """Statistics of observed answers, compared with statistics of replicated answers.

    Attributes
    ----------
    statistic : tuple of str
        "yes_rate" and "rest_correlation" of each item, "spread" (SD of respondents' yes rates),
        and "pair_misfit" (root mean square of the standardised deviations of covariances).
    item : tuple
        Labels of the items; None for "spread" and "pair_misfit".
    observed, mean : ndarray of shape (statistics,)
        Value of each statistic for the observed answers, and its mean over the replicates.
    interval : ndarray of shape (statistics, 2)
        Central 95 % interval of the replicates.
    p_value : ndarray of shape (statistics,)
        Proportion of replicates at least as large as the observed value; ties count one half.
    kind : {"posterior", "prior"}
        Distribution from which parameters were drawn.
    n : int
        Number of replicates.
    """

    statistic: tuple[str, ...]
    item: tuple[object, ...]
    observed: FloatArray
    mean: FloatArray
    interval: FloatArray
    p_value: FloatArray
    kind: Kind
    n: int

    _AXES = Axes({}, "statistic", "item", "observed", "mean", "{bound}=interval", "p_value")

    def summary(self) -> str:
        """Describe how many statistics are outside their intervals, in one sentence."""
        outside = (self.observed < self.interval[:, 0]) | (self.observed > self.interval[:, 1])
        named = [
            f"{name} of {item!r}" if item is not None else name
            for name, item, out in zip(self.statistic, self.item, outside, strict=True)
            if out
        ]
        shown = ": " + ", ".join(named[:3]) + (", ..." if len(named) > 3 else "") if named else ""
        return (
            f"{len(named)} of {len(self.statistic)} statistics are outside the central 95 % of "
            f"{self.n} {self.kind} replicates{shown}."
        )


def predictive_check(
    fit: BayesianIRT, *, kind: Kind = "posterior", n: int = 400, rng: RandomState = None
) -> PredictiveCheck:
    """Compare the answers with draws from the prior or posterior predictive distribution.

    Parameters
    ----------
    fit : BayesianIRT
        Result of `bayesian_2pl`.
    kind : {"posterior", "prior"}
        Distribution from which parameters are drawn.
    n : int
        Number of replicates.
    rng : Generator, int or None
        Random generator or seed.

    Returns
    -------
    PredictiveCheck
        Observed statistics with their intervals and p-values.

    Raises
    ------
    OptionError
        If an option does not exist.

    Examples
    --------
    >>> from psychollm.irt.bayes.bayesian import bayesian_2pl
    >>> answers = np.random.default_rng(1).random((200, 4)) < [0.2, 0.4, 0.6, 0.7]
    >>> predictive_check(bayesian_2pl(answers, n_draws=200, rng=0), n=50, rng=0).observed.shape
    (10,)
    """
    check_choice("kind", kind, Kind)
    n = check_count("n", n, high=DRAWS)
    target = fit._target
    codes = target.answers.codes[target.answers.of_respondent]
    made = [codes, *replicates(fit, kind, n, check_generator(rng))]
    table = np.array([_statistics(answers, codes >= 0) for answers in made])
    table = np.column_stack([table, _pair_misfit(made)])
    observed, table = table[0], table[1:]
    items = [label for label, kept in zip(fit.labels, fit.fitted, strict=True) if kept]
    above = (table > observed).mean(axis=0) + 0.5 * (table == observed).mean(axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # NumPy warns if all values are NaN
        mean, interval = np.nanmean(table, axis=0), np.nanquantile(table, MIDDLE, axis=0).T
    return PredictiveCheck(
        statistic=(
            *("yes_rate",) * len(items),
            *("rest_correlation",) * len(items),
            "spread",
            "pair_misfit",
        ),
        item=(*items, *items, None, None),
        observed=observed,
        mean=mean,
        interval=interval,
        p_value=np.where(np.isfinite(mean), above, np.nan),
        kind=kind,
        n=n,
    )


def _pair_misfit(tables: list[IntArray]) -> FloatArray:
    """Return the RMS deviation of each table's item covariances, in SDs of the replicates.

    Values are NaN with a single item, or more than `MOST_PAIRED` items.
    """
    items = tables[0].shape[1]
    if not 1 < items <= MOST_PAIRED:
        return np.full(len(tables), np.nan)
    upper = np.triu_indices(items, 1)
    found = np.empty((len(tables), upper[0].size))
    for k, codes in enumerate(tables):
        use = (codes >= 0).astype(np.float64)
        rate = (codes * use).sum(axis=0) / np.maximum(use.sum(axis=0), 1.0)
        gap = (codes - rate) * use
        found[k] = ((gap.T @ gap) / np.maximum(use.T @ use, 1.0))[upper]
    deviation = found - found[1:].mean(axis=0)
    share = deviation**2 / np.maximum(found[1:].var(axis=0), 1e-12)
    return np.asarray(np.sqrt(share.mean(axis=1)), dtype=np.float64)


def _statistics(codes: IntArray, answered: BoolArray) -> FloatArray:
    """Return yes rates (J,), item-rest correlations (J,), and the SD of respondents' yes rates."""
    yes = np.where(answered, codes, 0).astype(np.float64)
    n, total = answered.sum(axis=0), yes.sum(axis=1, keepdims=True)
    size = answered.sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = yes.sum(axis=0) / n
        rest = (total - yes) / (size - answered)
        use = answered & np.isfinite(rest)
        rest = np.where(use, rest, 0.0)
        count = use.sum(axis=0)
        gap = np.where(use, rest - rest.sum(axis=0) / count, 0.0)
        own = np.where(use, yes - (yes * use).sum(axis=0) / count, 0.0)
        product = (gap * own).sum(axis=0)
        correlation = product / np.sqrt((gap**2).sum(axis=0) * (own**2).sum(axis=0))
        share = (total / size)[size > 0]
    return np.concatenate([rate, correlation, [share.std()]])
