"""Replies side by side: a row for each question and chain, a column for each stage."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.types import FloatArray

if TYPE_CHECKING:
    from psychollm.instruments.revision.result import RevisionScores

Column = tuple[str, int]  # stage and round


@dataclass(frozen=True, slots=True)
class Chains:
    """What each chain said at each stage."""

    items: tuple[str, ...]  # (chains,)
    numbers: tuple[int, ...]  # (chains,)
    right: Mapping[Column, FloatArray]
    verdicts: Mapping[Column, FloatArray]
    answers: Mapping[Column, tuple[str | None, ...]]
    responses: Mapping[Column, tuple[str | None, ...]]
    tokens: Mapping[Column, FloatArray]

    def correct(self, stage: str, turn: int | None = None) -> FloatArray:
        """Return whether each chain was right at a stage (chains,); of several rounds the last."""
        return self.right.get((stage, self._round(stage, turn)), self._nothing)

    def faulted(self, turn: int) -> FloatArray:
        """Return whether each chain's review named a mistake (chains,)."""
        return self.verdicts.get(("critique", turn), self._nothing)

    def spent(self, stage: str, turn: int) -> FloatArray:
        """Return the tokens of each chain's reply (chains,)."""
        return self.tokens.get((stage, turn), self._nothing)

    def said(self, stage: str, turn: int | None = None) -> tuple[str | None, ...]:
        """Return what each chain answered (chains,)."""
        none = (None,) * len(self.items)
        return self.answers.get((stage, self._round(stage, turn)), none)

    def same(self, stage: str, turn: int | None = None) -> FloatArray:
        """Return whether the answer is the first one (chains,), NaN where one is missing."""
        pairs = zip(self.said("first"), self.said(stage, turn), strict=True)
        return np.array(
            [np.nan if one is None or two is None else float(one == two) for one, two in pairs],
            dtype=np.float64,
        )

    def gave(self, stage: str, response: str) -> FloatArray:
        """Return whether each chain responded so (chains,), NaN where nothing is known."""
        none = (None,) * len(self.items)
        said = self.responses.get((stage, self._round(stage, None)), none)
        return np.array([np.nan if one is None else float(one == response) for one in said])

    def last(self, stage: str) -> int:
        """Return the number of the last round of a stage, or of its last user; 0 without."""
        return max((number for name, number in self.right if name == stage), default=0)

    def _round(self, stage: str, turn: int | None) -> int:
        return self.last(stage) if turn is None else turn

    @property
    def _nothing(self) -> FloatArray:
        return np.full(len(self.items), np.nan)


def chains_of(scores: "RevisionScores") -> Chains:
    """Return the replies of a model put side by side."""
    keys = list(zip(scores.items, scores.chains, strict=True))
    rows = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    columns = list(zip(scores.stages, scores.rounds, strict=True))
    blank = {column: np.full(len(rows), np.nan) for column in dict.fromkeys(columns)}
    right, verdicts, tokens = (
        {column: values.copy() for column, values in blank.items()} for _ in range(3)
    )
    said, did = (
        {column: list[str | None]([None] * len(rows)) for column in blank} for _ in range(2)
    )
    for place, (key, column) in enumerate(zip(keys, columns, strict=True)):
        row = rows[key]
        right[column][row] = scores.correct[place]
        verdicts[column][row] = scores.faulted[place]
        tokens[column][row] = scores.tokens[place]
        said[column][row] = scores.answers[place]
        did[column][row] = scores.responses[place]
    return Chains(
        items=tuple(item for item, _ in rows),
        numbers=tuple(number for _, number in rows),
        right=right,
        verdicts=verdicts,
        answers={column: tuple(values) for column, values in said.items()},
        responses={column: tuple(values) for column, values in did.items()},
        tokens=tokens,
    )
