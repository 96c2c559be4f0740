"""Tables of scores that no tool wrote: text, Parquet or JSONL, a row per score or per model.

Columns `model`, `question` (or `item`) and `score` (or `value`, `correct`) are needed; `task`,
`repeat`, `scorer`, `filter`, `error`, `confidence` and `content` (what was asked) are used where
they are. Other names are given as a mapping from these to the columns of the file. A file whose
first column is `model` (or has no name), and that has none of the others, has a row per model and
a column per question. Without a column `task` the task has no name here.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from psychollm._base.errors import CodeError, InputError, LabelError
from psychollm.data.readers.csv_file import header_of, meanings, rows_of
from psychollm.data.readers.logs.run import Run, Sample, as_score, digest
from psychollm.data.readers.logs.source import Source

ALIASES: dict[str, tuple[str, ...]] = {
    "model": ("model",),
    "question": ("question", "item"),
    "score": ("score", "value", "correct"),
    "task": ("task",),
    "repeat": ("repeat",),
    "scorer": ("scorer",),
    "filter": ("filter",),
    "error": ("error",),
    "confidence": ("confidence",),
    "content": ("content",),
}
NEEDED = ("model", "question", "score")
Row = tuple[str, Mapping[str, Any]]  # the place in the file, and the cells


def is_table(source: Source, columns: Mapping[str, str] | None = None) -> bool:
    """Tell whether a file is a table with the columns that are needed."""
    if source.shape in {"archive", "document"}:
        return False
    try:
        header = _header(source)
        if not _is_wide(header, columns):
            places(header, columns or {}, source.path)
    except (InputError, OSError):
        return False
    return True


def holds_confidence(source: Source) -> bool:
    """Tell whether a table holds scores and confidences, side by side."""
    return is_table(source) and bool({*ALIASES["confidence"]} & set(_header(source)))


def _is_wide(header: Sequence[str], columns: Mapping[str, str] | None) -> bool:
    """Tell whether there is a row per model: no column is what a row per score needs."""
    needed = {name for key in NEEDED[1:] for name in ALIASES[key]}
    return not columns and header[:1] in (["model"], [""]) and not needed & set(header)


def places(header: Sequence[str], columns: Mapping[str, str], path: Path | str) -> dict[str, str]:
    """Return which column of a file holds what."""
    unknown = [name for name in columns if name not in ALIASES]
    absent = [name for name in columns.values() if name not in header]
    if unknown or absent:
        what = f"columns= has a key {unknown[0]!r}" if unknown else f"no column {absent[0]!r}"
        msg = f"{path}: {what}; keys are {', '.join(ALIASES)}, columns {', '.join(header[:12])}"
        raise LabelError(msg)
    found = {}
    for name, aliases in ALIASES.items():
        column = columns.get(name) or next((one for one in aliases if one in header), None)
        if column is not None:
            found[name] = column
    lacking = [name for name in NEEDED if name not in found]
    if lacking:
        msg = (
            f"{path}: which column holds the {lacking[0]}? pass columns= with a key "
            f"{lacking[0]!r}; its columns are {', '.join(map(repr, header[:12]))}"
        )
        raise LabelError(msg)
    return found


def read_table_log(source: Source, columns: Mapping[str, str] | None = None) -> list[Run]:
    """Read a table with one row per score, or per model."""
    header = _header(source)
    if _is_wide(header, columns):
        return [_model(source, header, *row) for row in _rows(source, header)]
    found = places(header, columns or {}, source.path)
    runs: dict[tuple[str, str], list[Sample]] = {}
    fingerprint = cache(digest)
    kept = [name for name in source.keep if name in header]
    for where, row in _rows(source, [*found.values(), *kept]):
        cells = {name: row.get(column) for name, column in found.items()}
        for name in NEEDED[:2]:
            if _text(cells[name]) == "":
                msg = f"{where} has no {name}: every score needs one"
                raise LabelError(msg)
        key = (_text(cells["model"]), _text(cells.get("task")))
        runs.setdefault(key, []).append(
            replace(_sample(where, cells, fingerprint), about=source.about(row))
        )
    return [
        Run(
            model=model,
            task=task,
            samples=tuple(samples),
        )
        for (model, task), samples in runs.items()
    ]


def _model(source: Source, header: Sequence[str], where: str, row: Mapping[str, Any]) -> Run:
    """Read the scores of one model, which stand side by side."""
    model = _text(row[header[0]])
    if not model:
        msg = f"{where} has no model: every row needs one"
        raise LabelError(msg)
    scores = ((name, _number(row.get(name), f"{where}, column {name!r}")) for name in header[1:])
    samples = (
        Sample(question=name, scores={"": score}, error="" if score is not None else "not scored")
        for name, score in scores
    )
    return Run(model=model, task="", samples=tuple(samples))


def _sample(where: str, cells: Mapping[str, Any], fingerprint: Callable[[str], str]) -> Sample:
    error = _text(cells.get("error"))
    score = None if error else _number(cells["score"], f"{where}: score")
    stated = _number(cells.get("confidence"), f"{where}: confidence")
    repeat = _number(cells.get("repeat"), f"{where}: repeat")
    return Sample(
        question=_text(cells["question"]),
        scores={_text(cells.get("scorer")): score},
        repeat=None if repeat is None else int(repeat),
        filter=_text(cells.get("filter")),
        error=error or ("" if score is not None else "not scored"),
        confidence={} if stated is None else {"": stated},
        content=fingerprint(_text(cells.get("content"))),
    )


def _text(value: Any) -> str:
    if value is None or value != value:  # NaN
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()


def _number(value: Any, what: str) -> float | None:
    if not isinstance(value, str):
        return as_score(value)
    found = meanings([value])[0]
    if isinstance(found, str):
        msg = f"{what} holds {value!r}, which is not a number"
        raise CodeError(msg)
    return as_score(float(found))


# The rows of each kind of file


def _header(source: Source) -> list[str]:
    if source.shape == "parquet":
        with source.parquet() as file:
            return list(file.schema_arrow.names)
    if source.shape == "lines":
        names = (name for _, row in source.lines() for name in row)
        return list(dict.fromkeys(names))
    header = header_of(source.path)
    if len(set(header)) < len(header):
        msg = f"{source.path}, line 1: a column occurs twice: rename it"
        raise LabelError(msg)
    return header


def _rows(source: Source, wanted: Sequence[str]) -> Iterator[Row]:
    if source.shape == "parquet":
        return _parquet_rows(source, wanted)
    if source.shape == "lines":
        return ((f"{source.path}, line {line}", row) for line, row in source.lines())
    return _csv_rows(source.path)


def _parquet_rows(source: Source, wanted: Sequence[str]) -> Iterator[Row]:
    names = list(dict.fromkeys(wanted))
    with source.parquet(dictionaries=names) as file:
        place = 0
        for batch in file.iter_batches(columns=names):
            # A text that repeats is made once: it may be long, and the file says it in one byte.
            columns = [_shared(batch.column(name)) for name in names]
            for cells in zip(*columns, strict=True):
                place += 1
                yield f"{source.path}, row {place}", dict(zip(names, cells, strict=True))


def _shared(column: Any) -> list[Any]:
    if not hasattr(column, "dictionary"):
        return list(column.to_pylist())
    held = column.dictionary.to_pylist()
    return [None if place is None else held[place] for place in column.indices.to_pylist()]


def _csv_rows(path: Path) -> Iterator[Row]:
    header = header_of(path)
    for line, cells in rows_of(path):
        yield f"{path}, line {line}", dict(zip(header, cells, strict=True))
