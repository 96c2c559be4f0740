"""What every reader of logs gives: runs, and the samples in them."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from math import fsum
from typing import Any, Literal, TypeAlias

from psychollm._base.errors import CodeError
from psychollm._base.untrusted_json import as_number

NO_ANSWER: Literal["no answer"] = "no answer"  # said by the log, and counted as wrong by some
_ROUNDED = 1e-3  # logs round to as many digits
UNSCORED, INVALIDATED = "not scored", "invalidated in the log"
Score: TypeAlias = float | Literal["no answer"] | "Word" | None


class Word(str):
    """A score that is a word, of which nothing says what it counts."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One answer of one model to one question, with all scores that it was given."""

    question: str  # label, unique within the task of one run
    scores: Mapping[str, Score]  # by scorer; None where there is none
    repeat: int | None = None  # from 1; None: by order of occurrence
    filter: str = ""  # which of several extractions of the answer was scored
    error: str = ""  # why there is no score
    confidence: Mapping[str, float] = field(default_factory=dict)  # by scorer; "" for all
    content: str = ""  # digest of what was asked; "" where the log does not hold it
    about: Mapping[str, str] = field(default_factory=dict)  # what else was to be kept
    parts: Mapping[str, Score] = field(default_factory=dict)  # scorers that count if asked for

    def __post_init__(self) -> None:
        """Refuse a count that no table can hold: the log is damaged."""
        if self.repeat is not None and abs(self.repeat) >= 2**53:
            msg = (
                f"question {self.question!r}: the number of its repeat has no end; is it damaged?"
            )
            raise CodeError(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of one model on one task."""

    model: str
    task: str
    samples: tuple[Sample, ...]
    format: str = ""  # this and the file are filled in by whoever calls the reader
    source: str = ""
    configuration: Mapping[str, str] = field(default_factory=dict)
    created: str = ""  # time in a form that sorts
    identity: str = ""  # a later run with the same identity takes this one's place
    judges: tuple[str, ...] = ()  # the scorers, or parts, that are verdicts of models
    invalid: str = ""  # why the run must not be used
    notes: tuple[str, ...] = ()


def differs(name: str, stated: float, scores: Iterable[Any]) -> Iterator[str]:
    """Say that a log states another mean score than its samples have.

    Examples
    --------
    >>> list(differs("match", 0.75, [1.0, 0.0, None]))
    ["the log states a mean of 0.75 for 'match', and its 2 scores have 0.5"]
    """
    known = [float(one) for one in scores if one is not None]
    mean = fsum(known) / max(len(known), 1)
    if known and abs(mean - stated) > _ROUNDED * max(1.0, abs(stated)):
        yield (
            f"the log states a mean of {stated:.4g} for {name!r}, and its {len(known):,} scores "
            f"have {mean:.4g}"
        )


def digest(*parts: Any) -> str:
    """Return a fingerprint of what was asked; "" if there is nothing."""
    if not any(parts):
        return ""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False, default=str)
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def as_score(value: Any) -> float | None:
    """Return a score as a number; None where there is none, or what is there is no number."""
    return float(value) if isinstance(value, bool) else as_number(value)


def flatten(settings: Any, prefix: str = "") -> dict[str, str]:
    """Return nested settings as text by dotted name; what is empty is left out."""
    if isinstance(settings, Mapping):
        found: dict[str, str] = {}
        for name, value in settings.items():
            found |= flatten(value, f"{prefix}.{name}" if prefix else str(name))
        return found
    if settings is None or settings in ([], ""):
        return {}
    text = settings if isinstance(settings, str) else json.dumps(settings, default=str)
    return {prefix: text}


def without(settings: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """Return the settings that may change an answer: all but those `names` ends with."""
    unwanted = set(names)
    return {name: text for name, text in settings.items() if name.split(".")[-1] not in unwanted}
