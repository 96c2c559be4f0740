"""Arms: one instrument in several ways, in one plan or in several stores."""

import json
import math
from html import unescape
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from psychollm._base.errors import LabelError
from psychollm.cli import UNUSABLE
from psychollm.collect.readings import arms_in, readings
from psychollm.collect.store import Store
from psychollm.instruments import Coding, RuleWorld, SemanticSampling
from psychollm.instruments.arms import in_arm
from psychollm.instruments.prompt import Prompt
from tests.cli.respondents import questions, script
from tests.cli.stores import filled
from tests.collect.hostile import Act, Body, Hostile

pytest.importorskip("httpx")
QUICK = ("--null", 19, "--bootstrap", 50)
HEAD = """
store = "run.sqlite"
[endpoints.here]
url = "{url}"
[[models]]
name = "a"
model = "org/a"
endpoint = "here"
[[models]]
name = "b base"
model = "org/b-base"
endpoint = "here"
[[models]]
name = "b"
model = "org/b"
endpoint = "here"
"""
PLAN = """
[[study.semantic_sampling]]
arm = "base"
questions = "q.csv"
n_samples = 3
form = "base"
models = { b = "b base", a = "a" }
[[study.semantic_sampling]]
arm = "instruct"
questions = "q.csv"
n_samples = 3
models = ["a", "b"]
"""


def plan(folder: Path, text: str, url: str = "http://127.0.0.1:9/v1") -> Path:
    questions(folder, 12)
    path = folder / "plan.toml"
    path.write_text(HEAD.replace("{url}", url) + text)
    return path


@pytest.mark.usefixtures("plotting")
def test_a_plan_with_arms_to_its_page_and_asked_once(call, tmp_path: Path) -> None:
    with Hostile(script) as server:
        plan(tmp_path, PLAN, server.url)
        found = call("run", "semantic_calibration", "plan.toml", "--out", "out", *QUICK)
        assert found.returncode == 0, found.stderr
        asked = len(server.seen)
        assert asked == 2 * 2 * 12 * 3
        less = ("--bootstrap", 10, "--no-report")
        again = call("run", "semantic_calibration", "plan.toml", "--out", "again", *less)
        assert again.returncode == 0, again.stderr
        assert len(server.seen) == asked  # resumed: nothing is asked twice
    out = tmp_path / "out"
    results = json.loads((out / "results.json").read_text())
    keys = [one["key"] for one in results["findings"]]
    assert keys[:2] == ["verdict", "design"]
    assert keys[-1] == "arms"
    table = pd.read_csv(out / "contrasts.csv")
    own = table[table["measure"] == "accuracy"]
    # The base model is paired with what was tuned from it, under one name.
    assert sorted(own["model"]) == ["a", "b", "models like these", "these models"]
    assert set(own["first"]) == {"instruct"}
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "instruct - base" in page
    assert "models like these" in page
    for arm in ("base", "instruct"):
        assert (out / arm / "report.html").is_file()
        text = unescape((out / arm / "report.html").read_text(encoding="utf-8"))
        assert f"arm='{arm}'" in text  # the call that repeats it
    with Store(tmp_path / "run.sqlite", create=False) as store:
        assert arms_in(store, instrument="semantic_sampling") == ("base", "instruct")
        assert readings(store, arm="base").models == ("a", "b")
        with pytest.raises(LabelError, match=r"holds the arms base, instruct .*arm="):
            readings(store)


@pytest.mark.usefixtures("plotting")
def test_the_plan_on_the_page_runs(call, tmp_path: Path) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "arms.md").read_text(encoding="utf-8")
    text = page.partition("```toml\n")[2].partition("```")[0]
    questions(tmp_path, 10)
    (tmp_path / "q.csv").rename(tmp_path / "questions.csv")

    def completed(body: Body, n: int) -> Act:
        """Speak completions to base models, and chat to the others."""
        if "prompt" not in body:
            return script(body, n)
        choice = {"index": 0, "finish_reason": "stop", "text": " 40\n"}
        return Act(body=json.dumps({"model": "m", "choices": [choice]}).encode())

    with Hostile(completed) as server:
        (tmp_path / "plan.toml").write_text(text.replace("http://127.0.0.1:8080/v1", server.url))
        found = call("run", "semantic_calibration", "plan.toml", "--out", "out", *QUICK)
    assert found.returncode == 0, found.stderr
    table = pd.read_csv(tmp_path / "out" / "contrasts.csv")
    own = table[table["measure"] == "confidence"]
    assert list(dict.fromkeys(own["first"])) == ["instruct", "reasoning"]
    assert set(own["model"]) == {"qwen", "llama", "these models", "models like these"}


def store_of(folder: Path, name: str, prompts: tuple[Prompt, ...], right: dict[str, int]) -> Path:
    """Make a store in which a model passes the first so many worlds of each type."""

    def says(upto: int) -> Any:
        def say(prompt: Prompt, _: int) -> str:
            place = int(prompt.about["structure"][-4:])
            good, correct = place <= upto, str(prompt.about["correct"])
            if prompt.reply == "option":
                return f"Answer: {correct if good else next(x for x in 'ABCD' if x != correct)}"
            return f"Answer: {correct if good else int(correct) + 1}"

        return say

    return filled(folder / name, prompts, {model: says(n) for model, n in right.items()})


def worlds(skin: str = "synthetic", n: int = 12) -> tuple[Prompt, ...]:
    return RuleWorld(n=(n, n), types=("A", "C"), seed=1, skin=skin).prompts()  # type: ignore[arg-type]


def test_two_stores_are_two_arms_as_one_store_with_both_is(call, tmp_path: Path) -> None:
    first = store_of(tmp_path, "plain.sqlite", worlds(), {"a": 9, "b": 6})
    second = store_of(tmp_path, "trade.sqlite", worlds("circuits"), {"a": 6, "b": 6})
    told = call("study", first, second, "--json", *QUICK)
    assert told.returncode == 0, told.stderr
    found = json.loads(told.stdout)
    rows = {(one["measure"], one["model"]): one for one in found["contrasts"]}
    a = rows["pass rate of settled questions", "a"]
    assert math.isclose(a["value"], -0.25)
    assert a["first"] == "trade"
    assert a["lower"] < -0.25 < a["upper"]
    # Where all pairs agree, the interval has a length.
    b = rows["pass rate of settled questions", "b"]
    assert b["value"] == 0.0
    assert b["lower"] < 0.0 < b["upper"]

    both = [*in_arm(worlds(), "plain"), *in_arm(worlds("circuits"), "trade")]

    def says(model: str) -> Any:
        upto = {"plain": {"a": 9, "b": 6}, "trade": {"a": 6, "b": 6}}

        def say(prompt: Prompt, _: int) -> str:
            good = int(prompt.about["structure"][-4:]) <= upto[prompt.about["study_arm"]][model]
            correct = str(prompt.about["correct"])
            if prompt.reply == "option":
                return f"Answer: {correct if good else next(x for x in 'ABCD' if x != correct)}"
            return f"Answer: {correct if good else int(correct) + 1}"

        return say

    one = filled(tmp_path / "one.sqlite", both, {"a": says("a"), "b": says("b")})
    again = json.loads(call("study", one, "--json", *QUICK).stdout)
    assert again["contrasts"] == found["contrasts"]
    turned = call("study", one, "--json", "--baseline", "trade", *QUICK)
    rows = {(x["measure"], x["model"]): x for x in json.loads(turned.stdout)["contrasts"]}
    assert math.isclose(rows["pass rate of settled questions", "a"]["value"], 0.25)
    alone = json.loads(call("study", one, "--json", "--arm", "trade", *QUICK).stdout)
    assert "contrasts" not in alone


def test_stores_that_are_no_arms_of_one_study(call, tmp_path: Path) -> None:
    first = store_of(tmp_path, "x.sqlite", worlds(n=4), {"a": 2})
    (tmp_path / "other").mkdir()
    same = store_of(tmp_path / "other", "x.sqlite", worlds(n=4), {"a": 2})
    sampled = SemanticSampling([{"question": "2 + 2?", "answer": "4"}], n_samples=2).prompts()
    other = filled(tmp_path / "y.sqlite", sampled, {"a": lambda prompt, sample: "4"})
    silent = filled(tmp_path / "z.sqlite", worlds(n=4), {"a": lambda prompt, sample: None})
    for stores, words in (
        ((first, same), "both have the arm 'x'"),
        ((first, first), "store labels must be unique"),
        ((first, other), "arms need one instrument"),
        ((first, silent), "arm 'z' has no replies"),
        ((first, silent, "--baseline", "q"), "arm 'z' has no replies"),
        ((first, "--arm", "q"), "--arm q is unknown: use one of x"),
    ):
        found = call("study", *stores, "--json", *QUICK)
        assert found.returncode == UNUSABLE
        assert words in found.stderr
    assert "omit CORRECTNESS" in call("calibrate", first, same).stderr


def test_models_that_an_arm_lacks_are_said_and_left_out(call, tmp_path: Path) -> None:
    first = store_of(tmp_path, "x.sqlite", worlds(), {"a": 9, "b": 6})
    second = store_of(tmp_path, "y.sqlite", worlds("plumbing"), {"a": 6, "c": 6})
    third = store_of(tmp_path, "w.sqlite", worlds("circuits"), {"c": 6, "d": 3})
    found = json.loads(call("study", first, second, third, "--json", *QUICK).stdout)
    design = next(one for one in found["findings"] if one["key"] == "design")["statement"]
    assert "c is missing in x and excluded from y - x." in design
    assert "b is missing in y and excluded from y - x." in design
    assert "w and x have no model in common" in design


BROKEN = [
    (PLAN.replace('arm = "base"\n', ""), "an arm has no name"),
    (PLAN.replace('"base"\nq', '"instruct"\nq'), "the arm 'instruct' occurs twice"),
    (PLAN.replace('"base"\nq', '"a/b"\nq'), "arm = 'a/b' must be a name"),
    (PLAN.replace('["a", "b"]', '["a", "z"]'), "must list models of the plan"),
    (PLAN.replace('["a", "b"]', '{ a = "a", b = "a" }'), "names a model twice"),
    (PLAN + '[study.analysis]\nbaseline = "q"\n', "is not an arm of the plan (base, instruct)"),
    (
        '[study.semantic_sampling]\nquestions = "q.csv"\nmodels = ["a"]\n',
        "models belong to an arm",
    ),
    ('[[study.grading]]\njudge = "a"\n', "study.grading is not a table"),
]


@pytest.mark.parametrize(("text", "words"), BROKEN)
def test_arms_that_cannot_be(call, tmp_path: Path, text: str, words: str) -> None:
    plan(tmp_path, text)
    found = call("run", "semantic_calibration", "plan.toml", "--dry-run")
    assert found.returncode == UNUSABLE
    assert words in found.stderr


@pytest.mark.usefixtures("plotting")
def test_a_judge_goes_on_arm_by_arm(call, tmp_path: Path) -> None:
    text = PLAN.replace('b = "b base", a = "a"', 'a = "a"').replace('["a", "b"]', '["a"]')
    text += '[study.grading]\njudge = "b"\n'
    with Hostile(script) as server:
        plan(tmp_path, text, server.url)
        dry = call("run", "semantic_calibration", "plan.toml", "--dry-run")
        assert dry.returncode == 0, dry.stderr
        found = call(
            "run", "semantic_calibration", "plan.toml", "--out", "out", "--no-report", *QUICK
        )
    assert found.returncode == 0, found.stderr
    with Store(tmp_path / "run.sqlite", create=False) as store:
        for arm in ("base", "instruct"):
            asked = readings(store, arm=arm).prompts["a"]
            assert {one.about["study_arm"] for one in asked} == {arm}
    scored = call("score", "run.sqlite", "--json")
    assert list(json.loads(scored.stdout)) == [
        "semantic_sampling, base",
        "semantic_sampling, instruct",
    ]


def test_coded_traces_of_two_arms_are_contrasted_by_their_models(call, tmp_path: Path) -> None:
    arms: list[Prompt] = []
    for arm, text in (("plain", "So 4."), ("careful", "Let me check that. So 4.")):
        traces = [
            {"key": f"{arm}{model}{n}", "model": model, "item": f"q{n}", "text": text}
            for model in "ab"
            for n in range(12)
        ]
        arms += in_arm(Coding(transcripts=traces).prompts(), arm)

    def judged(prompt: Prompt, _: int) -> str:
        names = {name: {"code": 0, "quotes": []} for name in prompt.about["categories"]}
        trace = prompt.messages[-1].content.partition("<<<")[2].partition(">>>")[0]
        return json.dumps(names | {"evaluation": {"code": 2 * ("check" in trace), "quotes": []}})

    filled(tmp_path / "run.sqlite", arms, {"judge": judged})
    found = call("study", "run.sqlite", "--out", "out", "--no-report", *QUICK)
    assert found.returncode == 0, found.stderr
    table = pd.read_csv(tmp_path / "out" / "contrasts.csv")
    own = table[table["measure"] == "share of traces with evaluation"].set_index("model")
    assert own["value"].to_dict() == {"a": 1, "b": 1, "these models": 1, "models like these": 1}
    assert "careful - plain" in found.stdout
