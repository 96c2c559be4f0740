"""Which instrument made a prompt, and what reads and scores the replies to it.

Every prompt names its instrument in ``about["instrument"]``. The package of that instrument offers
two functions: ``read_reply(prompt, reply, *, finish_reason=None)``, and
``score_readings(prompts, readings)``, which scores one model. Both need nothing but prompts, so
that a store of replies can be read and scored without the object that made the prompts. Packages
are imported when they are first asked for.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any, Protocol

from psychollm._base.errors import LabelError
from psychollm.instruments.prompt import Prompt
from psychollm.instruments.reading import Reading

INSTRUMENTS: tuple[str, ...] = (
    "rule_world",
    "self_prediction",
    "self_efficacy",
    "semantic_sampling",
    "abstention",
    "revision",
    "coding",
)


class Reader(Protocol):
    """Reads one reply; never raises for what a reply says."""

    def __call__(self, prompt: Prompt, reply: str, *, finish_reason: str | None = None) -> Reading:
        """Return what a reply says."""


class Scorer(Protocol):
    """Scores the readings of one model."""

    def __call__(
        self,
        prompts: Sequence[Prompt],
        readings: Mapping[str, Reading] | Sequence[Reading | None],
    ) -> Any:
        """Return the scores."""


def instrument_of(prompt: Prompt) -> str:
    """Return the name of the instrument that made a prompt.

    Parameters
    ----------
    prompt : Prompt
        Of an instrument of this library.

    Raises
    ------
    LabelError
        If it names none, or one that does not exist.

    Examples
    --------
    >>> from psychollm.instruments.rule_world import RuleWorld
    >>> instrument_of(RuleWorld(n=4, seed=1).prompts()[0])
    'rule_world'
    """
    name = prompt.about.get("instrument")
    if name is None:
        msg = (
            f"prompt {prompt.key!r} names no instrument: "
            f'about["instrument"] should be one of {", ".join(INSTRUMENTS)}'
        )
        raise LabelError(msg)
    _check(str(name), f"prompt {prompt.key!r}: ")
    return str(name)


def reader_of(name: str) -> Reader:
    """Return the function that reads replies to the prompts of an instrument.

    Parameters
    ----------
    name : str
        Of the instrument.

    Raises
    ------
    LabelError
        If there is no such instrument.

    Examples
    --------
    >>> from psychollm.instruments.rule_world import RuleWorld
    >>> reader_of("rule_world")(RuleWorld(n=4, seed=1).prompts()[0], "Answer: 33").value
    33
    """
    read: Reader = _package(name).read_reply
    return read


def scorer_of(name: str) -> Scorer:
    """Return the function that scores the readings of one model.

    Parameters
    ----------
    name : str
        Of the instrument.

    Raises
    ------
    LabelError
        If there is no such instrument.

    Examples
    --------
    >>> scorer_of("rule_world")([], []).strict
    array([], dtype=float64)
    """
    score: Scorer = _package(name).score_readings
    return score


def _package(name: str) -> ModuleType:
    _check(name)
    return import_module(f"psychollm.instruments.{name}")


def _check(name: str, where: str = "") -> None:
    if name not in INSTRUMENTS:
        msg = f"{where}there is no instrument {name!r}: known are {', '.join(INSTRUMENTS)}"
        raise LabelError(msg)
