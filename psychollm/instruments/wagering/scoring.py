"""Parse and score the answers of one model and the points staked on them."""

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
    """Return the available stakes by number, in the wording of the prompt."""
    return {
        str(number): f"{signed(win, 0)} if your answer is right, {signed(loss, 0)} if it is wrong"
        for number, (win, loss, _) in enumerate(lines, start=1)
    }


def read_reply(prompt: Prompt, reply: str, *, finish_reason: str | None = None) -> Reading:
    """Parse a reply to a prompt of this instrument."""
    # The value of a choice is its letter. The value of an open answer is 1 if it is right, and 0
    # if it is wrong or abstains. The value of a wager is the number of the chosen line, from 1.
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
    """Answers and wagers of one model, one row per question and repeat.

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
    correct: FloatArray  # (rows,) 1 right, 0 wrong, NaN if missing
    line: FloatArray  # (rows,) number of the chosen line, from 1; NaN if missing
    gain: FloatArray  # (rows,) points won; NaN if the answer or the wager is missing
    confidence: FloatArray  # (rows,) confidence at which the line is best; NaN with even stakes
    stimulus: FloatArray  # (rows,) position of the right answer, 0 or 1; NaN if open
    response: FloatArray  # (rows,) position of the chosen answer; NaN if open or missing
    lines: FloatArray  # (lines, 2) points if right, points if wrong

    @property
    def accuracy(self) -> float:
        """Proportion of right answers among the readable answers."""
        return mean_known(self.correct)

    @property
    def mean_gain(self) -> float:
        """Mean number of points won per wager."""
        return mean_known(self.gain)

    @property
    def advantage(self) -> float:
        """Points per wager minus the points of the best constant wager.

        A model that stakes the same on every answer has an advantage of at most 0, regardless of
        its accuracy. A positive advantage requires information on which answers are right.
        """
        both = np.isfinite(self.gain)
        if not both.any():
            return float("nan")
        share = float(self.correct[both].mean())
        constant = self.lines @ np.array([share, 1.0 - share])
        return self.mean_gain - float(constant.max())

    def counts(self) -> tuple[IntArray, IntArray]:
        """Return the counts for `meta_d_from_counts`, with the chosen payoff lines as ratings.

        Returns
        -------
        n_s1, n_s2 : ndarray (2 lines,)
            Counts for questions whose first (n_s1) or second (n_s2) answer is right. The first
            half counts choices of the first answer, from the highest to the lowest line number.
            The second half counts choices of the second answer, from lowest to highest.

        Raises
        ------
        InputError
            If the answers were not choices between two answers.

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
            msg = "counts of two responses need a choice between two: collect with form='choice'"
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
        """Return one line of text with right answers, points won, and missing replies."""
        n = int(np.isfinite(self.correct).sum())
        if n == 0:
            return "no answer is readable"
        right = f"{100 * self.accuracy:.1f} % of {n:,} answer{'s' * (n > 1)} right"
        if np.isfinite(self.gain).any():
            side = "above" if self.advantage > 0 else "below"
            won = (
                f"{self.mean_gain:.1f} points per wager, {abs(self.advantage):.1f} {side} the "
                "best constant wager"
            )
        else:
            won = "no wager is readable"
        lost = {name: sum(kinds.values()) for name, kinds in self.failures().items()}
        missing = ", ".join(f"{count} of {name}" for name, count in lost.items() if count)
        return f"{right}; {won}" + (f"; missing: {missing}" if missing else "")


def score_readings(prompts: Sequence[Prompt], readings: ReadingsLike) -> WageringScores:
    """Score the parsed replies of one model."""
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
    """Return confidence and correctness (models, questions) for `calibration_panel`.

    Parameters
    ----------
    scores : mapping of str to WageringScores
        Scores by model, from wagers with the quadratic payoff.

    Returns
    -------
    confidence, correctness : DataFrame (models, questions)
        Means over repeats; NaN if the answer or the wager is missing.

    Raises
    ------
    InputError
        If there are no scores, or the stakes of a model imply no probability.

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
        msg = "scores is empty: pass the scores of at least one model"
        raise InputError(msg)
    for model, one in scores.items():
        if np.isfinite(one.line).any() and not np.isfinite(one.confidence).any():
            msg = f"model {model!r}: even stakes imply no probability: use payoff='quadratic'"
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
