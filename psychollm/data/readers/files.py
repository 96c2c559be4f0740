"""Functions that read files as `Responses`, as numbers, as words, or as labelled values."""

import csv
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.checks import check_choice, check_positive
from psychollm._base.convert import conversion
from psychollm._base.csv_text import delimiter_of
from psychollm._base.errors import CodeError, InputError, LabelError, OptionError
from psychollm._base.types import FloatArray
from psychollm._base.wording import parameter
from psychollm.data.confidence import Threshold
from psychollm.data.labels import Table, listed
from psychollm.data.long import (
    Columns,
    Duplicates,
    Layout,
    SparseLong,
    choice_columns,
    is_long,
    known_columns,
    spread_frame,
)
from psychollm.data.missing_codes import Missing, MissingValues, check_codes
from psychollm.data.readers.csv_file import opened, read_csv
from psychollm.data.readers.jsonl_file import read_jsonl
from psychollm.data.readers.parquet_file import read_parquet
from psychollm.data.readers.wide import RepeatedLabelError
from psychollm.data.responses import Responses
from psychollm.data.table import encode, known_values, numbers

if TYPE_CHECKING:
    import pandas as pd


READERS: dict[str, Callable[..., Table]] = {
    ".csv": read_csv,
    ".csv.gz": read_csv,
    ".tsv": read_csv,
    ".tsv.gz": read_csv,
    ".jsonl": read_jsonl,
    ".jsonl.gz": read_jsonl,
    ".parquet": read_parquet,
}


def read_responses(
    path: str | PathLike[str],
    *,
    layout: Layout = "auto",
    model: str | None = None,
    question: str | Sequence[str] | None = None,
    value: str | None = None,
    duplicates: Duplicates = "error",
    codes: Mapping[Any, int] | None = None,
    missing_values: MissingValues = None,
    labels: bool = True,
    threshold: Threshold | None = None,
    strict: bool = True,
) -> Responses:
    """Read a table of responses from a file.

    Parameters
    ----------
    path : path
        File with the suffix ``.csv``, ``.tsv`` or ``.jsonl`` (optionally with ``.gz``), or
        ``.parquet``. Columns are separated by commas, semicolons or tabs. With semicolons or tabs,
        numbers may have a decimal comma. For other formats, pass a pandas DataFrame to
        `Responses`.
    layout : {"auto", "wide", "long", "transposed"}
        A "wide" file has a line per model and the labels of the questions in the header, a
        "transposed" file has a line per question, and a "long" file has a line per answer. With
        "auto", a file is long if `question` or `value` is given, or if the header has recognised
        names ("model", "llm", "person", ...; "question", "item", ...; "score", "value", "correct",
        "response", ...). A file that is not in long format is read as transposed, with a warning,
        if its first column has a recognised name for questions. Files that are neither long nor
        transposed are read as wide.
    model : str, optional
        Column with the labels of the models, by default the first column of a wide file, or the
        column with a recognised name in a long file.
    question : str or sequence of str, optional
        Columns of a long file that identify the question; by default the column with a recognised
        name.
    value : str, optional
        Column of a long file with the answers; by default the column with a recognised name, or
        the only remaining column.
    duplicates : {"error", "first", "last"}
        How to treat repeated answers to a question in a long file.
    codes : mapping, optional
        Codes of the words in the file, such as ``{"yes": 1, "no": 0}``.
    missing_values : iterable, optional
        Values that represent a missing answer, such as ``[-99, ".", "#NULL!"]``. By default,
        values that look like missing codes raise an error; ``()`` accepts all values as answers.
    labels : bool
        Whether a column of a wide file contains the row labels. If the first column looks like
        answers, rows are labelled by number, with a warning.
    threshold : float, {"model_median", "model_mean", "model_balanced"}, mapping or array, optional
        Threshold that splits reported confidence into yes and no: one threshold for all models, a
        rule, or one threshold per model.
    strict : bool
        Whether yes means ``value > threshold`` (default) or ``value >= threshold``.

    Returns
    -------
    Responses
        Table of responses. Empty cells, NA, NaN, None and null are missing; True and False are 1
        and 0. A long table is kept sparse if a dense table would take more than 1 GB and less than
        a third of its cells would be filled.

    Raises
    ------
    InputError
        If the file does not exist or cannot be read; messages name file, line and column.

    Examples
    --------
    >>> import pandas as pd
    >>> path = getfixture("tmp_path") / "a.csv"
    >>> long = pd.DataFrame({"model": ["m"] * 3, "item": [1, 2, 3], "sure": [80, None, 30]})
    >>> long.to_csv(path, index=False)
    >>> read_responses(path, threshold=50).values
    array([[ 1., nan,  0.]])
    """
    if codes is not None and threshold is not None:
        msg = (
            f"{parameter('codes')} (which maps words) and {parameter('threshold')} (which splits "
            "numbers) exclude each other"
        )
        raise OptionError(msg)
    columns = Columns(
        model, question, value, duplicates, codes or (), may_be_sparse=True, labels=labels,
        missing=Missing(missing_values),
    )  # fmt: skip
    try:
        table = _labelled(path, layout, columns)
    except SparseLong as long:
        rule: Any = threshold  # the threshold of a sparse table must be a number
        return Responses.from_long(long.frame, codes=codes, threshold=rule, strict=strict)
    return Responses(table, codes=codes, threshold=threshold, strict=strict)


def read_table(
    path: str | PathLike[str],
    *,
    layout: Layout = "auto",
    model: str | None = None,
    question: str | Sequence[str] | None = None,
    value: str | None = None,
    duplicates: Duplicates = "error",
    codes: Mapping[Any, int] | None = None,
    missing_values: MissingValues = None,
    labels: bool = True,
    scale: float | None = None,
) -> "pd.DataFrame":
    """Read a table of numbers by model and question.

    Parameters
    ----------
    path : path
        File with the suffix ``.csv``, ``.tsv`` or ``.jsonl`` (optionally with ``.gz``), or
        ``.parquet``. Columns are separated by commas, semicolons or tabs. With semicolons or tabs,
        numbers may have a decimal comma. For other formats, pass a pandas DataFrame to
        `Responses`.
    layout : {"auto", "wide", "long", "transposed"}
        A "wide" file has a line per model and the labels of the questions in the header, a
        "transposed" file has a line per question, and a "long" file has a line per answer. With
        "auto", a file is long if `question` or `value` is given, or if the header has recognised
        names ("model", "llm", "person", ...; "question", "item", ...; "score", "value", "correct",
        "response", ...). A file that is not in long format is read as transposed, with a warning,
        if its first column has a recognised name for questions. Files that are neither long nor
        transposed are read as wide.
    model : str, optional
        Column with the labels of the models, by default the first column of a wide file, or the
        column with a recognised name in a long file.
    question : str or sequence of str, optional
        Columns of a long file that identify the question; by default the column with a recognised
        name.
    value : str, optional
        Column of a long file with the answers; by default the column with a recognised name, or
        the only remaining column.
    duplicates : {"error", "first", "last"}
        How to treat repeated answers to a question in a long file.
    codes : mapping, optional
        Values of the words in the file, such as ``{"right": 1, "wrong": 0}``.
    missing_values : iterable, optional
        Values that represent a missing answer, such as ``[-99, ".", "#NULL!"]``. By default,
        values that look like missing codes raise an error; ``()`` accepts all values as answers.
    labels : bool
        Whether a column of a wide file contains the row labels. If the first column looks like
        answers, rows are labelled by number, with a warning.
    scale : float, optional
        Largest possible value of the scale, such as 100 for percentages. Values are divided by the
        largest possible value.

    Returns
    -------
    DataFrame
        Models in rows, questions in columns; empty cells and NA, NaN, None and null are NaN.

    Raises
    ------
    InputError
        If the file does not exist or cannot be read; messages name file, line and column.
    CodeError
        If a cell is not a number, or is outside the scale.
    OptionError
        If `scale` is not positive, or if both `scale` and `codes` are given.

    Examples
    --------
    >>> import pandas as pd
    >>> path = getfixture("tmp_path") / "a.csv"
    >>> long = pd.DataFrame({"model": ["m"] * 3, "item": [1, 2, 3], "sure": [80, None, 30]})
    >>> long.to_csv(path, index=False)
    >>> read_table(path, scale=100).to_numpy()
    array([[0.8, nan, 0.3]])
    """
    import pandas as pd

    if codes is not None and scale is not None:
        msg = (
            f"{parameter('codes')} (which maps words) and {parameter('scale')} (which divides "
            "numbers) exclude each other"
        )
        raise OptionError(msg)
    columns = Columns(
        model, question, value, duplicates, codes or (), labels=labels,
        missing=Missing(missing_values),
    )  # fmt: skip
    table = _labelled(path, layout, columns)
    if codes is None:
        values = _scaled(table, fspath(path), scale)
    else:
        meanings, missing = encode(table, codes=codes, argument=fspath(path))
        values = np.where(missing, np.nan, meanings.astype(np.float64))
    return pd.DataFrame(
        values,
        index=pd.Index(table.models, name="model", tupleize_cols=False),
        columns=pd.Index(table.questions, name="question", tupleize_cols=False),
    )


def _scaled(table: Table, argument: str, scale: float | None) -> FloatArray:
    values = numbers(table, argument=argument)
    if scale is None:
        return values
    scale = check_positive("scale", scale, ", such as 100")
    given = parameter("scale", python=f"scale={scale:g}", command=f"{{}} {scale:g}")
    top = np.nanmax(values, initial=0.0)
    if scale >= 10 and 0.0 < top <= 1.0:
        msg = (
            f"{argument}: no value is above {top:g}, so that {given} would make all of "
            f"them at most {top / scale:g}: leave scale out if they run from 0 to 1, or divide "
            f"them by {scale:g} yourself"
        )
        raise CodeError(msg)
    with np.errstate(invalid="ignore"):
        beyond = (values < 0.0) | (values > scale)
    if beyond.any():
        row, column = (int(place) for place in np.argwhere(beyond)[0])
        msg = (
            f"{table.place(row, column)} holds {values[row, column]:g}, which is not between 0 "
            f"and {given}"
        )
        raise CodeError(msg)
    return np.asarray(values / scale, dtype=np.float64)


def read_clusters(
    path: str | PathLike[str],
    *,
    column: str | None = None,
    model: str | None = None,
    question: str | Sequence[str] | None = None,
) -> "pd.Series[Any]":
    """Read the cluster of each question.

    Parameters
    ----------
    path : path
        Long file of answers, or a list with the label and the cluster of one question per line.
    column : str, optional
        Column of a long file with the cluster; if omitted, the file is read as a list.
    model : str, optional
        Column of a long file with the labels of the models; by default detected from the header.
    question : str or sequence of str, optional
        Columns of a long file that identify the question; by default detected from the header.

    Returns
    -------
    Series
        Cluster of each question, indexed by its label.

    Raises
    ------
    InputError
        If the file does not exist or cannot be read.
    LabelError
        If a column does not exist, or if a question has two clusters.

    Examples
    --------
    >>> import pandas as pd
    >>> path = getfixture("tmp_path") / "list.csv"
    >>> pd.DataFrame({"question": ["q1", "q2"], "text": ["a", "a"]}).to_csv(path, index=False)
    >>> read_clusters(path).to_dict()
    {'q1': 'a', 'q2': 'a'}
    """
    if column is not None:
        columns = Columns(model, question, column, "first", missing=Missing(()))
        return _of_answers(Path(path), _labelled(path, "long", columns))
    try:
        table = _labelled(path, "wide", Columns(missing=Missing(())))
    except RepeatedLabelError as error:
        msg = (
            f"{error.text.marked.replace(': model ', ': label ').removesuffix(': rename it')}, "
            "but such a list has one line per label, with the label and its value"
            + parameter(
                "",
                python="; for a file with a line per answer, pass column=, the column of clusters",
                command="; from a table with a line per answer, write such a list",
            )
        )
        raise LabelError(msg) from error
    return _of_list(Path(path), table)


def read_words(
    path: str | PathLike[str],
    *,
    layout: Layout = "auto",
    model: str | None = None,
    question: str | Sequence[str] | None = None,
    value: str | None = None,
    duplicates: Duplicates = "error",
    missing_values: tuple[str, ...] = (),
) -> "pd.DataFrame":
    r"""Read a CSV file of words, such as the options that models chose.

    Parameters
    ----------
    path : path
        File with one label and its words on each line, or a long file with a line per answer.
        "NA" is a word, whereas empty cells are missing.
    layout : {"auto", "wide", "long", "transposed"}
        Layout of the file; "long" means that the file has a line per answer. With "auto", a file
        is long if `question` or `value` is given, or if the header has recognised names of models,
        questions and answers. In wide and transposed files, the first column contains the labels
        of the rows.
    model : str, optional
        Column of a long file with the labels of the models; by default detected from the header.
    question : str or sequence of str, optional
        Columns of a long file that identify the question; by default detected from the header.
    value : str, optional
        Column of a long file with the words; by default detected from the header.
    duplicates : {"error", "first", "last"}
        Treatment of a second answer of a model to a question in a long file.
    missing_values : tuple of str
        Words that represent a missing cell.

    Returns
    -------
    DataFrame
        Words, with one row per label. For a long file, the table has one row per question and one
        column per model.

    Raises
    ------
    InputError
        If the file cannot be read, or has no second column.
    LabelError
        If a label or an answer occurs twice, or if a column does not exist.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "choices.csv"
    >>> _ = path.write_text("question,m1\nq1,NA\nq2,\n")
    >>> read_words(path)["m1"].isna().tolist()
    [False, True]
    >>> _ = path.write_text("model,question,answer\nm1,q1,B\nm2,q1,A\n")
    >>> read_words(path).loc["q1"].tolist()
    ['B', 'A']
    """
    import pandas as pd

    path = Path(path)
    check_choice("layout", layout, Layout)
    columns = Columns(model, question, value, duplicates)
    try:
        with opened(path) as file:
            line = file.readline()
            mark = delimiter_of(line)
            header = next(csv.reader([line], delimiter=mark), [])
            chosen = choice_columns(header)
            if value is None and layout in {"auto", "long"} and _names_both(header, columns):
                # A long table may also contain scores, which are no words.
                columns = replace(columns, value=chosen[0] if len(chosen) == 1 else None)
            long = len(header) > 2 and is_long(layout, header, columns)
            file.seek(0)
            frame = pd.read_csv(
                file, sep=mark, index_col=None if long else 0, dtype=str, keep_default_na=False
            )
    except (OSError, ValueError, EOFError, zlib.error) as error:  # pandas raises ValueErrors
        why = getattr(error, "strerror", None) or error
        msg = f"{path} cannot be read as a CSV file: {why}"
        raise InputError(msg) from error
    if long:
        table = spread_frame(frame, columns, argument=fspath(path))
        frame = pd.DataFrame(table.values.T, index=table.questions, columns=table.models)
    frame.index = frame.index.astype(str)
    twice = frame.index[frame.index.duplicated()]
    if len(twice):
        given = parameter("layout", python="layout='long'", command="{} long")
        msg = (
            f"{path}: label {twice[0]!r} occurs twice in the first column: keep one line, or pass "
            f"{given} if each line is an answer"
        )
        raise LabelError(msg)
    if frame.empty:
        msg = f"{path} has no second column: each line needs a label and a word"
        raise InputError(msg)
    return frame.replace(["", *missing_values], pd.NA)


def _names_both(header: Sequence[str], columns: Columns) -> bool:
    """Return whether a table has columns of models and of questions, as named or detected."""
    known = known_columns(header)
    return bool((columns.model or known["model"]) and (columns.question or known["question"]))


def read_labels(
    path: str | PathLike[str],
    *,
    column: str | None = None,
    model: str | None = None,
    question: str | Sequence[str] | None = None,
) -> dict[str, str]:
    r"""Read a CSV file with one label and one word per line, such as questions and their keys.

    Parameters
    ----------
    path : path
        CSV file, plain or gzipped, with labels in the first column and words in the second;
        further columns are not used. Columns are separated by commas, semicolons or tabs.
    column : str, optional
        Column of the words, such as the keys in a table of answers; by default the second column.
    model, question : str, optional
        Columns of a file with a row per answer, by default detected from the header. All answers
        to a question must have the same word.

    Returns
    -------
    dict
        Mapping of each label to its word.

    Raises
    ------
    InputError
        If the file cannot be read, or has no second column.
    LabelError
        If a label occurs twice, if a column does not exist, or if a question has several words.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "key.csv"
    >>> _ = path.write_text("question,key\nq1,NA\nq2,B\n")
    >>> read_labels(path)
    {'q1': 'NA', 'q2': 'B'}
    """
    if column is None:
        first = read_words(path).iloc[:, 0]
        return dict(zip(first.index, first, strict=True))
    columns = Columns(model, question, column)
    with opened(Path(path)) as file:
        line = file.readline()
        header = next(csv.reader([line], delimiter=delimiter_of(line)), [])
    if _names_both(header, columns):
        table = read_words(path, layout="long", model=model, question=question, value=column)
        words = table.astype(object).where(table.notna(), None).to_numpy()
        found = Table(words.T, tuple(table.columns), tuple(table.index))
        keys = _of_answers(Path(path), found, f"values in column {column!r}")
        return {str(label): word for label, word in keys.items()}
    table = read_words(path)
    if column not in table:
        msg = f"{path} has no column {column!r}: its columns are {listed(header)}"
        raise LabelError(msg)
    return dict(zip(table.index, table[column], strict=True))


def _of_list(file: Path, table: Table) -> "pd.Series[Any]":
    """Return the clusters in a list, read as a wide table with one column."""
    import pandas as pd

    if len(table.questions) != 1:
        msg = (
            f"{file} has the columns {listed(table.questions)} after its first, but two columns "
            "are needed: a label, such as that of a question, and one value. Keep the first "
            "column and one other, and write the rest to a file of their own"
        )
        raise LabelError(msg)
    return pd.Series(
        table.values[:, 0], index=pd.Index(table.models, tupleize_cols=False), name="cluster"
    )


def _of_answers(file: Path, table: Table, what: str = "clusters") -> "pd.Series[Any]":
    """Return the cluster, or another value, common to all answers to a question."""
    import pandas as pd

    found = {}
    for question, column in zip(table.questions, table.values.T, strict=True):
        named = list(dict.fromkeys(value for value in column.tolist() if not pd.isna(value)))
        if len(named) > 1:
            msg = f"{file}: question {question!r} has several {what}, {listed(named)}: keep one"
            raise LabelError(msg)
        found[question] = named[0] if named else None
    return pd.Series(
        list(found.values()), index=pd.Index(list(found), tupleize_cols=False), name="cluster"
    )


_PANDAS = parameter(
    "",
    python="; read it with pandas and pass the frame to Responses",
    command=": write the table as one of these",
)


def _labelled(path: str | PathLike[str], layout: Layout, columns: Columns) -> Table:
    """Return the labelled table in a file, using the reader for its suffix."""
    check_choice("layout", layout, Layout)
    file = Path(path)
    ending = next((end for end in READERS if file.name.lower().endswith(end)), None)
    if file.is_dir() or file.suffix.lower() == ".eval":
        msg = (
            f"{file} holds logs, but a table is needed: convert it by "
            f"'psychollm import {file} --out right.csv', or by read_logs"
        )
        raise InputError(msg)
    if not file.is_file():
        msg = f"{file}: no such file"
        raise InputError(msg)
    if ending is None:
        remedy = conversion(file)
        rest = f"; {remedy}" if remedy else _PANDAS
        msg = f"{file}: supported formats are {', '.join(READERS)}{rest}"
        raise InputError(msg)
    table = READERS[ending](file, layout=layout, columns=columns)
    if not columns.words:
        check_codes(known_values(table.values), table.questions, columns.missing, table.place)
    return table
