"""Tables of scores (text, Parquet or JSONL) that no supported tool has written.

The columns `question` and `score`, or columns with other recognised names, are required. Without a
column `model`, the file name is the name of the model. The columns `task`, `repeat`, `scorer`,
`filter`, `error`, `confidence` and `content` (of the question) are optional. If the columns of a
file have other names, the caller maps the roles to columns. A file without columns of questions
and scores is read as a wide table, with a row per model and a column per question, or its
transpose (`psychollm.data.readers.wide`). Without a column `task`, the task remains unnamed when
the file is read.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from psychollm._base.entry import warn
from psychollm._base.errors import CodeError, InputError, LabelError, PsychollmWarning
from psychollm._base.frames import MODELS, QUESTIONS, SCORES, is_called, is_unnamed
from psychollm._base.wording import parameter
from psychollm.data.labels import Table
from psychollm.data.long import Columns, Layout, known_columns, label_column
from psychollm.data.missing_codes import Missing, check_codes
from psychollm.data.readers.csv_file import header_of, meanings, read_csv, rows_of
from psychollm.data.readers.jsonl_file import read_jsonl
from psychollm.data.readers.logs.run import Run, Sample, as_score, digest
from psychollm.data.readers.logs.source import Reading, Source
from psychollm.data.readers.parquet_file import read_parquet
from psychollm.data.table import SCORE_MAP, numbers, word_advice
from psychollm.data.tries import counts_in, tries_in
from psychollm.data.votes import OF_VOTES, are_votes

NEEDED = ("model", "question", "score")
MOST_TRIALS = 10_000  # of a question in a table of counts
KEYS = (*NEEDED, "task", "repeat", "scorer", "filter", "error", "confidence", "content")
_READ = 20  # number of rows that are searched for columns of text
Row = tuple[str, Mapping[str, Any]]  # location in the file, cells by column


def is_table(source: Source) -> bool:
    """Return whether the names of its columns identify a file as a table."""
    header = _header_or_none(source)
    if header is None or are_votes(header):
        return False
    wide = source.reading.layout in {"wide", "transposed"} or not source.reading.labels
    if wide or _is_wide(header, source):
        first = header[label_column(header, None)]
        if wide or is_unnamed(first) or is_called(first, MODELS):
            return True
        # A list of questions with their clusters, for example, has only one column besides labels.
        return is_called(first, QUESTIONS) and len(header) > 2 and may_be_table(source)
    try:
        _places(header, source)
    except LabelError:
        return False
    return True


def may_be_table(source: Source) -> bool:
    """Return whether the cells of a file, not its first column, identify it as a wide table."""
    header = _header_or_none(source)
    if header is None or not _is_wide(header, source):
        return False
    layouts: tuple[Layout, ...] = ("wide", "auto")
    return any(_holds_numbers(source, layout) for layout in layouts)


def _holds_numbers(source: Source, layout: Layout) -> bool:
    try:
        with warnings.catch_warnings(action="ignore", category=PsychollmWarning):
            return _wide(source, layout).values.dtype.kind in "biuf"
    except InputError:
        return False


def unknown_table(source: Source) -> str:
    """Describe the existing and the missing columns of a file."""
    if source.shape == "lines":
        try:
            _header(source)
        except InputError as error:
            return str(error)
    header = _header_or_none(source)
    if header is None:
        return "its first line has no column names"
    if are_votes(header):
        return OF_VOTES
    try:
        _places(header, source)
    except LabelError as error:
        return error.text.marked.removeprefix(f"{source.path}: ") + _on_texts(source, header)
    return "its first column does not label rows"


def _on_texts(source: Source, header: Sequence[str]) -> str:
    """Return the advice for a table that has a column per model and also columns of text."""
    if source.reading.columns or not _is_wide(header, source):
        return ""
    first = next((name for name in header if is_called(name, QUESTIONS)), header[0])
    try:
        rows = [row for _, row in islice(_rows(source, header), _READ)]
    except InputError:
        return ""
    texts = [
        name for name in header if name != first and any(_is_word(row.get(name)) for row in rows)
    ]
    if not texts or len(texts) > len(header) - 3:
        return ""
    return (
        f". If each model has a column of its own, remove {', '.join(map(repr, texts))}: columns "
        f"other than {first!r} must contain scores"
    )


def _is_word(value: Any) -> bool:
    return isinstance(value, str) and isinstance(meanings([value])[0], str)


def holds_confidence(source: Source) -> bool:
    """Return whether a table has a column of scores and a column of confidence."""
    return is_table(source) and "confidence" in _header(source)


def _is_wide(header: Sequence[str], source: Source) -> bool:
    """Return whether a table has a row per model, because it lacks the columns of a long table."""
    known = known_columns(header)
    # A table with one row per question has a column of questions, but no column of models or
    # scores. Rarer names of scores, such as "human", may also be names of models.
    usual = any(is_called(name, SCORES) for name in known["score"])
    both = bool(known["question"] and known["model"])
    long = usual or both or _is_of_one_model(header, known, {})
    long = long or bool(_attempts_in(header, known))
    return not source.reading.columns and source.reading.layout != "long" and not long


def _attempts_in(header: Sequence[str], known: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return the columns of attempts: one column per attempt, or successes and attempts."""
    several = counts_in(header) or tries_in(header, models=bool(known["model"]))
    if known["model"] or not several:
        return several
    rest = [name for name in header if name not in {*several, *KEYS}]
    return several if all(is_called(name, QUESTIONS) for name in rest) else ()


def _header_or_none(source: Source) -> list[str] | None:
    if source.shape in {"archive", "document"}:
        return None
    try:
        return _header(source) or None
    except (InputError, OSError):
        return None


def _places(header: Sequence[str], source: Source) -> dict[str, str]:
    """Map each role to its column in a file."""
    columns, path = source.reading.columns, source.path
    unknown = [name for name in columns if name not in KEYS]
    absent = [name for name in columns.values() if name not in header]
    if unknown or absent:
        what = (
            f"{parameter('columns')} has a key {unknown[0]!r}"
            if unknown
            else f"no column {absent[0]!r}"
        )
        msg = f"{path}: {what}; keys are {', '.join(KEYS)}, columns {', '.join(header[:12])}"
        raise LabelError(msg)
    taken = set(columns.values())
    usual = known_columns([name for name in header if name not in taken])
    usual["question"] = [one for one in ("question", "item") if one in header] or usual["question"]
    several = () if "score" in columns else _attempts_in(header, usual)
    if several and not usual["question"]:
        usual["question"] = [name for name in header if is_called(name, QUESTIONS)]
    one_model = source.reading.named or bool(several) or _is_of_one_model(header, usual, columns)
    found: dict[str, str] = {}
    for name in KEYS:
        choices = usual.get(name, [name] if name in header else [])
        if name == "task" and found.get("question") in choices:
            continue
        if name in columns or len(choices) == 1 or (choices and choices[0] == name):
            found[name] = columns.get(name) or choices[0]
        elif (name == "model" and not choices and one_model) or (name == "score" and several):
            continue
        elif name in NEEDED:
            option = parameter(
                "columns",
                python=f"columns={{{name!r}: 'COLUMN'}}",
                command=f"{{}} {name}=COLUMN",
            )
            own = parameter(
                "", python=f"psy.read_scores({{'NAME': {str(path)!r}}})", command=f"NAME={path}"
            )
            alone = f", or name the only model of the file: {own}" if name == "model" else ""
            msg = (
                f"{path}: which column holds the {name}? pass {option}{alone}; the columns are "
                f"{', '.join(map(repr, header[:12]))}"
            )
            raise LabelError(msg)
    return found


def _is_of_one_model(
    header: Sequence[str], usual: Mapping[str, Sequence[str]], columns: Mapping[str, str]
) -> bool:
    """Return whether only the model's column is missing; the file's name then labels the model."""
    known = {*KEYS, *columns.values(), *usual["question"], *usual["score"]}
    if not known.issuperset(header):
        return False  # another column may contain the models
    return all(name in columns or len(usual[name]) == 1 for name in ("question", "score"))


def read_table_log(source: Source) -> list[Run]:
    """Read a table with one row per score or per model."""
    header, reading = _header(source), source.reading
    if reading.layout in {"wide", "transposed"} or _is_wide(header, source) or not reading.labels:
        table = _wide(source)
        _check_sides(table, header, source)
        return _models(table, reading.score_map)
    found = _places(header, source)
    runs: dict[tuple[str, str], list[Sample]] = {}
    fingerprint = cache(digest)
    kept = [name for name in source.keep if name in header]
    several = () if "score" in found else _attempts_in(header, known_columns(header))
    counted = several == counts_in(header)
    for where, row in _rows(source, [*found.values(), *several, *kept]):
        cells = {name: row.get(column) for name, column in found.items()}
        cells.setdefault("model", source.path.name.partition(".")[0])
        for name in NEEDED[:2]:
            if _text(cells[name]) == "":
                msg = f"{where} has no {name}: every score needs one"
                raise LabelError(msg)
        key = (_text(cells["model"]), _text(cells.get("task")))
        try:
            scores = (
                _attempts(where, row, several, counted=counted) if several else [cells["score"]]
            )
            for one in scores:
                sample = _sample(where, {**cells, "score": one}, fingerprint, reading)
                runs.setdefault(key, []).append(replace(sample, about=source.about(row)))
        except CodeError as error:
            names = several if several and not counted else (found.get("score"),)
            raise _of_words(source, found, [one for one in names if one]) or error from error
    held = [one for own in runs.values() for each in own for one in each.scores.values()]
    values = np.array([[np.nan if one is None else one] for one in held], dtype=np.float64)
    named = (found.get("score", ", ".join(several)),)
    check_codes(values, named, reading.missing, str(source.path))
    return [
        Run(model=model, task=task, samples=tuple(samples))
        for (model, task), samples in runs.items()
    ]


def _wide(source: Source, layout: Layout | None = None) -> Table:
    """Read a wide table, without applying `score_map`."""
    reading = source.reading
    columns = Columns(
        words=reading.score_map,
        labels=reading.labels,
        missing=reading.missing if layout is None else Missing(()),
    )
    read = {"parquet": read_parquet, "lines": read_jsonl}.get(source.shape, read_csv)
    return read(source.path, layout=layout or reading.layout, columns=columns)


MANY = 10  # ratio of rows to columns above which the rows may be questions


def _check_sides(table: Table, header: Sequence[str], source: Source) -> None:
    """Warn if the rows of a file, which are read as models, are probably questions."""
    name, reading = header[label_column(header, None)], source.reading
    n, k = len(table.models), len(table.questions)
    if reading.layout != "auto" or n < MANY * k or is_called(name, MODELS):
        return
    pairs = {"question": name, "score": next(one for one in header if one != name)}
    remedy = (
        parameter("columns", pairs, command=f"{{}} {','.join(map('='.join, pairs.items()))}")
        if len(header) == 2
        else parameter("layout", "transposed")
    )
    warn(
        f"{source.path}: {n} rows are read as models and {k} "
        f"{'column' if k == 1 else 'columns'} as questions; if rows are questions, pass {remedy}"
    )


def _models(table: Table, score_map: Mapping[str, float]) -> list[Run]:
    """Convert a wide table to one run per model."""
    values = numbers(_mapped(table, score_map), words=SCORE_MAP)
    scores = [[None if one != one else one for one in row] for row in values.tolist()]
    labels = list(map(_text, table.questions))
    return [
        Run(
            model=_text(model),
            task="",
            samples=tuple(
                Sample(question=name, scores={"": one}, error="not scored" if one is None else "")
                for name, one in zip(labels, row, strict=True)
            ),
        )
        for model, row in zip(table.models, scores, strict=True)
    ]


def _mapped(table: Table, score_map: Mapping[str, float]) -> Table:
    if not score_map:
        return table
    cells = [[score_map.get(one, one) for one in row] for row in table.values.astype(object)]
    return replace(table, values=np.array(cells, dtype=object))


def _attempts(
    where: str, row: Mapping[str, Any], several: Sequence[str], *, counted: bool
) -> list[Any]:
    """Return the score of each attempt in a row."""
    if not counted:
        return [row.get(name) for name in several]
    given = [_number(row.get(name), f"{where}: {name}") for name in several]
    successes, trials = (0.0 if one is None else one for one in given)
    whole = successes % 1.0 == 0.0 == trials % 1.0
    if not whole or not 0.0 <= successes <= trials:
        msg = (
            f"{where}: {successes:g} {several[0]} of {trials:g} {several[1]}: counts must be "
            "whole, with at most as many successes as attempts"
        )
        raise CodeError(msg)
    if trials > MOST_TRIALS:
        msg = (
            f"{where}: more than {MOST_TRIALS:,} {several[1]}: pass the table to psy.attempts "
            f"with successes={several[0]!r} and trials={several[1]!r}"
        )
        raise CodeError(msg)
    return [1.0] * int(successes) + [0.0] * int(trials - successes)


def _of_words(
    source: Source, found: Mapping[str, str], columns: Sequence[str]
) -> CodeError | None:
    """Return the error to raise if scores are words that `score_map` lacks."""
    reading = source.reading
    words: dict[str, tuple[str, str]] = {}
    rows = _rows(source, [*found.values(), *columns])
    for where, row, column in ((*one, name) for one in rows for name in columns):
        value = row.get(column)
        said = reading.missing.holds(value) or _text(row.get(found.get("error", "")))
        if said or not isinstance(value, str) or value.strip() in reading.score_map:
            continue
        if isinstance(meanings([value])[0], str):
            words.setdefault(value, (where, column))
    if not words:
        return None
    first, (where, column) = next(iter(words.items()))
    msg = f"{where}, column {column!r} holds {first!r}, which is not a number: "
    return CodeError(msg + word_advice(words, SCORE_MAP))


def _sample(
    where: str, cells: Mapping[str, Any], fingerprint: Callable[[str], str], reading: Reading
) -> Sample:
    error = _text(cells.get("error"))
    score = None if error else _score(cells["score"], f"{where}: score", reading)
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
    if value is None or value != value:  # true for NaN
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()


def _score(value: Any, what: str, reading: Reading) -> float | None:
    if reading.missing.holds(value):
        return None
    if isinstance(value, str):
        return _number(reading.score_map.get(value.strip(), value), what)
    return _number(value, what)


def _number(value: Any, what: str) -> float | None:
    if not isinstance(value, str):
        return as_score(value)
    found = meanings([value])[0]
    if isinstance(found, str):
        msg = f"{what} holds {value!r}, which is not a number"
        raise CodeError(msg)
    return as_score(float(found))


def _header(source: Source) -> list[str]:
    if source.shape == "parquet":
        with source.parquet() as file:
            return list(file.schema_arrow.names)
    if source.shape == "lines":
        names = (name for _, row in source.lines() for name in row)
        return list(dict.fromkeys(names))
    header = header_of(source.path)
    if len(set(header)) < len(header):
        msg = f"{source.path}, line 1: a column occurs twice: rename one"
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
            # Store repeated texts once: they may be long although the file compresses them.
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
