"""The amount of thinking before an answer, as one setting that is converted for each API format.

The parameter ``thinking`` is "off", a level, or a number of tokens; a table in the API's own
format is sent unchanged. In most formats, the length limit of a reply includes thinking. The limit
in a plan applies only to the answer, so the allowance for thinking is added before sending.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from psychollm._base.errors import OptionError

OFF = "off"
# Number of tokens for thinking at each level, in addition to the tokens of the answer.
ROOM = {
    "minimal": 1024,
    "low": 4096,
    "medium": 12288,
    "high": 32768,
    "xhigh": 65536,
    "max": 65536,
}
# Parameters of API formats that control thinking, and keys in their values that do not.
_OWN = ("reasoning_effort", "reasoning", "output_config", "thinkingConfig", "reasoningConfig")
_BESIDE = {"summary", "exclude", "format"}
# Upper limits on the number of tokens for each level, for formats that support only levels.
_NEAREST = ((2048, "minimal"), (8192, "low"), (20480, "medium"))


@dataclass(frozen=True, slots=True)
class Thinking:
    """The amount of thinking: a level, or a number of tokens (0 disables thinking)."""

    level: str | None
    tokens: int

    @property
    def off(self) -> bool:
        """Whether thinking is disabled."""
        return not self.tokens

    @property
    def effort(self) -> str:
        """Level of thinking, or the level nearest to the number of tokens."""
        if self.level is not None:
            return self.level
        return next((level for most, level in _NEAREST if self.tokens <= most), "high")


def thinking_of(parameters: Mapping[str, Any]) -> Thinking | None:
    """Return the amount of thinking, or None if it is missing or an API-specific table."""
    given = parameters.get("thinking")
    if given is None or isinstance(given, Mapping):
        return None
    for name in _OWN:
        own = parameters.get(name)
        if own is not None and not (isinstance(own, Mapping) and own.keys() <= _BESIDE):
            msg = f"thinking and {name} control the same setting: pass one of them"
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
    """Return the number of tokens that thinking may use in addition to the answer."""
    thinking = thinking_of(parameters)
    return 0 if thinking is None else thinking.tokens


def without_thinking(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters without the thinking setting, unless the setting is a table."""
    known = dict(parameters)
    if not isinstance(known.get("thinking"), Mapping):
        known.pop("thinking", None)
    return known
