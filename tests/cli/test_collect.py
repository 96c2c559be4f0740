"""``psychollm collect``: what a user sees before, while and after models are asked."""

import json
import re
from pathlib import Path

import pytest

from psychollm.cli import UNUSABLE
from psychollm.cli.collect import _Screen, fitted
from psychollm.collect.progress import ModelProgress
from psychollm.collect.store import Store
from psychollm.instruments.prompt import Message, Prompt
from psychollm.instruments.self_prediction import SelfPrediction
from tests.collect.hostile import Act, Body, Hostile, said

pytest.importorskip("httpx")
MISSING = 1


@pytest.fixture
def plan(tmp_path: Path):
    """Return a function that writes a plan with two models at an address."""

    def write(url: str, *, extra: str = "") -> Path:
        asked = SelfPrediction(
            questions=[{"question": f"What is {k}\n+ 1?", "answer": str(k + 1)} for k in range(4)]
        )
        lines = [json.dumps(prompt.to_dict()) for prompt in asked.prompts()]
        (tmp_path / "items.jsonl").write_text("\n".join(lines))
        prices = "prices = { input = 1.0, output = 2.0 }\n"
        models = [
            f'[[models]]\nname = "{name}"\nmodel = "org/m"\nendpoint = "here"\n{prices}'
            for name in ("a", "b")
        ]
        path = tmp_path / "plan.toml"
        path.write_text(
            f'prompts = "items.jsonl"\nstore = "run.sqlite"\n{extra}\n'
            f'[endpoints.here]\nurl = "{url}"\n' + "".join(models)
        )
        return path

    return write


def test_a_dry_run_shows_one_prompt_of_each_kind(call, plan) -> None:
    found = call("collect", plan("http://127.0.0.1:9/v1", extra="budget = 2.5"), "--dry-run")
    assert found.returncode == 0
    assert len(re.findall(r"^a, prompt ", found.stdout, re.M)) == 2
    assert "(reply: yes_no)" in found.stdout
    assert "(reply: text)" in found.stdout
    *_, last = found.stdout.splitlines()
    assert re.fullmatch(
        r"Total: 16 requests, about [\d,]+ tokens, at most 0\.\d+ \(budget 2\.5\)\. "
        r"Nothing was sent\.",
        last,
    )
    turns = [line for line in found.stdout.splitlines() if "+ 1?" in line]
    assert all(line.startswith("    ") for line in turns)  # further lines of a turn


def test_a_run_from_begin_to_end(call, plan) -> None:
    def script(body: Body, n: int) -> Act:
        return Act(429, b"{}", {"Retry-After": "0.01"}) if n == 3 else said("Answer: Yes")

    with Hostile(script) as server:
        found = call("collect", plan(server.url), "--progress")
        again = call("collect", plan(server.url))
        assert len(server.seen) == 17
    assert found.returncode == again.returncode == 0
    assert "a: 8 answered, 0 failed, 0 not asked" in found.stdout
    assert "1 rate limited" in found.stdout
    assert "psychollm score" in found.stdout
    assert "Total: 16/16 answered" in found.stderr
    assert "rate limited" not in again.stdout
    assert again.stderr == ""  # nobody watches


def test_what_is_missing_is_said(call, plan) -> None:
    def script(body: Body, n: int) -> Act:
        return Act(400, b"no") if "What is 2" in body["messages"][-1]["content"] else said()

    with Hostile(script) as server:
        found = call("collect", plan(server.url), "--quiet", "--export", "replies.csv")
        told = call("collect", plan(server.url), "--json")
    assert (found.returncode, found.stdout, found.stderr) == (MISSING, "", "")
    assert json.loads(told.stdout)["failures"] == {"bad_request": 4}
    assert told.stderr == ""


def test_a_model_that_does_not_exist(call, plan) -> None:
    with Hostile(lambda body, n: Act(404, b"no such model")) as server:
        found = call("collect", plan(server.url))
    assert found.returncode == MISSING
    assert "stopped: not_found (status 404)" in found.stdout
    assert "Run the same command again" in found.stdout


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("models", "modles"), ["plan.toml", "models missing"]),
        (('"here"', '"there"'), ["'there' is not one of here"]),
        (("items.jsonl", "none.jsonl"), ["none.jsonl", "cannot be read"]),
        (("[endpoints", "key = [endpoints"), ["plan.toml is not valid TOML"]),
        (("url = ", 'wire = "smoke"\nurl = '), ["smoke", "transformers"]),
        (("url = ", 'key = "PSYCHOLLM_NO_SUCH_KEY"\nurl = '), ["PSYCHOLLM_NO_SUCH_KEY"]),
    ],
)
def test_wrong_plans_are_one_line(call, plan, change: tuple[str, str], words: list[str]) -> None:
    path = plan("http://127.0.0.1:9/v1")
    path.write_text(path.read_text().replace(*change))
    found = call("collect", path)
    assert found.returncode == UNUSABLE
    (line,) = found.stderr.splitlines()
    for word in words:
        assert word in line


def test_a_line_of_the_prompts_that_is_wrong_is_named(call, plan, tmp_path: Path) -> None:
    path = plan("http://127.0.0.1:9/v1")
    good = Prompt(key="a", item="a", messages=(Message("user", "?"),), reply="text").to_dict()
    (tmp_path / "items.jsonl").write_text(json.dumps(good) + "\n{\n")
    found = call("collect", path)
    assert found.returncode == UNUSABLE
    assert "items.jsonl, line 2" in found.stderr


def test_progress_fits_a_terminal() -> None:
    lines = [f"model {k}: {k}/99 answered" for k in range(50)]
    assert fitted(lines, 80, 24) == lines[-23:]
    assert max(map(len, fitted(lines, 10, 24))) == 10
    assert fitted(lines, 80, 0) == lines[-1:]


def test_progress_adds_up_where_there_are_several_models(capsys) -> None:
    one = ModelProgress(name="m", total=10, before=4, answered=3)
    _Screen()([one])
    assert len(capsys.readouterr().err.splitlines()) == 1
    _Screen()([one, one])
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert lines[-1].startswith("Total: 14/20 answered")


def test_no_table_takes_the_place_of_a_store_or_of_what_is_read(call, plan, tmp_path) -> None:
    path = plan("http://127.0.0.1:9/v1")
    questions = tmp_path / "q.csv"
    questions.write_text("question,answer\nWhat?,That\n")
    store = tmp_path / "run.sqlite"
    with Store(store):
        pass
    before = {file: file.read_bytes() for file in (questions, store)}
    for command in (
        ("instrument", "self-prediction", questions, "--out", questions),
        ("stage", "grading", store, "--out", store),
        ("score", store, "--out", store),
        ("instrument", "self-prediction", questions, "--out", store),
    ):
        found = call(*command)
        assert found.returncode == UNUSABLE
        assert "is an input, or the store of a run: pass another file" in found.stderr
    path.write_text(path.read_text().replace("run.sqlite", "w.csv"))
    faults = {"w.csv": "is the store of the plan", "none/a.csv": "a missing folder"}
    for name, fault in faults.items():
        found = call("collect", path, "--export", tmp_path / name)
        assert found.returncode == UNUSABLE
        assert fault in found.stderr
    assert {file: file.read_bytes() for file in before} == before
