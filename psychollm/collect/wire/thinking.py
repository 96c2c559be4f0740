"""How hard a model may think before it answers: one setting, which each format has its word for.

``thinking`` among the parameters is "off", a level, or a number of tokens; a table is passed on as
it is. Most formats count thinking into the limit on the length of a reply. The limit of a plan is
that of the answer alone, so that what may be thought is added to it before it leaves.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from psychollm._base.errors import OptionError

OFF = "off"
# Tokens for thinking at each level, beside those of the answer.
ROOM = {
    "minimal": 1024,
    "low": 4096,
    "medium": 12288,
    "high": 32768,
    "xhigh": 65536,
    "max": 65536,
}
# What formats say the same with, and what else may stand in such a table.
_OWN = ("reasoning_effort", "reasoning", "output_config", "thinkingConfig", "reasoningConfig")
_BESIDE = {"summary", "exclude", "format"}
# The level that a number of tokens is nearest to, where a format knows levels only.
_NEAREST = ((2048, "minimal"), (8192, "low"), (20480, "medium"))


@dataclass(frozen=True, slots=True)
class Thinking:
    """How hard a model may think: a level or a number of tokens; 0 is not at all."""

    level: str | None
    tokens: int

    @property
    def off(self) -> bool:
        """Whether it may not think."""
        return not self.tokens

    @property
    def effort(self) -> str:
        """The level, or the one that the number of tokens is nearest to."""
        if self.level is not None:
            return self.level
        return next((level for most, level in _NEAREST if self.tokens <= most), "high")


def thinking_of(parameters: Mapping[str, Any]) -> Thinking | None:
    """Return the setting, or None where nothing is said or a format's own table is given."""
    given = parameters.get("thinking")
    if given is None or isinstance(given, Mapping):
        return None
    for name in _OWN:
        own = parameters.get(name)
        if own is not None and not (isinstance(own, Mapping) and own.keys() <= _BESIDE):
            msg = f"thinking and {name} are two settings of one thing: give one of them"
            raise OptionError(msg)
    if isinstance(given, str) and given in ROOM:
        return Thinking(given, ROOM[given])
    if given == OFF and isinstance(given, str):
        return Thinking(None, 0)
    if isinstance(given, int) and not isinstance(given, bool) and given > 0:
        return Thinking(None, given)
    levels = ", ".join(f'"{level}"' for level in ROOM)
    msg = f'thinking={given!r}: use "off", one of {levels}, or a number of tokens above zero'
    raise OptionError(msg)


def room(parameters: Mapping[str, Any]) -> int:
    """Return the tokens that thinking may take beside the answer."""
    thinking = thinking_of(parameters)
    return 0 if thinking is None else thinking.tokens


def without_thinking(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters beside the setting; a table stays."""
    known = dict(parameters)
    if not isinstance(known.get("thinking"), Mapping):
        known.pop("thinking", None)
    return known
