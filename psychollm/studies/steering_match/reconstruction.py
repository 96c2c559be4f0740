"""Answers reproduced from one strength per target, and baselines.

A reconstruction has one row of answers for each target. The agreement and kappa of a
reconstruction are ratios of sums over questions, so one matrix product gives the values of all
resamples of questions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.result import Result
from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.calibration.decisions.two_by_two import ratio
from psychollm.data.labels import Labels
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.reasons import Reason, first_reason
from psychollm.estimates.resampling import bootstrap_estimate
from psychollm.studies.steering_match.grid import (
    Counts,
    Grid,
    Profiles,
    Ties,
    count,
    kappa_of,
    known_at,
    peak,
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Answers:
    """Counts of reproduced answers for each target and question, summed over splits."""

    name: str
    hits: FloatArray  # (targets, questions) number of agreements with the target
    said: FloatArray  # (targets, questions) number of yes answers
    truth: FloatArray  # (targets, questions) number of the target's yes answers
    scored: FloatArray  # (targets, questions) number of answers by both

    def rates(self, counts: FloatArray | None = None) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return agreement, kappa and chance agreement of each resample (resamples, targets)."""
        weights = np.ones((1, self.hits.shape[1])) if counts is None else counts
        n = weights @ self.scored.T
        alike, said, truth = (
            ratio(weights @ part.T, n) for part in (self.hits, self.said, self.truth)
        )
        chance = said * truth + (1.0 - said) * (1.0 - truth)
        return alike, kappa_of(alike, said, truth), chance

    def means(self, counts: FloatArray | None = None) -> FloatArray:
        """Return agreement and kappa averaged over targets with defined values (resamples, 2)."""
        return np.stack([mean_defined(part) for part in self.rates(counts)[:2]], axis=1)


def mean_defined(values: FloatArray) -> FloatArray:
    """Return the mean of the defined values over the last axis, NaN if no value is defined."""
    known = np.isfinite(values)
    n = known.sum(axis=-1)
    total = np.where(known, values, 0.0).sum(axis=-1)
    return ratio(total, n)


def answers_at(name: str, grid: Grid, profiles: Profiles, places: IntArray) -> Answers:
    """Return the answers at one grid point per target."""
    return _scored(name, grid.yes[places], known_at(grid, places), profiles)


def fixed_answers(name: str, yes: FloatArray, profiles: Profiles) -> Answers:
    """Return given answers (questions,) or (targets, questions), NaN if missing."""
    table = np.broadcast_to(yes, profiles.said.shape)
    known = np.isfinite(table)
    return _scored(name, np.where(known, table, 0.0), np.asarray(known), profiles)


def _scored(name: str, yes: FloatArray, known: BoolArray, profiles: Profiles) -> Answers:
    scored = profiles.answered * known
    return Answers(
        name=name,
        hits=scored * (yes == profiles.said),
        said=scored * yes,
        truth=scored * profiles.said,
        scored=scored,
    )


def constant_answers(profiles: Profiles) -> Answers:
    """Return constant answers for each target, equal to the target's more frequent answer."""
    majority = (profiles.yes_rates >= 0.5).astype(np.float64)
    yes = np.broadcast_to(majority[:, None], profiles.said.shape)
    return fixed_answers("constant answer", yes, profiles)


def random_halves(n_questions: int, n: int, rng: np.random.Generator) -> BoolArray:
    """Draw `n` random halves of the questions (n, questions)."""
    keys = rng.random((n, n_questions))
    return np.asarray(keys.argsort(axis=1).argsort(axis=1) < n_questions // 2, dtype=np.bool_)


def held_out_answers(
    grid: Grid, profiles: Profiles, halves: BoolArray, *, ties: Ties
) -> tuple[Answers, Answers]:
    """Choose each strength on one half of the questions and answer the other half with it."""
    # Strengths for agreement and for kappa are chosen separately: for a target that rarely says
    # yes, always answering no has the highest agreement, but carries no information about the
    # questions to which the target says yes. Each half of a split serves once for choosing and
    # once for scoring.
    names = ("held out", "held out, chosen for kappa")
    sums = np.zeros((2, 4, *profiles.said.shape))
    every = count(grid, profiles)
    for half in halves:
        here = count(grid, profiles, half.astype(np.float64))
        curves = [*_criteria(here), *_criteria(every.less(here))]
        places = peak(np.concatenate(curves), grid.strengths, ties=ties).place.reshape(4, -1)
        for total, own, other in zip(sums, places[:2], places[2:], strict=True):
            total += _other_half(grid, profiles, half, (own, other))
    first, second = (
        Answers(name=name, hits=hits, said=said, truth=truth, scored=scored)
        for name, (hits, said, truth, scored) in zip(names, sums / len(halves), strict=True)
    )
    return first, second


def _criteria(counts: Counts) -> tuple[FloatArray, FloatArray]:
    """Return agreement and kappa; for targets with constant answers, agreement replaces kappa."""
    agreement, kappa = counts.agreement, counts.kappa
    return agreement, np.where(np.isnan(kappa).all(axis=1, keepdims=True), agreement, kappa)


def _other_half(
    grid: Grid, profiles: Profiles, half: BoolArray, places: tuple[IntArray, IntArray]
) -> FloatArray:
    """Count agreements, steered yes, target yes, and scored answers (4, targets, questions)."""
    # The first indices were chosen on this half, the second on the other questions.
    own, other = places
    yes = np.where(half, grid.yes[other], grid.yes[own])
    scored = profiles.answered
    if grid.known is not None:
        scored = scored * np.where(half, grid.known[other], grid.known[own])
    return np.stack(
        [scored * (yes == profiles.said), scored * yes, scored * profiles.said, scored]
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reconstruction(Result):
    """Agreement between reproduced answers and the targets' answers.

    Examples
    --------
    >>> from psychollm.data.responses import Responses
    >>> from psychollm.studies.steering_match.grid import profiles_of
    >>> profiles = profiles_of(Responses([[1, 1, 0, 0]]))
    >>> answers = fixed_answers("mine", np.array([1.0, 1.0, 1.0, 0.0]), profiles)
    >>> found = reconstruction(answers, np.ones((9, 4)), labels=("a",), level=0.95)
    >>> found.agreement.value, found.kappa.value
    (array([0.75]), array([0.5]))
    """

    name: str
    agreement: Estimate  # (targets,)
    kappa: Estimate  # (targets,)
    chance: FloatArray  # (targets,) expected agreement of random answers with both yes rates

    _AXES = Axes({"target": "agreement.labels"}, "agreement", "kappa", "chance")


def reconstruction(
    answers: Answers, counts: FloatArray, *, labels: Labels, level: float
) -> Reconstruction:
    """Return agreement and kappa with intervals from resamples of the questions."""
    agreement, kappa, chance = (part[0] for part in answers.rates())
    draws = answers.rates(counts)
    n = answers.scored.sum(axis=1)
    rates = answers.truth.sum(axis=1)
    common = {"n": n, "level": level, "labels": labels, "axis": "target"}
    return Reconstruction(
        name=answers.name,
        agreement=bootstrap_estimate(
            f"agreement, {answers.name}",
            agreement,
            draws[0],
            flags=first_reason((n == 0, Reason.NO_ANSWERS)),
            **common,
        ),
        kappa=bootstrap_estimate(
            f"kappa, {answers.name}",
            kappa,
            draws[1],
            flags=first_reason(
                (n == 0, Reason.NO_ANSWERS),
                (rates == 0, Reason.NO_YES),
                (rates == n, Reason.NO_NO),
            ),
            **common,
        ),
        chance=chance,
    )
