"""Runs and their samples, which every log reader returns."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from math import fsum
from typing import Any, Literal, TypeAlias

from psychollm._base.errors import CodeError
from psychollm._base.untrusted_json import as_number

NO_ANSWER: Literal["no answer"] = "no answer"  # callers may count it as wrong
_ROUNDED = 1e-3  # tolerance for means, which logs round
UNSCORED, INVALIDATED = "not scored", "invalidated in the log"
Score: TypeAlias = float | Literal["no answer"] | "Word" | None


class Word(str):
    """A score that is a word without a known numeric value."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One answer of one model to one question, with all its scores."""

    question: str  # label, unique within the task of one run
    scores: Mapping[str, Score]  # score of each scorer, None if there is none
    repeat: int | None = None  # number of the repeat, from 1; None numbers them by occurrence
    filter: str = ""  # method that extracted the scored answer
    error: str = ""  # reason why there is no score
    # keyed by scorer; "" means all scorers
    confidence: Mapping[str, float] = field(default_factory=dict)
    content: str = ""  # digest of the question's content; "" if the log lacks it
    about: Mapping[str, str] = field(default_factory=dict)  # additional fields to keep
    parts: Mapping[str, Score] = field(default_factory=dict)  # scores of parts, used on request

    def __post_init__(self) -> None:
        """Raise an error if the number of the repeat is too large, as in a damaged log."""
        if self.repeat is not None and abs(self.repeat) >= 2**53:
            msg = f"question {self.question!r}: the repeat number is 2**53 or more; is it damaged?"
            raise CodeError(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of one model on one task."""

    model: str
    task: str
    samples: tuple[Sample, ...]
    format: str = ""  # set by the caller of the reader, as is `source`
    source: str = ""
    configuration: Mapping[str, str] = field(default_factory=dict)
    created: str = ""  # time in a sortable format
    identity: str = ""  # a later run with the same identity replaces this one
    judges: tuple[str, ...] = ()  # scorers, or parts, that are verdicts of models
    invalid: str = ""  # reason why the run must not be used
    notes: tuple[str, ...] = ()


def differs(name: str, stated: float, scores: Iterable[Any]) -> Iterator[str]:
    """Report if the mean score that a log states differs from the mean of its samples.

    Examples
    --------
    >>> list(differs("match", 0.75, [1.0, 0.0, None]))
    ["the log states a mean of 0.75 for 'match', but its 2 scores have 0.5"]
    """
    known = [float(one) for one in scores if one is not None]
    mean = fsum(known) / max(len(known), 1)
    if known and abs(mean - stated) > _ROUNDED * max(1.0, abs(stated)):
        yield (
            f"the log states a mean of {stated:.4g} for {name!r}, but its {len(known):,} scores "
            f"have {mean:.4g}"
        )


def digest(*parts: Any) -> str:
    """Return a digest of the content of a question; "" without content."""
    if not any(parts):
        return ""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False, default=str)
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def as_score(value: Any) -> float | None:
    """Return a score as a number, None if it is missing or not a number."""
    return float(value) if isinstance(value, bool) else as_number(value)


def flatten(settings: Any, prefix: str = "") -> dict[str, str]:
    """Map dotted names of nested settings to their values as text, without empty values."""
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
    """Return the settings, except those whose names end in one of `names`."""
    unwanted = set(names)
    return {name: text for name, text in settings.items() if name.split(".")[-1] not in unwanted}
