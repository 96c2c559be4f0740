r"""Agreement of steered answers with targets, over a grid of strengths.

The weights w are the counts of questions in a resample, or are 1 for one half of the questions and
0 for the other half. Equation (1) defines the agreement A and kappa of a strength :math:`\alpha`
and a target m.

.. math:: A = \frac{n - t - s + 2 b}{n}, \qquad
          \kappa = \frac{A - P_e}{1 - P_e}, \qquad
          P_e = \frac{s t + (n - s)(n - t)}{n^2}.                                  \quad (1)

Here, n is the number of questions, and b is the number of questions to which the target and the
steered model both answer yes. The target answers yes to t questions, and the steered model to s
questions. All numbers of questions are weighted. Equation (2) is the log-likelihood of the
target's answers y under a logistic curve in the steered log odds.

.. math:: \ell = \max_{c \ge 0} \sum_q w_q \log \sigma\{(2 y_q - 1)\, c\, L_q(\alpha)\}. \quad (2)

The curve has no intercept, because the steering strength already shifts the threshold. Log odds
are interpolated linearly between strengths of the table; answers are not interpolated.

The best strength is usually on a plateau: answers change one question at a time, so many
neighbouring strengths agree equally well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from psychollm._base.errors import OptionError
from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.calibration.decisions.two_by_two import ratio
from psychollm.data.responses import Responses
from psychollm.studies.steering_match.steered_answers import SteeredAnswers

Ties: TypeAlias = Literal["middle", "nearest_zero"]

_EQUAL = 1e-9  # relative tolerance for sums of the same answers in a different order


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Peak:
    """Best strength of each target."""

    strength: FloatArray  # (targets,) NaN if undefined
    place: IntArray  # (targets,) nearest grid index; 0 if undefined
    plateau: FloatArray  # (targets, 2) range of equally good strengths
    # (targets,) whether the plateau reaches the first or the last usable strength
    at_edge: BoolArray


def peak(curves: FloatArray, strengths: FloatArray, *, ties: Ties = "middle") -> Peak:
    """Find the best strength of each curve (targets, points), NaN if undefined."""
    # Among equally good strengths, `ties` selects either the middle of the widest plateau (if
    # several are equally wide, the one nearest zero), or the strength nearest zero (if two are
    # equally near, the lower one).
    filled = np.where(np.isnan(curves), -np.inf, curves)
    top = filled.max(axis=1, keepdims=True)
    defined = np.isfinite(top)
    best = defined & (
        filled >= top - _EQUAL * np.maximum(np.abs(np.where(defined, top, 0.0)), 1.0)
    )
    start, end = _runs(best, strengths, ties)
    low, high = strengths[start], strengths[end]
    middle = 0.5 * (low + high)
    if ties == "nearest_zero":
        middle = strengths[_nearest_zero(best, strengths)]
    row = np.abs(strengths[None, :] - middle[:, None]).argmin(axis=1)
    undefined = ~defined[:, 0]
    return Peak(
        strength=np.where(undefined, np.nan, middle),
        place=np.where(undefined, 0, row).astype(np.int64),
        plateau=np.where(undefined[:, None], np.nan, np.stack([low, high], axis=1)),
        at_edge=~undefined & ((start == 0) | (end == strengths.size - 1)),
    )


def _nearest_zero(best: BoolArray, strengths: FloatArray) -> IntArray:
    """Return the index of the best strength nearest to zero; ties give the lowest index."""
    distance = np.where(best, np.abs(strengths).round(12), np.inf)
    return np.asarray(distance.argmin(axis=1), dtype=np.int64)


def _runs(best: BoolArray, strengths: FloatArray, ties: Ties) -> tuple[IntArray, IntArray]:
    """Return the first and last index of the chosen range of best strengths."""
    rows, n = best.shape
    places = np.arange(n)
    before = np.concatenate([np.zeros((rows, 1), dtype=np.bool_), best[:, :-1]], axis=1)
    after = np.concatenate([best[:, 1:], np.zeros((rows, 1), dtype=np.bool_)], axis=1)
    first = np.maximum.accumulate(np.where(best & ~before, places, 0), axis=1)
    ends = best & ~after
    width = np.where(ends, strengths[places] - strengths[first], -1.0)
    if ties == "nearest_zero":
        chosen = _nearest_zero(best, strengths)
        holds = ends & (first <= chosen[:, None]) & (places >= chosen[:, None])
    else:
        holds = ends & (width >= width.max(axis=1, keepdims=True) - 1e-12)
    middle = np.where(holds, np.abs(strengths[places] + strengths[first]), np.inf)
    end = middle.argmin(axis=1)
    return first[np.arange(rows), end], end


Criterion: TypeAlias = Literal["agreement", "kappa", "likelihood"]

_HALVINGS = 40
_STEEPEST = 50.0  # upper bound of the slope c of (2), where the curve is almost a step
_BLOCK = 4_000_000  # maximum number of values in memory


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Profiles:
    """Targets as arrays for matrix products."""

    said: FloatArray  # (targets, questions) 1 for yes
    answered: FloatArray  # (targets, questions) 1 if answered

    @property
    def n(self) -> FloatArray:
        """Number of answers of each target (targets,)."""
        return np.asarray(self.answered.sum(axis=1))

    @property
    def yes_rates(self) -> FloatArray:
        """Proportion of yes answers, NaN if there are no answers (targets,)."""
        return ratio(self.said.sum(axis=1), self.n)


def profiles_of(targets: Responses) -> Profiles:
    """Return targets as arrays of floats."""
    answered = (~targets.missing).astype(np.float64)
    return Profiles(said=targets.codes * answered, answered=answered)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Grid:
    """Steered answers on a grid of usable strengths, refined if log odds are known."""

    strengths: FloatArray  # (points,)
    yes: FloatArray  # (points, questions) 0 if missing
    known: FloatArray | None  # (points, questions); None if complete
    log_odds: FloatArray | None  # (points, questions) 0 if missing

    def permuted(self, order: IntArray) -> Grid:
        """Return the grid with permuted questions."""
        return Grid(
            strengths=self.strengths,
            yes=self.yes[:, order],
            known=None if self.known is None else self.known[:, order],
            log_odds=None if self.log_odds is None else self.log_odds[:, order],
        )


def grid_of(steered: SteeredAnswers, *, steps: int) -> Grid:
    """Return the usable strengths, with `steps` intervals between neighbours in the table."""
    rows = np.flatnonzero(steered.usable)
    values = steered.yes if steered.log_odds is None else steered.log_odds
    if steered.log_odds is None:
        strengths, fine = steered.strengths[rows], values[rows]
    else:
        strengths, fine = _refined(steered.strengths, values, rows, steps)
    known = np.isfinite(fine)
    cut = 0.5 if steered.log_odds is None else 0.0
    return Grid(
        strengths=strengths,
        yes=np.asarray(np.where(known, fine, -1.0) > cut, dtype=np.float64),
        known=None if known.all() else known.astype(np.float64),
        log_odds=None if steered.log_odds is None else np.where(known, fine, 0.0),
    )


def _refined(
    strengths: FloatArray, values: FloatArray, rows: IntArray, steps: int
) -> tuple[FloatArray, FloatArray]:
    """Interpolate between usable strengths that are neighbours in the table."""
    places: list[FloatArray] = []
    values_between: list[FloatArray] = []
    shares = np.arange(steps)[:, None] / steps
    for row, after in zip(rows, [*rows[1:], -1], strict=True):
        between = shares if after == row + 1 else shares[:1]
        low, high = values[row], values[min(row + 1, len(values) - 1)]
        values_between.append(
            np.where(between == 0.0, low, (1.0 - between) * low + between * high)
        )
        step = strengths[min(row + 1, strengths.size - 1)] - strengths[row]
        places.append(strengths[row] + between[:, 0] * step)
    return np.concatenate(places), np.concatenate(values_between)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Counts:
    """Weighted counts in equation (1), each of shape (targets, points)."""

    both: FloatArray
    target: FloatArray
    steered: FloatArray
    n: FloatArray

    def less(self, part: Counts) -> Counts:
        """Return the counts of the questions that are not in a given part."""
        return Counts(
            both=self.both - part.both,
            target=self.target - part.target,
            steered=self.steered - part.steered,
            n=self.n - part.n,
        )

    @property
    def agreement(self) -> FloatArray:
        """Proportion of equal answers."""
        return ratio(self.n - self.target - self.steered + 2.0 * self.both, self.n)

    @property
    def kappa(self) -> FloatArray:
        """Cohen's kappa, NaN if the target never changes its answer."""
        return kappa_of(self.agreement, *(ratio(x, self.n) for x in (self.steered, self.target)))


def kappa_of(agreement: FloatArray, steered: FloatArray, target: FloatArray) -> FloatArray:
    """Return Cohen's kappa from agreement and the two yes rates."""
    # NaN if the target never changes its answer, because kappa would be 0 for any answers.
    chance = steered * target + (1.0 - steered) * (1.0 - target)
    room = 1.0 - chance
    certain = ~((room > 1e-12) & (target > 1e-12) & (target < 1.0 - 1e-12))
    return np.asarray(np.where(certain, np.nan, (agreement - chance) / np.where(certain, 1, room)))


def count(grid: Grid, profiles: Profiles, weights: FloatArray | None = None) -> Counts:
    """Return the counts in equation (1) for every target and strength."""
    said, answered = profiles.said, profiles.answered
    if weights is not None:
        said, answered = said * weights, answered * weights
    both = said @ grid.yes.T
    if grid.known is None:
        n = np.broadcast_to(answered.sum(axis=1)[:, None], both.shape)
        target = np.broadcast_to(said.sum(axis=1)[:, None], both.shape)
    else:
        n, target = answered @ grid.known.T, said @ grid.known.T
    return Counts(both=both, target=target, steered=answered @ grid.yes.T, n=n)


def log_likelihoods(grid: Grid, profiles: Profiles) -> FloatArray:
    """Return each question's term of equation (2) at the best slope, for targets and points."""
    if grid.log_odds is None:
        msg = (
            "criterion='likelihood' needs log odds or probabilities of yes, but the table has "
            "only answers"
        )
        raise OptionError(msg)
    shape = (len(profiles.said), *grid.yes.shape)
    shares = np.empty(shape)
    rows = max(1, _BLOCK // max(1, grid.yes.size))
    for start in range(0, shape[0], rows):
        part = slice(start, start + rows)
        known = profiles.answered[part, None, :]
        if grid.known is not None:
            known = known * grid.known
        margin = (2.0 * profiles.said[part] - 1.0)[:, None, :] * grid.log_odds
        slope = _slopes(margin, known)
        shares[part] = -known * np.logaddexp(0.0, -slope * margin)
    return shares


def _slopes(margin: FloatArray, known: FloatArray) -> FloatArray:
    """Return the slopes that maximise equation (2), from 0 to a bound, by bisection."""
    # The log likelihood is concave in the slope, so its derivative has one change of sign.
    low = np.zeros((*margin.shape[:2], 1))
    high = np.full_like(low, _STEEPEST)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        score = (known * margin / (1.0 + np.exp(np.clip(middle * margin, -700, 700)))).sum(
            axis=2, keepdims=True
        )
        low, high = np.where(score > 0, middle, low), np.where(score > 0, high, middle)
    falls = (known * margin).sum(axis=2, keepdims=True) <= 0
    return np.where(falls, 0.0, 0.5 * (low + high))


def criterion_curve(
    grid: Grid,
    profiles: Profiles,
    criterion: Criterion,
    *,
    weights: FloatArray | None = None,
    parts: FloatArray | None = None,
) -> FloatArray:
    """Return the criterion for every target and strength (targets, points)."""
    # `parts`, from `log_likelihoods`, use slopes fitted to all questions.
    if criterion == "likelihood":
        shares = log_likelihoods(grid, profiles) if parts is None else parts
        return shares.sum(axis=2) if weights is None else shares @ weights
    counts = count(grid, profiles, weights)
    return counts.agreement if criterion == "agreement" else counts.kappa


def known_at(grid: Grid, places: IntArray) -> BoolArray:
    """Return whether a question has a steered answer at each target's strength.

    The returned array has shape (targets, questions).
    """
    if grid.known is None:
        return np.ones((places.size, grid.yes.shape[1]), dtype=np.bool_)
    return np.asarray(grid.known[places] > 0, dtype=np.bool_)
