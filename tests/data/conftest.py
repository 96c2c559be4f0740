"""Files for readers."""

from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes a text, to the last byte, and says where."""

    def to_file(text: str, name: str = "a.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(text.encode())
        return path

    return to_file
