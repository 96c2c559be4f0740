"""Readings of one model, as answers and the points that were staked on them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.errors import InputError
from psychollm._base.numbers import signed
from psychollm._base.types import FloatArray, IntArray
from psychollm.instruments.grading import grade_by
from psychollm.instruments.prompt import Prompt
from psychollm.instruments.readers import read_option
from psychollm.instruments.reading import (
    Outcome,
    PartScores,
    Reading,
    ReadingsLike,
    aligned,
    mean_known,
)

if TYPE_CHECKING:
    import pandas as pd


def worded(lines: Sequence[Sequence[Any]]) -> dict[str, str]:
    """Return the lines that can be staked, as they are shown, by their numbers."""
    return {
        str(number): f"{signed(win, 0)} if your answer is right, {signed(loss, 0)} if it is wrong"
        for number, (win, loss, _) in enumerate(lines, start=1)
    }


def read_reply(prompt: Prompt, reply: str, *, finish_reason: str | None = None) -> Reading:
    """Read a reply to a prompt of this instrument."""
    # The letter of a choice; 1 or 0 for an open answer that is right or wrong (one that abstains
    # is wrong); the number of the line of a wager, from 1.
    about = prompt.about
    if about["part"] == "wager":
        chosen = read_option(reply, worded(about["lines"]), finish_reason=finish_reason)
        return replace(chosen, value=int(str(chosen.value))) if chosen.answered else chosen
    if "options" in about:
        return read_option(reply, about["options"], finish_reason=finish_reason)
    graded = grade_by(about, reply, finish_reason=finish_reason)
    if graded.correct is None:
        return Reading(outcome=graded.outcome, said=reply.strip())
    value = float(graded.correct)
    return Reading(outcome=Outcome.ANSWERED, value=value, said=reply.strip())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WageringScores(PartScores):
    """What one model answered and staked; a row per question and repeat.

    Examples
    --------
    >>> from psychollm.instruments.wagering import Wagering
    >>> asked = Wagering([{"question": "What is 2 + 2?", "answer": "4"}], form="open")
    >>> answer, wager = asked.prompts()
    >>> asked.score([asked.read(answer, "5"), asked.read(wager, "4")]).gain
    array([-39.])
    """

    _AXES = Axes(
        None,
        "question=items",
        "repeat=repeats",
        "domain=domains",
        "correct",
        "line",
        "gain",
        "confidence",
        "stimulus",
        "response",
    )

    items: tuple[str, ...]  # (rows,)
    repeats: tuple[int, ...]  # (rows,)
    domains: tuple[str, ...]  # (rows,)
    correct: FloatArray  # (rows,) 1 right, 0 wrong, NaN missing
    line: FloatArray  # (rows,) number of the line staked on it, from 1; NaN missing
    gain: FloatArray  # (rows,) points won; NaN where the answer or the wager is missing
    confidence: FloatArray  # (rows,) for which the line is best; NaN with even stakes
    stimulus: FloatArray  # (rows,) place of the right answer of two, 0 or 1; NaN if open
    response: FloatArray  # (rows,) place of the chosen answer; NaN if open or missing
    lines: FloatArray  # (lines, 2) points if right, points if wrong

    @property
    def accuracy(self) -> float:
        """Share of right answers among those that could be read."""
        return mean_known(self.correct)

    @property
    def mean_gain(self) -> float:
        """Points won per wager."""
        return mean_known(self.gain)

    @property
    def advantage(self) -> float:
        """Points per wager beyond those of the best constant wager.

        Who stakes the same on every answer has at most 0, however right it is: what is above 0
        comes from knowing which answers are right.
        """
        both = np.isfinite(self.gain)
        if not both.any():
            return float("nan")
        share = float(self.correct[both].mean())
        constant = self.lines @ np.array([share, 1.0 - share])
        return self.mean_gain - float(constant.max())

    def counts(self) -> tuple[IntArray, IntArray]:
        """Return the counts that `meta_d_from_counts` takes, with the lines as ratings.

        Returns
        -------
        n_s1, n_s2 : ndarray (2 lines,)
            Where the first (second) answer was right: chose the first with the highest to the
            lowest line, then the second with the lowest to the highest.

        Raises
        ------
        InputError
            If answers were not chosen from two.

        Examples
        --------
        >>> from psychollm.instruments.wagering import Wagering
        >>> asked = Wagering([{"question": "What is 2 + 2?", "answer": "4"}], payoff="even",
        ...                  suggestions={"1": "5"})
        >>> answer, wager = asked.prompts()
        >>> asked.score([asked.read(answer, "B"), asked.read(wager, "2")]).counts()
        (array([0, 0, 0, 0]), array([0, 0, 0, 1]))
        """
        if not np.isfinite(self.stimulus).any():
            msg = "counts of two responses need a choice between two: ask with form='choice'"
            raise InputError(msg)
        n = len(self.lines)
        known = np.isfinite(self.response) & np.isfinite(self.line)
        cell = np.where(self.response == 0, n - self.line, n + self.line - 1)
        first, second = (
            np.bincount(cell[known & (self.stimulus == kind)].astype(np.int64), minlength=2 * n)
            for kind in (0, 1)
        )
        return first, second

    def summary(self) -> str:
        """Return one line: what was right, what was won, what is missing."""
        n = int(np.isfinite(self.correct).sum())
        if n == 0:
            return "no answer could be read"
        right = f"{100 * self.accuracy:.1f} % of {n:,} answer{'s' * (n > 1)} right"
        if np.isfinite(self.gain).any():
            side = "above" if self.advantage > 0 else "below"
            won = (
                f"{self.mean_gain:.1f} points per wager, {abs(self.advantage):.1f} {side} the "
                "best constant wager"
            )
        else:
            won = "no wager could be read"
        lost = {name: sum(kinds.values()) for name, kinds in self.failures().items()}
        missing = ", ".join(f"{count} of {name}" for name, count in lost.items() if count)
        return f"{right}; {won}" + (f"; missing: {missing}" if missing else "")


def score_readings(prompts: Sequence[Prompt], readings: ReadingsLike) -> WageringScores:
    """Score the readings of one model."""
    rows = {cell: k for k, cell in enumerate(dict.fromkeys((p.item, p.repeat) for p in prompts))}
    names = ("correct", "line", "confidence", "win", "loss", "stimulus", "response")
    table = {name: np.full(len(rows), np.nan) for name in names}
    outcomes = {part: [Outcome.FAILED] * len(rows) for part in ("answer", "wager")}
    domains = [""] * len(rows)
    lines: list[list[float]] = []
    for prompt, reading in zip(prompts, aligned(prompts, readings), strict=True):
        row, about = rows[prompt.item, prompt.repeat], prompt.about
        domains[row] = str(about.get("domain", ""))
        outcomes[about["part"]][row] = reading.outcome
        if about["part"] == "wager":
            lines = about["lines"]
            if reading.answered:
                table["line"][row] = number = int(str(reading.value))
                table["win"][row], table["loss"][row], confidence = lines[number - 1]
                table["confidence"][row] = np.nan if confidence is None else confidence
        elif "options" in about:
            table["stimulus"][row] = "AB".index(about["correct"])
            if reading.answered:
                table["response"][row] = "AB".index(str(reading.value))
                table["correct"][row] = float(reading.value == about["correct"])
        elif reading.answered:
            table["correct"][row] = float(str(reading.value))
    correct, won, lost = table["correct"], table.pop("win"), table.pop("loss")
    return WageringScores(
        items=tuple(item for item, _ in rows),
        repeats=tuple(repeat for _, repeat in rows),
        domains=tuple(domains),
        gain=np.where(correct == 1, won, np.where(correct == 0, lost, np.nan)),
        lines=np.array([line[:2] for line in lines], dtype=np.float64).reshape(-1, 2),
        outcomes={part: tuple(each) for part, each in outcomes.items()},
        **table,
    )


def confidence_and_correctness(
    scores: Mapping[str, WageringScores],
) -> "tuple[pd.DataFrame, pd.DataFrame]":
    """Return confidence and correctness, models x questions, as `calibration_panel` takes them.

    Parameters
    ----------
    scores : mapping of str to WageringScores
        By model, of wagers with the quadratic payoff.

    Returns
    -------
    confidence, correctness : DataFrame (models, questions)
        Means over repeats; NaN where there is no answer or no wager.

    Raises
    ------
    InputError
        If there are no scores, or the stakes of a model tell no probability.

    Examples
    --------
    >>> from psychollm.instruments.wagering import Wagering
    >>> asked = Wagering([{"id": "q", "question": "What is 2 + 2?", "answer": "4"}], form="open")
    >>> answer, wager = asked.prompts()
    >>> scores = asked.score([asked.read(answer, "4"), asked.read(wager, "5")])
    >>> confidence, correctness = confidence_and_correctness({"a model": scores})
    >>> confidence.loc["a model", "q"], correctness.loc["a model", "q"]
    (np.float64(0.9), np.float64(1.0))
    """
    import pandas as pd

    if not scores:
        msg = "scores: there are none; pass one per model"
        raise InputError(msg)
    for model, one in scores.items():
        if np.isfinite(one.line).any() and not np.isfinite(one.confidence).any():
            msg = f"model {model!r}: even stakes tell no probability: ask with payoff='quadratic'"
            raise InputError(msg)
    rows = pd.concat([one.to_frame(model) for model, one in scores.items()], ignore_index=True)
    both = rows["confidence"].notna() & rows["correct"].notna()
    rows.loc[~both, ["confidence", "correct"]] = np.nan
    questions = rows["question"].unique()
    confidence, correctness = (
        rows.pivot_table(name, "model", "question", dropna=False).reindex(
            index=list(scores), columns=questions
        )
        for name in ("confidence", "correct")
    )
    return confidence, correctness
