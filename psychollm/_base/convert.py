"""Commands that convert files of other formats to a table that psychollm can read."""

import shlex
from pathlib import Path

# Maps a suffix to the pandas function that reads the format, and to the package that this function
# needs.
_OTHERS = {
    ".xlsx": ("read_excel", "openpyxl"),
    ".xls": ("read_excel", "xlrd"),
    ".ods": ("read_excel", "odfpy"),
    ".json": ("read_json", ""),
    ".feather": ("read_feather", "pyarrow"),
    ".arrow": ("read_feather", "pyarrow"),
    ".sav": ("read_spss", "pyreadstat"),
    ".dta": ("read_stata", ""),
}
WORKBOOKS = (".xlsx", ".xls", ".ods")


def conversion(path: Path) -> str:
    """Return advice on converting a file of another format; "" if the format is unknown.

    Examples
    --------
    >>> print(conversion(Path("a.dta"))[:60])
    convert it: python -c "import pandas as pd; pd.read_stata('a
    """
    reader, package = _OTHERS.get(path.suffix.lower(), ("", ""))
    if not reader:
        return ""
    names = str(path), str(path.with_suffix(".csv"))
    code = "import pandas as pd; pd.{}({!r}).to_csv({!r}, index=False)".format(reader, *names)
    typed = f'"{code}"' if not set(code) & set('"$`\\!') else shlex.quote(code)
    needs = f" (pip install {package})" if package else ""
    return f"convert it: python -c {typed}{needs}"
