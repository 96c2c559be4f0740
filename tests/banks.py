"""A bank whose sessions can be followed by hand: a random order, a mean, a normal interval."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Found:
    value: np.ndarray
    interval: np.ndarray
    level: float
    flags: tuple[str, ...]
    method: str = "normal"


class PlainSession:
    def __init__(self, order: Sequence[str], size: int, half_width: float) -> None:
        self.order, self.size, self.half_width = [*order], size, half_width
        self.drawn: list[str] = []
        self.answers: dict[str, float] = {}

    def next(self, k: int = 1) -> tuple[str, ...]:
        if self.done:
            return ()
        new = self.order[len(self.drawn) : min(len(self.drawn) + k, self.size)]
        self.drawn += new
        return tuple(new)

    @property
    def waiting(self) -> tuple[str, ...]:
        return tuple(one for one in self.drawn if one not in self.answers)

    def record(self, question: str, answer: float) -> None:
        assert question in self.drawn
        assert question not in self.answers
        self.answers[question] = answer

    @property
    def why(self) -> str:
        low, high = self.estimate().interval[0]
        if high - low <= 2 * self.half_width:
            return "the interval is narrow enough"
        return "the budget is spent" if len(self.answers) >= self.size else ""

    @property
    def done(self) -> bool:
        return bool(self.why)

    def estimate(self) -> Found:
        known = []
        for one in self.drawn:
            if one not in self.answers:
                break
            known.append(self.answers[one])
        each = np.array(known)[~np.isnan(known)] if known else np.zeros(0)
        flag = f"{len(known) - each.size} without an answer" if each.size < len(known) else ""
        if each.size < 15:
            nothing = np.full(1, np.nan)
            return Found(nothing, np.full((1, 2), np.nan), 0.95, ("too few answers",))
        half = 1.96 * each.std(ddof=1) / np.sqrt(each.size)
        half *= np.sqrt(1 - each.size / len(self.order))
        mean = each.mean()
        return Found(np.array([mean]), np.array([[mean - half, mean + half]]), 0.95, (flag,))


class PlainBank:
    def __init__(self, questions: Sequence[Any]) -> None:
        self.questions = tuple(questions)
        self.digest = "f00d"

    def session(
        self, *, size: int | None = None, half_width: float | None = None, rng: Any = None
    ) -> PlainSession:
        order = np.random.default_rng(rng).permutation(len(self.questions))
        most = len(order) if size is None else min(size, len(order))
        return PlainSession([self.questions[k] for k in order], most, half_width or 0.0)
