"""Convert verdicts and labels to arrays over the same models and questions."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from psychollm._base.entry import warn
from psychollm._base.errors import LabelError, OptionError, ShapeError
from psychollm._base.frames import in_pandas
from psychollm._base.types import BoolArray, FloatArray
from psychollm._base.wording import parameter
from psychollm.data.alignment import shared_labels
from psychollm.data.labels import Labels, Table, listed
from psychollm.data.logs_result import ScoreLog, is_named_by_file
from psychollm.data.long import is_long_frame
from psychollm.data.missing_codes import Missing, check_codes
from psychollm.data.table import numbers, one_model, values_like
from psychollm.reliability.means.repeated_scores import RepeatedScores, answers_of

_REMEDY = "replace {} by NaN, or rescale if it is a grade"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Verdicts:
    """Verdicts of judges and human labels of the same answers."""

    judges: Labels
    verdicts: FloatArray  # (judges, models, questions) NaN if missing
    people: FloatArray  # (models, questions) NaN without a label
    models: Labels
    questions: Labels

    @property
    def answers(self) -> BoolArray:
        """Cells (models, questions) with verdict or label; all cells if a model has no verdict."""
        judged: BoolArray = np.asarray(np.isfinite(self.verdicts).any(axis=0))
        none = np.asarray(~judged.any(axis=1))
        return np.asarray(judged | np.isfinite(self.people) | none[:, None])


def verdicts_of(verdicts: Any, people: Any, judge: Any) -> Verdicts:
    """Return verdicts and labels, matched by the labels of models and questions."""
    tables = _by_judge(verdicts, judge)
    read = {name: _means(table, "verdicts") for name, table in tables.items()}
    first = next(iter(read.values()))
    if not any(np.isfinite(table.values).any() for table in read.values()):
        msg = "verdicts: every value is missing"
        raise ShapeError(msg)
    labels = _means(people, "people")
    others = [*list(read.values())[1:], labels]
    named = ["verdicts"] * (len(others) - 1) + ["people"]
    others = [_like(one, first, name) for one, name in zip(others, named, strict=True)]
    bare = [is_named_by_file(one) for one in (*tables.values(), people)]
    everything = _of_one_model([first, *others], bare)
    first, *others = everything
    for one, by_file in zip(others, bare[1:], strict=True):
        _check_models(first, one, by_file=by_file or bare[0])
        shared_labels("question", first.questions, one.questions)
    everything[-1] = _labelled(everything[-1], first)
    models = tuple(dict.fromkeys(label for one in everything for label in one.models))
    questions = tuple(dict.fromkeys(label for one in everything for label in one.questions))
    placed = [_placed(one, models, questions) for one in everything]
    return Verdicts(
        judges=tuple(read),
        verdicts=np.stack(placed[:-1]),
        people=placed[-1],
        models=models,
        questions=questions,
    )


def _of_one_model(tables: list[Table], by_file: list[bool]) -> list[Table]:
    """Match tables of one model each if some tables have the name of a file instead of a model."""
    labels = [one.models for one in tables]
    if any(len(one) != 1 for one in labels) or len(set(labels)) == 1 or not any(by_file):
        return tables
    named = (one for one, bare in zip(labels, by_file, strict=True) if not bare)
    model = next(named, labels[0])
    others = listed(list(dict.fromkeys(one[0] for one in labels if one != model)))
    warn(
        f"verdicts and labels are each of one model, but some files do not name it: {others} and "
        f"{model[0]!r} are taken for the same model"
    )
    return [
        replace(one, models=model) if bare else one
        for one, bare in zip(tables, by_file, strict=True)
    ]


def _check_models(first: Table, other: Table, *, by_file: bool) -> None:
    """Raise an error if two tables have no model in common."""
    try:
        shared_labels("model", first.models, other.models)
    except LabelError as error:
        if not by_file:
            raise
        own = parameter("", python="psy.read_scores({'MODEL': path})", command="MODEL=FILE")
        msg = (
            f"{error.text.marked} A table without a column of models is named by its file: add "
            f"a column 'model', or name its model: {own}"
        )
        raise LabelError(msg) from error


def _by_judge(verdicts: Any, judge: Any) -> dict[Any, Any]:
    """Return the tables to use, by judge."""
    if not isinstance(verdicts, Mapping):
        return {"the judge" if judge is None else judge: verdicts}
    if not verdicts:
        msg = "verdicts is empty: pass a table, or a mapping from judges to tables"
        raise OptionError(msg)
    if judge is None:
        return dict(verdicts)
    if judge not in verdicts:
        msg = f"judge={judge!r} is unknown: use one of {listed([*verdicts])}"
        raise LabelError(msg)
    return {judge: verdicts[judge]}


def _means(data: Any, argument: str) -> Table:
    """Return the mean over repeats of each model and question; NaN if all repeats are missing."""
    axes = np.ndim(data) if isinstance(data, list | tuple) else getattr(data, "ndim", 2)
    if (
        axes < 3
        and not isinstance(data, ScoreLog | RepeatedScores)
        and not is_long_frame(in_pandas(data))
    ):
        table = one_model(data, argument=argument)
        values = numbers(table, argument=argument)
        check_codes(values, table.questions, Missing(), argument, remedy=_REMEDY)
        return Table(values, table.models, table.questions, named=table.named)
    answers = answers_of(data, argument)
    counts = answers.present.sum(axis=2)
    sums = np.nansum(answers.values, axis=2)
    values = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    bare = not any(hasattr(data, name) for name in ("columns", "dims", "models", "frame"))
    return Table(values, answers.models, answers.questions, named=(not bare, not bare))


def _like(table: Table, first: Table, argument: str) -> Table:
    """Return a table; a table without labels takes the models and questions of the first table."""
    if all(table.named) and all(first.named):
        return table
    return Table(values_like(table, first, argument=argument), first.models, first.questions)


def named_like(people: Any, verdicts: RepeatedScores) -> Any:
    """Return human labels; an array of labels gets the models and questions of the verdicts."""
    import pandas as pd

    table = _means(people, "human_labels")
    if all(table.named):
        return people
    first = _means(verdicts, "scores")
    return pd.DataFrame(_like(table, first, "human_labels").values, first.models, first.questions)


def _labelled(people: Table, first: Table) -> Table:
    """Return human labels, omitting models and questions without any verdict or label."""
    known = np.isfinite(np.asarray(people.values, dtype=np.float64))
    rows, columns = (
        [place for place, label in enumerate(labels) if label in judged or any_of[place]]
        for labels, judged, any_of in (
            (people.models, set(first.models), np.asarray(known.any(axis=1))),
            (people.questions, set(first.questions), np.asarray(known.any(axis=0))),
        )
    )
    return Table(
        people.values[np.ix_(rows, columns)],
        tuple(people.models[row] for row in rows),
        tuple(people.questions[column] for column in columns),
    )


def _placed(table: Table, models: Labels, questions: Labels) -> FloatArray:
    """Return the values at the given models and questions, NaN where the table has no value."""
    if table.models == models and table.questions == questions:
        return np.ascontiguousarray(table.values, dtype=np.float64)
    rows = {label: place for place, label in enumerate(models)}
    columns = {label: place for place, label in enumerate(questions)}
    placed = np.full((len(models), len(questions)), np.nan)
    own = np.ix_([rows[one] for one in table.models], [columns[one] for one in table.questions])
    placed[own] = table.values
    return placed
