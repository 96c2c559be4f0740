"""Results of reading logs, with the table, the answers and the omitted runs."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from psychollm._base.errors import LabelError
from psychollm._base.names import shortened
from psychollm._base.result import Result
from psychollm.data.labels import listed
from psychollm.data.logs_runs import LeftOut
from psychollm.data.responses import Responses

if TYPE_CHECKING:
    import pandas as pd

Unit: TypeAlias = Literal["question", "model"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ScoreLog(Result):
    """Evaluation logs as a long record of scores, made by `read_scores`.

    Parameters
    ----------
    frame : DataFrame
        Table with one row per answer, and the columns model, question, score, task, repeat,
        scorer, filter, error, confidence, format and source.
    scorers, filters : mapping of str to str
        Scorer and filter of each task; "" if the task has only one.
    n_logs : int
        Number of logs read.
    left_out : tuple of LeftOut
        Omitted runs with reasons.
    notes : tuple of str
        Further remarks.
    """

    frame: "pd.DataFrame"
    scorers: Mapping[str, str]
    filters: Mapping[str, str]
    n_logs: int
    left_out: tuple[LeftOut, ...]
    notes: tuple[str, ...]

    @property
    def tasks(self) -> tuple[str, ...]:
        """Tasks that were read."""
        return tuple(self.scorers)

    def labels(self, column: str, *, of: Unit = "question") -> "pd.Series[Any]":
        """Return the value of a column for each question or model, by label.

        Parameters
        ----------
        column : str
            Column of `frame`.
        of : {"question", "model"}
            Whether the labels are the questions or the models.

        Raises
        ------
        LabelError
            If the column does not exist, or a question or model has several values in it.
        """
        return values_by(self.frame, of, column)

    @property
    def errors(self) -> dict[str, int]:
        """Number of answers without a score for each reason; the most frequent reason is first."""
        missing = self.frame.loc[self.frame["score"].isna(), "error"]
        return {str(reason): int(n) for reason, n in missing.value_counts().items()}

    def counts(self) -> dict[str, Any]:
        """Return the numbers of kept and dropped scores as plain data."""
        return {
            "logs": self.n_logs,
            "formats": sorted(set(self.frame["format"])),
            "tasks": list(self.tasks),
            "scorers": dict(self.scorers),
            "filters": {task: name for task, name in self.filters.items() if name},
            "answers": len(self.frame),
            "scored": int(self.frame["score"].notna().sum()),
            "not_scored": self.errors,
            "confidences": int(self.frame["confidence"].notna().sum()),
            "left_out": [
                {"source": one.source, "what": one.what, "reason": one.reason, "answers": one.n}
                for one in self.left_out
            ],
            "notes": list(self.notes),
        }

    def summary(self) -> str:
        r"""Describe kept and dropped scores in sentences.

        Examples
        --------
        >>> from psychollm.data.logs import read_scores
        >>> path = getfixture("tmp_path") / "a.csv"
        >>> _ = path.write_text("model,question,score\na,q,0.5\na,r,\n")
        >>> print(read_scores(path).summary())
        1 log (table): 1 model x 2 questions of task 'a'.
        2 answers, 1 with a score.
        Answers without a score: 1 (not scored).
        """
        frame = self.frame
        return "\n".join(
            [
                self._size("model", frame["model"].nunique(), frame["question"].nunique()),
                f"{self._scored()}.",
                *filter(None, [self._not_scored()]),
                *self._remarks(),
            ]
        )

    def _size(self, noun: str, n_models: int, n_questions: int) -> str:
        formats = ", ".join(sorted(set(self.frame["format"])))
        tasks = "task" if len(self.tasks) == 1 else f"{len(self.tasks)} tasks:"
        return (
            f"{_count(self.n_logs, 'log')} ({formats}): {_count(n_models, noun)} x "
            f"{_count(n_questions, 'question')} of {tasks} {listed(self.tasks)}."
        )

    def _scored(self) -> str:
        scored = int(self.frame["score"].notna().sum())
        chosen = dict.fromkeys(name for name in self.scorers.values() if name)
        by = f" by {', '.join(map(repr, chosen))}" if chosen else ""
        return f"{_count(len(self.frame), 'answer')}, {scored:,} with a score{by}"

    def _not_scored(self) -> str:
        errors = self.errors
        shown = "; ".join(
            shortened(reason.replace("\n", " "), 80) + (f", {n} times" if n > 1 else "")
            for reason, n in list(errors.items())[:5]
        )
        more = f"; {len(errors) - 5} more reasons" if len(errors) > 5 else ""
        n = sum(errors.values())
        return f"Answers without a score: {n:,} ({shown}{more})." if n else ""

    def _remarks(self) -> list[str]:
        left = [f"Left out: {_listed_reasons(self.left_out)}."] if self.left_out else []
        return left + [f"Note: {note}." for note in self.notes]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class LogImport(ScoreLog):
    """Evaluation logs as a table of correctness, with the record of scores; made by `read_logs`.

    Parameters
    ----------
    responses : Responses (models, questions)
        Table of answers: 1 = correct, 0 = wrong, missing if there is no score.
    confidence : DataFrame (models, questions) or None
        Confidence (mean of the combined repeats), if the logs have any.
    repeats : str or None
        Method by which repeated answers were combined.
    threshold : float or None
        Threshold for counting graded scores as correct.
    n_ties : int
        Number of cells that are missing because of ties between repeats.
    """

    responses: Responses
    confidence: "pd.DataFrame | None"
    repeats: str | None
    threshold: float | None
    n_ties: int

    def counts(self) -> dict[str, Any]:
        """Return the numbers of kept and dropped scores as plain data."""
        table = self.responses
        return {
            **ScoreLog.counts(self),
            "models": list(table.models),
            "n_models": table.n_models,
            "n_questions": table.n_questions,
            "repeats": self.repeats,
            "threshold": self.threshold,
            "cells_missing": int(table.missing.sum()),
            "cells_right": int(table.codes.sum()),
            "ties": self.n_ties,
        }

    def summary(self) -> str:
        r"""Describe kept and dropped scores in sentences.

        Examples
        --------
        >>> from psychollm.data.logs import read_logs
        >>> path = getfixture("tmp_path") / "a.csv"
        >>> _ = path.write_text("model,question,score,error\na,q,1,\na,r,,timeout\n")
        >>> print(read_logs(path).summary())
        1 log (table): 1 model x 2 questions of task 'a'.
        2 answers, 1 with a score; 1 of 1 cells are correct (100.0 %).
        Missing: 1 of 2 cells (50.0 %). Answers without a score: 1 (timeout).
        """
        table = self.responses
        missing, size = int(table.missing.sum()), table.missing.size
        right, cells = int(table.codes.sum()), size - missing
        share = f" ({100 * right / cells:.1f} %)" if cells else ""
        noun = "repeat" if self.repeats == "keep" else "model"
        empty = f"Missing: {missing:,} of {size:,} cells ({100 * missing / size:.1f} %)."
        ties = f"Evenly split repeats, counted as missing: {self.n_ties} cells."
        return "\n".join(
            [
                self._size(noun, table.n_models, table.n_questions),
                f"{self._scored()}; {right:,} of {cells:,} cells are correct{share}.",
                " ".join(filter(None, [empty, self._not_scored()])),
                *([ties] if self.n_ties else []),
                *self._remarks(),
            ]
        )


def values_by(frame: "pd.DataFrame", unit: str, column: str) -> "pd.Series[Any]":
    """Return the value of a column of a long table for each unit, by its label."""
    if column not in frame:
        msg = f"{column!r} is not a column of the table, only {listed([*frame.columns])}"
        raise LabelError(msg)
    pairs = frame[[unit, column]].drop_duplicates()
    twice = pairs.loc[pairs[unit].duplicated(), unit]
    if len(twice):
        msg = f"{column}: {unit} {twice.iloc[0]!r} has several values in this column"
        raise LabelError(msg)
    return pairs.set_index(unit)[column]


def is_named_by_file(scores: Any) -> bool:
    """Return whether scores belong to one model, which is named after the file of its table."""
    if not isinstance(scores, ScoreLog):
        return False
    named = scores.frame[["model", "format", "source"]].drop_duplicates()
    if len(named) != 1:
        return False
    model, kind, source = named.iloc[0]
    return bool(kind == "table" and model == Path(source).name.partition(".")[0])


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def _listed_reasons(left_out: tuple[LeftOut, ...]) -> str:
    """Return text with the numbers of omitted runs and answers for each reason."""
    by_reason: dict[str, list[LeftOut]] = {}
    for one in left_out:
        by_reason.setdefault(one.reason, []).append(one)
    return "; ".join(
        f"{_count(len(runs), 'run')} with {_count(sum(one.n for one in runs), 'answer')} "
        f"({reason})"
        for reason, runs in by_reason.items()
    )
