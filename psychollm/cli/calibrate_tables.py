"""Stated confidences, correctness and clusters from files, with the lines that read them."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.errors import CodeError, LabelError
from psychollm.cli.two_tables import Call, left_out_line
from psychollm.data.labels import listed

if TYPE_CHECKING:
    import pandas as pd

    from psychollm.cli.calibrate import Calibrate


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedTables:
    """Both tables and the clusters, and where they come from."""

    confidence: "pd.DataFrame"
    correctness: "pd.DataFrame"
    clusters: "pd.Series[Any] | None"
    source: tuple[str, ...]  # names of the files
    code: str  # lines of Python that make them
    left_out: str  # what takes no part, "" where nothing was left out


_COMMON_CODE = """\
rows = confidence.index.intersection(correctness.index, sort=False)
columns = confidence.columns.intersection(correctness.columns, sort=False)
confidence, correctness = confidence.loc[rows, columns], correctness.loc[rows, columns]"""


def read_stated(command: "Calibrate") -> StatedTables:
    """Read the tables, and the clusters if there are any."""
    first, second = command.calls(
        "psy.data.readers.read_table", {"scale": command.scale}, {"codes": command.codes}
    )
    confidence, correctness = first.run(), second.run()
    _check_correctness(correctness)
    code, remarks = [f"confidence = {first}", f"correctness = {second}"], []
    if command.common:
        confidence, correctness, remark = _shared(confidence, correctness)
        remarks += [remark] if remark else []
        code.append(_COMMON_CODE)
    both = confidence.notna() & correctness.reindex_like(confidence).notna()
    absent = command.absent(
        (*confidence.index, *correctness.index),
        ((model, int(n), "") for model, n in both.sum(axis=1).items()),
    )
    if absent:
        confidence, correctness = (
            table.drop(index=list(absent), errors="ignore") for table in (confidence, correctness)
        )
        code.append(f"absent = {list(absent)!r}")
        code += [
            f'{name} = {name}.drop(index=absent, errors="ignore")'
            for name in ("confidence", "correctness")
        ]
        remarks.append(left_out_line(absent))
    clusters = None
    if command.clusters is not None:
        clusters, line = _clusters(command, command.clusters, confidence.columns)
        code.append(line)
    return StatedTables(
        confidence=confidence,
        correctness=correctness,
        clusters=clusters,
        source=command.files,
        code="\n".join(code),
        left_out=" ".join(remarks),
    )


def _check_correctness(correctness: "pd.DataFrame") -> None:
    """Refuse what is neither correct nor wrong, nor a chance of being correct."""
    values = correctness.to_numpy()
    with np.errstate(invalid="ignore"):
        bad = np.argwhere((values < 0.0) | (values > 1.0))
    if len(bad):
        row, column = (int(place) for place in bad[0])
        msg = (
            f"CORRECTNESS: model {correctness.index[row]!r}, question "
            f"{correctness.columns[column]!r} holds {values[row, column]:g}, but 1 is correct and "
            "0 is wrong (a share between them is a chance)"
        )
        raise CodeError(msg)


def _shared(
    confidence: "pd.DataFrame", correctness: "pd.DataFrame"
) -> "tuple[pd.DataFrame, pd.DataFrame, str]":
    """Keep what both tables hold, and say what was left out."""
    rows = confidence.index.intersection(correctness.index, sort=False)
    columns = confidence.columns.intersection(correctness.columns, sort=False)
    for kind, kept, first, second in (
        ("model", rows, confidence.index, correctness.index),
        ("question", columns, confidence.columns, correctness.columns),
    ):
        if not len(kept):
            msg = (
                f"the two tables have no {kind} in common: the first holds "
                f"{listed(first.tolist())}, the second {listed(second.tolist())}"
            )
            raise LabelError(msg)
    left = [
        f"{gone} {kind} left out"
        for kind, gone in (
            ("models", len(confidence.index.symmetric_difference(correctness.index))),
            ("questions", len(confidence.columns.symmetric_difference(correctness.columns))),
        )
        if gone
    ]
    both = f"{len(rows)} models and {len(columns)} questions in common"
    remark = f"{'; '.join([both, *left])}." if left else ""
    return confidence.loc[rows, columns], correctness.loc[rows, columns], remark


def _clusters(
    command: "Calibrate", named: str, questions: "pd.Index[Any]"
) -> "tuple[pd.Series[Any], str]":
    """Read the clusters of the questions, and return the line that does so."""
    call = Call("psy.data.readers.read_clusters", named, {})
    file = Path(named)
    is_column = not (file.is_file() or file.suffix in {".csv", ".gz", ".parquet"})
    if is_column:
        options = {
            "column": named,
            "model": command.model_column,
            "question": command.question_column or None,
        }
        call = Call(call.reader, str(command.confidence), options)
    try:
        clusters = call.run().reindex(questions)
    except LabelError as error:
        what = " is no file, and no column of a long CONFIDENCE" if is_column else ""
        msg = f"--clusters {named}{what}: {error}"
        raise LabelError(msg) from error
    missing = clusters.index[clusters.isna()]
    if len(missing):
        msg = (
            f"--clusters {named}: {len(missing)} questions have no cluster "
            f"({listed(missing.tolist())}): give each one of its own"
        )
        raise LabelError(msg)
    return clusters, f"clusters = {call}.reindex(confidence.columns)"
