"""Base class and registry of instruments.

Every instrument is a subpackage of `psychollm.instruments` and is discovered automatically. The
first line of the subpackage's docstring states the purpose of the instrument. The subpackage
provides a subclass of `Instrument`, which creates prompts, and two functions. ``read_reply(prompt,
reply, *, finish_reason=None)`` parses a reply, and ``score_readings(prompts, readings)`` scores
one model. Both functions require only prompts, so stored replies can be scored without an instance
of the instrument. Every prompt names its instrument in ``about["instrument"]``. Instruments are
imported on first use.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import MISSING, field
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from psychollm._base.checks import check_choice
from psychollm._base.errors import LabelError, OptionError
from psychollm.instruments.prompt import Prompt
from psychollm.instruments.reading import Reading, ReadingsLike

INSTRUMENTS: tuple[str, ...] = tuple(
    one.name
    for one in iter_modules([str(Path(__file__).parent)])
    if one.ispkg and one.name not in {"readers", "stages"}
)
Scores = TypeVar("Scores", covariant=True)


class Instrument(ABC, Generic[Scores]):
    """Prompts for models, with a parser and scoring for the replies.

    The fields of an instrument are its options in Python and on the command line.
    """

    __slots__ = ()
    NAME: ClassVar[str]  # name of the instrument's package

    @abstractmethod
    def prompts(self) -> tuple[Prompt, ...]:
        """Return all prompts in the order of administration."""

    def read(self, prompt: Prompt, reply: str, *, finish_reason: str | None = None) -> Reading:
        """Parse a reply to one of the prompts.

        Parameters
        ----------
        prompt : Prompt
            The prompt that was sent.
        reply : str
            The reply.
        finish_reason : str, optional
            Reason why the generation ended; "length" means that the reply was cut off.

        Examples
        --------
        >>> from psychollm.instruments import RuleWorld
        >>> world = RuleWorld(n=4, seed=1)
        >>> world.read(world.prompts()[0], "Answer: 33").value
        33
        """
        return reader_of(self.NAME)(prompt, reply, finish_reason=finish_reason)

    def score(self, readings: ReadingsLike) -> Scores:
        """Score the parsed replies of one model.

        Parameters
        ----------
        readings : mapping or sequence
            Parsed replies, either by prompt key or in the order of `prompts`. A missing reply or
            None means that no reply was received.

        Raises
        ------
        ShapeError
            If a sequence has the wrong length.
        LabelError
            If a key does not belong to any prompt.

        Examples
        --------
        >>> from psychollm.instruments import RuleWorld
        >>> world = RuleWorld(n=4, seed=1)
        >>> prompt = world.prompts()[0]
        >>> world.score({prompt.key: world.read(prompt, "Answer: 33")}).strict
        array([ 1., nan, nan, nan])
        """
        scores: Scores = scorer_of(self.NAME)(self.prompts(), readings)
        return scores


class Reader(Protocol):
    """Parser of one reply, which never raises an error."""

    def __call__(self, prompt: Prompt, reply: str, *, finish_reason: str | None = None) -> Reading:
        """Return the parsed reply."""


class Scorer(Protocol):
    """Function that scores the parsed replies of one model."""

    def __call__(self, prompts: Sequence[Prompt], readings: ReadingsLike) -> Any:
        """Return the scores."""


def from_file(
    read: Callable[..., Any],
    help: str,  # noqa: A002
    *,
    default: Any = MISSING,
    replies: bool = False,
) -> Any:
    """Return a dataclass field whose value is read from a file on the command line."""
    # Keyword-only parameters of `read` also become options of the command line. With `replies`,
    # the options that select replies of a store are passed as one value.
    about = {"read": read, "help": help, "replies": replies}
    return field(default=default, metadata=about, kw_only=default is not MISSING)


def check_chosen(
    name: str, chosen: Sequence[str], choices: Any, *, at_least_one: bool = True
) -> None:
    """Raise an error if an option does not exist or occurs twice."""
    for one in chosen:
        check_choice(name, one, choices)
    if len(set(chosen)) < len(chosen) or (at_least_one and not chosen):
        end = ", and at least one" if at_least_one else ""
        msg = f"{name}={chosen!r} must hold each choice only once{end}"
        raise OptionError(msg)


def instrument_of(prompt: Prompt) -> str:
    """Return the name of the instrument that created a prompt."""
    name = prompt.about.get("instrument")
    if name is None:
        msg = (
            f"prompt {prompt.key!r} names no instrument: "
            f'about["instrument"] should be one of {", ".join(INSTRUMENTS)}'
        )
        raise LabelError(msg)
    _check(str(name), f"prompt {prompt.key!r}: ")
    return str(name)


def instrument_class(name: str) -> type[Instrument[Any]]:
    """Return the class of an instrument."""
    _package(name)
    return next(kind for kind in Instrument.__subclasses__() if name == kind.NAME)


def purpose(name: str) -> str:
    """Return the purpose of an instrument, in one line."""
    return (_package(name).__doc__ or name).partition("\n")[0].replace("?.", "?")


def reader_of(name: str) -> Reader:
    """Return the function that parses replies to the prompts of an instrument."""
    read: Reader = _package(name).read_reply
    return read


def scorer_of(name: str) -> Scorer:
    """Return the function that scores the parsed replies of one model."""
    score: Scorer = _package(name).score_readings
    return score


def _package(name: str) -> ModuleType:
    _check(name)
    return import_module(f"psychollm.instruments.{name}")


def _check(name: str, where: str = "") -> None:
    if name not in INSTRUMENTS:
        msg = f"{where}there is no instrument {name!r}: known are {', '.join(INSTRUMENTS)}"
        raise LabelError(msg)
