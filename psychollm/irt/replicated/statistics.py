"""Statistics of a fit that can be set beside their values in fits of replicated answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from psychollm._base.errors import OptionError
from psychollm._base.types import FloatArray
from psychollm.data.labels import Labels
from psychollm.estimates.null import Alternative
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
    """A statistic: what it is of, which values speak against the null, how abilities are drawn."""

    name: str
    compute: Callable[[IRTFit, Responses], object]
    of: Of | None
    alternative: Alternative
    drawn: Drawn = "population"

    def values(self, fit: IRTFit, table: Responses) -> FloatArray:
        """Return the statistic as a vector."""
        return np.atleast_1d(np.asarray(self.compute(fit, table), dtype=np.float64)).ravel()

    def labels(self, fit: IRTFit, size: int) -> Labels:
        """Return a name for each value."""
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
    """Return S-X2, also where it has no degree of freedom: draws need none."""
    codes = codes_for(fit, table)
    return spread(s_x2(fit, codes[(codes >= 0).all(axis=1)])[0], fit.fitted)


def _q3_max(fit: IRTFit, table: Responses) -> float:
    """Return the largest Q3 minus the mean (Christensen, Makransky & Horton, 2017)."""
    q3 = _pairs(local_dependence(fit, table).q3)
    return float(np.nanmax(q3) - np.nanmean(q3)) if np.isfinite(q3).any() else float("nan")


def _ld_max(fit: IRTFit, table: Responses) -> float:
    """Return the largest X2 of a pair."""
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
    """Return the statistic that a name or function means.

    Raises
    ------
    OptionError
        If there is no such name.

    Examples
    --------
    >>> statistic_of("s_x2", None).alternative
    'greater'
    """
    if callable(statistic):
        name = getattr(statistic, "__name__", "statistic")
        return FitStatistic(name, statistic, None, alternative or "greater")
    if statistic not in NAMED:
        msg = (
            f"statistic={statistic!r} is not an option: use one of "
            f"{', '.join(map(repr, NAMED))}, or a function of (fit, responses)"
        )
        raise OptionError(msg)
    found = NAMED[statistic]
    if alternative is None:
        return found
    return FitStatistic(found.name, found.compute, found.of, alternative, found.drawn)
