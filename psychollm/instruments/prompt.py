"""Prompts and messages: a named conversation that can be sent, stored and reloaded."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self, TypeAlias

from psychollm._base.checks import check_choice
from psychollm._base.errors import InputError

Role: TypeAlias = Literal["system", "user", "assistant"]
# Form of the expected reply. The instrument that created the prompt selects the parser.
ReplyForm: TypeAlias = Literal[
    "yes_no", "integer", "number", "option", "rating", "percent", "verbal", "text"
]
_NEEDED = frozenset({"key", "item", "messages", "reply"})


@dataclass(frozen=True, slots=True)
class Message:
    """Turn of a conversation.

    Examples
    --------
    >>> Message("user", "Can you answer this?").role
    'user'
    """

    role: Role
    content: str

    def __post_init__(self) -> None:
        check_choice("role", self.role, Role)
        if not isinstance(self.content, str):
            msg = f"content={self.content!r:.80} must be text"
            raise InputError(msg)
        try:
            self.content.encode()
        except UnicodeEncodeError as error:
            msg = f"content holds half of a pair of surrogates at {error.start}"
            raise InputError(msg) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """Conversation whose last turn requests a model's reply.

    `key` identifies the prompt within its instrument; the same content always has the same key.
    `about` contains the information for parsing and scoring the reply, and is not sent to the
    model. If `follows` names an earlier prompt, this prompt continues its conversation: the
    messages of the earlier prompt and the reply to it precede the messages of this prompt. If `to`
    names a respondent, only this respondent receives the prompt, for example because the prompt
    refers to the respondent's earlier reply.

    Examples
    --------
    >>> prompt = Prompt(key="q1/predict", item="q1", messages=(Message("user", "..."),),
    ...                 reply="yes_no")
    >>> Prompt.from_dict(prompt.to_dict()) == prompt
    True
    """

    key: str
    item: str  # label of the question to which the prompt refers
    messages: tuple[Message, ...]
    reply: ReplyForm
    follows: str | None = None  # key of the prompt whose conversation is continued
    to: str | None = None  # name of the only recipient; None for all respondents
    repeat: int = 0  # index of the administration
    max_tokens: int | None = None  # enough for a reply of the requested form
    about: Mapping[str, Any] = field(default_factory=dict)  # JSON-compatible

    def __post_init__(self) -> None:
        check_choice("reply", self.reply, ReplyForm)
        for name in ("key", "item"):
            if not isinstance(value := getattr(self, name), str) or not value:
                msg = f"{name}={value!r} of a prompt must be text"
                raise InputError(msg)
        if all(one.role != "user" for one in self.messages):
            msg = f"prompt {self.key!r} has no user message: it needs at least one"
            raise InputError(msg)
        for name, value, low in (("repeat", self.repeat, 0), ("max_tokens", self.max_tokens, 1)):
            if value is not None and (type(value) is not int or value < low):
                msg = f"prompt {self.key!r}: {name}={value!r} must be a whole number from {low}"
                raise InputError(msg)
        if not isinstance(self.about, Mapping):
            msg = f"prompt {self.key!r}: about={self.about!r:.80} must be an object"
            raise InputError(msg)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-compatible dict without empty fields."""
        table = {name: getattr(self, name) for name in self.__dataclass_fields__}
        turns = [{"role": turn.role, "content": turn.content} for turn in self.messages]
        table |= {"messages": turns, "about": dict(self.about)}
        return {name: value for name, value in table.items() if value or name in _NEEDED}

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> Self:
        """Create a prompt from the result of `to_dict`.

        Raises
        ------
        InputError
            If a field is missing or unknown.
        """
        known = set(cls.__dataclass_fields__)
        missing = _NEEDED - set(table)
        unknown = set(table) - known
        if missing or unknown:
            fault = f"lacks {sorted(missing)}" if missing else f"has unknown {sorted(unknown)}"
            msg = f"prompt {table.get('key', '?')!r} {fault}: fields are {sorted(known)}"
            raise InputError(msg)
        turns = tuple(Message(turn["role"], turn["content"]) for turn in table["messages"])
        return cls(**{**table, "messages": turns})


def told(about: Iterable[Mapping[str, Any]], name: str) -> tuple[str, ...]:
    """Return one entry of each prompt's `about` as text, or "" if it is absent."""
    return tuple(str(one.get(name, "")) for one in about)
