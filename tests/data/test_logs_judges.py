"""Verdicts of models in logs: which scorers they are, and what they said."""

import json
from pathlib import Path

import numpy as np
import pytest

import psychollm as psy
from psychollm._base.errors import InputError, OptionError
from psychollm.data.logs import read_scores
from psychollm.data.logs_judges import judges_in

SAMPLES = Path(__file__).parent / "samples"


@pytest.fixture
def write(tmp_path):
    """Return a function that writes JSON."""

    def to_file(name, content):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(content), encoding="utf-8")
        return path

    return to_file


# As Inspect AI writes them: a grader's conversation is kept beside its verdict.
GRADED = {"value": "C", "explanation": "GRADE: C", "metadata": {"grading": [{"role": "user"}]}}


def inspect_log(model, *scores, task="t"):
    samples = [
        {"id": f"q{place}", "epoch": 1, "input": f"q{place}?", "scores": one}
        for place, one in enumerate(scores)
    ]
    return {"status": "success", "samples": samples,
            "eval": {"task": task, "task_id": f"{model}{task}", "model": model}}  # fmt: skip


def test_inspect_scorers_that_asked_a_model(write, tmp_path):
    scores = {
        "match": {"value": "I"},
        "model_graded_qa": GRADED,
        "model_graded_fact": {"value": "I"},  # several graders that voted keep no conversation
        "rubric": GRADED | {"value": {"tone": 4, "facts": 5}},
    }
    write("a.json", inspect_log("m", scores))
    write("b.json", inspect_log("n", scores))
    assert judges_in(tmp_path) == (
        "model_graded_qa", "model_graded_fact", "rubric.tone", "rubric.facts",
    )  # fmt: skip
    assert read_scores(tmp_path, scorer="rubric.facts").frame["score"].tolist() == [5.0, 5.0]
    with pytest.raises(OptionError, match="task 't' has 5 scorers"):
        read_scores(tmp_path)


def test_only_tasks_that_count(write, tmp_path):
    write("a.json", inspect_log("m", {"match": {"value": "I"}}, task="exact"))
    write("b.json", inspect_log("m", {"model_graded_qa": GRADED}, task="open"))
    assert judges_in(tmp_path, task="exact") == ()
    assert judges_in(tmp_path, task="open") == ("model_graded_qa",)


def result(name, *assertions, **more):
    """Return a result of promptfoo; each assertion is its type, metric, and score."""
    parts = [
        {"pass": score > 0.5, "score": score, "assertion": {"type": kind, "metric": metric}}
        for kind, metric, score in assertions
    ]
    held = all(part["pass"] for part in parts)
    return {
        "vars": {"q": name}, "success": held, "score": float(held), "provider": {"id": "echo"},
        "prompt": {"label": "p"}, "testCase": {"vars": {"q": name}}, "failureReason": 0,
        "gradingResult": {"pass": held, "componentResults": parts},
    } | more  # fmt: skip


def promptfoo(*results):
    return {"results": {"version": 3, "results": list(results)}}


def test_promptfoo_assertions_that_a_model_graded(write):
    rows = [
        result("a", ("equals", None, 1.0), ("llm-rubric", None, 0.0), ("g-eval", "tone", 0.8)),
        result("b", ("equals", None, 0.0), ("llm-rubric", None, 1.0), ("g-eval", "tone", 0.2)),
    ]
    path = write("r.json", promptfoo(*rows))
    assert judges_in(path) == ("llm-rubric", "tone")
    assert read_scores(path).frame["score"].tolist() == [0.0, 0.0]  # all hold, as before
    assert read_scores(path, scorer="llm-rubric").frame["score"].tolist() == [0.0, 1.0]
    assert read_scores(path, scorer="tone").frame["score"].tolist() == [0.8, 0.2]


def test_promptfoo_assertions_of_one_kind_are_numbered(write):
    twice = [("llm-rubric", None, 1.0), ("llm-rubric", None, 0.0)]
    path = write("r.json", promptfoo(result("a", *twice)))
    assert judges_in(path) == ("llm-rubric", "llm-rubric #2")
    assert read_scores(path, scorer="llm-rubric #2").frame["score"].tolist() == [0.0]


def test_promptfoo_sets_of_assertions_and_failed_calls(write):
    inner = result("a", ("factuality", None, 0.0))["gradingResult"]
    row = result("a", gradingResult={"componentResults": [inner, None]})
    failed = result("b", ("factuality", None, 0.0), failureReason=2, error="429")
    path = write("r.json", promptfoo(row, failed))
    assert judges_in(path) == ("factuality",)
    frame = read_scores(path, scorer="factuality").frame
    np.testing.assert_array_equal(frame["score"], [0.0, np.nan])
    assert frame["error"].tolist() == ["", "429"]


def test_deepeval_metrics_that_a_model_evaluated(write):
    metrics = [
        {"name": "Exact", "score": 1, "success": True, "evaluationModel": None},
        {"name": "Faithfulness", "score": 0.9, "success": True, "evaluationModel": "gpt"},
        {"name": "Correctness [GEval]", "score": 0.4, "success": False},
    ]
    case = {"name": "a", "input": "a?", "metricsData": metrics}
    path = write("r.json", {"testCases": [case], "hyperparameters": {"model": "m"}})
    assert judges_in(path) == ("Faithfulness", "Correctness [GEval]")


def test_what_holds_no_judge(write):
    assert judges_in(SAMPLES / "inspect" / "json") == ()
    assert judges_in(SAMPLES / "promptfoo") == ()
    assert judges_in(SAMPLES / "deepeval") == ()
    with pytest.raises(InputError, match="is not a known log"):
        judges_in(write("r.json", {"a": 1}))


def scores_of(folder, scorer):
    """Return the scores of a judge as {model: [score of each question]}."""
    table = read_scores(SAMPLES / "judged" / folder, scorer=scorer).frame
    means = table.groupby(["model", "question"], sort=False)["score"].mean()
    return {model: own.round(3).tolist() for model, own in means.groupby(level=0)}


# The expected values are those that the tools' own readers show: inspect_ai.log.read_eval_log,
# metricsData of deepeval, and componentResults of promptfoo.
REAL = {
    "inspect": {
        "model_graded_qa": {"mockllm/alpha": [0.5] * 5, "mockllm/beta": [0.5] * 5},
        "model_graded_fact": {"mockllm/alpha": [1.0] * 5, "mockllm/beta": [0, 1, 1, 1, 1]},
    },
    "deepeval": {
        "Correctness [GEval]": {"org/alpha": [0.9, 0.9, 0.3, 0.9],
                                "org/beta": [0.9, 0.9, 0.3, 0.9]},
        "Answer Relevancy": {"org/alpha": [1.0] * 4, "org/beta": [1.0] * 4},
    },
    "promptfoo": {
        "llm-rubric": {"org/alpha": [1.0, 1.0, 0.25, 1.0]},
        "tone": {"org/alpha": [0.25, 1.0, 1.0, 1.0]},
    },
}  # fmt: skip


@pytest.mark.parametrize("folder", REAL)
def test_judges_of_logs_that_the_tools_wrote(folder):
    assert judges_in(SAMPLES / "judged" / folder) == tuple(REAL[folder])
    for scorer, expected in REAL[folder].items():
        assert scores_of(folder, scorer) == expected


def test_other_scorers_of_these_logs():
    assert scores_of("inspect", "match")["mockllm/beta"] == [0, 1, 0, 1, 0]
    assert scores_of("deepeval", "Exact")["org/beta"] == [0, 1, 0, 1]
    assert scores_of("promptfoo", "success")["org/alpha"] == [0, 0, 0, 1]
    epochs = read_scores(SAMPLES / "judged" / "inspect", scorer="model_graded_fact").frame
    assert epochs.groupby("model").size().tolist() == [10, 10]


def test_verdicts_of_a_log_are_corrected_by_labels(write, tmp_path):
    rng = np.random.default_rng(0)
    for model in "ab":
        kind = rng.random(60) < 0.8
        scores = [{"match": {"value": "I"}, "model_graded_qa": {"value": "CI"[not one]}}
                  for one in kind]  # fmt: skip
        write(f"logs/{model}.json", inspect_log(model, *scores))
    labels = "model,question,score\n" + "".join(
        f"{model},q{place},{int(rng.random() < 0.7)}\n" for model in "ab" for place in range(30)
    )
    (tmp_path / "labels.csv").write_text(labels)
    verdicts = read_scores(tmp_path / "logs", scorer="model_graded_qa")
    found = psy.judged_scores(verdicts, read_scores(tmp_path / "labels.csv"), rng=1)
    assert found.to_frame()["n_labels"].tolist() == [30, 30]
    assert found.to_frame()["model"].tolist() == ["a", "b"]
