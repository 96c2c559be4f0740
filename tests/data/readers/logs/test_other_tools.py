"""What makes the logs of the other tools hard to read, one test each."""

import numpy as np
import pytest

from psychollm._base.errors import InputError, OptionError
from psychollm.data.logs import read_logs


def values(found):
    return found.responses.values.tolist()


# Every Eval Ever


def record(sample, score, **more):
    return {
        "model_id": "m", "evaluation_name": "e", "sample_id": sample,
        "input": {"raw": f"{sample}?", "reference": ["x"]},
        "evaluation": {"score": score, "is_correct": bool(score)},
    } | more  # fmt: skip


def test_eee_metrics_are_scorers_named_by_the_aggregate(write):
    rows = [record("1", v, evaluation_result_id=f"id-{k}") for k, v in ((0, 1.0), (1, 0.0))]
    path = write("u_samples.jsonl", rows, lines=True)
    with pytest.raises(OptionError, match="one of 'id-0', 'id-1'"):
        read_logs(path)
    names = [
        {"evaluation_result_id": f"id-{k}", "metric_config": {"metric_name": name}}
        for k, name in enumerate(("exact", "fuzzy"))
    ]
    write("u.json", {"schema_version": "0.3.0", "evaluation_results": names})
    assert values(read_logs(path, scorer="fuzzy")) == [[0]]


def test_eee_ids_of_one_metric_differ_from_model_to_model(write, tmp_path):
    for model in "ab":
        rows = [record("1", 1.0, model_id=model, evaluation_result_id=f"{model}-7")]
        write(f"{model}_samples.jsonl", rows, lines=True)
    assert values(read_logs(tmp_path)) == [[1], [1]]


def test_eee_repeats_have_no_field(write):
    path = write("u_samples.jsonl", [record("1", 1.0), record("1", 0.0)], lines=True)
    with pytest.raises(OptionError, match="answered question '1' 2 times"):
        read_logs(path)
    assert values(read_logs(path, repeats="keep")) == [[1], [0]]


def test_eee_without_a_score(write):
    rows = [record("1", None, evaluation={"score": None}), record("2", 1.0)]
    rows.append(record("3", None, evaluation={"is_correct": False}))
    found = read_logs(write("u_samples.jsonl", rows, lines=True))
    np.testing.assert_array_equal(found.responses.values, [[np.nan, 1, 0]])


def test_eee_lacking_field(write):
    path = write("u_samples.jsonl", [record("1", 1.0), {"model_id": "m"}], lines=True)
    with pytest.raises(InputError, match="line 2: the record has no evaluation, evaluation_name"):
        read_logs(path)


def test_eee_several_evaluations_and_models_in_one_file(write):
    rows = [
        record("1", 1.0),
        record("1", 0.0, evaluation_name="f"),
        record("1", 0.0, model_id="n"),
    ]
    found = read_logs(write("u_samples.jsonl", rows, lines=True))
    assert found.responses.questions == ("e/1", "f/1")
    np.testing.assert_array_equal(found.responses.values, [[1, 0], [0, np.nan]])


# HELM


def stat(name, mean, **more):
    found = {"name": {"name": name, "split": "test"}, "count": 1, "mean": mean}
    found["name"] |= more
    return found


@pytest.fixture
def helm(write):
    def run(*instances, model="m", folder="run", state=None, **adapter):
        spec = {"name": f"s:subject=a,model={model}", "adapter_spec": {"model": model} | adapter}
        write(f"{folder}/run_spec.json", spec)
        if state is not None:
            write(f"{folder}/scenario_state.json", {"request_states": state})
        return write(f"{folder}/per_instance_stats.json", list(instances))

    return run


def instance(name, *stats, **more):
    return {"instance_id": name, "train_trial_index": 0, "stats": list(stats)} | more


def test_helm_counts_and_times_are_no_scorers(helm):
    path = helm(instance("id1", stat("num_references", 4), stat("inference_runtime", 1.0),
                         stat("exact_match", 1.0), stat("logprob", -3.0)))  # fmt: skip
    found = read_logs(path)
    assert found.scorers == {"s:subject=a": "exact_match"}


def test_helm_absent_mean_is_missing(helm):
    absent = {"name": {"name": "exact_match", "split": "test"}, "count": 0}
    found = read_logs(helm(instance("id1", absent), instance("id2", stat("exact_match", 1.0))))
    np.testing.assert_array_equal(found.responses.values, [[np.nan, 1]])


def test_helm_perturbed_copies_are_a_choice(helm):
    path = helm(
        instance("id1", stat("exact_match", 1.0)),
        instance("id1", stat("exact_match", 0.0), perturbation={"name": "robustness"}),
    )
    with pytest.raises(OptionError, match="pass filter=, one of 'original', 'robustness'"):
        read_logs(path)
    assert values(read_logs(path, filter="original")) == [[1]]


def test_helm_splits_are_tasks(helm):
    path = helm(
        instance("id1", stat("exact_match", 1.0)),
        instance("id2", stat("exact_match", 0.0, split="valid")),
    )
    found = read_logs(path)
    assert found.tasks == ("s:subject=a:test", "s:subject=a:valid")
    assert " of 2 tasks: " in found.summary()
    assert values(read_logs(path, task="s:subject=a:valid")) == [[0]]


def test_helm_trials_are_repeats(helm):
    path = helm(
        instance("id1", stat("exact_match", 1.0)),
        instance("id1", stat("exact_match", 0.0), train_trial_index=1),
    )
    assert values(read_logs(path, repeats="keep")) == [[1], [0]]


def test_helm_failed_requests_are_missing(helm):
    state = [
        {"instance": {"id": "id1", "input": {"text": "?"}}, "result": {"success": False}},
        {"instance": {"id": "id2", "input": {"text": "!"}}, "result": {"success": True}},
    ]
    stats = [instance(f"id{i}", stat("exact_match", 0.0)) for i in (1, 2)]
    found = read_logs(helm(*stats, state=state))
    np.testing.assert_array_equal(found.responses.values, [[np.nan, 0]])
    assert found.errors == {"failed request": 1}


def test_helm_confidence_and_configurations(helm, tmp_path):
    stats = (stat("exact_match", 1.0), stat("max_prob", 0.9))
    helm(instance("id1", *stats), folder="a", temperature=0.0)
    helm(instance("id1", *stats), folder="b", temperature=1.0)
    found = read_logs(tmp_path)
    assert found.responses.models == ("m [temperature=0.0]", "m [temperature=1.0]")
    assert found.confidence.to_numpy().tolist() == [[0.9], [0.9]]


def test_helm_certainty_without_likelihoods_is_none(helm):
    stats = (stat("exact_match", 1.0), stat("max_prob", 1.0), stat("logprob", 0.0))
    assert read_logs(helm(instance("id1", *stats))).confidence is None


def test_helm_without_its_specification(write):
    path = write("per_instance_stats.json", [instance("id1", stat("exact_match", 1.0))])
    with pytest.raises(InputError, match=r"run_spec.json, which names"):
        read_logs(path)


# lighteval


def test_lighteval_positions_are_no_identity(tmp_path):
    pytest.importorskip("pyarrow")
    import pandas as pd

    for model, order in (("a", "xy"), ("b", "yz")):
        folder = tmp_path / "details" / "org" / model / "2026"
        folder.mkdir(parents=True)
        pd.DataFrame(
            {
                "doc": [{"id": str(i), "query": q, "task_name": "t"} for i, q in enumerate(order)],
                "metric": [{"em": 1.0}, {"em": 0.0}],
                "model_response": [{"text": ["a"]}] * 2,
            }
        ).to_parquet(folder / "details_t_2026-01-01T00-00-00.000000.parquet")
    found = read_logs(tmp_path)
    np.testing.assert_array_equal(found.responses.values, [[1, 0, np.nan], [np.nan, 1, 0]])


def flat(metrics, example="?", **more):
    return {"example": example, "gold_index": [0], "metrics": metrics, "choices": ["x"]} | more


def test_lighteval_lines_of_the_hub(write):
    rows = [flat({"em": 1.0}, "a"), flat({"em": None}, "b"), flat({"em": 0}, "c")]
    path = write("details/org/m/2024/details_t_2024-01-01T00-00-00.000000.jsonl", rows, lines=True)
    found = read_logs(path)
    np.testing.assert_array_equal(found.responses.values, [[1, np.nan, 0]])
    assert found.responses.models == ("org/m",)
    assert found.errors == {"not scored": 1}


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("{'em': 1.0}", 1),
        ("{'em': True}", 1),
        ("{'em': nan}", None),
        ("{'em': np.float64(1.0)}", 1),
        ("__import__('os').abort()", None),
        ("[" * 5000, None),
        ("1", None),
        ("", None),
    ],
)
def test_lighteval_text_is_taken_apart_and_never_run(tmp_path, text, score):
    pytest.importorskip("pyarrow")
    import pandas as pd

    rows = [flat(text, "a", gold_index="[0]"), flat("{'em': 0.0}", "b", gold_index="[0]")]
    path = tmp_path / "details_t_2024-01-01T00-00-00.000000.parquet"
    pd.DataFrame(rows).to_parquet(path)
    found = read_logs(path, scorer="em")
    np.testing.assert_array_equal(found.responses.values[0], [score if score else np.nan, 0])


def test_lighteval_damaged(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "details_t_2026.parquet"
    path.write_bytes(b"PAR1" + b"\x00" * 100)
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        read_logs(path)


# OpenCompass


def test_opencompass_without_details(write):
    for number, content in enumerate([{"accuracy": 50.0}, {"details": {"0": {"prompt": "?"}}}]):
        path = write(f"{number}/results/m/d.json", content)
        with pytest.raises(InputError, match="--dump-eval-details"):
            read_logs(path)


def test_opencompass_details_as_a_list_and_repeats(write):
    details = [{"prompt": "a?", "correct": [True, False]}, {"prompt": "b?", "correct": [True] * 2}]
    found = read_logs(write("results/m/d.json", {"details": details}), repeats="keep")
    assert values(found) == [[1, 1], [0, 1]]


def test_opencompass_what_was_not_judged_is_missing(write):
    details = {"type": "GEN", "0": {"correct": True}, "1": {"pred": "?"}}
    found = read_logs(write("results/m/d.json", {"details": details}))
    np.testing.assert_array_equal(found.responses.values, [[1, np.nan]])


# promptfoo


def result(name, *, success=True, score=None, **more):
    score = float(success) if score is None else score
    return {
        "vars": {"q": name}, "success": success, "score": score, "provider": {"id": "echo"},
        "prompt": {"label": "p"}, "testCase": {"vars": {"q": name}}, "failureReason": 0,
    } | more  # fmt: skip


def promptfoo(*results):
    return {"results": {"version": 3, "results": list(results)}}


def test_promptfoo_failed_calls_are_missing(write):
    found = read_logs(
        write(
            "r.json",
            promptfoo(
                result("a", success=False, failureReason=2, error="429"),
                result("b", success=False, failureReason=1, error="Expected x"),
                result("c", success=False, response={"error": "down"}),
                result("d"),
            ),
        )
    )
    np.testing.assert_array_equal(found.responses.values, [[np.nan, 0, np.nan, 1]])
    assert found.errors == {"429": 1, "down": 1}


def test_promptfoo_prompts_and_providers_are_respondents(write):
    rows = [result("a"), result("a", prompt={"label": "other"})]
    rows.append(result("a", provider={"id": "echo", "label": "named"}))
    found = read_logs(write("r.json", promptfoo(*rows)))
    assert found.responses.models == ("echo [prompt=p]", "echo [prompt=other]", "named")


def test_promptfoo_tests_are_told_apart_by_their_assertions(write):
    rows = [
        result("a", testCase={"vars": {"q": "a"}, "assert": [{"type": kind}]}, success=ok)
        for kind, ok in (("equals", True), ("contains", False))
    ]
    found = read_logs(write("r.json", promptfoo(*rows)))
    assert found.responses.questions[0] == "a"
    assert values(found) == [[1, 0]]


def test_promptfoo_named_metrics_and_long_names(write):
    row = result("long " * 40, namedScores={"tone": 0.0})
    with pytest.raises(OptionError, match="one of 'success', 'metric tone'"):
        read_logs(write("r.json", promptfoo(row)))
    found = read_logs(write("r.json", promptfoo(row)), scorer="success")
    assert len(found.responses.questions[0]) == 60


def test_promptfoo_jsonl_beside_json_is_one_run(write, tmp_path):
    rows = [
        result("a", id="1", promptIdx=0, testIdx=0),
        result("b", id="2", promptIdx=0, testIdx=1),
    ]
    whole = promptfoo(*rows)
    whole["config"] = {"description": "named"}
    whole["results"]["timestamp"] = "2026"
    write("r.json", whole)
    write("r.jsonl", rows, lines=True)
    found = read_logs(tmp_path)
    assert values(found) == [[1, 1]]
    assert [(one.n, one.reason) for one in found.left_out] == [(2, "replaced by a later run")]
    again = [row | {"id": f"{row['id']}0"} for row in rows]
    other = read_logs(write("s.jsonl", again, lines=True))
    assert set(other.frame["task"]) == {"promptfoo"}
    assert values(other) == [[1, 1]]


def test_promptfoo_jsonl_cut_off(write):
    path = write("s.jsonl", [result(n, promptIdx=0, testIdx=0) for n in "ab"], lines=True)
    path.write_text(path.read_text()[:-20])
    with pytest.raises(InputError, match="line 2 is not complete JSON"):
        read_logs(path)


def test_promptfoo_stacks_of_errors_are_cut(write):
    row = result("a", success=False, failureReason=2, error="down\n    at call (a.js:1)")
    found = read_logs(write("r.json", promptfoo(row, result("b"))))
    assert found.errors == {"down": 1}


# deepeval


def case(name, *metrics, **more):
    return {"name": name, "input": f"{name}?", "metricsData": list(metrics)} | more


def test_deepeval_graded_metrics_are_a_choice(write):
    metric = {"name": "Judge", "score": 0.7, "success": True}
    content = {"testCases": [case("a", metric)], "hyperparameters": {"model": "m"}}
    path = write("r.json", content)
    with pytest.raises(OptionError, match=r"one of 'Judge', 'Judge\.success'"):
        read_logs(path)
    assert values(read_logs(path, scorer="Judge.success")) == [[1]]
    assert values(read_logs(path, scorer="Judge", threshold=0.8)) == [[0]]


def test_deepeval_errors_and_models(write):
    metric = {"name": "Exact", "score": 0, "success": False}
    cases = [case("a", metric | {"error": "boom"}), case("b", metric), case("c")]
    found = read_logs(write("run.json", {"testCases": cases, "conversationalTestCases": [{}]}))
    np.testing.assert_array_equal(found.responses.values, [[np.nan, 0, np.nan]])
    assert found.responses.models == ("run",)
    assert found.errors == {"boom": 1, "no metric was computed": 1}
    assert [note.split(": ", 1)[1] for note in found.notes] == [
        "no model is named: the file name 'run' is used", "1 conversations were skipped",
    ]  # fmt: skip


# OpenAI evals


def event(sample, kind, **data):
    return {"run_id": "r", "event_id": 0, "sample_id": sample, "type": kind, "data": data}


SPEC = {"spec": {"completion_fns": ["m"], "eval_name": "e"}}


def test_openai_lines_in_any_order(write):
    lines = [event("s", "match", correct=True), {"final_report": {}}, SPEC]
    assert values(read_logs(write("r.jsonl", lines, lines=True))) == [[1]]
    with pytest.raises(InputError, match="no line holds the specification"):
        read_logs(write("r.jsonl", lines[:2], lines=True))


def test_openai_metrics_in_place_of_matches(write):
    lines = [SPEC, event("s", "metrics", f1=0.5, text="x"), event("t", "metrics", f1=1.0)]
    path = write("r.jsonl", lines, lines=True)
    assert values(read_logs(path, threshold=0.6)) == [[0, 1]]


def test_openai_samples_without_a_verdict_are_missing(write):
    lines = [SPEC, event("s", "sampling", prompt="?", sampled=["x"]), event("t", "error", m="!")]
    found = read_logs(write("r.jsonl", [*lines, event("u", "match", correct=False)], lines=True))
    np.testing.assert_array_equal(found.responses.values, [[np.nan, np.nan, 0]])


def test_openai_several_matches_are_repeats(write):
    lines = [SPEC, *(event("s", "match", correct=ok) for ok in (True, False, True))]
    found = read_logs(write("r.jsonl", lines, lines=True), repeats="majority")
    assert values(found) == [[1]]


# HAL


def test_hal_tasks_in_neither_list_are_missing(write, tmp_path):
    for name, good, bad in (("a", ["1"], ["2"]), ("b", ["2"], [])):
        write(
            f"{name}_UPLOAD.json",
            {
                "config": {"agent_name": name, "benchmark_name": "b"},
                "results": {"successful_tasks": good, "failed_tasks": bad},
            },
        )
    np.testing.assert_array_equal(read_logs(tmp_path).responses.values, [[1, 0], [np.nan, 1]])


# EvalScope


def review(index, score, **more):
    made = score if "value" in score else {"value": score, "status": "success"}
    asked = [{"role": "user", "content": f"{more.get('group_id', index)}?"}]
    about = {"index": index, "target": ["x"], "messages": asked}
    return about | {"sample_score": {"score": made, "sample_id": index} | more}


def test_evalscope_repeats_share_a_group(write):
    rows = [
        review(k, {"acc": float(k != 1)}, group_id=k // 2, generation_index=k % 2)
        for k in range(4)
    ]
    path = write("reviews/m/toy_main.jsonl", rows, lines=True)
    with pytest.raises(OptionError, match="pass repeats="):
        read_logs(path)
    found = read_logs(path, repeats="keep")
    assert values(found) == [[1, 1], [0, 1]]
    assert found.responses.models == ("m #1", "m #2")


def test_evalscope_scores_that_could_not_be_made_are_missing(write):
    failed = {"value": {}, "status": "judge_error"}
    rows = [review(0, {"acc": 1.0, "f1": 0.5}), review(1, failed), review(2, {"acc": 0.0})]
    path = write("reviews/m/toy_main.jsonl", rows, lines=True)
    with pytest.raises(OptionError, match="one of 'acc', 'f1'"):
        read_logs(path)
    found = read_logs(path, scorer="acc")
    np.testing.assert_array_equal(found.responses.values, [[1, np.nan, 0]])
    assert "judge_error" in set(found.frame["error"])


def test_evalscope_of_older_versions(write):
    score = {"score": {"value": {"acc": True}}}
    rows = [{"index": 5, "input": "2 + 2?", "target": "4", "sample_score": score}]
    path = write("reviews/m/toy_main.jsonl", rows, lines=True)
    assert values(read_logs(path)) == [[1]]
