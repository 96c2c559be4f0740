"""Errors of a store, whose messages name a remedy."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from psychollm._base.errors import PsychollmError
from psychollm._base.names import shortened

_REMEDIES = {
    "SQLITE_BUSY": "is locked by another process: wait until it is done, or end it",
    "SQLITE_LOCKED": "is locked by another process: wait until it is done, or end it",
    "SQLITE_FULL": "cannot grow, its disk is full: free some space and run the same command "
    "again; all stored replies are kept",
    "SQLITE_IOERR": "cannot be written or read (disk error): all committed replies are "
    "kept; check the disk and run the same command again",
    "SQLITE_READONLY": "is read-only: change its permissions, or copy it",
    "SQLITE_CANTOPEN": "cannot be opened: check that its folder exists and is writable",
    "SQLITE_NOTADB": "is not a psychollm store: name another file",
    "SQLITE_CORRUPT": "is damaged: recover it with `sqlite3 FILE .recover`, or use a copy",
}


class StoreError(PsychollmError):
    """Error for a store that cannot be opened, read or written.

    Examples
    --------
    >>> from psychollm.collect.store import Store
    >>> Store(Path("no such run.sqlite"), create=False)
    Traceback (most recent call last):
    psychollm.collect.errors.StoreError: no such run.sqlite does not exist: name the store of a run
    """


@contextmanager
def clear_errors(path: Path | str) -> Iterator[None]:
    """Convert SQLite errors to a `StoreError` that names the store and a remedy."""
    try:
        yield
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "") or ""
        family = "_".join(name.split("_")[:2])
        msg = f"{path} {_REMEDIES.get(family, f'fails: {error} ({name})')}"
        raise StoreError(msg) from error


def check_path(path: Path) -> None:
    """Raise `StoreError` if no file can have this path."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        msg = f"{shortened(path)!r} cannot be a store: {why}"
        raise StoreError(msg) from error
