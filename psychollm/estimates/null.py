"""`Null`: an observed statistic and its distribution under a null hypothesis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from psychollm._base.axes import Axes, dataset
from psychollm._base.checks import check_choice
from psychollm._base.numbers import percent
from psychollm._base.result import Result
from psychollm._base.types import FloatArray, IntArray

Alternative: TypeAlias = Literal["greater", "less", "two-sided"]

_TIE = 1e-12


def monte_carlo_p_value(
    observed: FloatArray | float,
    draws: FloatArray,
    *,
    alternative: Alternative = "greater",
    tie: FloatArray | float | None = None,
) -> FloatArray:
    """Return p-values (b + 1) / (n + 1), where b of n `draws` (n, ...) are at least as extreme."""
    # The observed table counts as one of the replicates, which makes the test exact; see Phipson
    # and Smyth (2010), Statistical Applications in Genetics and Molecular Biology, 9(1), 39,
    # https://doi.org/10.2202/1544-6115.1585. The two-sided p-value is twice the smaller tail.
    # Draws within `tie` of the observed value (by default, within a relative difference of 1e-12)
    # count as equal, because rounding errors of a sum must not change a p-value. Undefined draws
    # (NaN) are excluded. The p-value is NaN if the observed value is undefined, or if all draws
    # are undefined.
    check_choice("alternative", alternative, Alternative)
    slack = _TIE * np.maximum(np.abs(observed), 1e-3) if tie is None else tie
    n = (~np.isnan(draws)).sum(axis=0)
    values = np.ones(())
    if alternative != "less":
        values = (1.0 + np.sum(draws >= observed - slack, axis=0)) / (n + 1.0)
    if alternative != "greater":
        below = (1.0 + np.sum(draws <= observed + slack, axis=0)) / (n + 1.0)
        both = np.minimum(1.0, 2.0 * np.minimum(values, below))
        values = below if alternative == "less" else both
    return np.where(np.isnan(observed) | (n == 0), np.nan, values)


def monte_carlo_error(p_value: FloatArray, n: IntArray | int) -> FloatArray:
    """Return the standard errors of p-values from n replicates."""
    return np.asarray(np.sqrt(p_value * (1.0 - p_value) / (n + 1.0)), dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Mixing:
    """Diagnostic of the mixing of curveball trades.

    Attributes
    ----------
    trades : ndarray of shape (s,)
        Numbers of trades at which mixing is examined; the last is the number per replicate.
    changed : ndarray of shape (s,)
        Mean proportion of cells that differ from the observed table.
    z : float
        Largest standardised difference, over entries of the statistic, between replicates after
        half of the trades and replicates after all trades. If the standardised difference is above
        about 3, increase ``trades``.
    """

    trades: FloatArray  # (s,)
    changed: FloatArray  # (s,)
    z: float

    def __repr__(self) -> str:
        return (
            f"Mixing after {int(self.trades[-1])} trades: {percent(self.changed[-1], 1)} of cells "
            f"changed ({percent(self.changed[-2], 1)} halfway), "
            f"statistic z = {self.z:.2f} between the two"
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Null(Result):
    """Observed statistic and its replicates under a null hypothesis.

    Attributes
    ----------
    observed : ndarray of shape (...)
        Statistic of the data.
    draws : ndarray of shape (n, ...)
        Statistic of each replicate.
    p_value : ndarray of shape (...)
        P-value (b + 1) / (n + 1), where b of the n replicates are at least as extreme as the
        observed statistic.
    p_value_se : ndarray of shape (...)
        Monte Carlo standard error of the p-value.
    n : int
        Number of replicates; smaller than requested if the simulation was interrupted.
    scheme : str
        Null model: "within_model", "within_question", "both_margins" or "one_factor".
    statistic : str
        Name of the statistic.
    alternative : str
        Alternative hypothesis: "greater", "less" or "two-sided".
    mixing : Mixing or None
        Diagnostic of the Markov chain of the scheme "both_margins".
    """

    observed: FloatArray  # (...)
    draws: FloatArray  # (n, ...)
    p_value: FloatArray  # (...)
    p_value_se: FloatArray  # (...)
    n: int
    scheme: str
    statistic: str
    alternative: Alternative
    mixing: Mixing | None = None

    _AXES = Axes(
        {"entry": None},
        ("observed", lambda null: np.ravel(null.observed)),
        "null_mean=mean",
        ("null_{share}", lambda null: np.moveaxis(null.quantile([0.05, 0.5, 0.95]), 0, -1)),
        "p_value",
        "p_value_se",
        labels={"share": ("05", "50", "95")},
    )

    @staticmethod
    def compare(
        observed: FloatArray,
        draws: FloatArray,
        *,
        scheme: str,
        statistic: str,
        alternative: Alternative = "greater",
        mixing: Mixing | None = None,
        tie: float | None = None,
    ) -> Null:
        """Compare an observed statistic with its replicates.

        Parameters
        ----------
        observed : ndarray of shape (...)
            Statistic of the data.
        draws : ndarray of shape (n, ...)
            Statistic of each replicate.
        scheme, statistic : str
            Names of the null model and of the statistic.
        alternative : {"greater", "less", "two-sided"}
            Direction in which values count as extreme.
        mixing : Mixing, optional
            Diagnostic of the Markov chain.
        tie : float, optional
            Difference up to which values count as tied.
        """
        p = monte_carlo_p_value(observed, draws, alternative=alternative, tie=tie)
        p = np.where(np.isnan(draws).any(axis=0), np.nan, p)
        n = draws.shape[0]
        return Null(
            observed=observed,
            draws=draws,
            p_value=p,
            p_value_se=monte_carlo_error(p, n),
            n=n,
            scheme=scheme,
            statistic=statistic,
            alternative=alternative,
            mixing=mixing,
        )

    @property
    def mean(self) -> FloatArray:
        """Mean of the replicates."""
        return np.asarray(self.draws.mean(axis=0))

    @property
    def sd(self) -> FloatArray:
        """Standard deviation of the replicates."""
        return np.asarray(self.draws.std(axis=0, ddof=1))

    def quantile(self, q: float | list[float]) -> FloatArray:
        """Return quantiles of the replicates, shape (len(q), ...) or (...) for a single quantile.

        Parameters
        ----------
        q : float or array_like
            Probabilities of the quantiles, between 0 and 1.
        """
        return np.asarray(np.quantile(self.draws, q, axis=0))

    def to_xarray(self) -> Any:
        """Return replicates, observed values and p-values as an xarray Dataset.

        Dimensions are "replicate" and "entry", or "entry_1", "entry_2", ... for statistics with
        several dimensions.

        Raises
        ------
        MissingPackageError
            If xarray is not installed.
        """
        axes = np.ndim(self.observed)
        entries = ("entry",) if axes == 1 else tuple(f"entry_{k + 1}" for k in range(axes))
        names = ("observed", "p_value", "p_value_se")
        variables = {name: (entries, np.asarray(getattr(self, name))) for name in names}
        variables["draws"] = (("replicate", *entries), self.draws)
        return dataset(variables, {}, of=self)

    def __repr__(self) -> str:
        title = f"Null ({self.scheme}) of {self.statistic}: {self.n} replicates"
        return title if self.mixing is None else f"{title}\n{self.mixing!r}"
