"""Every analysing command finds, writes and prints what it did (tests/golden/commands.json)."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from psychollm._base.csv_text import write_csv
from psychollm._base.result import Result
from psychollm.calibration.panels.panel_curves import PanelCurves
from psychollm.cli.options import declared_by
from psychollm.cli.parser import COMMANDS as commands  # noqa: N811 -- classes by name
from psychollm.data.readers import read_labels
from psychollm.estimates.findings import Study
from tests.cli.commands import COMMANDS, PRINTED, SAVED, VARIANTS, fill, kept_of, script_in
from tests.goldens import Kept, check, flat

pytest.importorskip("matplotlib")

# The posterior of variance components is explored from finite differences. In flat directions, the
# rounding of another processor changes the fifth digit of its intervals.
DIGITS = {"card": 1e-4}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_leaves_what_it_left_and_its_script_makes_it(
    call, tmp_path: Path, effects_judged: set[str], name: str
) -> None:
    make, typed = COMMANDS[name]
    fill(make)
    done = call(*typed, "--out", "here")
    assert done.returncode == 0, done.stderr
    # An effect that a command reads is one that its option --smallest may set.
    command = commands[typed[0]]
    if "smallest" in {one.name for one in declared_by(command)}:
        assert effects_judged <= {*command.EFFECTS}
    results = json.loads((tmp_path / "here" / "results.json").read_text(encoding="utf-8"))
    found = kept_of(tmp_path / "here", results) | {"printed": done.stdout.splitlines()}
    if (tmp_path / "here" / "comment.md").exists():
        found["comment"] = (tmp_path / "here" / "comment.md").read_text("utf-8").splitlines()
    check(SAVED, name, found, rel=DIGITS.get(name, 1e-6))
    check_script(tmp_path, results, typed)


@pytest.mark.parametrize("name", PRINTED)
def test_a_command_prints_what_it_printed(call, tmp_path: Path, monkeypatch, name: str) -> None:
    make, typed = PRINTED[name]
    done = {}
    for kind in ("json", "words"):
        (tmp_path / kind).mkdir()
        monkeypatch.chdir(tmp_path / kind)
        fill(make)
        done[kind] = call(*typed, *(["--json"] if kind == "json" else []))
        assert done[kind].returncode == 0, done[kind].stderr
    found: Kept = {}
    if "--markdown" not in typed:
        found = dict(flat({"results": json.loads(done["json"].stdout)}))
        found.pop("results.bank", None)  # a digest
    for file in {"scores.csv", "right.csv", "long.csv"} & set(typed[2:]):
        frame = pd.read_csv(file, keep_default_na=False, na_values=[""])
        found |= dict(flat(frame.to_dict(orient="records"), file))
    words = re.sub(r"(bank) [0-9a-f]{16}", r"\1", done["words"].stdout)
    check(SAVED, name, found | {"printed": words.splitlines()})


@pytest.mark.parametrize("name", VARIANTS)
def test_the_script_of_a_variant_gives_the_tables_to_the_last_bit(
    call, tmp_path: Path, name: str
) -> None:
    make, typed = VARIANTS[name]
    fill(make)
    done = call(*typed, "--out", "here")
    assert done.returncode == 0, done.stderr
    results = json.loads((tmp_path / "here" / "results.json").read_text(encoding="utf-8"))
    check_script(tmp_path, results, typed)


def check_script(tmp_path: Path, results: dict[str, Any], typed: Sequence[str]) -> None:
    """Run the script of a command; its tables are those of the command to the last bit."""
    made: dict[str, Any] = {}
    exec(script_in(tmp_path / "here", results), made)  # noqa: S102 -- what the command wrote
    results_made = [one for one in made.values() if isinstance(one, Result)]
    *_, found = [one for one in results_made if not isinstance(one, PanelCurves)]
    tables = found.tables() if isinstance(found, Study) else {"abilities": found.to_frame()}
    for curves in results_made:
        tables |= curves.tables() if isinstance(curves, PanelCurves) else {}
    if "summary" in results:
        assert found.summary() == results["summary"]
    if "--texts" in typed:
        texts = read_labels("texts.csv")
        tables["questions"]["text"] = [texts[label] for label in tables["questions"]["question"]]
    for one, table in tables.items():
        write_csv(table, tmp_path / "again.csv")
        written = tmp_path / "here" / f"{one}.csv"
        assert (tmp_path / "again.csv").read_bytes() == written.read_bytes(), one
