"""A command's call of a public function; the call can be printed as Python code."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

Made = dict[int, Any]  # return values by the `id` of their call


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """A function with its arguments, some of which may be other calls.

    Examples
    --------
    >>> table = Call("psy.Responses", ([[1, 0], [1, 1]],), {"threshold": None}, name="right")
    >>> print(Call(".to_frame", (table,), name="frame").script())
    import psychollm as psy
    <BLANKLINE>
    right = psy.Responses([[1, 0], [1, 1]])
    frame = right.to_frame()
    >>> Call(".to_frame", (table,)).run().shape
    (2, 2)
    """

    function: str  # name in user code: "psy.compare", or ".labels" for a method of the first input
    inputs: tuple[Any, ...] = ()  # values, paths or other calls
    # keyword arguments; default values are not printed
    options: Mapping[str, Any] = field(default_factory=dict)
    name: str = "result"  # variable in the printed script
    # The settings of workers and of the progress bar override the options and are not printed.
    aside: Mapping[str, Any] = field(default_factory=dict)

    def run(self, made: Made | None = None) -> Any:
        """Run this call after the calls among its arguments; `made` caches return values."""
        made = {} if made is None else made
        if id(self) not in made:
            inputs = [_value(one, made) for one in self.inputs]
            options = {name: _value(one, made) for name, one in self.options.items()}
            if self.function.startswith("."):
                function = getattr(inputs.pop(0), self.function[1:])
            else:
                function = self._function()
            made[id(self)] = function(*inputs, **{**options, **self.aside})
        return made[id(self)]

    @classmethod
    def done(cls, name: str, value: Any, made: Made) -> "Call":
        """Return a placeholder for a value that earlier lines of the script define."""
        call = cls("", name=name)
        made[id(call)] = value
        return call

    def script(self, before: str = "") -> str:
        """Return a Python script that runs the calls in the arguments, then this call."""
        calls = [call for call in self._calls() if call.function]
        lines = dict.fromkeys(f"{call.name} = {call.text()}" for call in calls)
        return "\n".join(["import psychollm as psy", "", *filter(None, [before]), *lines])

    def text(self) -> str:
        """Return this call as an expression that refers to other calls by name."""
        named = self._defaults() if not self.function.startswith(".") else {}
        given = [
            f"{name}={_text(one)}"
            for name, one in self.options.items()
            if not _is_default(one, named.get(name))
        ]
        inputs = list(map(_text, self.inputs))
        lead = inputs.pop(0) if self.function.startswith(".") else ""
        return f"{lead}{self.function}({', '.join([*inputs, *given])})"

    def _calls(self) -> Iterator["Call"]:
        """Yield the calls in the arguments, then this call."""
        for given in (*self.inputs, *self.options.values()):
            for one in given.values() if isinstance(given, dict) else (given,):
                if isinstance(one, Call):
                    yield from one._calls()
        yield self

    def _function(self) -> Callable[..., Any]:
        found: Any = import_module(__package__.partition(".")[0])
        for name in self.function.split(".")[1:]:
            found = getattr(found, name)
        return found  # type: ignore[no-any-return]

    def _defaults(self) -> dict[str, Any]:
        parameters = inspect.signature(self._function()).parameters.values()
        return {one.name: one.default for one in parameters}


def _value(given: Any, made: Made) -> Any:
    if isinstance(given, dict):
        return {name: _value(one, made) for name, one in given.items()}
    return given.run(made) if isinstance(given, Call) else given


def _is_default(given: Any, default: Any) -> bool:
    if isinstance(given, str | bool | float):
        return type(given) is type(default) and given == default
    return given is default


def _text(given: Any) -> str:
    if isinstance(given, Call):
        return given.name
    if isinstance(given, Path):
        return repr(str(given))
    if isinstance(given, dict):
        return f"{{{', '.join(f'{name!r}: {_text(one)}' for name, one in given.items())}}}"
    if isinstance(given, tuple) and any(isinstance(one, Path) for one in given):
        return f"[{', '.join(map(_text, given))}]"
    return repr(given)
