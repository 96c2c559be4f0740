"""Pairs of questions drawn from a seed."""

from collections.abc import Iterator
from itertools import islice
from typing import Literal, TypeAlias

import numpy as np

from psychollm._base.errors import OptionError
from psychollm.instruments.abstention.frames import FRAMES, Twins
from psychollm.instruments.abstention.questions import Askable
from psychollm.instruments.questions import Question

Scenario: TypeAlias = Literal[
    "missing_fact",
    "false_premise",
    "underspecified",
    "unknowable_future",
    "subjective",
    "nonsense_entity",
]
SCENARIOS: tuple[Scenario, ...] = (
    "missing_fact",
    "false_premise",
    "underspecified",
    "unknowable_future",
    "subjective",
    "nonsense_entity",
)
_TRIES = 500


def pairs(scenario: Scenario, n: int, seed: int) -> tuple[Askable, ...]:
    """Return `n` pairs of one scenario: each answerable question, then its twin."""
    # The first of a larger set are those of a smaller one.
    found: list[Askable] = []
    for number, twins in enumerate(islice(_different(scenario, seed), n), start=1):
        pair = f"{scenario}-{seed}-{number:04d}"
        answered = Question(
            key=f"{pair}-yes",
            text=twins.answerable,
            answers=(twins.answer,),
            rule="numeric" if twins.numeric else "contains",
        )
        open_ended = Question(key=f"{pair}-no", text=twins.unanswerable)
        found += [
            Askable(
                question=question,
                should_abstain=not question.answers,
                scenario=scenario,
                pair=pair,
                dataset="own",
            )
            for question in (answered, open_ended)
        ]
    if len(found) < 2 * n:
        msg = f"n_pairs={n}: the scenario {scenario!r} has {len(found) // 2} different pairs only"
        raise OptionError(msg)
    return tuple(found)


def _different(scenario: Scenario, seed: int) -> Iterator[Twins]:
    """Yield twins until no new ones are found; frames take turns while they have any."""
    frames = FRAMES[scenario]
    rng = np.random.default_rng([seed, SCENARIOS.index(scenario)])
    seen: set[str] = set()
    turn, misses = 0, 0
    while misses < _TRIES:
        twins = frames[turn % len(frames)](rng)
        texts = {twins.answerable, twins.unanswerable}
        if texts & seen:
            misses += 1
            turn += misses % 5 == 0
            continue
        seen |= texts
        turn, misses = turn + 1, 0
        yield twins
