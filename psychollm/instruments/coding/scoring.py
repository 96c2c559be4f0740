"""Coded traces of one coder, side by side."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from psychollm._base.errors import InputError
from psychollm.instruments.aligned import aligned
from psychollm.instruments.coding.repetition import verifications
from psychollm.instruments.coding.replies import coded, transcript_of
from psychollm.instruments.coding.result import CodingScores
from psychollm.instruments.coding.rules import code_by_rules
from psychollm.instruments.coding.schemes import Scheme
from psychollm.instruments.coding.spans import Coded
from psychollm.instruments.coding.transcripts import Transcript
from psychollm.instruments.prompt import Prompt
from psychollm.instruments.reading import Outcome, ReadingsLike


def score_readings(
    prompts: Sequence[Prompt],
    readings: ReadingsLike,
    *,
    coder: str = "judge",
) -> CodingScores:
    """Score the readings of one coder."""
    found = aligned(prompts, readings)
    if len({tuple(one.about["categories"]) for one in prompts}) > 1:
        msg = "prompts hold several schemes of categories: score each on its own"
        raise InputError(msg)
    return _scores(
        [one.about for one in prompts],
        [transcript_of(one) for one in prompts],
        [coded(prompt, reading) for prompt, reading in zip(prompts, found, strict=True)],
        outcomes=tuple(one.outcome for one in found),
        coders=tuple(f"{coder}-{one.repeat + 1}" if one.repeat else coder for one in prompts),
        categories=tuple(prompts[0].about["categories"]) if prompts else (),
    )


def rule_scores(transcripts: Sequence[Transcript], scheme: Scheme) -> CodingScores:
    """Code traces by rules."""
    return _scores(
        [one.about() for one in transcripts],
        [one.text for one in transcripts],
        [code_by_rules(one.text, scheme) for one in transcripts],
        outcomes=(Outcome.ANSWERED,) * len(transcripts),
        coders=("rules",) * len(transcripts),
        categories=scheme.names,
    )


def _scores(
    about: Sequence[Mapping[str, Any]],
    texts: Sequence[str],
    found: Sequence[Coded],
    *,
    outcomes: tuple[Outcome, ...],
    coders: tuple[str, ...],
    categories: tuple[str, ...],
) -> CodingScores:
    shape = (len(found), len(categories))
    codes = [[np.nan if one is None else one for one in row.codes.values()] for row in found]
    # Where there is no code there is nothing known of its spans either.
    counts = [
        [np.nan if row.codes[name] is None else row.counts[name] for name in categories]
        for row in found
    ]
    checked = [verifications(text) for text in texts]
    return CodingScores(
        transcripts=_field(about, "transcript"),
        models=_field(about, "model"),
        items=_field(about, "item"),
        runs=tuple(int(one.get("run", 1)) for one in about),
        arms=_field(about, "arm"),
        structures=_field(about, "structure"),
        coders=coders,
        outcomes=outcomes,
        categories=categories,
        correct=np.array([one.get("correct", np.nan) for one in about], dtype=np.float64),
        codes=np.array(codes, dtype=np.float64).reshape(shape),
        counts=np.array(counts, dtype=np.float64).reshape(shape),
        tokens=np.array(
            [one.get("tokens", row.words) for one, row in zip(about, found, strict=True)],
            dtype=np.float64,
        ),
        verified=np.array([one.n for one in checked], dtype=np.float64),
        repeated=np.array([one.repeated for one in checked], dtype=np.float64),
        lost=np.array([row.lost for row in found], dtype=np.int64),
        coded=tuple(found),
    )


def _field(about: Sequence[Mapping[str, Any]], name: str) -> tuple[str, ...]:
    return tuple(str(one.get(name, "")) for one in about)
