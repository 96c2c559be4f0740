"""Logs as people have them: superseded, damaged, unscored, incomplete."""

import json
import zipfile

import pytest

import psychollm as psy
from psychollm._base.errors import CodeError, InputError, PsychollmWarning
from tests.data.readers.logs.test_inspect import log, sample


def test_the_last_record_of_a_sample_counts(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.eval", "w") as made:
        made.writestr("header.json", json.dumps(log()))
        made.writestr("samples/q_epoch_1.json", json.dumps(sample("q", "I")))
        with pytest.warns(UserWarning, match="Duplicate"):
            made.writestr("samples/q_epoch_1.json", json.dumps(sample("q", "C")))
    assert psy.read_scores(tmp_path).frame["score"].tolist() == [1.0]


def test_a_folder_is_read_without_the_log_that_cannot_be(tmp_path, write):
    write("a.json", log(sample("q")))
    (tmp_path / "b.eval").write_bytes(b"PK\x03\x04 cut off")
    with pytest.warns(PsychollmWarning, match=r"1 of 2 files cannot be read.*b\.eval"):
        found = psy.read_scores(tmp_path)
    assert len(found.frame) == 1
    assert "b.eval" in found.summary()
    assert [one["source"][-6:] for one in found.counts()["left_out"]] == ["b.eval"]
    for paths, options in ((tmp_path, {"unreadable": "refuse"}), (tmp_path / "b.eval", {})):
        with pytest.raises(InputError, match="is not a complete zip archive"):
            psy.read_scores(paths, **options)
    (tmp_path / "a.json").unlink()
    with pytest.raises(InputError, match="is not a complete zip archive"):
        psy.read_scores(tmp_path)


def test_three_kinds_of_no_score(write):
    with pytest.raises(InputError, match="no answer has a score: the logs contain only summaries"):
        psy.read_scores(write("none.json", log()))
    with pytest.raises(InputError, match="the logs are not scored yet .2 answers.*inspect score"):
        psy.read_scores(write("bare.json", log(sample("q", None), sample("r", None))))
    failed = sample("q", None, error={"message": "500"})
    with pytest.raises(InputError, match="500, 1 times.*errors='wrong'"):
        psy.read_scores(write("failed.json", log(failed)))


def test_words_are_mapped_or_counted(write):
    path = write(
        "a.json", log(*(sample(k, word) for k, word in enumerate(["left", "both", "left"])))
    )
    with pytest.raises(CodeError, match=r"words, not numbers .'left' 2 times.*score_map=.*match:"):
        psy.read_scores(path)
    mapped = psy.read_scores(path, score_map={"left": 0, "both": 1})
    assert mapped.frame["score"].tolist() == [0, 1, 0]
    assert psy.read_scores(path, scorer="match:left").frame["score"].tolist() == [1, 0, 1]
    one = psy.read_scores(path, score_map={"left": 0}, missing_values=["both"])
    assert one.frame["score"].isna().tolist() == [False, True, False]


def test_errors_are_wrong_on_request(write):
    path = write("a.json", log(sample("q"), sample("r", None, error={"message": "500"})))
    assert psy.read_logs(path).responses.missing.tolist() == [[False, True]]
    found = psy.read_logs(path, errors="wrong")
    assert found.responses.values.tolist() == [[1, 0]]
    assert "1 answers that ended in errors count as wrong" in found.summary()


def test_a_log_that_holds_less_than_it_says(write):
    part = log(sample("q"), results={"total_samples": 4, "completed_samples": 4, "scores": []})
    assert (
        "reports 4 samples, but the log holds 1"
        in psy.read_scores(write("a.json", part)).summary()
    )
    limited = log(sample("q"), config={"limit": 1}, dataset={"samples": 4})
    assert not psy.read_scores(write("b.json", limited)).notes


def test_an_aggregate_that_differs_is_said(write):
    def stated(value):
        scores = [{"name": "match", "metrics": {"accuracy": {"name": "accuracy", "value": value}}}]
        return log(sample("q"), sample("r", "I"), results={"total_samples": 2, "scores": scores})

    (note,) = psy.read_scores(write("a.json", stated(0.75))).notes
    assert "states a mean of 0.75 for 'match', but its 2 scores have 0.5" in note
    assert not psy.read_scores(write("b.json", stated(0.5))).notes


def test_rows_of_the_harness_written_twice(write):
    row = {"doc_id": 0, "resps": [["1"]], "filtered_resps": ["1"], "acc": 1.0, "filter": "none"}
    folder, time = "org__a", "2024-04-08T00-00-00.000000"
    results = {
        "results": {"t": {"acc,none": 0.5}}, "n-samples": {"t": {"effective": 2}},
        "model_name": "org/a", "config": {},
    }  # fmt: skip
    write(f"{folder}/results_{time}.json", results)
    path = write(f"{folder}/samples_t_{time}.jsonl", [row, row], lines=True)
    notes = " ".join(psy.read_scores(path).notes)
    assert "2 rows of filter 'none' for 1 questions" in notes
    assert "results of 2 questions, but the log holds 1" in notes
    assert "states a mean of 0.5 for 'acc', but its 2 scores have 1" in notes
    with pytest.raises(InputError, match="each time with the same score: were rows written twice"):
        psy.read_logs(path)


def test_entries_of_helm_without_statistics_are_none(write):
    named = {"name": "exact_match", "split": "test"}
    entries = [
        {"instance_id": "id1", "stats": [{"name": named, "mean": 1.0}]},
        {"instance_id": "id2", "stats": []},
    ]
    write("run_spec.json", {"name": "task:model=m", "adapter_spec": {"model": "m"}})
    found = psy.read_scores(write("per_instance_stats.json", entries))
    assert found.frame["question"].tolist() == ["id1"]
    assert found.tasks == ("task",)


def test_labels_of_models_do_not_depend_on_runs_left_out(write, tmp_path):
    for k, (task, heat) in enumerate((("t", 0), ("u", 0), ("u", 1))):
        run = log(sample("q"), task_id=f"x{k}", model_generate_config={"temperature": heat})
        run["eval"]["task"] = task
        write(f"{k}.json", run)
    assert psy.read_scores(tmp_path, task="t").frame["model"].tolist() == ["m"]
    assert psy.read_scores(tmp_path, task="u").frame["model"].nunique() == 2
