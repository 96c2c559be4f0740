"""Scores of one model on a self-efficacy scale and on the tasks."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.errors import InputError
from psychollm._base.result import Result
from psychollm._base.types import BoolArray, FloatArray
from psychollm.data.labels import listed
from psychollm.instruments.prompt import Prompt
from psychollm.instruments.reading import Outcome, Reading, ReadingsLike, aligned
from psychollm.instruments.self_efficacy.replies import disowning, ratings_of
from psychollm.instruments.self_efficacy.scale import keyed

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True)
class Administration:
    """Conditions under which all statements were rated once."""

    key: str  # key shared by first ratings and ratings after follow-ups
    condition: str
    repeat: int  # number of the repeat, from 1
    level: int | None = None  # level of the tasks, if each level is rated separately
    persona: str = "plain"
    placement: str = "isolated"
    mode: str = "all_at_once"
    feedback: str = ""  # "" without feedback
    phrasing: str = ""  # wording of the follow-up; "" for the first ratings
    correct: int | None = None  # number of tasks passed, only with feedback
    told: int | None = None  # number of tasks passed according to the feedback
    n_tasks: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskScore:
    """Score of one task."""

    key: str
    condition: str
    level: int
    persona: str
    correct: float  # 1 if passed, 0 if not or refused, NaN if unknown
    outcome: Outcome
    said: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SelfEfficacyScores(Result):
    """Scores of one model's ratings, one row per administration of the scale.

    Reversed items are recoded in `scores` and in all values derived from it, but not in `ratings`.

    Examples
    --------
    >>> from psychollm.instruments.self_efficacy import SelfEfficacy
    >>> asks = SelfEfficacy(conditions=("none",), n_repeats=1, followups=("neutral",))
    >>> replies = ["3, " * 9 + "3", "2, " * 9 + "3"]
    >>> found = asks.score([asks.read(*pair) for pair in zip(asks.prompts(), replies)])
    >>> found.totals, found.changes
    (array([30., 21.]), array([nan, -9.]))
    """

    administrations: tuple[Administration, ...]  # (rows,)
    ratings: FloatArray  # (rows, items) ratings in the order of the scale, NaN if missing
    outcomes: tuple[tuple[Outcome, ...], ...]  # (rows, items)
    disowning: FloatArray  # (rows,) proportion of replies that reject a statement's premise
    tasks: tuple[TaskScore, ...]
    scale: str
    low: int
    high: int
    reversed: tuple[int, ...]  # numbers of items, from 1

    @property
    def scores(self) -> FloatArray:
        """Ratings with reversed items recoded (rows, items)."""
        return keyed(self.ratings, self.reversed, self.low, self.high, self.ratings.shape[1])

    @property
    def totals(self) -> FloatArray:
        """Sums of the scores of all items (rows,); NaN if a score is missing."""
        return np.asarray(self.scores.sum(axis=1))

    @property
    def means(self) -> FloatArray:
        """Means of the non-missing scores (rows,)."""
        return _row_means(self.scores, np.isfinite(self.ratings))

    @property
    def changes(self) -> FloatArray:
        """Total after a follow-up minus the first total (rows,); NaN for first ratings."""
        totals = self.totals
        first = {
            one.key: total
            for one, total in zip(self.administrations, totals, strict=True)
            if not one.phrasing
        }
        before = [
            first.get(one.key, np.nan) if one.phrasing else np.nan for one in self.administrations
        ]
        return np.asarray(totals - np.array(before, dtype=np.float64))

    @property
    def at_lowest(self) -> FloatArray:
        """Proportion of ratings at the lowest point (rows,)."""
        return _row_means(self.ratings == self.low, np.isfinite(self.ratings))

    @property
    def at_highest(self) -> FloatArray:
        """Proportion of ratings at the highest point (rows,)."""
        return _row_means(self.ratings == self.high, np.isfinite(self.ratings))

    @property
    def floor(self) -> BoolArray:
        """Whether every rating of a row is at the lowest point (rows,)."""
        return np.asarray(self.at_lowest == 1.0)

    @property
    def ceiling(self) -> BoolArray:
        """Whether every rating of a row is at the highest point (rows,)."""
        return np.asarray(self.at_highest == 1.0)

    def to_frame(self, model: Any = "model") -> "pd.DataFrame":
        """Return a long table with one row per administration of the scale.

        Columns ``i1``, ``i2``, ... hold scores, with reversed items recoded.

        Parameters
        ----------
        model : hashable
            Label of the model.
        """
        import pandas as pd

        table = _columns(Administration, self.administrations, model)
        for name in ("correct", "told", "level"):
            table[name] = np.array(table[name], dtype=np.float64)
        for number, column in enumerate(self.scores.T, 1):
            table[f"i{number}"] = column
        table |= {"total": self.totals, "change": self.changes, "disowning": self.disowning}
        table |= {"at_lowest": self.at_lowest, "at_highest": self.at_highest}
        return pd.DataFrame(table)

    def tasks_frame(self, model: Any = "model") -> "pd.DataFrame":
        """Return one row per task.

        Parameters
        ----------
        model : hashable
            Label of the model.
        """
        import pandas as pd

        table = _columns(TaskScore, self.tasks, model)
        table["outcome"] = [str(outcome) for outcome in table["outcome"]]
        return pd.DataFrame(table)

    def summary(self) -> str:
        """Return a summary with one sentence per condition, and with warnings."""
        conditions = dict.fromkeys(one.condition for one in self.administrations)
        return "\n".join(self._sentence(condition) for condition in conditions)

    def _sentence(self, condition: str) -> str:
        """Return a sentence on the first ratings under a condition."""
        here = np.array(
            [one.condition == condition and not one.phrasing for one in self.administrations]
        )
        totals = self.totals[here]
        known = totals[np.isfinite(totals)]
        n_items = self.ratings.shape[1]
        if not known.size:
            return f"{condition}: none of {here.sum()} administrations is complete."
        text = (
            f"{condition}: mean total {known.mean():.1f} (possible range {n_items * self.low} to "
            f"{n_items * self.high}); {known.size} of {here.sum()} administrations are complete"
        )
        notes = {
            "with the lowest possible total": self.floor[here],
            "with the highest possible total": self.ceiling[here],
            "rejecting the premise of statements": self.disowning[here] > 0,
        }
        text += "".join(f"; {rows.sum()} {name}" for name, rows in notes.items() if rows.any())
        done = [one.correct for one in self.tasks if one.condition == condition]
        graded = [one for one in done if np.isfinite(one)]
        return text + (f"; {sum(graded):.0f} of {len(graded)} tasks passed." if done else ".")


def _columns(kind: type, records: Sequence[object], model: Any) -> dict[str, Any]:
    names = [field.name for field in fields(kind)]
    table = {name: [getattr(one, name) for one in records] for name in names}
    return {"model": [model] * len(records), **table}


def _row_means(values: Any, known: BoolArray) -> FloatArray:
    """Return means over the known cells of each row; NaN if a row has no known cells."""
    n = known.sum(axis=1)
    sums = np.where(known, values, 0.0).sum(axis=1)
    return np.asarray(np.where(n > 0, sums / np.maximum(n, 1), np.nan))


def score_readings(
    prompts: Sequence[Prompt],
    readings: ReadingsLike,
) -> SelfEfficacyScores:
    """Score the parsed replies of one model."""
    pairs = list(zip(prompts, aligned(prompts, readings), strict=True))
    scales = {str(one.about["scale"]): one for one in prompts if "scale" in one.about}
    if len(scales) > 1:
        msg = f"prompts of several scales, {listed(sorted(scales))}: score one at a time"
        raise InputError(msg)
    n = max((len(one.about["order"]) for one in scales.values()), default=0)
    rows: dict[tuple[str, str], _Row] = {}
    for prompt, reading in pairs:
        if prompt.about["stage"] != "task":
            about = prompt.about
            key = str(about["administration"]), str(about.get("phrasing", ""))
            rows.setdefault(key, _Row(prompt, n)).take(prompt, reading)
    about = next(iter(scales.values())).about if scales else {}
    low = int(about.get("low", 1))
    return SelfEfficacyScores(
        administrations=tuple(row.administration for row in rows.values()),
        ratings=np.array([row.ratings for row in rows.values()]).reshape(len(rows), n),
        outcomes=tuple(tuple(row.outcomes) for row in rows.values()),
        disowning=np.array([row.disowning for row in rows.values()], dtype=np.float64),
        tasks=tuple(_task(*pair) for pair in pairs if pair[0].about["stage"] == "task"),
        scale=str(about.get("scale", "")),
        low=low,
        high=low + len(about.get("anchors", ())) - 1 if scales else low,
        reversed=tuple(about.get("reversed", ())),
    )


class _Row:
    """Ratings of all statements in one administration, from one or several replies."""

    def __init__(self, prompt: Prompt, n: int) -> None:
        about = prompt.about
        self.administration = Administration(
            key=str(about["administration"]),
            condition=str(about["condition"]),
            level=about.get("level"),
            persona=str(about["persona"]),
            placement=str(about["placement"]),
            mode=str(about["mode"]),
            feedback=str(about.get("feedback", "")),
            phrasing=str(about.get("phrasing", "")),
            repeat=prompt.repeat + 1,
            correct=about.get("correct"),
            told=about.get("told"),
            n_tasks=int(about.get("n_tasks", 0)),
        )
        self.ratings = [float("nan")] * n
        self.outcomes = [Outcome.FAILED] * n
        self._disowns: list[bool] = []

    def take(self, prompt: Prompt, reading: Reading) -> None:
        if reading.outcome is not Outcome.FAILED:
            self._disowns.append(bool(disowning(reading.said)))
        about = prompt.about
        asked = [about["item"]] if about["stage"] == "item" else about["order"]
        ratings = ratings_of(reading, len(asked))
        for i, (value, outcome) in zip(asked, ratings, strict=True):
            self.ratings[i], self.outcomes[i] = value, outcome

    @property
    def disowning(self) -> float:
        """Proportion of replies that reject a statement's premise; NaN if there are no replies."""
        return float(np.mean(self._disowns)) if self._disowns else float("nan")


def _task(prompt: Prompt, reading: Reading) -> TaskScore:
    correct = float("nan")
    if reading.answered:
        correct = float(reading.value or 0)
    elif reading.outcome is Outcome.REFUSED:
        correct = 0.0
    return TaskScore(
        key=prompt.item,
        condition=str(prompt.about["condition"]),
        level=int(prompt.about["level"]),
        persona=str(prompt.about["persona"]),
        correct=correct,
        outcome=reading.outcome,
        said=reading.said,
    )
