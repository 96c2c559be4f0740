"""Estimates of alpha and its kin for all conditions, from replicates over respondents."""

from collections.abc import Sequence

import numpy as np

from psychollm._base.checks import check_choice
from psychollm._base.errors import OptionError
from psychollm._base.types import FloatArray
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.intervals import RELIABILITY, Scale
from psychollm.estimates.proportions import normal_multiplier
from psychollm.estimates.resampling import Replicates
from psychollm.reliability.scales.alpha_intervals import (
    AlphaInterval,
    alpha_se,
    duhachek_se,
    feldt_interval,
    squared_norm,
)
from psychollm.reliability.scales.moments import (
    centred_items,
    covariance,
    item_moments,
)
from psychollm.reliability.scales.scale_scores import ScaleScores
from psychollm.reliability.scales.score_table import ScoreTable, complete_rows


def chosen_interval(table: ScoreTable, interval: str | None) -> str:
    """Return the interval to use; those that take rows for independent are refused for repeats."""
    if interval is None:
        return "jackknife" if table.has_repeats else "feldt"
    check_choice("interval", interval, AlphaInterval)
    if table.has_repeats and interval in {"feldt", "duhachek"}:
        msg = (
            f"interval={interval!r} takes rows for independent, but respondents repeat: use "
            "'jackknife' or 'bootstrap', or read `of_means`"
        )
        raise OptionError(msg)
    return interval


class AlphaParts:
    """Makes the estimates of all conditions from replicates (conditions, coefficients)."""

    def __init__(self, table: ScoreTable, found: Replicates) -> None:
        self.labels, self.found = table.conditions, found

    def alpha(
        self, name: str, place: int, scales: Sequence[ScaleScores], interval: str
    ) -> Estimate:
        """Return alpha with the interval asked for."""
        if interval in {"jackknife", "bootstrap"}:
            return self.other(name, place, scales, RELIABILITY)
        value, options = self.found.value[:, place], self.found.options
        n, se = _sizes(scales), np.array([normal_theory_se(scale) for scale in scales])
        if interval == "feldt":
            bounds = feldt_interval(value, n, scales[0].n_items, level=options.level)
        else:
            step = normal_multiplier(options.level) * se
            bounds = np.stack([value - step, value + step], axis=-1)
        draws = self.found.draws
        return Estimate(
            name=name,
            value=value,
            se=se,
            interval=bounds,
            n=n,
            flags=tuple(scale.reason for scale in scales),
            method=interval.capitalize(),
            level=options.level,
            labels=self.labels,
            axis="condition",
            _draws=None if draws is None else draws[:, :, place],
        )

    def other(
        self, name: str, place: int, scales: Sequence[ScaleScores], scale: Scale
    ) -> Estimate:
        """Return a coefficient whose interval comes from left-out or resampled respondents."""
        return self.found.each(slice(None), place).estimate(
            name,
            scale=scale,
            over="respondents",
            n=_sizes(scales),
            flags=tuple(rows.reason for rows in scales),
            labels=self.labels,
            axis="condition",
        )


def normal_theory_se(scale: ScaleScores) -> float:
    """Return the standard error of alpha for normal items (Duhachek & Iacobucci)."""
    everyone = np.ones((1, scale.n))
    if complete_rows(scale.values).all():
        found = item_moments(scale.values, everyone)
        square = squared_norm(centred_items(scale.values))
        trace = float(found.variance.sum())
        return alpha_se(trace, found.with_total[0], square, scale.n_items, scale.n)
    return duhachek_se(covariance(scale.values, everyone[0]), scale.n)


def mean_correlation_scale(k: int) -> Scale:
    """Return the scale log(1 - standardised alpha) of the mean correlation of k items."""

    def forward(mean: FloatArray) -> FloatArray:
        with np.errstate(invalid="ignore", divide="ignore"):
            odds = (1.0 - mean) / (1.0 + (k - 1.0) * mean)
            return np.asarray(np.log(np.where((odds > 0.0) & np.isfinite(odds), odds, np.nan)))

    def back(value: FloatArray) -> FloatArray:
        stepped = np.exp(value)
        return np.asarray((1.0 - stepped) / (1.0 + (k - 1.0) * stepped))

    return Scale(forward, back, "log(1 - standardised alpha)")


def _sizes(scales: Sequence[ScaleScores]) -> FloatArray:
    return np.array([float(scale.n) for scale in scales])
