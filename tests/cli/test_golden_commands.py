"""Every analysing command finds, writes and prints what it did (tests/golden/commands.json)."""

import json
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from psychollm._base.csv_text import write_csv
from psychollm._base.result import Result
from psychollm.calibration.panels.panel_curves import PanelCurves
from psychollm.data.readers import read_labels
from psychollm.studies.question_audit.study import QuestionAudit
from tests.cli.commands import COMMANDS, PRINTED, QUICK, script_in, words_of
from tests.cli.respondents import script
from tests.cli.test_run import STUDIES, write
from tests.collect.hostile import Hostile
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
    found = kept_of(tmp_path / "here", results) | {"printed": done.stdout.splitlines()}
    if (tmp_path / "here" / "comment.md").exists():
        found["comment"] = (tmp_path / "here" / "comment.md").read_text("utf-8").splitlines()
    check(SAVED, name, found)


@pytest.mark.parametrize("name", PRINTED)
def test_a_command_prints_what_it_printed(call, tmp_path: Path, monkeypatch, name: str) -> None:
    make, typed = PRINTED[name]
    done = {}
    for kind in ("json", "words"):
        (tmp_path / kind).mkdir()
        monkeypatch.chdir(tmp_path / kind)
        make()
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


@pytest.mark.parametrize("name", ["self_efficacy", "inference_boundary"])
def test_a_run_leaves_what_it_left(call, tmp_path: Path, name: str) -> None:
    pytest.importorskip("httpx")
    with Hostile(script) as server:
        write(tmp_path, STUDIES[name], server.url)
        done = call("run", name, "plan.toml", *QUICK, "--out", "here")
        assert done.returncode == 0, done.stderr
        told = json.loads(call("run", name, "plan.toml", *QUICK, "--out", "it", "--json").stdout)
    found = dict(flat(told["studies"], "studies"))
    for page in sorted((tmp_path / "here").rglob("report.html")):
        where = page.parent.relative_to(tmp_path).as_posix()
        kept = kept_of(page.parent, {})
        found |= {f"{where}: {key}": value for key, value in kept.items()}
    words = [line for line in done.stdout.splitlines() if not line.startswith("Stage")]
    first = next(n for n, line in enumerate(words) if line == f"{next(iter(told['studies']))}:")
    check(SAVED, f"run {name}", found | {"printed": words[first:]})


@pytest.mark.parametrize("name", COMMANDS)
def test_the_script_gives_the_tables_to_the_last_bit(call, tmp_path: Path, name: str) -> None:
    make, typed = COMMANDS[name]
    make()
    done = call(*typed, "--out", "here")
    assert done.returncode == 0, done.stderr
    results = json.loads((tmp_path / "here" / "results.json").read_text(encoding="utf-8"))
    made: dict[str, Any] = {}
    exec(script_in(tmp_path / "here", results), made)  # noqa: S102 -- what the command wrote
    results_made = [one for one in made.values() if isinstance(one, Result)]
    *_, found = [one for one in results_made if not isinstance(one, PanelCurves)]
    frame = found.to_frame()
    if isinstance(found, QuestionAudit):  # its page goes from the worst on, with texts beside
        frame = frame.iloc[found.worst()]
        if "--texts" in typed:
            texts = read_labels("texts.csv")
            frame["text"] = [texts[label] for label in frame["question"]]
    written = {file.name: file.read_bytes() for file in (tmp_path / "here").glob("*.csv")}
    write_csv(frame, tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_bytes() in written.values()
