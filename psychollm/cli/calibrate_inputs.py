"""Stated confidences, correctness and clusters from files, with the lines that read them."""

from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.errors import CodeError, LabelError
from psychollm.cli.calibrate_settings import CalibrateSettings
from psychollm.data.labels import listed
from psychollm.data.readers import read_clusters, read_table

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedTables:
    """Both tables and the clusters, and where they come from."""

    confidence: "pd.DataFrame"
    correctness: "pd.DataFrame"
    clusters: "pd.Series[Any] | None"
    source: tuple[str, ...]  # names of the files
    code: str  # lines of Python that make them
    left_out: str  # what takes no part, "" where nothing was left out


_DEFAULTS = {"layout": "auto", "duplicates": "error"}
_COMMON_CODE = """\
rows = confidence.index.intersection(correctness.index, sort=False)
columns = confidence.columns.intersection(correctness.columns, sort=False)
confidence, correctness = confidence.loc[rows, columns], correctness.loc[rows, columns]"""


def read_stated(settings: CalibrateSettings) -> StatedTables:
    """Read the tables, and the clusters if there are any.

    Raises
    ------
    InputError
        If a file does not exist or cannot be used; names file, line and column.
    LabelError
        If a model to be left out does not exist, or a question has no cluster.
    """
    first, second = _options(settings)
    files = settings.confidence, settings.correctness or settings.confidence
    confidence, correctness = (
        read_table(file, **options) for file, options in zip(files, (first, second), strict=True)
    )
    _check_correctness(correctness)
    code = [
        f"{name} = psy.data.readers.{_call('read_table', file, options)}"
        for name, file, options in zip(
            ("confidence", "correctness"), files, (first, second), strict=True
        )
    ]
    chosen, lines, remarks = _chosen(settings, confidence, correctness)
    confidence, correctness = chosen
    clusters, line = _clusters(settings, confidence)
    return StatedTables(
        confidence=confidence,
        correctness=correctness,
        clusters=clusters,
        source=tuple(str(file) for file in dict.fromkeys(files)),
        code="\n".join([*code, *lines, *([line] if line else [])]),
        left_out=" ".join(remarks),
    )


def _chosen(
    settings: CalibrateSettings, confidence: "pd.DataFrame", correctness: "pd.DataFrame"
) -> "tuple[tuple[pd.DataFrame, pd.DataFrame], list[str], list[str]]":
    """Leave out what is to take no part; return the lines that do so, and what to say of it."""
    lines, remarks = [], []
    if settings.common:
        confidence, correctness, remark = _shared(confidence, correctness)
        remarks += [remark] if remark else []
        lines.append(_COMMON_CODE)
    absent = _absent(settings, confidence, correctness)
    if absent:
        confidence, correctness = (
            table.drop(index=list(absent), errors="ignore") for table in (confidence, correctness)
        )
        lines.append(f"absent = {list(absent)!r}")
        lines += [
            f'{name} = {name}.drop(index=absent, errors="ignore")'
            for name in ("confidence", "correctness")
        ]
        remarks.append(f"Left out: {', '.join(f'{m} ({why})' for m, why in absent.items())}.")
    return (confidence, correctness), lines, remarks


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


def _options(settings: CalibrateSettings) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return how each of the two tables is read."""
    both = {
        "layout": settings.layout,
        "model": settings.model_column,
        "question": settings.question_column,
        "duplicates": settings.duplicates,
    }
    return (
        {**both, "value": settings.confidence_column, "scale": settings.scale},
        {**both, "value": settings.correctness_column, "codes": settings.codes},
    )


def _call(function: str, file: Path, options: dict[str, Any]) -> str:
    """Return a call with the options that are not the default."""
    given = [
        f"{name}={value!r}"
        for name, value in options.items()
        if value is not None and value != _DEFAULTS.get(name)
    ]
    return f"{function}({', '.join([repr(str(file)), *given])})"


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


def _absent(
    settings: CalibrateSettings, confidence: "pd.DataFrame", correctness: "pd.DataFrame"
) -> dict[Hashable, str]:
    """Return the models that are to take no part, each with its reason."""
    known = {str(model): model for model in (*confidence.index, *correctness.index)}
    absent: dict[Hashable, str] = {}
    for name in settings.leave_out:
        if name not in known:
            msg = f"--leave-out {name}: there is no such model; known are {listed(list(known))}"
            raise LabelError(msg)
        absent[known[name]] = "as asked"
    if settings.least_answers > 0:
        both = confidence.notna() & correctness.reindex_like(confidence).notna()
        for model, n in both.sum(axis=1).items():
            if n < settings.least_answers and model not in absent:
                absent[model] = f"{n} answers"
    return absent


def _clusters(
    settings: CalibrateSettings, confidence: "pd.DataFrame"
) -> "tuple[pd.Series[Any] | None, str]":
    """Read the clusters of the questions, and return the line that does so."""
    if settings.clusters is None:
        return None, ""
    file = Path(settings.clusters)
    options: dict[str, Any] = {}
    if not (file.is_file() or file.suffix in {".csv", ".gz", ".parquet"}):
        file = settings.confidence
        options = {
            "column": settings.clusters,
            "model": settings.model_column,
            "question": settings.question_column,
        }
    try:
        found = read_clusters(file, **options).reindex(confidence.columns)
    except LabelError as error:
        what = "" if not options else " is no file, and no column of a long CONFIDENCE"
        msg = f"--clusters {settings.clusters}{what}: {error}"
        raise LabelError(msg) from error
    missing = found.index[found.isna()]
    if len(missing):
        msg = (
            f"--clusters {settings.clusters}: {len(missing)} questions have no cluster "
            f"({listed(missing.tolist())}): give each one of its own"
        )
        raise LabelError(msg)
    call = _call("read_clusters", file, options)
    return found, f"clusters = psy.data.readers.{call}.reindex(confidence.columns)"
