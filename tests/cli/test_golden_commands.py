"""Every analysing command finds, writes and prints what it did (tests/golden/commands.json)."""

import json
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.cli.commands import COMMANDS, script_in, words_of
from tests.goldens import FOLDER, Kept, check, flat

SAVED = FOLDER / "commands.json"

pytest.importorskip("matplotlib")


def kept_of(folder: Path, results: dict[str, Any]) -> Kept:
    """Return all that a command left, in few words and numbers."""
    left_out = {"versions", "iterations", "call"}
    found = dict(flat({key: one for key, one in results.items() if key not in left_out}))
    for file in sorted(folder.glob("*.csv")):
        frame = pd.read_csv(file, keep_default_na=False, na_values=[""])
        found |= dict(flat(frame.to_dict(orient="records"), file.name))
    page = folder / "report.html"
    if page.exists():
        text = re.sub(r"psychollm \d.*$", "", words_of(page))
        found["page"] = re.split(r"(?<=[.?]) ", text)
    return found | {"script": script_in(folder, results).splitlines()}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_leaves_what_it_left(call, tmp_path: Path, name: str) -> None:
    make, typed = COMMANDS[name]
    make()
    done = call(*typed, "--out", "here")
    assert done.returncode == 0, done.stderr
    results = json.loads((tmp_path / "here" / "results.json").read_text(encoding="utf-8"))
    check(SAVED, name, kept_of(tmp_path / "here", results))
