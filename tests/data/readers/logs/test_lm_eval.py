"""What makes samples of lm-evaluation-harness hard to read, one test each."""

import numpy as np
import pytest

from psychollm._base.errors import InputError, OptionError, ValidityWarning
from psychollm.data.logs import read_logs

TIME = "2026-01-01T00-00-00.000000"


def row(doc_id, acc=1.0, *, doc=None, **more):
    found = {
        "doc_id": doc_id, "doc": {"q": doc or doc_id}, "target": "x", "resps": [["x"]],
        "filtered_resps": ["x"], "doc_hash": f"hash of {doc or doc_id}", "acc": acc,
    }  # fmt: skip
    return found | {"filter": "none", "metrics": ["acc"]} | more


@pytest.fixture
def run(write):
    """Return a function that writes the samples of a task, and the results beside them."""

    def files(folder, *rows, time=TIME, task="t", **results):
        if results:
            write(f"{folder}/results_{time}.json", results)
        return write(f"{folder}/samples_{task}_{time}.jsonl", rows, lines=True)

    return files


def old(found):
    return {name: value for name, value in found.items() if name not in {"filter", "metrics"}}


def test_rows_of_older_versions_do_not_name_their_filter(run):
    path = run("m", *(old(row(i, f)) for f in (1.0, 0.0) for i in (0, 1)))
    with pytest.raises(OptionError, match="pass filter=, one of '#1', '#2'"):
        read_logs(path)
    np.testing.assert_array_equal(read_logs(path, filter="#1").responses.values, [[1, 1]])
    np.testing.assert_array_equal(read_logs(path, filter="#2").responses.values, [[0, 0]])


def test_metrics_of_older_versions(run):
    path = run("m", old(row(0, acc_norm=0.0)))
    with pytest.raises(OptionError, match="one of 'acc', 'acc_norm'"):
        read_logs(path)


def test_statistics_of_the_whole_task_are_no_scores(run):
    path = run("m", row(0, metrics=["acc", "bleu"], bleu=["a", "b"]))
    assert read_logs(path).scorers == {"t": "acc"}


def test_the_model_stands_in_the_results_or_is_called_after_the_folder(run):
    with_results = run("x/a", row(0), model_name="org/model")
    assert read_logs(with_results).responses.models == ("org/model",)
    named = run("x/b", row(0), config={"model_args": "pretrained=org/other,dtype=bfloat16"})
    assert read_logs(named).responses.models == ("org/other",)
    without = read_logs(run("x/org__third", row(0)))
    assert without.responses.models == ("org/third",)
    assert "no results file" in without.notes[0]


def test_the_newest_file_of_a_folder_counts(run, tmp_path):
    run("m", row(0, 0.0), model_name="m")
    run("m", row(0, 1.0), time="2026-02-01T00-00-00.000000", model_name="m")
    found = read_logs(tmp_path)
    assert found.responses.values.tolist() == [[1]]
    assert [one.reason for one in found.left_out] == ["replaced by a later run"]


def test_positions_are_no_identity(run, tmp_path):
    run("a", row(0, 1.0, doc="first"), row(1, 0.0, doc="second"), model_name="a")
    run("b", row(0, 0.0, doc="second"), row(1, 1.0, doc="third"), model_name="b")
    found = read_logs(tmp_path)
    labels = found.responses.questions
    assert labels[:2] == ("0", "1")
    assert labels[2].startswith("1~")
    np.testing.assert_array_equal(found.responses.values, [[1, 0, np.nan], [np.nan, 0, 1]])
    assert "1 questions have the label of another" in found.notes[0]
    by_label = read_logs(tmp_path, match="label")
    assert by_label.responses.values.tolist() == [[1, 0], [0, 1]]


def test_a_run_that_shares_no_question_is_warned_of(run, tmp_path):
    run("a", row(0, doc="chat format: what?"), row(1, doc="b"), model_name="a")
    run("b", row(0, doc="what?"), model_name="b")
    with pytest.warns(ValidityWarning) as caught:
        assert read_logs(tmp_path).responses.n_questions == 3
    assert [str(one.message).split(": ")[1][:19] for one in caught] == [
        "no question of a on",
        "no question of b on",
    ]
    assert read_logs(tmp_path, match="label").responses.n_questions == 2


def test_the_same_text_twice_is_two_questions(run):
    path = run("a", row(0, 1.0, doc="same"), row(1, 0.0, doc="same"), model_name="a")
    assert read_logs(path).responses.values.tolist() == [[1, 0]]


def test_settings_make_respondents_and_machines_do_not(run, tmp_path):
    def settings(**arguments):
        return {"model_name": "m", "config": {"model": "hf", "model_args": arguments}}

    run("a", row(0), **settings(dtype="bf16", device="cuda:0"))
    run("b", row(0), **settings(dtype="int8", device="cuda:1"))
    run("c", row(0), **settings(dtype="int8"), **{"n-shot": {"t": 5}})
    models = read_logs(tmp_path).responses.models
    assert models == (
        "m [dtype=bf16, num_fewshot=unset]", "m [dtype=int8, num_fewshot=unset]",
        "m [dtype=int8, num_fewshot=5]",
    )  # fmt: skip


def test_weights_that_changed_make_respondents(run, tmp_path):
    for folder in "ab":
        run(folder, row(0), model_name="m", config={"model_sha": folder * 40})
    models = read_logs(tmp_path).responses.models
    assert models == ("m [weights=aaaaaaaaaaaa]", "m [weights=bbbbbbbbbbbb]")


def test_shots_that_differ_between_tasks_make_no_respondents(run, tmp_path):
    shots = {"n-shot": {"t": 5, "u": 0}, "model_name": "m"}
    run("a", row(0), **shots)
    run("a", row(0), task="u", **shots)
    assert read_logs(tmp_path).responses.models == ("m",)


def test_models_that_were_not_asked_alike_are_named(run, tmp_path):
    run("a", row(0), model_name="a", **{"n-shot": {"t": 0}})
    run("b", row(0), model_name="b", **{"n-shot": {"t": 5}})
    found = read_logs(tmp_path)
    assert found.responses.models == ("a", "b")
    note = "models were not asked alike on 't': num_fewshot is '0' ('a'); '5' ('b')"
    assert found.notes == (note,)


def test_a_damaged_line_is_named(run):
    path = run("m", row(0), row(1))
    path.write_text(path.read_text()[:-30])
    with pytest.raises(InputError, match=r"samples_t_.*line 2 is not complete JSON"):
        read_logs(path)


def test_likelihoods_that_are_none(run):
    path = run("m", row(0, filtered_resps=[["a", "False"], ["b", "False"]]))
    assert read_logs(path).confidence is None
