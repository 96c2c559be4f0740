"""Groups of questions or models from a column or a file, for the option ``--by``."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psychollm._base.call import Call
from psychollm._base.errors import LabelError
from psychollm.cli.carry_out import Analysis, Found, records
from psychollm.cli.options import option

if TYPE_CHECKING:
    import pandas as pd

    from psychollm._base.types import Axis
    from psychollm.data.logs_result import ScoreLog, Unit

GROUPS = "groups"
# Maps a kind of group to the unit that it contains.
UNITS: "Mapping[str, Unit]" = {"domains": "question", "families": "model"}


@dataclass(frozen=True, kw_only=True)
class ByGroups:
    """Option ``--by`` and its groups."""

    by: str | None = option(
        "report each group of questions (domain) or models (family), and differences between "
        "groups: a column of the table or logs, or a file with one label and its group per line; "
        "no page",
        "COLUMN|FILE",
        default=None,
        group=GROUPS,
    )

    @property
    def kept(self) -> tuple[str, ...]:
        """Columns of logs to keep."""
        return () if self.by is None or Path(self.by).is_file() else (self.by,)


def groups_of(
    by: str,
    models: Iterable[Any],
    questions: Iterable[Any],
    column: "Callable[[str], pd.Series[Any]]",
) -> "tuple[Axis, list[Any]]":
    """Return the kind of unit and each unit's group; `column` is called to read a column."""
    import pandas as pd

    from psychollm.data.readers import read_clusters

    groups = read_clusters(by) if Path(by).is_file() else column(by)
    groups.index = groups.index.astype(str)
    of: Axis
    for of, labels in (("questions", questions), ("models", models)):
        found = groups.reindex([str(one) for one in labels])
        if found.notna().all():
            return of, found.tolist()
    missing = next(one for one in questions if pd.isna(groups.get(str(one))))
    msg = (
        f"--by {by}: not every question (nor every model) has a group; question {missing!r} has "
        "none"
    )
    raise LabelError(msg)


def column_of(log: "ScoreLog", by: str) -> "pd.Series[Any]":
    """Return the group of each question, or of each model, by label."""
    named = log.frame[log.frame[by] != ""]
    for unit in ("question", "model"):
        pairs = named[[unit, by]].drop_duplicates()
        if not pairs[unit].duplicated().any() and len(pairs) > 1:
            groups = pairs.set_index(pairs[unit].astype(str))[by]
            if len(set(groups)) > 1:
                return groups
    msg = (
        f"--by {by}: the column must have one value per question or per model, and at least two "
        "different values"
    )
    raise LabelError(msg)


def found_by(
    command: Analysis, result: Any, script: str, numbers: Mapping[str, Any], *, remark: str
) -> Found:
    """Return the results by group as `Found`, without a report page."""
    own = {
        "of": result.of,
        "groups": [str(label) for label in result.labels],
        "estimates": records(result.to_frame()),
    }
    return replace(command.of_study(result, script, own | dict(numbers), remark=remark), page=None)


def group_of_each(named: str, by: str, unit: "Unit", log: "ScoreLog") -> "pd.Series[Any]":
    """Return the group of each question or model from a file or a column of the log."""
    from psychollm.data.readers import read_clusters

    labels = list(dict.fromkeys(log.frame[unit]))
    if Path(by).is_file():
        groups = read_clusters(by)
    else:
        try:
            groups = log.labels(by, of=unit)
        except LabelError as error:
            msg = f"{named} {error.text.marked}"
            raise LabelError(msg) from error
    groups.index = groups.index.astype(str)
    found = groups.reindex([str(one) for one in labels])
    if found.isna().any():
        msg = f"{named} {by}: {unit} {labels[int(found.isna().argmax())]!r} has no group"
        raise LabelError(msg)
    found.index = labels
    return found


def group_call(name: str, value: str, unit: "Unit", reading: Call) -> Call:
    """Return the Python call that reads the group of each question or model of a log."""
    if Path(value).is_file():
        return Call("psy.data.read_clusters", (Path(value),), name=name)
    return Call(".labels", (reading, value), {"of": unit}, name=name)


def groups_call(command: Any, by: str, of: "Axis") -> Call:
    """Return the Python call that reads the group of each question, or of each model."""
    if command.of_logs or Path(by).is_file():
        reading = command.reading_of(command.inputs, command.kept)
        return group_call("groups", by, "question" if of == "questions" else "model", reading)
    return Call("psy.data.read_clusters", (command.confidence,), question_column(command, by))


def question_column(command: Any, column: str) -> dict[str, Any]:
    """Return the options for reading the value of each question from a column of CONFIDENCE."""
    return {
        "column": column,
        "model": command.model_column,
        "question": command.question_column or None,
    }


def column_of_table(command: Any, column: str) -> "pd.Series[Any]":
    """Return the group of each question from a column of the long file CONFIDENCE."""
    from psychollm.data.readers import read_clusters

    try:
        return read_clusters(command.confidence, **question_column(command, column))
    except LabelError as error:
        msg = f"--by {column} is no file and no column of a long CONFIDENCE: {error.text.marked}"
        raise LabelError(msg) from error
