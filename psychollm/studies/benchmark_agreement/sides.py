"""Scores and sampling errors of models in one benchmark, and agreement with another benchmark."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import fdtrc

from psychollm._base.errors import ShapeError
from psychollm._base.types import FloatArray, IntArray
from psychollm.data.labels import Table, numbered, unit_labels
from psychollm.estimates.clustered import few
from psychollm.estimates.verdict import FEWEST
from psychollm.reliability.means.clustered import clustered_mean
from psychollm.studies.benchmark_agreement.true_correlation import (
    TrueCorrelation,
    own_covariance,
    true_correlation,
)

FEWEST_MODELS = 5  # coverage of the interval was not measured for fewer models
_FLOOR = 0.05  # minimum sampling variance of a model, relative to the mean over models


@dataclass(frozen=True, slots=True)
class Side:
    """Scores of the models in one benchmark, and their sampling errors."""

    table: Table
    clusters: IntArray | None
    units: tuple[Any, ...]  # labels of clusters or, without clusters, of questions
    value: FloatArray  # (models,) score, as log odds if `log_odds`
    parts: FloatArray  # (models, units) contribution of each unit to the sampling error
    least: FloatArray  # (models,) minimum sampling variance
    n_units: float
    few: bool
    log_odds: bool

    @property
    def variance(self) -> FloatArray:
        """Sampling variance of each score, without the part common to all models (models,)."""
        own = own_covariance(self.parts, self.parts)
        least = np.maximum(self.least, _FLOOR * max(float(own.mean()), 0.0))
        return np.asarray(np.maximum(own, least), dtype=np.float64)


def side_of(table: Table, clusters: Any, place: int) -> Side:
    """Return scores and sampling errors in the first (0) or the second benchmark (1)."""
    values = np.asarray(table.values, dtype=np.float64)
    known = np.isfinite(values)
    units: list[Any] = list(table.questions)
    if clusters is not None:
        units = unit_labels(clusters, table.questions, argument="clusters")
    elif table.questions == tuple(range(len(units))):  # do not match questions without labels
        units = [(place, unit) for unit in units]
    codes, labels = numbered(units)
    mean = clustered_mean(values, known.astype(np.float64), codes)
    if (mean.n_clusters < 2.0).any():
        model = table.models[int((mean.n_clusters < 2.0).argmax())]
        msg = (
            f"model {model!r} has scores in only one cluster of the {('first', 'second')[place]} "
            "benchmark: its sampling error needs two"
        )
        raise ShapeError(msg)
    value, parts, n = mean.value, mean.parts, mean.n_clusters
    least = np.zeros(len(value))
    log_odds = bool(((values[known] >= 0.0) & (values[known] <= 1.0)).all())
    if log_odds:
        share = (n * value + 0.5) / (n + 1.0)
        slope = 1.0 / (share * (1.0 - share))
        value, parts = np.log(share / (1.0 - share)), parts * slope[:, None]
        # The estimated variance of a score of 0 or 1 is zero: use the adjusted proportion.
        least = np.where(mean.se > 0.0, 0.0, slope / (n + 1.0))
    return Side(
        table=table,
        clusters=codes if clusters is not None else None,
        units=labels,
        value=value,
        parts=parts,
        least=least,
        n_units=float(n.min()),
        few=bool(few(mean.df).any()),
        log_odds=log_odds,
    )


def spread_of(side: Side) -> tuple[float, float]:
    """Return the reliability, and the p-value of the hypothesis that true scores are equal."""
    k, noise = len(side.value), float(side.variance.mean())
    observed = float(side.value.var(ddof=1))
    if observed <= noise:
        return 0.0, 1.0
    freedom = (k - 1.0) * (side.n_units - 1.0)
    p_value = fdtrc(k - 1.0, freedom, observed / noise) if noise > 0.0 else 0.0
    return 1.0 - noise / observed, float(p_value)


def agreement_of(sides: list[Side], level: float) -> tuple[TrueCorrelation | None, int]:
    """Return the correlation of true scores, and the number of common questions or clusters.

    The correlation is None if all means in one benchmark are equal.
    """
    first, second = sides
    shared = [unit for unit in first.units if unit in set(second.units)]
    k = len(first.value)
    errors = np.zeros((k, 2, 2))
    errors[:, 0, 0], errors[:, 1, 1] = first.variance, second.variance
    if shared:
        parts = (side.parts[:, [side.units.index(unit) for unit in shared]] for side in sides)
        most = 0.99 * np.sqrt(errors[:, 0, 0] * errors[:, 1, 1])
        errors[:, 0, 1] = errors[:, 1, 0] = np.clip(own_covariance(*parts), -most, most)
    means = np.stack([first.value, second.value], axis=1)
    if (np.ptp(means, axis=0) == 0.0).any():
        return None, len(shared)
    return true_correlation(means, errors, level=level), len(shared)


def enough(sides: list[Side]) -> bool:
    """Return whether there are enough models, questions and clusters for the intervals."""
    models, units = len(sides[0].value), min(side.n_units for side in sides)
    return models >= FEWEST_MODELS and units >= FEWEST and not any(side.few for side in sides)
