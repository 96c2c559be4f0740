"""Where the sample logs lie, and logs written for a test."""

import json
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def samples() -> Path:
    """Return the folder of sample logs."""
    return Path(__file__).resolve().parents[2] / "samples"


@pytest.fixture
def write(tmp_path):
    """Return a function that writes JSON, or JSONL for a list of lines."""

    def to_file(name: str, content, *, lines: bool = False) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = "\n".join(map(json.dumps, content)) if lines else json.dumps(content)
        path.write_text(text, encoding="utf-8")
        return path

    return to_file
