"""Messages that name an argument in Python's or in the command line's notation."""

import re
import shlex
from collections.abc import Mapping
from typing import Any

from psychollm._base.shown import one_line, visible

# Unicode noncharacters delimit the name of an argument and its alternative wordings.
_MARK = re.compile("\ufdd0(.*?)\ufdd1(.*?)\ufdd1(.*?)\ufdd1(.*?)\ufdd2", re.DOTALL)
_NOTHING = object()


def parameter(
    name: str,
    value: Any = _NOTHING,
    *,
    python: str | None = None,
    command: str = "{}",
    without: str = "",
) -> str:
    """Return the markup that names an argument in a message.

    Parameters
    ----------
    name : str
        Name of the argument; "" if the wording for commands does not depend on an option.
    value : object, optional
        Value of the argument, if the message names a value.
    python : str, optional
        Wording for Python; by default, it names the argument and its value.
    command : str
        Wording for a command that has the option; {} is replaced by the option's name.
    without : str
        Wording for a command without this option, by default the wording for Python.

    Examples
    --------
    >>> text = Text(f"split them with {parameter('threshold', 0.5)}")
    >>> print(text, text.told({"threshold": "--right-above"}), sep=", or ")
    split them with threshold=0.5, or split them with --right-above 0.5
    """
    if value is not _NOTHING:
        python, command = f"{name}={value!r}", f"{{}} {_typed(value)}"
    python = f"{name}=" if python is None else python
    return f"\ufdd0{name}\ufdd1{python}\ufdd1{command}\ufdd1{without}\ufdd2"


class Text(str):
    """A message worded for Python that can be reworded for a command."""

    __slots__ = ("marked",)
    marked: str  # text with its markup, for use in another message

    def __new__(cls, text: str) -> "Text":
        """Create a message from text with marked arguments."""
        marked = getattr(text, "marked", text)
        made = super().__new__(cls, _MARK.sub(r"\2", marked))
        made.marked = marked
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return Text, (self.marked,)

    def told(self, options: Mapping[str, str]) -> "Text":
        """Return the message, with each argument that `options` contains replaced by its option.

        A key of `options` is an argument, or an argument with a value, such as "keep='domain'".
        """

        def worded(mark: re.Match[str]) -> str:
            name, python, command, without = mark.groups()
            option = options.get(python, options.get(name))
            if option is None:
                return without if without and "" in options else mark[0]
            return command.replace("{}", option, 1)

        return Text(_MARK.sub(worded, self.marked))


class Worded:
    """Mixin of errors and warnings whose messages name arguments (`parameter`)."""

    args: tuple[Any, ...]

    def __init__(self, *args: object) -> None:
        super().__init__(*(Text(one) if isinstance(one, str) else one for one in args))

    def __str__(self) -> str:
        return visible(super().__str__())

    @property
    def text(self) -> Text:
        """The message with its marked arguments."""
        return self.args[0] if self.args and isinstance(self.args[0], Text) else Text(str(self))

    def told(self, options: Mapping[str, str]) -> Text:
        """Return the message for a command; `options` maps arguments to the command's options."""
        return self.text.told(options)


def _typed(value: Any) -> str:
    """Return a value as a user would type it on a command line."""
    if isinstance(value, Mapping):
        value = ",".join(f"{word}={one}" for word, one in value.items())
    elif isinstance(value, list | tuple):
        value = ",".join(map(str, value)) or "none"
    return shlex.quote(one_line(str(value)))
