"""CSV files whose cells are words: options that models chose, and what belongs to a label."""

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from psychollm._base.csv_text import encoding_of
from psychollm._base.errors import InputError, LabelError

if TYPE_CHECKING:
    import pandas as pd


def read_words(
    path: str | PathLike[str], *, missing_values: tuple[str, ...] = ()
) -> "pd.DataFrame":
    r"""Read a CSV file whose cells are words, by the labels in its first column.

    Parameters
    ----------
    path : path
        A label and what belongs to it per line; "NA" is a word, an empty cell is missing.
    missing_values : tuple of str
        Words that stand for a missing cell.

    Returns
    -------
    DataFrame
        A row per label.

    Raises
    ------
    InputError
        If the file cannot be read, or holds no second column.
    LabelError
        If a label occurs twice.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "choices.csv"
    >>> _ = path.write_text("question,m1\nq1,NA\nq2,\n")
    >>> read_words(path)["m1"].isna().tolist()
    [False, True]
    """
    import pandas as pd

    path = Path(path)
    try:
        with path.open("rb") as file:
            coded = encoding_of(file.read(2))
        frame = pd.read_csv(path, index_col=0, dtype=str, keep_default_na=False, encoding=coded)
    except (OSError, ValueError) as error:  # pandas' own errors are ValueErrors
        why = getattr(error, "strerror", None) or error
        msg = f"{path} cannot be read as a CSV file: {why}"
        raise InputError(msg) from error
    frame.index = frame.index.astype(str)
    twice = frame.index[frame.index.duplicated()]
    if len(twice):
        msg = f"{path}: {twice[0]!r} stands in the first column twice: keep one line of it"
        raise LabelError(msg)
    if frame.empty:
        msg = f"{path} holds no second column: a label and what belongs to it per line"
        raise InputError(msg)
    return frame.replace(["", *missing_values], pd.NA)


def read_labels(path: str | PathLike[str]) -> dict[str, str]:
    r"""Read a CSV file with a label and a word per line, such as questions and their keys.

    Parameters
    ----------
    path : path
        As in `read_words`; the second column counts.

    Returns
    -------
    dict
        The word of each label.

    Raises
    ------
    InputError, LabelError
        As `read_words` does.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "key.csv"
    >>> _ = path.write_text("question,key\nq1,NA\nq2,B\n")
    >>> read_labels(path)
    {'q1': 'NA', 'q2': 'B'}
    """
    first = read_words(path).iloc[:, 0]
    return dict(zip(first.index, first, strict=True))
