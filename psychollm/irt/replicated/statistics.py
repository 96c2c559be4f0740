"""Statistics of a fit that can be compared with their values for replicated answers.

If b of n replicates are at least as extreme as the observed value, the p-value is :math:`(b +
1)/(n + 1)`. A two-sided p-value is twice the smaller tail probability. Multiple values (items,
pairs, respondents) are standardised by their mean and SD over replicates. The adjusted p-value is
the proportion of replicates whose most extreme value reaches the observed value. This adjustment
controls the familywise error rate under any dependence (Westfall & Young, 1993).

References
----------
Westfall, P. H., & Young, S. S. (1993). Resampling-based multiple testing. Wiley.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.errors import OptionError
from psychollm._base.numbers import p_equals
from psychollm._base.types import FloatArray, IntArray
from psychollm.data.labels import Labels
from psychollm.estimates.null import Alternative, Null, monte_carlo_error, monte_carlo_p_value
from psychollm.irt.answers import spread
from psychollm.irt.fit import codes_for
from psychollm.irt.fit_statistics.item_fit import item_fit, s_x2
from psychollm.irt.fit_statistics.local_dependence import local_dependence
from psychollm.irt.fit_statistics.model_fit import model_fit
from psychollm.irt.fit_statistics.person_fit import person_fit
from psychollm.irt.result import IRTFit

if TYPE_CHECKING:
    from psychollm.data.responses import Responses

Drawn: TypeAlias = Literal["population", "posterior"]
Of: TypeAlias = Literal["model", "items", "pairs", "respondents"]
StatisticName: TypeAlias = Literal[
    "m2",
    "srmsr",
    "s_x2",
    "infit",
    "outfit",
    "item_zh",
    "person_zh",
    "person_infit",
    "person_outfit",
    "q3",
    "q3_max",
    "ld_x2",
    "ld_x2_max",
    "slope",
    "difficulty",
    "objective",
]
StatisticFunction: TypeAlias = Callable[[IRTFit, "Responses"], object]


@dataclass(frozen=True, slots=True)
class FitStatistic:
    """Statistic of a fit, with labels, direction of the test, and distribution of abilities."""

    name: str
    compute: Callable[[IRTFit, Responses], object]
    of: Of | None
    alternative: Alternative
    drawn: Drawn = "population"

    def values(self, fit: IRTFit, table: Responses) -> FloatArray:
        """Return the statistic as a vector."""
        return np.atleast_1d(np.asarray(self.compute(fit, table), dtype=np.float64)).ravel()

    def labels(self, fit: IRTFit, size: int) -> Labels:
        """Return the labels of the values of the statistic."""
        names: Labels = tuple(range(size))
        if self.of == "model":
            names = (self.name,)
        elif self.of == "items":
            names = fit.labels
        elif self.of == "respondents":
            names = fit.respondent_labels
        elif self.of == "pairs":
            i, j = np.triu_indices(len(fit.labels), 1)
            names = tuple((fit.labels[a], fit.labels[b]) for a, b in zip(i, j, strict=True))
        return names


def _pairs(table: FloatArray) -> FloatArray:
    """Return the upper triangle of a square table."""
    return table[np.triu_indices(table.shape[0], 1)]


def _s_x2(fit: IRTFit, table: Responses) -> FloatArray:
    """Return S-X2 of all items, including items without degrees of freedom."""
    codes = codes_for(fit, table)
    return spread(s_x2(fit, codes[(codes >= 0).all(axis=1)])[0], fit.fitted)


def _q3_max(fit: IRTFit, table: Responses) -> float:
    """Return the largest Q3 minus the mean (Christensen, Makransky & Horton, 2017)."""
    q3 = _pairs(local_dependence(fit, table).q3)
    known = q3[np.isfinite(q3)]
    return float(known.max() - known.mean()) if known.size else float("nan")


def _ld_max(fit: IRTFit, table: Responses) -> float:
    """Return the largest X2 of any pair of items."""
    x2 = _pairs(local_dependence(fit, table).x2)
    return float(np.nanmax(x2)) if np.isfinite(x2).any() else float("nan")


NAMED: dict[str, FitStatistic] = {
    statistic.name: statistic
    for statistic in (
        FitStatistic("m2", lambda f, t: model_fit(f, t).m2, "model", "greater"),
        FitStatistic("srmsr", lambda f, t: model_fit(f, t).srmsr, "model", "greater"),
        FitStatistic("s_x2", _s_x2, "items", "greater"),
        FitStatistic("infit", lambda f, t: item_fit(f, t).infit, "items", "two-sided"),
        FitStatistic("outfit", lambda f, t: item_fit(f, t).outfit, "items", "two-sided"),
        FitStatistic("item_zh", lambda f, t: item_fit(f, t).zh, "items", "less"),
        FitStatistic(
            "person_zh", lambda f, t: person_fit(f, t).zh, "respondents", "less", "posterior"
        ),
        FitStatistic(
            "person_infit",
            lambda f, t: person_fit(f, t).infit,
            "respondents",
            "greater",
            "posterior",
        ),
        FitStatistic(
            "person_outfit",
            lambda f, t: person_fit(f, t).outfit,
            "respondents",
            "greater",
            "posterior",
        ),
        FitStatistic("q3", lambda f, t: _pairs(local_dependence(f, t).q3), "pairs", "two-sided"),
        FitStatistic("q3_max", _q3_max, "model", "greater"),
        FitStatistic("ld_x2", lambda f, t: _pairs(local_dependence(f, t).x2), "pairs", "greater"),
        FitStatistic("ld_x2_max", _ld_max, "model", "greater"),
        FitStatistic("slope", lambda f, _: f.slope, "items", "two-sided"),
        FitStatistic("difficulty", lambda f, _: f.difficulty, "items", "two-sided"),
        FitStatistic("objective", lambda f, _: f.convergence.objective, "model", "greater"),
    )
}


def statistic_of(
    statistic: StatisticName | StatisticFunction, alternative: Alternative | None
) -> FitStatistic:
    """Return the statistic that a name or a function defines."""
    if callable(statistic):
        name = getattr(statistic, "__name__", "statistic")
        return FitStatistic(name, statistic, None, alternative or "greater")
    if not isinstance(statistic, str) or statistic not in NAMED:
        msg = (
            f"statistic={statistic!r} is not an option: use one of "
            f"{', '.join(map(repr, NAMED))}, or a function of (fit, responses)"
        )
        raise OptionError(msg)
    found = NAMED[statistic]
    if alternative is None:
        return found
    return FitStatistic(found.name, found.compute, found.of, alternative, found.drawn)


TIE = 1e-9  # values that differ by less, relative to their SD, are tied


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class FitNull(Null):
    """Null distribution of a fit statistic, with one value per item, pair or respondent.

    Attributes
    ----------
    observed : ndarray of shape (values,)
        Statistic of the data; NaN where undefined.
    draws : ndarray of shape (n, values)
        Statistic of each replicate. If an answer category of an item does not occur in a
        replicate, the value is NaN and is not used for the p-value.
    adjusted : ndarray of shape (values,)
        p-value adjusted for the number of values: probability that any value is as extreme as the
        observed value.
    n_used : int ndarray of shape (values,)
        Number of replicates with a value.
    n_unconverged : int
        Number of replicates whose fit did not converge; these replicates are included.
    scheme : str
        Kind of replicates: "parametric bootstrap" or "shuffled answers".
    statistic, alternative : str
        Name of the statistic, and direction of the test.
    labels : tuple
        Names of the items, pairs or respondents to which the values refer.
    """

    adjusted: FloatArray  # (V,)
    n_used: IntArray  # (V,)
    n_unconverged: int
    labels: Labels  # V

    def _axes(self) -> Axes:
        mean, sd = _centre(self.draws)
        return Axes(
            {"of": "labels"},
            f"{self.statistic}=observed",
            ("null_mean", lambda _: mean),
            ("null_sd", lambda _: sd),
            "p_value",
            "adjusted",
        )

    @classmethod
    def of_fit(
        cls,
        statistic: FitStatistic,
        observed: FloatArray,
        rows: FloatArray,
        scheme: str,
        fit: IRTFit,
    ) -> FitNull:
        """Combine an observed statistic with its replicates; the last column marks failed fits.

        Parameters
        ----------
        statistic : FitStatistic
            Fit statistic, with the direction of its test.
        observed : ndarray of shape (values,)
            Fit statistic of the observed data.
        rows : ndarray of shape (n, values + 1)
            Statistic of each replicate; the last column is 1 for fits that did not converge.
        scheme : str
            Kind of replicates: "parametric bootstrap" or "shuffled answers".
        fit : IRTFit
            Fitted model, which provides the labels of the values.
        """
        draws = np.ascontiguousarray(rows[:, :-1])
        n = np.isfinite(draws).sum(axis=0)
        p, adjusted = beside(observed, draws, statistic.alternative)
        return cls(
            observed=observed,
            draws=draws,
            p_value=p,
            p_value_se=monte_carlo_error(p, n),
            n=len(draws),
            adjusted=adjusted,
            n_used=n,
            n_unconverged=int(np.nansum(rows[:, -1])),
            scheme=scheme,
            statistic=statistic.name,
            alternative=statistic.alternative,
            labels=statistic.labels(fit, observed.size),
        )

    def summary(self) -> str:
        """Describe in one sentence which values are extreme."""
        known = np.isfinite(self.adjusted)
        beside = f"{self.draws.shape[0]} replicates ({self.scheme})"
        if not known.any():
            return f"{self.statistic} is undefined; {beside} were computed."
        if known.sum() == 1:
            value, p = self.observed[known][0], self.p_value[known][0]
            return f"{self.statistic} = {value:.3g}; {p_equals(p)}, based on {beside}."
        found = np.flatnonzero(known & (self.adjusted <= 0.05))
        order = found[np.argsort(self.adjusted[found], kind="stable")]
        named = ", ".join(str(self.labels[k]) for k in order[:3])
        most = f": {named}" + (", ..." if found.size > 3 else "") if found.size else ""
        return (
            f"{self.statistic} is significant for {found.size} of {int(known.sum())} "
            f"(simultaneous level 5 %){most}; based on {beside}."
        )


def beside(
    observed: FloatArray, draws: FloatArray, alternative: Alternative
) -> tuple[FloatArray, FloatArray]:
    """Return p-values and adjusted p-values."""
    mean, sd = _centre(draws)
    with np.errstate(invalid="ignore", divide="ignore"):
        own, others = (observed - mean) / sd, (draws - mean) / sd
    flat = sd == 0.0  # replicates without variance are ties
    own = np.where(flat, np.sign(observed - mean), own)
    others = np.where(flat & np.isfinite(draws), 0.0, others)
    p = monte_carlo_p_value(own, others, alternative=alternative, tie=TIE)
    return p, _adjusted(own, others, alternative)


def _centre(draws: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return means and standard deviations over replicates with a value."""
    known = np.isfinite(draws)
    n = known.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(known, draws, 0.0).sum(axis=0) / n
        variance = (np.where(known, draws - mean, 0.0) ** 2).sum(axis=0) / (n - 1.0)
    return mean, np.sqrt(variance)


def _adjusted(own: FloatArray, others: FloatArray, alternative: Alternative) -> FloatArray:
    """Return adjusted p-values, from the most extreme value of each replicate."""
    if alternative == "less":
        own, others = -own, -others
    elif alternative == "two-sided":
        own, others = np.abs(own), np.abs(others)
    known = np.isfinite(own)
    top = np.where(np.isfinite(others) & known, others, -np.inf).max(axis=1, initial=-np.inf)
    p = monte_carlo_p_value(own, top[:, None], tie=TIE)
    return np.asarray(np.where(known & np.isfinite(others).any(axis=0), p, np.nan))
