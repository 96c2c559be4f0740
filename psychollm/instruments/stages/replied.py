"""Replies that are the input of stages, and functions that group them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from psychollm._base.errors import InputError, OptionError
from psychollm.instruments.instrument import instrument_of, reader_of
from psychollm.instruments.prompt import Message, Prompt
from psychollm.instruments.readers.plain_text import with_reasoning
from psychollm.instruments.reading import Reading
from psychollm.instruments.revision.instrument import ARMS
from psychollm.instruments.scaffold.result import SPONTANEOUS


@dataclass(frozen=True, slots=True, kw_only=True)
class Replied:
    """Prompt that was sent to one model, with its reply.

    Examples
    --------
    >>> prompt = Prompt(key="q", item="q", messages=(Message("user", "?"),), reply="text")
    >>> Replied(model="m", prompt=prompt, text="Yes.", reasoning="Hm.").whole
    '<think>Hm.</think>Yes.'
    """

    model: str
    prompt: Prompt
    text: str | None  # None without a reply
    reasoning: str = ""  # reasoning text sent separately from the reply
    finish_reason: str | None = None
    run: int = 1  # index of the administration
    tokens: int | None = None  # number of tokens of the reply

    @property
    def said(self) -> str:
        """Reply without separate reasoning text; "" if there is no reply."""
        return (self.text or "").strip()

    @property
    def whole(self) -> str:
        """Reply with its separate reasoning text in tags."""
        return with_reasoning(self.text or "", self.reasoning)

    @property
    def reading(self) -> Reading | None:
        """Parsed reply; None if there is no reply."""
        if self.text is None:
            return None
        read = reader_of(instrument_of(self.prompt))
        return read(self.prompt, self.whole, finish_reason=self.finish_reason)


Replies: TypeAlias = Sequence[Replied]
Place: TypeAlias = tuple[str, int, str]


# These parts and stages of instruments have prompts that do not ask for an answer.
_ASIDE = frozenset({"predict", "judge", "wager", *ARMS, "revised"})


def first_stage(replies: Iterable[Replied], instruments: Iterable[str]) -> list[Replied]:
    """Return the replies of given instruments to prompts of the first stage."""
    known = set(instruments)
    return [
        one
        for one in replies
        if "after" not in one.prompt.about and instrument_of(one.prompt) in known
    ]


def is_aside(prompt: Prompt) -> bool:
    """Return whether a prompt asks neither for an answer nor for reasoning."""
    about = prompt.about
    names = {about.get("part"), about.get("stage"), about.get("form")}
    return bool(names & _ASIDE) or about["instrument"] == "coding"


def answers_of(replies: Replies, of: str | None, stage: str) -> list[Replied]:
    """Return the replies of one instrument with right or wrong answers."""
    found = [
        one
        for one in replies
        if one.prompt.about.get("reference")
        and "question" in one.prompt.about
        and "after" not in one.prompt.about
        and not is_aside(one.prompt)
        and one.prompt.about.get("arm", SPONTANEOUS) == SPONTANEOUS
        and not str(one.prompt.about.get("form", "")).startswith("base")
    ]
    held = list(dict.fromkeys(instrument_of(one.prompt) for one in found))
    if of is not None:
        found = [one for one in found if instrument_of(one.prompt) == of.replace("-", "_")]
    elif len(held) > 1:
        msg = f"{stage}: several instruments have answers ({', '.join(held)}): name one with 'of'"
        raise OptionError(msg)
    if not found:
        whose = "" if of is None else f" of {of}"
        held_text = ", ".join(held) or "none"
        msg = (
            f"{stage}: there are no answers{whose} in words that are right or wrong "
            f"(available: {held_text})"
        )
        raise InputError(msg)
    return found


def conversation(last: Replied, known: Mapping[Place, Replied]) -> list[Message]:
    """Return all turns up to and including a reply."""
    before: list[Message] = []
    if last.prompt.follows is not None:
        before = conversation(known[last.model, last.run, last.prompt.follows], known)
    return [*before, *last.prompt.messages, Message("assistant", last.said)]


def by_place(replies: Iterable[Replied]) -> dict[Place, Replied]:
    """Return replies by model, run and key of the prompt."""
    return {(one.model, one.run, one.prompt.key): one for one in replies}


def again(run: int) -> str:
    """Return the suffix of a run's keys, which is empty for the first run."""
    return "" if run == 1 else f"/run-{run}"


def by_respondent(replies: Iterable[Replied]) -> dict[tuple[str, int], list[Replied]]:
    """Return replies by model and run."""
    groups: dict[tuple[str, int], list[Replied]] = {}
    for one in replies:
        groups.setdefault((one.model, one.run), []).append(one)
    return groups
