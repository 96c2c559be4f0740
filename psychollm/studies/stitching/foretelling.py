"""Predict scores by simulation, for models in the table or new models."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from psychollm._base.types import FloatArray, IntArray
from psychollm.estimates.roots import symmetric_root
from psychollm.studies.stitching.related import carried, related
from psychollm.studies.stitching.scale import (
    FEW,
    Posterior,
    Scale,
    loadings,
    posterior_of,
    unit_variance,
)
from psychollm.studies.stitching.tables import ScoreTable

if TYPE_CHECKING:
    import pandas as pd

N_DRAWS = 1000
WIDER = 2.0  # SD of the general ability of a new model, in units of the scale
_MOST, _NEAR, _STEP = 100, 1e-5, 0.5
_SINGULAR = 1e-12  # smallest eigenvalue of covariances that are inverted


@dataclass(frozen=True, slots=True, eq=False)
class Outlook:
    """Predicted scores of one model in all benchmarks."""

    value: FloatArray  # (benchmarks,)
    interval: FloatArray  # (benchmarks, 2)
    ability: FloatArray  # (draws, K)

    def frame(self, benchmarks: tuple[object, ...]) -> "pd.DataFrame":
        """Return one row per benchmark."""
        import pandas as pd

        return pd.DataFrame(
            {
                "benchmark": pd.Series(list(benchmarks), dtype=None),
                "value": self.value,
                "lower": self.interval[:, 0],
                "upper": self.interval[:, 1],
            }
        )


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """Joint normal distribution of a model's abilities and all curves, and its known scores."""

    mean: FloatArray
    covariance: FloatArray
    given: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.intp))  # benchmarks
    scores: FloatArray = field(default_factory=lambda: np.empty(0))  # scores in `given`


class Foreteller:
    """Simulator of scores from a fitted scale."""

    def __init__(self, scale: Scale, scores: ScoreTable, n_draws: int = N_DRAWS) -> None:
        self.scale, self.scores, self.n_draws = scale, scores, n_draws
        self.found: Posterior = posterior_of(scale, scores)
        self.df = scores.known.sum(axis=0) + FEW
        self.related = related(scale, scores, self.found)
        self._shared: _Shared | None = None

    def in_table(self, model: int) -> Known:
        """Return the distribution of abilities and curves for a model in the table."""
        given, scores = self._of_model(model)
        ability = self._ability(model)
        mean = np.concatenate([ability, self.scale.curves.ravel()])
        return Known(mean, self.found.of(model), given, scores)

    def _of_model(self, model: int) -> tuple[IntArray, FloatArray]:
        given = np.flatnonzero(self.scores.known[model])
        return given, self.scores.value[model, given]

    def _ability(self, model: int) -> FloatArray:
        """Return abilities after a Newton step that allows for the correlation of residuals."""
        given, scores = self._of_model(model)
        ability, loads = self.scale.abilities[model], loadings(self.scale.curves[given])
        p = expit(loads @ ability - self.scale.curves[given, 0])
        variance = unit_variance(p)
        noise = self.scale.scatter[given] + 1.0 / self.scores.items[model, given]
        sd = np.sqrt(noise * variance)
        slopes = loads * (variance / sd)[:, None]
        weighted = np.linalg.solve(self.related[np.ix_(given, given)], slopes)
        pull = weighted.T @ ((scores - p) / sd)
        pull -= ability - self.scale.expected(self.scores.years[model])
        step = np.linalg.solve(weighted.T @ slopes + np.eye(len(ability)), pull)
        return np.asarray(ability + np.clip(step, -_STEP, _STEP))

    def outside(self, year: float, *, wider: float = WIDER) -> Known:
        """Return the distribution for a new model without scores, released at a date."""
        k, size = self.scale.n_abilities, self.scale.curves.size
        covariance = np.zeros((k + size, k + size))
        covariance[:k, :k] = np.eye(k)
        covariance[0, 0] = wider**2
        covariance[k:, k:] = self.found.curves
        return Known(
            np.concatenate([self.scale.expected(year), self.scale.curves.ravel()]), covariance
        )

    def updated(self, known: Known, benchmarks: IntArray, scores: FloatArray) -> Known:
        """Return the distribution of abilities and curves given some scores, by Newton steps."""
        k = self.scale.n_abilities
        b, q = self.scale.curves.shape
        at = k + np.arange(b * q).reshape(b, q)[benchmarks]
        rows = np.arange(len(benchmarks))[:, None]
        point = known.mean.copy()
        derivative = np.zeros((len(benchmarks), point.size))
        gain: FloatArray = derivative.T
        for _ in range(_MOST):
            ability, curves = point[:k], point[k:].reshape(b, q)[benchmarks]
            loads = loadings(curves)
            p = expit(loads @ ability - curves[:, 0])
            derivative[:, :k] = loads
            derivative[rows, at] = np.column_stack(
                [-np.ones(len(p)), loads[:, 0] * ability[0], np.tile(ability[1:], (len(p), 1))]
            )
            curved = np.maximum(p * (1.0 - p), 1e-6)
            noise = np.sqrt(self.scale.scatter[benchmarks] / curved)
            total = derivative @ known.covariance @ derivative.T
            total += self.related[np.ix_(benchmarks, benchmarks)] * noise * noise[:, None]
            gain = np.asarray(np.linalg.solve(total, derivative @ known.covariance).T)
            residual = (scores - p) / curved + derivative @ (point - known.mean)
            step = known.mean + gain @ residual - point
            largest = float(np.abs(step).max())
            point = point + step * min(1.0, _STEP / max(largest, _NEAR))
            if largest < _NEAR:
                break
        earlier = ~np.isin(known.given, benchmarks)
        return Known(
            point,
            known.covariance - gain @ derivative @ known.covariance,
            np.concatenate([known.given[earlier], benchmarks]),
            np.concatenate([known.scores[earlier], scores]),
        )

    def foretold(
        self,
        known: Known,
        *,
        level: float,
        rng: np.random.Generator,
        widen: float = 1.0,
        general: FloatArray | None = None,
        of: IntArray | None = None,
    ) -> Outlook:
        """Return predicted scores in the selected benchmarks, by default in all benchmarks."""
        # `general` replaces the draws of the general ability.
        columns = self._columns(of)
        both = np.concatenate([columns, known.given])
        p, ability = self.curves(known, rng, general, of=both)
        return self._outlook(p, ability, columns, known.given, known.scores, level, rng, widen)

    def _outlook(
        self,
        p: FloatArray,
        ability: FloatArray,
        of: IntArray,
        given: IntArray,
        scores: FloatArray,
        level: float,
        rng: np.random.Generator,
        widen: float,
    ) -> Outlook:
        """Return expected scores, and intervals that include residual dispersion."""
        # The draws `p` are for the benchmarks `of`, then for `given`.
        p, known = p[:, : len(of)], p[:, len(of) :]
        sd = np.sqrt(self.scale.scatter[of] * unit_variance(p))
        noise = rng.standard_t(self.df[of], size=p.shape) * sd
        if given.size:
            residual = (scores - known) / np.sqrt(self.scale.scatter[given] * unit_variance(known))
            # The noise is not reduced, because the correlations are uncertain.
            p = np.clip(p + sd * carried(self.related, given, of, residual), 0.0, 1.0)
        value = p.mean(axis=0)
        bounds = np.quantile(
            np.clip(p + noise, 0.0, 1.0), [0.5 - level / 2, 0.5 + level / 2], axis=0
        )
        bounds = np.clip(value + widen * (bounds - value), 0.0, 1.0)
        return Outlook(value, np.asarray(bounds.T), ability)

    def foretold_in_table(
        self,
        model: int,
        *,
        level: float,
        rng: np.random.Generator,
        widen: float = 1.0,
        of: IntArray | None = None,
    ) -> Outlook:
        """Return predicted scores of a model of the table; models share the draws of curves."""
        if self._shared is None:
            self._shared = _Shared.of(self.found, self.n_draws, rng)
        shared, columns, k = self._shared, self._columns(of), self.scale.n_abilities
        given, scores = self._of_model(model)
        both = np.concatenate([columns, given])
        own = rng.standard_normal((self.n_draws, k)) @ symmetric_root(shared.within[model])
        ability = self._ability(model) + shared.told[:, model] + own
        drawn = shared.drawn.reshape(self.n_draws, *self.scale.curves.shape)[:, both]
        p = _scores_of(ability, self.scale.curves[both] + drawn)
        return self._outlook(p, ability, columns, given, scores, level, rng, widen)

    def curves(
        self,
        known: Known,
        rng: np.random.Generator,
        general: FloatArray | None = None,
        *,
        of: IntArray | None = None,
    ) -> tuple[FloatArray, FloatArray]:
        """Return draws of expected scores (draws, benchmarks) and of abilities (draws, K)."""
        k, (b, q) = self.scale.n_abilities, self.scale.curves.shape
        columns = self._columns(of)
        # Dropping other benchmarks first makes the eigendecomposition smaller.
        at = np.concatenate([np.arange(k), k + np.arange(b * q).reshape(b, q)[columns].ravel()])
        covariance = known.covariance[np.ix_(at, at)]
        root = symmetric_root((covariance + covariance.T) / 2.0)
        drawn = known.mean[at] + rng.standard_normal((self.n_draws, len(root))) @ root
        ability = drawn[:, :k]
        if general is not None:
            ability[:, 0] = general
        return _scores_of(ability, drawn[:, k:].reshape(self.n_draws, len(columns), q)), ability

    def _columns(self, of: IntArray | None) -> IntArray:
        return np.arange(len(self.scale.curves)) if of is None else of


@dataclass(frozen=True, slots=True, eq=False)
class _Shared:
    """Draws of all curves of benchmarks, and the conditional distribution of abilities."""

    drawn: FloatArray  # (draws, curves)
    told: FloatArray  # (draws, models, K) conditional means, as deviations
    within: FloatArray  # (models, K, K) covariances of abilities, given the curves

    @classmethod
    def of(cls, found: Posterior, n_draws: int, rng: np.random.Generator) -> "_Shared":
        """Draw curves from the posterior; all models share the draws."""
        normal = rng.standard_normal((n_draws, len(found.curves)))
        n, k, size = found.cross.shape
        flat = found.cross.reshape(n * k, size)
        share = np.linalg.solve(found.curves, flat.T)
        explained = found.cross @ np.moveaxis(share.reshape(size, n, k), 1, 0)
        within = found.abilities - explained
        inverse = symmetric_root(found.curves, -0.5, _SINGULAR)
        return cls(
            normal @ symmetric_root(found.curves),
            (normal @ inverse @ flat.T).reshape(-1, n, k),
            (within + np.swapaxes(within, 1, 2)) / 2.0,
        )


def _scores_of(ability: FloatArray, curves: FloatArray) -> FloatArray:
    """Return expected scores (draws, benchmarks)."""
    eta = np.exp(curves[:, :, 1]) * ability[:, :1] - curves[:, :, 0]
    for k in range(1, ability.shape[1]):
        eta += curves[:, :, 1 + k] * ability[:, k : k + 1]
    return np.asarray(expit(eta))
