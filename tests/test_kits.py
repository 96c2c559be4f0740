"""The replication kits run end to end, small, on an endpoint whose truth is known."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("httpx")

from psychollm.cli.run import STUDY_PARTS, analysis_of, staged_plan
from tests.reports.reader import assert_names_unique_and_found, assert_self_contained, read

KITS = Path(__file__).resolve().parents[1] / "examples" / "replicate"
NAMES = sorted(path.parent.name for path in KITS.glob("*/kit.py"))
STUDIES = {"rule_world": "inference_boundary"}  # the others are called after their study
REPORTS = {"metacognitive_skill": ("abstention", "revision", "coding")}


def test_there_is_a_kit_for_each_study() -> None:
    assert {STUDIES.get(name, name) for name in NAMES} == set(STUDY_PARTS)


@pytest.mark.parametrize("name", NAMES)
def test_a_kit_runs_and_its_truth_comes_out(name: str, tmp_path: Path) -> None:
    environment = {**os.environ, "MPLBACKEND": "Agg"}
    command = [sys.executable, str(KITS / "run.py"), name, "--small", "--out", str(tmp_path)]
    found = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert found.returncode == 0, found.stdout + found.stderr
    told = json.loads((tmp_path / "truth.json").read_text(encoding="utf-8"))
    assert told["missed"] <= 0.2 * len(told["truths"])
    for report in REPORTS.get(name, (".",)):
        text = (tmp_path / report / "report.html").read_text(encoding="utf-8")
        assert_self_contained(text)
        assert_names_unique_and_found(text)
        assert "SIMULATED" in read(text).text.upper()


@pytest.mark.parametrize("file", ["plan.toml", "local.toml"])
@pytest.mark.parametrize("name", NAMES)
def test_a_kit_has_a_plan_with_a_key_and_a_budget_and_one_without(name: str, file: str) -> None:
    study, path = STUDIES.get(name, name), KITS / name / file
    staged = staged_plan(study, path)  # type: ignore[arg-type]
    analysis_of(study, path, staged)  # type: ignore[arg-type]
    keys = [one.key for one in staged.plan.endpoints.values()]
    if file == "local.toml":
        assert keys == [None]
        return
    assert keys == ["MY_API_KEY"]
    assert staged.plan.budget is not None
    most = sum(sum(one.most_cost) for _, one in staged.previews())
    assert 0 < most <= staged.plan.budget


@pytest.mark.parametrize("name", NAMES)
def test_what_is_expected_holds_the_truth(name: str) -> None:
    told = json.loads((KITS / name / "expected.json").read_text(encoding="utf-8"))
    assert told["missed"] == sum(not one["holds"] for one in told["truths"])
    assert told["missed"] <= 0.1 * len(told["truths"])
