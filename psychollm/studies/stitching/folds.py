"""Hold out cells and models, to choose the number of abilities and calibrate intervals."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from psychollm._base.types import FloatArray
from psychollm.studies.stitching.foretelling import Foreteller
from psychollm.studies.stitching.scale import Scale, fit_scale
from psychollm.studies.stitching.tables import ScoreTable

N_FOLDS = 5
FEWEST_CELLS, FEWEST_MODELS, FEWEST_BENCHMARKS = 60, 10, 5
GIVEN = 3  # number of scores from which held-out models are predicted
_LEVEL = 0.9
_LATER = 1.4  # prior factor for models newer than those in the table, because they deviate more
_HELD_MODELS = 0.25
_BOUNDS = (0.8, 2.5)  # bounds of the factor that scales intervals
_PRIOR = 10.0  # weight of the prior factor, as a number of held-out scores or models
_TIMES = 4  # maximum number of sets of given scores per held-out model
_SETS = 640  # maximum number of sets over all models
_DRAWS = 400  # number of draws per held-out score; few, since quantiles are pooled
_TOLERANCE, _ROUNDS = 2e-2, 30  # tolerance and iterations of fits used only for predictions


@dataclass(frozen=True, slots=True, eq=False)
class HeldOut:
    """Held-out scores and their predictions."""

    score: FloatArray
    value: FloatArray
    interval: FloatArray  # (cells, 2) prediction interval before scaling
    usual: float = 1.0  # prior factor that scales intervals
    units: int | None = None  # number of held-out models; None if single scores are held out

    @classmethod
    def none(cls) -> "HeldOut":
        """Return an empty object, for tables too small to hold out scores."""
        return cls(np.empty(0), np.empty(0), np.empty((0, 2)))

    @property
    def squared_error(self) -> float:
        """Mean squared error; NaN if there are no held-out scores."""
        return float(np.mean((self.score - self.value) ** 2)) if self.score.size else np.nan

    @property
    def widen(self) -> float:
        """Factor that scales intervals to cover held-out scores, shrunk towards `usual`."""
        n = self.score.size
        if n < FEWEST_CELLS / 2:
            return self.usual
        off = self.score - self.value
        half = np.abs(self.interval - self.value[:, None])
        ratio = np.abs(off) / np.maximum(np.where(off < 0.0, half[:, 0], half[:, 1]), 1e-6)
        factor = max(float(np.quantile(ratio, min(_LEVEL * (n + 1) / n, 1.0))), 0.1)
        units = n if self.units is None else self.units
        log = (units * np.log(factor) + _PRIOR * np.log(self.usual)) / (units + _PRIOR)
        return float(np.clip(np.exp(log), *_BOUNDS))

    def coverage(self, widen: float) -> float:
        """Return the proportion of scores in their intervals, widened by the factor `widen`."""
        bounds = self.value[:, None] + widen * (self.interval - self.value[:, None])
        inside = (bounds[:, 0] <= self.score) & (self.score <= bounds[:, 1])
        return float(inside.mean()) if inside.size else np.nan


def _joined(parts: list[HeldOut], usual: float = 1.0, units: int | None = None) -> HeldOut:
    if not parts:
        return HeldOut.none()
    return HeldOut(
        np.concatenate([part.score for part in parts]),
        np.concatenate([part.value for part in parts]),
        np.concatenate([part.interval for part in parts]),
        usual,
        units,
    )


def enough(scores: ScoreTable) -> bool:
    """Return whether the table is large enough to hold out cells."""
    n, b = scores.value.shape
    return bool(
        n >= FEWEST_MODELS and b >= FEWEST_BENCHMARKS and scores.known.sum() >= FEWEST_CELLS
    )


def held_cells(scores: ScoreTable, most_abilities: int, rng: np.random.Generator) -> list[HeldOut]:
    """Return held-out cells with predictions from one ability, from two abilities, and so on."""
    cells = np.argwhere(scores.known)
    fold = rng.permutation(np.arange(len(cells)) % N_FOLDS)
    parts: list[list[HeldOut]] = [[] for _ in range(most_abilities)]
    for one in range(N_FOLDS):
        keep = scores.known.copy()
        keep[tuple(cells[fold == one].T)] = False
        rest = scores.part(np.ones(len(keep), dtype=np.bool_), keep)
        rows = {model: row for row, model in enumerate(rest.models)}
        columns = [scores.benchmarks.index(name) for name in rest.benchmarks]
        for scale, into in zip(
            fit_scale(rest, most_abilities, tolerance=_TOLERANCE, most=_ROUNDS), parts, strict=True
        ):
            teller = Foreteller(scale, rest, _DRAWS)
            for model in np.unique(cells[fold == one, 0]):
                row = rows.get(scores.models[model])
                truth = np.where(keep[model], np.nan, scores.value[model])[columns]
                held = np.isfinite(truth)
                if row is None or not held.any():
                    continue
                told = teller.foretold_in_table(
                    row, level=_LEVEL, rng=rng, of=np.flatnonzero(held)
                )
                into.append(HeldOut(truth[held], told.value, told.interval))
    return [_joined(one) for one in parts]


def number_of_abilities(held: Sequence[HeldOut]) -> int:
    """Return the number of abilities; each added ability clearly improves held-out predictions."""
    many = 1
    for k in range(2, len(held) + 1):
        fewer, more = held[many - 1], held[k - 1]
        gain = (fewer.score - fewer.value) ** 2 - (more.score - more.value) ** 2
        if gain.mean() > gain.std() / np.sqrt(gain.size):
            many = k
    return many


def held_models(scores: ScoreTable, n_abilities: int, rng: np.random.Generator) -> HeldOut:
    """Return scores of held-out models, predicted from three of their scores."""
    counts = scores.known.sum(axis=1)
    times = int(np.clip(_SETS // max(len(counts), 1), 1, _TIMES))
    # If most models have dates, the latest models are held out. Otherwise all models are held out,
    # in folds.
    dated = np.isfinite(scores.years)
    usual, told_of = 1.0, 0
    if dated.mean() > 0.8:
        usual = _LATER
        late = scores.years > np.quantile(scores.years[dated], 1.0 - _HELD_MODELS)
        sets = [late] if late.any() and not late.all() else []
    else:
        fold = rng.permutation(np.arange(len(counts)) % N_FOLDS)
        sets = [fold == one for one in range(N_FOLDS)]
    parts: list[HeldOut] = []
    for held in sets:
        rest = scores.part(~held)
        if min(rest.value.shape) < 2:
            continue
        teller = Foreteller(
            fit_scale(rest, n_abilities, tolerance=_TOLERANCE, most=_ROUNDS)[-1], rest, _DRAWS
        )
        place = {name: column for column, name in enumerate(scores.benchmarks)}
        columns = np.array([place[name] for name in rest.benchmarks])
        latest = latest_year(rest)
        for model in np.flatnonzero(held & (counts > GIVEN)):
            truth = scores.value[model, columns]
            tested = np.flatnonzero(np.isfinite(truth))
            told_of += len(tested) > GIVEN
            for _ in range(times if len(tested) > GIVEN else 0):
                order = rng.permutation(tested)
                given, other = order[:GIVEN], order[GIVEN:]
                known = teller.updated(teller.outside(latest), given, truth[given])
                told = teller.foretold(known, level=_LEVEL, rng=rng, of=other)
                parts.append(HeldOut(truth[other], told.value, told.interval))
    return _joined(parts, usual, told_of)


def latest_year(scores: ScoreTable) -> float:
    """Return the date of the latest model; NaN if there are no dates."""
    return float(np.nanmax(scores.years)) if np.isfinite(scores.years).any() else np.nan


def scale_of(scores: ScoreTable, n_abilities: int) -> Scale:
    """Return the scale fitted to all scores."""
    scale = fit_scale(scores, n_abilities)[-1]
    scale.convergence.warn("stitch_benchmarks")
    return scale
