"""`Gate`: answer this question or not? A fitted rule that needs NumPy alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from psychollm._base.arrays import float_array
from psychollm._base.errors import InputError, OptionError, ShapeError
from psychollm._base.result import Result
from psychollm._base.types import BoolArray, FloatArray
from psychollm.studies.difficulty.words import Words


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Gate(Result):
    """Says of each question whether a model should answer it. Made by `fit_gate`.

    Attributes
    ----------
    goal : str
        What the cut was chosen for, such as "risk 0.1" or "F1".
    cut : float
        Probability of a correct answer from which to answer; infinite where never to.
    expected : mapping
        "coverage", "risk" and "f_beta" on questions not seen, each (value, lower, upper).
    n : int
        Questions that it was fitted to.

    Examples
    --------
    >>> gate = Gate(words=None, mean=np.zeros(1), scale=np.ones(1), weights=np.array([2.0]),
    ...             intercept=0.0, slope=1.0, offset=0.0, cut=0.5, goal="F1", n=100)
    >>> gate.answer(features=[[1.0], [-1.0]])
    array([ True, False])
    """

    words: Words | None  # None where features are given
    mean: FloatArray | None  # (features,)
    scale: FloatArray | None  # (features,)
    weights: FloatArray  # (features,)
    intercept: float
    slope: float  # of the log odds of a correct answer on the predicted score
    offset: float
    cut: float
    goal: str
    n: int
    expected: Mapping[str, tuple[float, float, float]] = field(default_factory=dict)

    def score(
        self,
        texts: Sequence[str] | None = None,
        *,
        features: Any = None,
    ) -> FloatArray:
        """Return the predicted score of each question (questions,).

        Parameters
        ----------
        texts : sequence of str, optional
            Questions; what `features`, a function of them, is applied to.
        features : array_like (questions, features) or function, optional
            What the gate was fitted to, if not to words.

        Raises
        ------
        InputError
            If it is not given what it was fitted to.
        ShapeError
            If features have another length.
        """
        if self.words is not None:
            if features is not None or texts is None:
                msg = "this gate reads texts: pass the questions, and no features"
                raise InputError(msg)
            return np.asarray(self.words.measure(_listed(texts)) @ self.weights + self.intercept)
        table = _table(texts, features, self.weights.size)
        standard = np.subtract(table, self.mean) / self.scale  # type: ignore[arg-type]
        return np.asarray(standard @ self.weights + self.intercept)

    def probability(
        self, texts: Sequence[str] | None = None, *, features: Any = None
    ) -> FloatArray:
        """Return the probability of a correct answer to each question (questions,)."""
        log_odds = self.offset + self.slope * self.score(texts, features=features)
        return np.asarray(0.5 * (1.0 + np.tanh(0.5 * log_odds)))

    def answer(self, texts: Sequence[str] | None = None, *, features: Any = None) -> BoolArray:
        """Return whether to answer each question (questions,)."""
        chance = self.probability(texts, features=features)
        return np.asarray(chance >= self.cut, dtype=np.bool_)

    def __repr__(self) -> str:
        kind = "features" if self.words is None else f"{len(self.words.terms)} terms and surface"
        said = ", ".join(
            f"{name} {three[0]:.3f} [{three[1]:.3f}, {three[2]:.3f}]"
            for name, three in self.expected.items()
        )
        return (
            f"Gate for {self.goal}: {kind}, from {self.n} questions; expected {said or 'unknown'}"
        )


def _listed(texts: Sequence[str]) -> list[str]:
    if isinstance(texts, str):
        msg = f"texts={texts!r:.60} is one question: pass a list, [{texts!r:.60}]"
        raise InputError(msg)
    return list(texts)


def _table(texts: Sequence[str] | None, features: Any, n: int) -> FloatArray:
    if features is None:
        msg = "this gate was fitted to features: pass features=, or the function that makes them"
        raise InputError(msg)
    if callable(features):
        make: Callable[[list[str]], Any] = features
        if texts is None:
            msg = "features is a function: pass the questions that it is to be applied to"
            raise OptionError(msg)
        features = make(_listed(texts))
    table = float_array(features, "features")
    if table.ndim != 2 or table.shape[1] != n:
        msg = f"features must be (questions, {n}), got shape {table.shape}"
        raise ShapeError(msg)
    return table
