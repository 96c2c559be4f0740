"""The replication kits run end to end, small, on an endpoint whose truth is known."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("aiohttp")

from psychollm.collect.plan import read_plan
from tests.reports.reader import assert_names_unique_and_found, assert_self_contained, read

KITS = Path(__file__).resolve().parents[1] / "examples" / "replicate"
NAMES = sorted(path.parent.name for path in KITS.glob("*/kit.py"))
REPORTS = {"metacognitive_skill": ("abstention", "revision", "coding")}


def run(*arguments: object) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "MY_API_KEY": "none", "MPLBACKEND": "Agg"}
    command = [sys.executable, str(KITS / "run.py"), *map(str, arguments)]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=300
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_kit_runs_and_its_truth_comes_out(name: str, tmp_path: Path) -> None:
    found = run(name, "--simulated", "--size", "small", "--out", tmp_path)
    assert found.returncode == 0, found.stdout + found.stderr
    told = json.loads((tmp_path / "truth.json").read_text(encoding="utf-8"))
    assert told["missed"] <= 0.2 * len(told["truths"])
    for report in REPORTS.get(name, ("report",)):
        text = (tmp_path / f"{report}.html").read_text(encoding="utf-8")
        assert_self_contained(text)
        assert_names_unique_and_found(text)
        assert "SIMULATED" in read(text).text.upper()


@pytest.mark.parametrize("name", NAMES)
def test_a_kit_has_a_plan_with_a_key_and_a_budget(name: str, tmp_path: Path) -> None:
    found = run(name, "--dry-run", "--size", "full", "--out", tmp_path)
    assert found.returncode == 0, found.stdout + found.stderr
    plan = read_plan(tmp_path / "plan.toml")
    assert plan.budget is not None
    assert all(model.prices is not None for model in plan.models)
    assert [one.key for one in plan.endpoints.values()] == ["MY_API_KEY"]


@pytest.mark.parametrize("name", [one for one in NAMES if (KITS / one / "expected.json").exists()])
def test_what_is_expected_holds_the_truth(name: str) -> None:
    told = json.loads((KITS / name / "expected.json").read_text(encoding="utf-8"))
    assert told["missed"] == sum(not one["holds"] for one in told["truths"])
    assert told["missed"] <= 0.1 * len(told["truths"])
