"""What makes logs of Inspect AI hard to read, one test each."""

import contextlib
import json
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psychollm._base.errors import InputError, OptionError, PsychollmError
from psychollm.data.logs import read_logs
from tests.effort import examples


def sample(name, value="C", **more):
    scores = {} if value is None else {"match": {"value": value}}
    return {"id": name, "epoch": 1, "input": f"{name}?", "target": "x", "scores": scores} | more


def log(*samples, model="m", created="2026-01-01", **more):
    about = {"model": model, "task": "t", "task_id": f"{model}{created}", "created": created}
    for key in ("model_args", "model_generate_config", "task_id", "config", "dataset"):
        if key in more:
            about[key] = more.pop(key)
    return {"version": 2, "status": "success", "eval": about, "samples": list(samples)} | more


def values(found):
    return found.responses.values.tolist()


@pytest.mark.parametrize(
    ("value", "score"),
    [("C", 1), ("I", 0), ("yes", 1), ("No", 0), (True, 1), (0, 0), (1.0, 1), ("1", 1), ("0.0", 0)],
)
def test_grades(write, value, score):
    path = write("a.json", log(sample("q", value), sample("r", "C"), sample("s", "I")))
    assert values(read_logs(path)) == [[score, 1, 0]]


@pytest.mark.parametrize("value", ["n/a", None, float("nan"), ""])
def test_what_is_no_grade_is_missing(write, value):
    spoken = sample("q")
    spoken["scores"]["match"]["value"] = value
    found = read_logs(write("a.json", log(spoken, sample("r"))))
    assert np.isnan(found.responses.values[0, 0])
    assert found.errors == {"not scored": 1}


def test_no_answer_is_wrong_only_if_the_caller_says_so(write):
    path = write("a.json", log(sample("q", "N"), sample("r", "C")))
    with pytest.raises(OptionError, match="1 answers are marked as no answer"):
        read_logs(path)
    assert values(read_logs(path, no_answer="wrong")) == [[0, 1]]
    missing = read_logs(path, no_answer="missing")
    assert np.isnan(missing.responses.values[0, 0])
    assert missing.errors == {"no answer": 1}


def test_partial_credit_needs_a_threshold(write):
    path = write("a.json", log(sample("q", "P"), sample("r", "C")))
    with pytest.raises(InputError, match=r"scores are not all 0 or 1 \(0.5\): pass threshold="):
        read_logs(path)
    assert values(read_logs(path, threshold=0.5)) == [[0, 1]]
    assert values(read_logs(path, threshold=0.5, strict=False)) == [[1, 1]]


def test_errors_are_missing_even_where_they_were_scored(write):
    path = write(
        "a.json",
        log(
            sample("q", None, error={"message": "timeout"}),
            sample("r", "I", error={"message": "timeout"}),  # score_on_error
            sample("s", None, limit={"type": "token"}),
            sample("t", "C", limit={"type": "token"}),
            sample("u", "I", invalidation={"author": "me"}),
            sample("v", "I"),
        ),
    )
    found = read_logs(path)
    np.testing.assert_array_equal(found.responses.missing[0], [1, 1, 1, 0, 1, 0])
    assert found.errors == {"timeout": 2, "limit: token": 1, "invalidated in the log": 1}
    assert "Answers without a score: 4 (timeout, 2 times;" in found.summary()


def test_an_error_in_one_epoch_leaves_the_other(write):
    path = write(
        "a.json",
        log(
            sample("q", "C"),
            sample("q", None, epoch=2, error={"message": "x"}),
            sample("r", None, error={"message": "x"}),
            sample("r", "I", epoch=2),
        ),
    )
    assert values(read_logs(path, repeats="majority")) == [[1, 0]]
    first = read_logs(path, repeats="first").responses  # a failure is not passed over
    np.testing.assert_array_equal(first.values, [[1, np.nan]])
    keep = read_logs(path, repeats="keep").responses
    np.testing.assert_array_equal(keep.values, [[1, np.nan], [np.nan, 0]])


def test_scores_with_several_values_are_several_scorers(write):
    spoken = sample("q", {"a": "C", "b": "I"})
    listed = sample("q", ["C", "I"])
    with pytest.raises(OptionError, match="one of 'match.a', 'match.b'"):
        read_logs(write("a.json", log(spoken)))
    assert values(read_logs(write("b.json", log(listed)), scorer="match.1")) == [[0]]


def test_a_retried_run_counts_once(write, tmp_path):
    write("a.json", log(sample("q", "I"), created="2026-01-01", task_id="x", status="error"))
    write("b.json", log(sample("q", "C"), sample("r"), created="2026-01-02", task_id="x"))
    found = read_logs(tmp_path)
    assert values(found) == [[1, 1]]
    assert [(one.reason, one.n) for one in found.left_out] == [("replaced by a later run", 1)]
    assert "1 run with 1 answer (replaced by a later run)" in found.summary()


def test_invalidated_runs_do_not_count(write, tmp_path):
    write("a.json", log(sample("q", "I"), invalidated=True, created="2026-01-03", task_id="x"))
    with pytest.raises(InputError, match="all 1 runs are left out: invalidated in the log"):
        read_logs(tmp_path)
    write("b.json", log(sample("q", "C"), task_id="x"))
    assert values(read_logs(tmp_path)) == [[1]]


def test_runs_that_did_not_finish_are_named(write):
    path = write(
        "a.json",
        log(sample("q"), status="cancelled", dataset={"samples": 5}, config={"epochs": 2}),
    )
    (note,) = read_logs(path).notes
    assert "did not finish (status 'cancelled'): it has 1 of 10 samples" in note


def test_a_log_that_was_never_finished_has_a_journal_only(tmp_path):
    path = tmp_path / "a.eval"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("_journal/start.json", json.dumps({"eval": log()["eval"]}))
        made.writestr("samples/q_epoch_1.json", json.dumps(sample("q")))
    found = read_logs(path)
    assert values(found) == [[1]]
    assert "status 'started'" in found.notes[0]


@pytest.mark.parametrize("where", ["model_args", "model_generate_config"])
def test_two_configurations_are_two_respondents(write, tmp_path, where):
    write("a.json", log(sample("q", "C"), created="1", **{where: {"reasoning_effort": "low"}}))
    write("b.json", log(sample("q", "I"), created="2", **{where: {"reasoning_effort": "high"}}))
    write("c.json", log(sample("q", "I"), created="3", model="other"))
    found = read_logs(tmp_path)
    assert found.responses.models == (
        "m [reasoning_effort=low]", "m [reasoning_effort=high]", "other",
    )  # fmt: skip
    assert values(found) == [[1], [0], [0]]


def test_seeds_and_transport_make_no_respondents(write, tmp_path):
    write("a.json", log(sample("q"), created="1", model_generate_config={"seed": 1}))
    write("b.json", log(sample("q"), created="2", model_generate_config={"max_retries": 2}))
    with pytest.raises(OptionError, match="answered question 'q' 2 times"):
        read_logs(tmp_path)
    assert read_logs(tmp_path, repeats="mean").responses.models == ("m",)


def test_solvers_and_task_arguments_make_respondents(write, tmp_path):
    plans = [{"steps": [{"solver": name, "params_passed": {}}]} for name in ("cot", "generate")]
    for i, plan in enumerate(plans):
        write(f"{i}.json", log(sample("q"), created=str(i), plan=plan))
    models = read_logs(tmp_path).responses.models
    assert len(models) == 2
    assert all("solver" in model for model in models)


def test_solvers_of_older_logs(write, tmp_path):
    for i, steps in enumerate(({"params_passed": {}, "params": {"all": 1}}, {"params": {}})):
        step = {"solver": "generate"} | steps
        write(f"{i}.json", log(sample("q"), created=str(i), plan={"steps": [step]}))
    assert read_logs(tmp_path, repeats="first").responses.models == ("m",)


def test_stated_confidence(write):
    sure = sample("q")
    sure["scores"]["match"]["metadata"] = {"confidence": 0.8}
    found = read_logs(write("a.json", log(sure, sample("r"))))
    np.testing.assert_array_equal(found.confidence.to_numpy(), [[0.8, np.nan]])


def test_ids_of_messages_do_not_matter(write, tmp_path):
    def asked(identity):
        return [{"id": identity, "role": "user", "content": "Which?"}]

    write("a.json", log(sample("1", input=asked("x")), created="1"))
    write("b.json", log(sample("1", input=asked("y")), created="2", model="other"))
    assert read_logs(tmp_path).responses.questions == ("1",)


@pytest.mark.parametrize("cut", [50, 200])
def test_cut_off_json(tmp_path, cut):
    path = tmp_path / "a.json"
    path.write_text(json.dumps(log(sample("q")))[:cut])
    with pytest.raises(InputError, match="is not complete JSON.*is it cut off"):
        read_logs(path)


def test_another_layout_is_named(write):
    path = write("a.json", log("not a sample"))
    with pytest.raises(InputError, match="deviates from the log format of inspect"):
        read_logs(path)


def test_an_epoch_without_end_is_refused(write):
    path = write("a.json", log(sample("q", epoch=10**400)))
    with pytest.raises(InputError, match=r"question 'q': the repeat number is 2\*\*53 or more"):
        read_logs(path)


def values_in(found, path=()):
    """Yield the place of every value in nested JSON."""
    yield path
    if isinstance(found, dict | list):
        for key, value in found.items() if isinstance(found, dict) else enumerate(found):
            yield from values_in(value, (*path, key))


@given(st.data())
@examples(100)
def test_a_log_with_anything_in_it_is_read_or_refused(tmp_path_factory, data):
    full = log(
        sample("q", {"a": "C"}, metadata={"confidence": 0.5}, input=[{"role": "user"}]),
        sample("r", None, error={"message": "x"}, limit={"type": "y"}),
        model_args={"a": [1]},
        dataset={"samples": 2},
        plan={"steps": [{"solver": "s", "params_passed": {}}]},
    )
    full["status"] = data.draw(st.sampled_from(["success", "error"]))
    place = data.draw(st.sampled_from([path for path in values_in(full) if path]))
    parent = full
    for key in place[:-1]:
        parent = parent[key]
    parent[place[-1]] = data.draw(
        st.sampled_from([None, 0, True, "", "x", 10**400, [], [1], {}, {"a": 1}, [[]], [None]])
    )
    path = tmp_path_factory.mktemp("log") / "a.json"
    path.write_text(json.dumps(full))
    for name in (None, "inspect"):
        with contextlib.suppress(PsychollmError):
            read_logs(path, format=name, repeats="first", threshold=0.5, no_answer="wrong")


def test_version_1_has_one_scorer_named_in_the_results(write):
    old = log({"id": 1, "epoch": 1, "input": "q", "target": "x", "score": {"value": "C"}})
    assert set(read_logs(write("a.json", old)).frame["scorer"]) == {"score"}
    old["results"] = {"scorer": {"name": "match"}}
    found = read_logs(write("b.json", old))
    assert set(found.frame["scorer"]) == {"match"}
    assert found.responses.values.tolist() == [[1]]


def test_a_score_that_was_edited_is_what_it_became(write):
    row = sample("q", "C")
    row["scores"] = {
        name: one | {"history": [{"value": "I"}, {"value": "C"}]}
        for name, one in row["scores"].items()
    }
    assert read_logs(write("a.json", log(row))).responses.values.tolist() == [[1]]
