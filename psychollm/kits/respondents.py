"""Simulated models whose known parameters can be compared with a study's estimates."""

import zlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from psychollm._base.errors import InputError, OptionError
from psychollm.instruments.prompt import Prompt

T = TypeVar("T")
Turns = Sequence[Mapping[str, str]]


class Truth(NamedTuple):
    """True value of a parameter, with its estimate and interval from a study."""

    what: str
    true: float
    found: float
    lower: float
    upper: float

    @property
    def holds(self) -> bool | None:
        """Whether the interval covers the true value; None if there is no estimate."""
        numbers = np.array([self.found, self.lower, self.upper], dtype=np.float64)
        if not np.isfinite(numbers).all():
            return None
        return bool(self.lower <= self.true <= self.upper)


def shown(what: str, found: bool) -> Truth:  # noqa: FBT001 -- the finding is a truth value
    """Return whether a study found a true effect, as a `Truth` whose true value is 1."""
    return Truth(what, 1.0, float(found), float(found), float(found))


class Respondents(ABC):
    """Models with known parameters, and their replies to the prompts of a plan.

    Parameters
    ----------
    prompts : sequence of Prompt
        Prompts of the plan.
    models : sequence of str
        Names of the models.
    seed : int
        Seed of the random replies and parameters.
    held : int
        Number of replies in the store, used as part of the seed; a resumed run therefore draws new
        random numbers.
    """

    INSTRUMENTS: ClassVar[frozenset[str]]
    JUDGES: ClassVar[frozenset[str]] = frozenset()  # later stages with a simulated judge

    def __init__(
        self, prompts: Sequence[Prompt], models: Sequence[str], *, seed: int = 1, held: int = 0
    ) -> None:
        names = {str(one.about.get("instrument")) for one in prompts}
        if other := sorted(names - self.INSTRUMENTS):
            known = ", ".join(sorted(self.INSTRUMENTS))
            msg = f"simulated models answer {known}, not {other[0]}: remove it from the plan"
            raise OptionError(msg)
        self.prompts, self.models, self.seed, self.held = prompts, list(models), seed, held
        self._known: dict[tuple[str, str], Prompt] = {}
        self._asked: Counter[tuple[str, str]] = Counter()
        by_key = {one.key: one for one in prompts}
        for one in prompts:
            root = one
            while root.follows is not None:
                root = by_key[root.follows]
            self._known[root.messages[-1].content, one.messages[-1].content] = one

    def reply(self, model: str, turns: Turns) -> str:
        """Return the reply of a model to a conversation.

        Raises
        ------
        InputError
            If the prompt does not belong to the plan.
        """
        said = [turn["content"] for turn in turns if turn["role"] == "user"]
        first = said[0] if len(said) == 1 or (said[0], said[-1]) in self._known else said[-1]
        prompt = self._known.get((first, said[-1]))
        if prompt is None:  # a later stage, whose prompt contains everything that the judge needs
            return self.judge(turns)
        times = self._asked[model, prompt.key]
        self._asked[model, prompt.key] += 1
        stream = self.rng(model, prompt.key, self.held, times)
        return self.answer(prompt, self.models.index(model), turns, stream)

    def rng(self, *words: object) -> np.random.Generator:
        """Return a random generator seeded by the seed and the given words."""
        named = zlib.crc32("/".join(map(str, words)).encode())
        return np.random.default_rng([abs(self.seed), named])

    @abstractmethod
    def answer(self, prompt: Prompt, model: int, turns: Turns, rng: np.random.Generator) -> str:
        """Return the reply of the model with the given index to a prompt."""

    def judge(self, turns: Turns) -> str:
        """Return the reply of a judge."""
        msg = "no simulated model has a reply to this prompt"
        raise InputError(msg)

    @abstractmethod
    def truths(self, found: Mapping[str, Mapping[str, Any]]) -> Iterator[Truth]:
        """Yield true values with estimates from `found`, which maps instruments to studies."""

    def by_model(
        self, what: str, true: Sequence[float], rows: Sequence[Mapping[str, Any]], name: str
    ) -> Iterator[Truth]:
        """Yield the true value and the estimate of the model in each row of a table."""
        for row in rows:
            ends = f"{name}_" if f"{name}_lower" in row else ""
            number = self.models.index(row["model"])
            bounds = (row[f"{ends}lower"], row[f"{ends}upper"])
            yield Truth(f"{what}, {row['model']}", turn(true, number), row[name], *bounds)


def turn(values: Sequence[T], number: int) -> T:
    """Return the value for a model's index; the values repeat cyclically."""
    return values[number % len(values)]


def wrong(right: str) -> str:
    """Return an answer that differs from the correct one."""
    return str(int(right) + 7) if right.isdigit() else "Zanzibar"
