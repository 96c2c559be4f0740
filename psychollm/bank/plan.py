"""Plan the number of questions for a margin of error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import check_count, check_fraction
from psychollm._base.numbers import count, number, percent
from psychollm._base.result import Result
from psychollm._base.types import FloatArray, IntArray
from psychollm.bank.calibration import EQUAL_SHARE
from psychollm.bank.design import mixed
from psychollm.bank.questions import CalibratedQuestions
from psychollm.estimates.intervals import normal_multiplier

_STRENGTHS = {"weak": 0.1, "median": 0.5, "strong": 0.9}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Plan(Result):
    """Expected margins of error, by number of questions and ability of the model.

    Attributes
    ----------
    strength : tuple of str
        Names of the models: weak, median and strong, at the quantiles .1, .5 and .9 of the bank's
        scores.
    score : ndarray of shape (3,)
        Scores of the weak, median and strong model on the bank.
    sizes : ndarray of shape (sizes,)
        Numbers of questions.
    half_widths : ndarray of shape (3, sizes)
        Expected margin of error of each model, for each number of questions.
    half_width : float
        Requested margin of error; NaN if not given.
    needed : ndarray of shape (3,)
        Number of questions required for the requested margin of error.
    """

    strength: tuple[str, ...]
    score: FloatArray  # (3,)
    sizes: IntArray
    half_widths: FloatArray  # (3, sizes)
    half_width: float
    needed: FloatArray  # (3,)
    n_questions: int
    level: float

    _AXES = Axes(
        {"strength": "strength"},
        "score",
        "n_{size}=half_widths",
        "needed",
        labels={"size": "sizes"},
        arrays={"strength size": "half_widths", "strength": "score needed"},
    )

    def summary(self) -> str:
        """Return the required numbers of questions, and the expected margins of error."""
        lines = []
        if np.isfinite(self.half_width):
            low, high = (count(int(n)) for n in (self.needed.min(), self.needed.max()))
            span = low if low == high else f"{low} to {high}"
            depending = "" if low == high else ", depending on the model"
            lines.append(
                f"A margin of error of ±{number(100.0 * self.half_width, 1).removesuffix('.0')} "
                f"points requires {span} of {count(self.n_questions)} questions"
                f"{depending} (median model of the bank: {count(self.needed[1])})."
            )
        lines.append(f"Expected margins of error ({percent(self.level)} intervals):")
        for row, name in enumerate(self.strength):
            widths = ", ".join(
                f"±{number(float(width), 3)} with {count(int(n))} questions"
                for n, width in zip(self.sizes, self.half_widths[row], strict=True)
            )
            lines.append(
                f"  a {name} model (score {number(float(self.score[row]), 2)}): margin of error "
                f"{widths}"
            )
        return "\n".join(lines)


def plan(
    bank: CalibratedQuestions, half_width: float | None, sizes: tuple[int, ...], *, level: float
) -> Plan:
    """Return expected margins of error, based on the prediction errors of held-out models."""
    if half_width is not None:
        check_fraction("half_width", half_width)
    check_fraction("level", level)
    whole = len(bank.questions)
    numbers = np.array(
        [size for size in (check_count("sizes", size) for size in sizes) if size <= whole],
        dtype=np.int64,
    )
    known = np.isfinite(bank.scores)
    means = np.where(known, bank.scores, 0.0).sum(axis=1) / known.sum(axis=1)
    places = np.argsort(means, kind="stable")
    scores, widths, needed = [], [], []
    for quantile in _STRENGTHS.values():
        row = int(places[round(quantile * (places.size - 1))])
        theta, spread = bank.drawing.items.posterior(bank.scores[row])
        predicted = bank.drawing.items.predicted(theta, spread)
        expected = bank.drawing.expected(predicted)
        scores.append(float(means[row]))
        widths.append([_half_width(bank, expected, int(n), level) for n in numbers])
        needed.append(
            np.nan if half_width is None else _questions(bank, expected, half_width, level)
        )
    return Plan(
        strength=tuple(_STRENGTHS),
        score=np.array(scores),
        sizes=numbers,
        half_widths=np.array(widths).reshape(3, -1),
        half_width=np.nan if half_width is None else half_width,
        needed=np.array(needed),
        n_questions=whole,
        level=level,
    )


def _half_width(bank: CalibratedQuestions, expected: FloatArray, n: int, level: float) -> float:
    """Return the expected margin of error with n questions."""
    everything = np.ones(expected.size, dtype=bool)
    pi = mixed(np.sqrt(expected), everything, n, equal_share=EQUAL_SHARE)
    variance = bank.calibration.scale * bank.calibration.phi * ((1.0 / pi - 1.0) @ expected)
    return float(normal_multiplier(level) * np.sqrt(variance) / expected.size)


def _questions(
    bank: CalibratedQuestions, expected: FloatArray, half_width: float, level: float
) -> float:
    """Return the smallest number of questions that reaches a margin of error (bisection)."""
    low, high = 1, expected.size
    while low < high:
        middle = (low + high) // 2
        if _half_width(bank, expected, middle, level) <= half_width:
            high = middle
        else:
            low = middle + 1
    return float(low)
