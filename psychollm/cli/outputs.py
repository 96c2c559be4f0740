"""What a command leaves behind: tables, one file for machines, a report, words on the screen."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.csv_text import write_csv
from psychollm._base.errors import InputError
from psychollm._base.optional import require

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What a command found, for people, for machines, and as tables."""

    summary: str
    results: Mapping[str, Any]
    tables: "Mapping[str, pd.DataFrame]"  # by the names of their files
    remark: str = ""  # on what takes no part
    write_report: Callable[[Path], object] | None = None

    def write(self, folder: Path | None, *, report: bool) -> None:
        """Write all files."""
        if folder is None:
            return
        with writing(f"--out {folder}"):
            for name, table in self.tables.items():
                write_csv(table, folder / f"{name}.csv")
            text = as_json(self.results) + "\n"
            (folder / "results.json").write_text(text, encoding="utf-8")
            if report and self.write_report is not None:
                self.write_report(folder / "report.html")

    def tell(self, folder: Path | None, *, report: bool, json: bool, quiet: bool) -> None:
        """Say on the screen what was found and where it is."""
        if json:
            print(as_json(self.results))
        elif not quiet:
            print(*filter(None, (self.remark, self.summary)), sep="\n")
            if folder is not None:
                page = report and self.write_report is not None
                print(f"\nReport: {folder / 'report.html'}" if page else "")
                print(f"Tables: {folder}")


@contextmanager
def writing(what: str) -> Iterator[None]:
    """Say in one line what cannot be written."""
    try:
        yield
    except OSError as error:
        msg = f"{what} cannot be written: {error.strerror}"
        raise InputError(msg) from error


def prepared(folder: Path | None, *, report: bool) -> Path | None:
    """Make the folder, and see that what the report needs is installed."""
    if folder is None:
        return None
    if report:
        for module in ("matplotlib", "jinja2"):
            require(module, extra="plot", purpose="the report (or pass --no-report)")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        msg = f"--out {folder}: the folder cannot be made ({error.strerror})"
        raise InputError(msg) from error
    return folder


def as_json(results: Mapping[str, Any]) -> str:
    """Return plain data as JSON; what is undefined is null."""
    return json.dumps(_plain(results), indent=2, ensure_ascii=False, allow_nan=False)


def records(frame: "pd.DataFrame") -> list[Mapping[Any, Any]]:
    """Return a table as one mapping per row."""
    return frame.to_dict(orient="records")  # type: ignore[return-value]


def _plain(value: Any) -> Any:
    """Turn arrays into lists and what is not finite into None."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | None) else str(value)
