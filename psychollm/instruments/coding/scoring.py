"""Scores of traces by one coder, and coding by rules.

A category has the code 2 if the trace contains a strong cue, or at least two sentences with a weak
cue. The code is 1 if only one sentence contains a weak cue, and 0 otherwise. One span is kept per
sentence and category: the first strong cue or, without a strong cue, the first weak cue.

The claim checked by a sentence consists of the content words of this sentence or, if these are too
few, of the next sentence. Two claims are equal if they contain the same numbers and have most of
their other words in common.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from psychollm._base.errors import InputError
from psychollm.instruments.coding.replies import coded, transcript_of
from psychollm.instruments.coding.result import Coded, CodingScores, Span, n_words
from psychollm.instruments.coding.schemes import (
    FIVE,
    SCHEMES,
    Cue,
    Scheme,
    SchemeName,
    as_scheme,
)
from psychollm.instruments.coding.transcripts import Transcript
from psychollm.instruments.prompt import Prompt, told
from psychollm.instruments.readers.clauses import Sentence, sentences
from psychollm.instruments.reading import Outcome, ReadingsLike, aligned

_CHECKS = tuple(
    cue for cue in FIVE.categories[-1].cues if cue.name in {"check", "check as a verb"}
)
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?|[-+*/^=<>×÷]")
# Words for checking, and other words that do not identify the checked claim.
_COMMON = (
    "a again all also an and another at be by can check checked checking confirm "
    "correct does double for from get good have i if in indeed is it just let let's "
    "make me more my need now of ok okay on once one only our quick quickly really "
    "recheck review right sanity see should so still sure test that the then there "
    "this time to too twice us validate verified verify verifying wait was we well "
    "whether will with yes "
)
_EMPTY = frozenset(_COMMON.split())
_ALIKE = 0.6  # proportion of shared words above which claims count as equal
_ENOUGH = 2  # smallest number of words or numbers in a claim


@dataclass(frozen=True, slots=True)
class Verifications:
    """Claims that a trace verifies."""

    claims: tuple[str, ...]
    repeats: tuple[int | None, ...]  # index of an equal earlier claim, or None

    @property
    def n(self) -> int:
        """Number of verifications."""
        return len(self.claims)

    @property
    def repeated(self) -> int:
        """Number of verifications of an already verified claim."""
        return sum(one is not None for one in self.repeats)

    @property
    def share(self) -> float:
        """Proportion of repeated verifications; NaN if there are no verifications."""
        return self.repeated / self.n if self.n else float("nan")


def verifications(text: str) -> Verifications:
    """Find the claims that a trace verifies, and repeated verifications."""
    text = text.replace("’", "'")
    known = [text[one.start : one.end] for one in sentences(text)]
    claims: list[str] = []
    for i, words in enumerate(known):
        if not any(cue.places(words, 0, len(words)) for cue in _CHECKS):
            continue
        after = known[i + 1] if i + 1 < len(known) else ""
        numbers, content = _parts(words)
        claims.append(words if len(numbers) + len(content) >= _ENOUGH else f"{words} {after}")
    parts = [_parts(claim) for claim in claims]
    return Verifications(
        tuple(claim.strip() for claim in claims),
        tuple(
            next((earlier for earlier in range(i) if _same(parts[earlier], part)), None)
            for i, part in enumerate(parts)
        ),
    )


def _parts(claim: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the numbers of a claim and its other content words."""
    words = frozenset(_WORD.findall(claim.lower())) - _EMPTY
    return frozenset(_NUMBER.findall(claim)), words


def _same(
    one: tuple[frozenset[str], frozenset[str]], two: tuple[frozenset[str], frozenset[str]]
) -> bool:
    if one[0] != two[0] or not (one[0] or one[1]):
        return False
    either = one[1] | two[1]
    return not either or len(one[1] & two[1]) / len(either) >= _ALIKE


_PLENTY = 2  # number of sentences with a weak cue that together count as a strong cue


def code_by_rules(text: str, scheme: SchemeName | Scheme = "five") -> Coded:
    """Code a trace by the cues of a scheme; all categories of the scheme must have cues."""
    categories = as_scheme(scheme).categories
    unknown = [one.name for one in categories if not one.cues]
    if unknown:
        msg = f"category {unknown[0]!r} has no cues: let a judge code it"
        raise InputError(msg)
    text = text.replace("’", "'")
    spans: list[Span] = []
    codes: dict[str, int | None] = {}
    known = sentences(text)
    for category in categories:
        name = category.name
        cues = [_cue_in(text, one, category.cues) for one in known]
        held = [one for one in cues if one is not None]
        strong = any(cue.strong for cue, _, _ in held)
        codes[name] = 2 if strong or len(held) >= _PLENTY else min(len(held), 1)
        spans += [Span(name, start, end, text[start:end], cue.name) for cue, start, end in held]
    ordered = tuple(sorted(spans, key=lambda span: (span.start, span.category)))
    return Coded(codes=codes, spans=ordered, words=n_words(text))


def _cue_in(text: str, sentence: Sentence, cues: tuple[Cue, ...]) -> tuple[Cue, int, int] | None:
    """Return a sentence's first strong cue or, without one, its first weak cue, with the span."""
    matches = [
        (not cue.strong, start, end, cue)
        for cue in cues
        for start, end in cue.places(text, sentence.start, sentence.end)[:1]
    ]
    if not matches:
        return None
    _, start, end, cue = min(matches, key=lambda one: one[:2])
    return cue, start, end


def score_readings(
    prompts: Sequence[Prompt],
    readings: ReadingsLike,
    *,
    coder: str = "judge",
) -> CodingScores:
    """Score the parsed replies of one coder."""
    aligned_readings = aligned(prompts, readings)
    if len({tuple(one.about["categories"]) for one in prompts}) > 1:
        msg = "prompts hold several coding schemes: score each separately"
        raise InputError(msg)
    return _scores(
        [one.about for one in prompts],
        [transcript_of(one) for one in prompts],
        [
            coded(prompt, reading)
            for prompt, reading in zip(prompts, aligned_readings, strict=True)
        ],
        outcomes=tuple(one.outcome for one in aligned_readings),
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


def code_again(prompts: Sequence[Prompt]) -> CodingScores | None:
    """Code the traces in a judge's prompts by rules; None if the scheme has no cues."""
    name = prompts[0].about["scheme"] if prompts else ""
    scheme = SCHEMES.get(name)
    if scheme is None or list(scheme.names) != list(prompts[0].about["categories"]):
        return None
    first = [one for one in prompts if not one.repeat]
    rows = [code_by_rules(transcript_of(one), scheme) for one in first]
    return _scores(
        [one.about for one in first],
        [transcript_of(one) for one in first],
        rows,
        outcomes=(Outcome.ANSWERED,) * len(first),
        coders=("rules",) * len(first),
        categories=scheme.names,
    )


def _scores(
    about: Sequence[Mapping[str, Any]],
    texts: Sequence[str],
    rows: Sequence[Coded],
    *,
    outcomes: tuple[Outcome, ...],
    coders: tuple[str, ...],
    categories: tuple[str, ...],
) -> CodingScores:
    shape = (len(rows), len(categories))
    codes = [[np.nan if one is None else one for one in row.codes.values()] for row in rows]
    # If a category has no code, its number of spans is also unknown.
    counts = [
        [np.nan if row.codes[name] is None else row.counts[name] for name in categories]
        for row in rows
    ]
    checked = [verifications(text) for text in texts]
    return CodingScores(
        transcripts=told(about, "transcript"),
        models=told(about, "model"),
        items=told(about, "item"),
        runs=tuple(int(one.get("run", 1)) for one in about),
        arms=told(about, "arm"),
        structures=told(about, "structure"),
        coders=coders,
        outcomes=outcomes,
        categories=categories,
        correct=np.array([one.get("correct", np.nan) for one in about], dtype=np.float64),
        codes=np.array(codes, dtype=np.float64).reshape(shape),
        counts=np.array(counts, dtype=np.float64).reshape(shape),
        tokens=np.array(
            [one.get("tokens", row.words) for one, row in zip(about, rows, strict=True)],
            dtype=np.float64,
        ),
        verified=np.array([one.n for one in checked], dtype=np.float64),
        repeated=np.array([one.repeated for one in checked], dtype=np.float64),
        lost=np.array([row.lost for row in rows], dtype=np.int64),
        coded=tuple(rows),
    )
