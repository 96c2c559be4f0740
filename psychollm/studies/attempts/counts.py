"""Count the attempts and successes of each model at each question."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from psychollm._base.errors import CodeError, LabelError, OptionError, ShapeError
from psychollm._base.frames import in_pandas, long_table
from psychollm._base.types import FloatArray
from psychollm._base.wording import parameter
from psychollm.data.labels import Labels, listed
from psychollm.data.logs_result import ScoreLog
from psychollm.data.long import Columns, long_columns
from psychollm.data.tries import counts_in, tries_in
from psychollm.reliability.means.repeated_scores import answers_of, long_places


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """Successes and attempts by model and question."""

    successes: FloatArray  # (models, questions)
    trials: FloatArray  # (models, questions), 0 without attempts
    models: Labels
    questions: Labels


def counts_of(
    results: Any,
    *,
    model: str | None,
    question: str | None,
    successes: str | None,
    trials: str | None,
) -> Counts:
    """Return counts of attempts and successes, from results in any accepted format."""
    if (successes is None) != (trials is None):
        given, lacks = ("successes", "trials") if trials is None else ("trials", "successes")
        msg = f"{parameter(given)} needs {parameter(lacks)}: counts take both columns"
        raise OptionError(msg)
    header = list(getattr(in_pandas(results), "columns", ()))
    if successes is None and (counts := counts_in(header)) is not None:
        successes, trials = counts
    if successes is not None and trials is not None:
        return _of_counts(results, model, question, successes, trials)
    if model is not None or question is not None:
        frame = _frame(results)
        renamed = {old: new for old, new in ((model, "model"), (question, "question")) if old}
        absent = [name for name in renamed if name not in frame]
        if absent:
            msg = f"results has no column {absent[0]!r}: use one of {list(frame.columns)}"
            raise LabelError(msg)
        results = frame.rename(columns=renamed)
    if tries := tries_in(header):
        results = _one_per_row(in_pandas(results), tries)
    answers = answers_of(results, "results")
    values = answers.values
    other = np.argwhere(np.isfinite(values) & (values != 0.0) & (values != 1.0))
    if other.size:
        row, column, run = other[0]
        msg = (
            f"results: model {answers.models[row]!r}, question {answers.questions[column]!r} "
            f"has a score of {values[row, column, run]:g}: scores must be 1 (success) or 0 "
            "(failure). Dichotomise scores first, e.g. (scores > 0.5)"
        )
        raise CodeError(msg)
    return _checked(
        np.nansum(values, axis=2),
        answers.present.sum(axis=2).astype(np.float64),
        answers.models,
        answers.questions,
    )


def spent_of(
    results: Any, column: str, counts: Counts, *, model: str | None, question: str | None
) -> FloatArray:
    """Return mean costs or times by model and question (models, questions)."""
    import pandas as pd

    frame = results.frame if isinstance(results, ScoreLog) else _frame(results)
    if column not in frame:
        msg = f"results has no column {column!r}: use one of {listed([*frame.columns])}"
        raise LabelError(msg)
    if model is None or question is None:
        found = long_columns("results", [*frame.columns], Columns(model, question, column))
        model, question = found.model, found.question[0]
    values = pd.to_numeric(frame[column].replace("", np.nan), errors="coerce")
    wrong = (values.isna() & frame[column].notna() & (frame[column] != "")) | (values < 0.0)
    if wrong.any():
        held = str(frame.loc[wrong, column].iloc[0])
        msg = f"results: column {column!r} contains {held!r}: costs and times must be at least 0"
        raise CodeError(msg)
    means = frame.assign(**{column: values}).pivot_table(column, model, question)
    table = means.reindex(index=[*counts.models], columns=[*counts.questions])
    return np.where(counts.trials > 0, table.to_numpy(dtype=np.float64), np.nan)


def _frame(results: Any) -> Any:
    frame = in_pandas(results)
    if not hasattr(frame, "columns"):
        msg = (
            f"results is {type(results).__name__}: column names require a long table, a DataFrame "
            "with one row per attempt or per model and question"
        )
        raise ShapeError(msg)
    return frame


def _one_per_row(frame: Any, tries: Sequence[Any]) -> Any:
    """Return a long table from a table with a column per attempt."""
    rest = [name for name in frame.columns if name not in tries]
    long = frame.melt(rest, [*tries], var_name="attempt", value_name="score")
    return long[long["score"].notna()]


def _of_counts(
    results: Any, model: str | None, question: str | None, successes: str, trials: str
) -> Counts:
    frame = _frame(results)
    if model is None or question is None:
        found = long_columns("results", [*frame.columns], Columns(model, question, successes))
        model, question = found.model, found.question[0]
    names = [model, question]
    frame = long_table(frame, [*names, successes, trials], argument="results", row="count")
    places, labels = long_places(frame, names, successes)
    cells = np.zeros((2, *map(len, labels)))
    for table, column in zip(cells, (successes, trials), strict=True):
        try:
            table[places] = frame[column].to_numpy(dtype=np.float64)
        except (TypeError, ValueError) as error:
            msg = f"results: column {column!r} contains values that are not numbers"
            raise CodeError(msg) from error
    return _checked(cells[0], cells[1], *labels)


def _checked(
    successes: FloatArray, trials: FloatArray, models: Labels, questions: Labels
) -> Counts:
    wrong = ~(
        (successes >= 0)
        & (successes <= trials)
        & (successes == np.floor(successes))
        & (trials == np.floor(trials))
    )
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        msg = (
            f"results: model {models[row]!r}, question {questions[column]!r} has "
            f"{successes[row, column]:g} successes of {trials[row, column]:g} attempts: counts "
            "must be whole, with at most as many successes as attempts"
        )
        raise CodeError(msg)
    if not trials.any():
        msg = "results has no attempts: every count is 0 or missing"
        raise ShapeError(msg)
    return Counts(successes, trials, models, questions)
