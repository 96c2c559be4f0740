"""Tables as CSV text in which formulas are escaped for spreadsheets.

Spreadsheets run text that begins with ``=``, ``+``, ``-`` or ``@`` as a formula. As OWASP advises,
an apostrophe is put before text that a spreadsheet would run as a formula, but not before numbers.

References
----------
OWASP. CSV injection. https://owasp.org/www-community/attacks/CSV_Injection
"""

import csv
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psychollm._base.errors import InputError
from psychollm._base.optional import require

if TYPE_CHECKING:
    import pandas as pd

_FORMULA = re.compile(r"\s*[=+\-@]|[\t\r]")
_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*|\s*-\s*|\s*[+-]?(inf|nan)\s*")


def guarded(value: Any) -> Any:
    """Return the text of a cell, escaped so that spreadsheets do not run it as a formula."""
    if not isinstance(value, str) or not _FORMULA.match(value) or _NUMBER.fullmatch(value):
        return value
    return f"'{value}"


def write_csv(frame: "pd.DataFrame", path: Path) -> None:
    """Write a table without its index, with formulas escaped."""
    import pandas as pd

    cells = {
        position: column if column.dtype.kind in "biufcmM" else column.astype(object).map(guarded)
        for position, (_, column) in enumerate(frame.items())
    }
    safe = pd.DataFrame(cells, index=frame.index)
    safe.columns = pd.Index([guarded(name) for name in frame.columns], tupleize_cols=False)
    safe.to_csv(path, index=False)


def check_table_name(path: Path) -> None:
    """Raise an error if a file's format is unknown or the required package is not installed."""
    if path.suffix not in {".csv", ".parquet"}:
        msg = f"{path}: name it .csv or .parquet"
        raise InputError(msg)
    if path.suffix == ".parquet":
        require("pyarrow", extra="io", purpose="writing Parquet files")


def write_table(frame: "pd.DataFrame", path: Path) -> None:
    """Write a table without its index, in the format given by the suffix of the path."""
    check_table_name(path)
    try:
        if path.suffix == ".csv":
            write_csv(frame, path)
        else:
            frame.rename(columns=str).to_parquet(path, index=False)
    except OSError as error:
        msg = f"{path} cannot be written: {error.strerror}"
        raise InputError(msg) from error


def encoding_of(first: bytes) -> str:
    """Return the encoding that a byte-order mark declares, or UTF-8 if the text has none.

    Examples
    --------
    >>> encoding_of("model".encode("utf-16")), encoding_of(b"model")
    ('utf-16', 'utf-8-sig')
    """
    return "utf-16" if first[:2] in (BOM_UTF16_LE, BOM_UTF16_BE) else "utf-8-sig"


def delimiter_of(header: str) -> str:
    r"""Return the column separator of a text table: a comma, semicolon or tab.

    Examples
    --------
    >>> delimiter_of("model;q1;q2"), delimiter_of("model\tq1"), delimiter_of('"a;b;c",d')
    (';', '\t', ',')
    """
    # In a tie, `max` returns the comma. Semicolons and tabs may also occur in quoted cells.
    return max(",;\t", key=lambda mark: len(next(csv.reader([header], delimiter=mark), [])))
