"""Traces to code, with their known properties."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from psychollm._base.checks import check_unique
from psychollm._base.errors import InputError
from psychollm.instruments.questions import json_lines


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """A reasoning trace and its origin.

    Examples
    --------
    >>> Transcript(key="a", text="Let me see.", model="m", item="q1").arm
    ''
    """

    key: str
    text: str
    model: str = ""  # model that wrote it
    item: str = ""  # label of the question; by default the key of the transcript
    run: int = 1  # index among several traces of the question
    arm: str = ""  # way of elicitation: "spontaneous", "prompted", ...
    structure: str = ""  # kind of problem
    correct: float | None = None  # whether the answer is right
    tokens: int | None = None  # length of the trace; if None, words and punctuation are counted

    def __post_init__(self) -> None:
        if not self.text.strip():
            msg = f"transcript {self.key!r} is blank: leave it out"
            raise InputError(msg)
        if self.correct is not None and not 0 <= self.correct <= 1:
            msg = f"transcript {self.key!r}: correct={self.correct!r} must lie between 0 and 1"
            raise InputError(msg)

    def about(self) -> dict[str, Any]:
        """Return the known properties of the trace as a JSON-compatible dict.

        Examples
        --------
        >>> Transcript(key="a", text="Let me see.").about()
        {'transcript': 'a', 'item': 'a'}
        """
        fields = {
            "transcript": self.key,
            "model": self.model,
            "item": self.item or self.key,
            "run": None if self.run == 1 else self.run,
            "arm": self.arm,
            "structure": self.structure,
            "correct": None if self.correct is None else float(self.correct),
            "tokens": None if self.tokens is None else int(self.tokens),
        }
        return {name: value for name, value in fields.items() if value not in (None, "")}


def as_transcripts(
    transcripts: Mapping[str, str] | Iterable[Transcript | Mapping[str, Any]],
) -> tuple[Transcript, ...]:
    """Return transcripts, from texts by key or from mappings of their fields."""
    if isinstance(transcripts, Mapping):
        made = tuple(Transcript(key=str(key), text=text) for key, text in transcripts.items())
    else:
        made = tuple(map(_made, transcripts))
    if not made:
        msg = "transcripts is empty: pass at least one"
        raise InputError(msg)
    check_unique("transcript", [one.key for one in made])
    return made


def read_transcripts(path: str | PathLike[str]) -> tuple[Transcript, ...]:
    """Read transcripts from a file with one JSON object per line."""
    return as_transcripts(row.table for row in json_lines(Path(path)))


def _made(one: Any) -> Transcript:
    if isinstance(one, Transcript):
        return one
    known = set(Transcript.__dataclass_fields__)
    if not isinstance(one, Mapping) or not {"key", "text"} <= set(one) <= known:
        msg = f"transcript {one!r:.80}: pass a mapping with key and text, and of {sorted(known)}"
        raise InputError(msg)
    return Transcript(**one)
