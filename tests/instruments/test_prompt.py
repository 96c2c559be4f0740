"""Conversations: what they must hold, and how they are stored."""

import json

import pytest

from psychollm._base.errors import InputError, OptionError
from psychollm.instruments import Message, Prompt

ASKED = Prompt(
    key="q1/second",
    item="q1",
    messages=(Message("system", "Be brief."), Message("user", "Are you sure?")),
    reply="yes_no",
    follows="q1/first",
    repeat=2,
    about={"correct": "a"},
)


def test_what_is_stored_is_read_back_and_nothing_empty_is_stored() -> None:
    assert Prompt.from_dict(json.loads(json.dumps(ASKED.to_dict()))) == ASKED
    plain = Prompt(key="k", item="q", messages=(Message("user", "?"),), reply="text")
    assert set(plain.to_dict()) == {"key", "item", "messages", "reply"}
    assert Prompt.from_dict(plain.to_dict()) == plain


def test_what_is_no_prompt() -> None:
    with pytest.raises(InputError, match="prompt 'k' has no user message"):
        Prompt(key="k", item="q", messages=(), reply="text")
    with pytest.raises(OptionError, match="reply='guess'"):
        Prompt(key="k", item="q", messages=ASKED.messages, reply="guess")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="role='tool'"):
        Message("tool", "x")  # type: ignore[arg-type]
    stored = ASKED.to_dict()
    with pytest.raises(InputError, match=r"lacks \['item'\]"):
        Prompt.from_dict({name: value for name, value in stored.items() if name != "item"})
    with pytest.raises(InputError, match=r"has unknown \['colour'\]"):
        Prompt.from_dict({**stored, "colour": 1})
