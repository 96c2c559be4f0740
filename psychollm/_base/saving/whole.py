"""Atomic replacement of files: after an interruption, the old file is unchanged."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO
from uuid import uuid4


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file for writing; when complete, the file replaces `path`.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with whole_file(Path(folder) / "state") as file:
    ...         _ = file.write(b"all of it")
    ...     [one.name for one in Path(folder).iterdir()]
    ['state']
    """
    part = path.with_name(f".{path.name}.{uuid4().hex[:12]}.part")
    try:
        with part.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)  # noqa: PTH105 -- the documentation of Path.replace does not promise atomicity
    finally:
        part.unlink(missing_ok=True)
