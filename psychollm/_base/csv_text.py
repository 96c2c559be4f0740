"""Tables as CSV that a spreadsheet opens without running what stands in them.

Text that begins with ``=``, ``+``, ``-`` or ``@`` is a formula to a spreadsheet: it gets an
apostrophe before it, as OWASP advises. Numbers stay numbers.

References
----------
OWASP. CSV injection. https://owasp.org/www-community/attacks/CSV_Injection
"""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

_FORMULA = re.compile(r"\s*[=+\-@]|[\t\r]")
_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*|\s*-\s*|\s*[+-]?(inf|nan)\s*")


def guarded(value: Any) -> Any:
    """Return a cell that no spreadsheet takes for a formula."""
    if not isinstance(value, str) or not _FORMULA.match(value) or _NUMBER.fullmatch(value):
        return value
    return f"'{value}"


def write_csv(frame: "pd.DataFrame", path: Path) -> None:
    """Write a table without its index, its text guarded."""
    import pandas as pd

    cells = {
        place: column if column.dtype.kind in "biufcmM" else column.astype(object).map(guarded)
        for place, (_, column) in enumerate(frame.items())
    }
    safe = pd.DataFrame(cells, index=frame.index)
    safe.columns = pd.Index([guarded(name) for name in frame.columns], tupleize_cols=False)
    safe.to_csv(path, index=False)
