"""Files to `Responses`: one reader per format, one door."""

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from psychollm._base.checks import check_choice
from psychollm._base.errors import OptionError
from psychollm.data.confidence import Threshold
from psychollm.data.long import Duplicates
from psychollm.data.readers.formats import reader_of
from psychollm.data.readers.layout import Columns, Layout
from psychollm.data.readers.number_file import read_clusters, read_table
from psychollm.data.responses import Responses

__all__ = ["read_clusters", "read_responses", "read_table"]


def read_responses(
    path: str | PathLike[str],
    *,
    layout: Layout = "auto",
    model: str | None = None,
    question: str | Sequence[str] | None = None,
    value: str | None = None,
    duplicates: Duplicates = "error",
    codes: Mapping[Any, int] | None = None,
    threshold: Threshold | None = None,
    strict: bool = True,
) -> Responses:
    """Read a table of responses from a file.

    Parameters
    ----------
    path : path
        ``.csv``, ``.csv.gz`` or ``.parquet``; read other formats with pandas and pass the frame
        to `Responses.from_frame` or `Responses.from_long`.
    layout : {"auto", "wide", "long"}
        Wide: a line per model, the labels of the questions in the header. Long: a line per
        answer. "auto" means long if `question` or `value` is given or the header holds "model"
        and "question" (or "item"), wide otherwise.
    model : str, optional
        Column with the labels of the models; by default the first column of a wide file and
        "model" in a long one.
    question : str or sequence of str, optional
        Columns of a long file that identify the question; by default "question" or "item".
    value : str, optional
        Column of a long file that holds the answers; by default "value", or the only one left.
    duplicates : {"error", "first", "last"}
        What to do in a long file when a model answers a question twice.
    codes : mapping, optional
        What each word of the file means, such as ``{"yes": 1, "no": 0}``.
    threshold, strict : optional
        If given, the values are stated confidences, split as in `Responses.from_confidence`.

    Returns
    -------
    Responses
        Empty cells and NA, NaN, None and null are missing; True and False are 1 and 0.

    Raises
    ------
    InputError
        If the file does not exist or cannot be read. Messages name file, line and column.

    Examples
    --------
    >>> import pandas as pd
    >>> path = getfixture("tmp_path") / "a.csv"
    >>> long = pd.DataFrame({"model": ["m"] * 3, "item": [1, 2, 3], "sure": [80, None, 30]})
    >>> long.to_csv(path, index=False)
    >>> read_responses(path, threshold=50).values
    array([[ 1., nan,  0.]])
    """
    check_choice("layout", layout, Layout)
    if codes is not None and threshold is not None:
        msg = "codes= (what words mean) and threshold= (where to split numbers) exclude each other"
        raise OptionError(msg)
    file = Path(path)
    reader = reader_of(file)
    columns = Columns(
        model=model,
        question=question,
        value=value,
        duplicates=duplicates,
        words=frozenset(codes or ()),
    )
    table = reader(file, layout=layout, columns=columns)
    return Responses.from_table(table, codes=codes, threshold=threshold, strict=strict)
