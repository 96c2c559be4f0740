"""Records of Every Eval Ever: a file for the whole, a line for each reply."""

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from psychollm._base.errors import InputError, OptionError
from psychollm.collect.client import collect
from psychollm.collect.eval_records import every_eval_ever
from psychollm.collect.export import to_frame
from psychollm.collect.plan import Plan
from psychollm.collect.roster import Model
from psychollm.collect.store import Store
from psychollm.instruments.prompt import Message, Prompt
from tests.collect.hostile import Act, Body, Hostile, said

MakePlan = Callable[..., Plan]


def chain() -> tuple[Prompt, ...]:
    first = Prompt(key="a", item="q", messages=(Message("user", "Can you?"),), reply="yes_no")
    turn = (Message("user", "Then do."),)
    return first, Prompt(key="b", item="q", messages=turn, reply="text", follows="a")


def test_a_record_for_each_reply(make_plan: MakePlan, tmp_path: Path) -> None:
    with Hostile() as server:
        plan = make_plan(server.url, asked=chain())
        collect(plan)
    with Store(plan.store) as store:
        grades = dict(zip(to_frame(store)["key"], (1.0, 0.0), strict=False))
        _, path = every_eval_ever(store, tmp_path, name="toy / set", grades=grades)
    assert path.relative_to(tmp_path).parts[:-1] == ("data", "toy___set", "org", "m")
    first, second = (json.loads(line) for line in path.read_text().splitlines())
    needed = {"schema_version", "evaluation_id", "model_id", "evaluation_name", "sample_id"}
    needed |= {"interaction_type", "input", "answer_attribution", "evaluation", "output"}
    assert needed <= set(first)
    assert (first["interaction_type"], first["output"]) == ("single_turn", {"raw": ["Yes"]})
    assert "messages" not in first
    assert (second["interaction_type"], second["output"]) == ("multi_turn", None)
    assert [turn["role"] for turn in second["messages"]] == ["user", "assistant"] * 2
    assert second["evaluation"] == {"score": 0.0, "is_correct": False}


def test_the_record_of_the_whole(make_plan: MakePlan, tmp_path: Path) -> None:
    """Eight questions put twice; one call fails, one reply has no grade."""

    def script(body: Body, n: int) -> Act:
        bad = "Question 7" in body["messages"][-1]["content"]
        return Act(400, b"no") if bad else said()

    parameters = {"temperature": 0.5, "seed": 3, "reasoning_effort": "low"}
    with Hostile(script) as server:
        plan = make_plan(server.url, 8, parameters=parameters, repeats=2)
        collect(plan)
    with Store(plan.store) as store:
        table = to_frame(store)
        graded = table[(table["state"] == "answered") & (table["prompt_key"] != "q6")]
        grades = {row.key: float(row.item in {"q0", "q1"}) for row in graded.itertuples()}
        whole, single = every_eval_ever(store, tmp_path, name="toy", grades=grades)
    record = json.loads(whole.read_text())
    lines = single.read_bytes()
    assert single.name == f"{whole.stem}_samples.jsonl"
    needed = {"schema_version", "evaluation_id", "retrieved_timestamp", "source_metadata"}
    assert needed | {"model_info", "eval_library", "evaluation_results"} <= set(record)
    info = record["model_info"]
    assert (info["name"], info["id"], info["developer"]) == ("m", "org/m", "org")
    assert info["additional_details"]["served_model"] == "served"
    (result,) = record["evaluation_results"]
    score = result["score_details"]
    assert score["score"] == pytest.approx(1 / 3)
    counts = {"graded": "12", "answered_without_grade": "2", "failed": "2", "not_asked": "0"}
    assert score["details"] == counts
    # Replies to one question are alike: the error is that of six means.
    means = np.array([1.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    error = score["uncertainty"]["standard_error"]["value"]
    assert error == pytest.approx(means.std(ddof=1) / np.sqrt(6))
    config = result["generation_config"]
    assert config["generation_args"] == {"temperature": 0.5, "max_tokens": 8}
    assert config["additional_details"] == {"reasoning_effort": "low"}  # seeds differ
    details = record["detailed_evaluation_results"]
    assert details["checksum"] == sha256(lines).hexdigest()
    assert details["total_rows"] == len(lines.splitlines()) == len(grades)
    line = json.loads(lines.splitlines()[0])
    assert line["evaluation_id"] == record["evaluation_id"]
    assert line["evaluation_result_id"] == result["evaluation_result_id"]


def test_models_of_one_id_have_files_of_their_own(make_plan: MakePlan, tmp_path: Path) -> None:
    models = tuple(Model(name=name, endpoint="here", model="plain") for name in ("a", "b"))
    with Hostile() as server:
        plan = make_plan(server.url, 1, models=models)
        collect(plan)
    with Store(plan.store) as store:
        grades = dict.fromkeys(to_frame(store)["key"], 0.5)
        files = every_eval_ever(store, tmp_path, name="toy", grades=grades)
        assert len(set(files)) == 4
        assert {path.parent for path in files} == {tmp_path / "data" / "toy" / "unknown" / "plain"}
        result = json.loads(files[0].read_text())["evaluation_results"][0]
        assert "uncertainty" not in result["score_details"]  # of one question
        assert result["metric_config"]["metric_kind"] == "mean_grade"
        key = next(iter(grades))
        with pytest.raises(InputError, match="outside"):
            every_eval_ever(store, tmp_path, name="toy", grades={key: 1.5})
        with pytest.raises(OptionError, match="friend"):
            every_eval_ever(store, tmp_path, name="toy", grades=grades, relationship="friend")
