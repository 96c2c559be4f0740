"""Tables in the shapes that people have them: gzipped, semicolons, a file per model, turned."""

import gzip
from pathlib import Path

import pandas as pd
import pytest

import psychollm as psy
from psychollm._base.errors import CodeError, InputError, PsychollmWarning

LINES = "".join(
    f'{{"model": "{m}", "item": {i}, "correct": {i % 2}}}\n' for m in "ab" for i in range(4)
)


def test_gzipped_lines_are_read_like_plain_ones(tmp_path: Path) -> None:
    plain, zipped = tmp_path / "a.jsonl", tmp_path / "b.jsonl.gz"
    plain.write_text(LINES)
    zipped.write_bytes(gzip.compress(LINES.encode()))
    assert psy.read_responses(zipped).values.tolist() == psy.read_responses(plain).values.tolist()
    assert psy.read_scores(zipped).frame["score"].tolist() == [0.0, 1.0, 0.0, 1.0] * 2


def test_a_cut_gzip_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "b.jsonl.gz"
    path.write_bytes(gzip.compress(LINES.encode())[:-12])
    with pytest.raises(InputError, match=r"b\.jsonl\.gz is not a complete gzip file"):
        psy.read_responses(path)


def test_a_file_without_models_is_one_model_of_its_name(tmp_path: Path) -> None:
    for name, score in (("gpt", 1), ("llama", 0)):
        (tmp_path / f"{name}.csv").write_text(f"prompt_id,correct\nq1,1\nq2,{score}\n")
    scores = psy.read_scores([tmp_path / "gpt.csv", tmp_path / "llama.csv"]).frame
    assert scores.groupby("model")["score"].mean().to_dict() == {"gpt": 1.0, "llama": 0.5}


def test_named_columns_suffice_without_a_column_of_models(tmp_path: Path) -> None:
    (tmp_path / "eins.csv").write_text("Frage;Punkte\nQ 1;0,5\nQ 2;\n")
    columns = {"question": "Frage", "score": "Punkte"}
    found = psy.read_scores(tmp_path / "eins.csv", columns=columns).frame
    assert set(found["model"]) == {"eins"}
    assert found["score"].dropna().tolist() == [0.5]


@pytest.mark.parametrize(
    ("header", "remedy"),
    [("Frage;Punkte", "'question': 'Frage', 'score': 'Punkte'"), ("case;main;pr", "transposed")],
)
def test_many_rows_of_few_columns_are_doubted(tmp_path: Path, header: str, remedy: str) -> None:
    width = header.count(";")
    rows = "\n".join(f"c{k}{';1' * width}" for k in range(10 * width))
    (tmp_path / "t.csv").write_text(f"{header}\n{rows}\n")
    with pytest.warns(PsychollmWarning, match=remedy):
        psy.read_scores(tmp_path / "t.csv")


@pytest.mark.parametrize("mark", [",", ";", "\t"])
@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_words_have_any_separator(tmp_path: Path, mark: str, ending: str) -> None:
    path = tmp_path / f"key.{ending}"
    text = f"question{mark}key\nq1{mark}A\nq2{mark}B\n".encode()
    path.write_bytes(gzip.compress(text) if ending.endswith("gz") else text)
    assert psy.data.read_labels(path) == {"q1": "A", "q2": "B"}


def test_gzipped_lines_that_expand_beyond_measure_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.jsonl.gz"
    line = b'{"model": "m", "question": "q", "score": 1, "text": "' + b"a" * 100_000 + b'"}\n'
    with gzip.open(path, "wb") as file:
        file.writelines(line for _ in range(400))
    with pytest.raises(InputError, match="bytes per compressed byte"):
        psy.read_scores(path)


def test_tasks_of_agents_are_questions_if_nothing_else_is(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    rows = [f"{a},t{t},{i},{(t + i) % 2}" for a in "xy" for t in range(4) for i in (1, 2)]
    path.write_text("\n".join(["agent,task,attempt,passed", *rows]) + "\n")
    log = psy.read_scores(path)
    assert sorted(log.frame["question"].unique()) == ["t0", "t1", "t2", "t3"]
    found = psy.attempts(log, k=(1, 2), rng=1).to_frame()
    assert found["value"].iloc[0] == 0.5
    # Beside an id, a task is a set of questions.
    path.write_text("\n".join(["agent,task,id,passed", *rows]) + "\n")
    assert psy.read_scores(path).frame["question"].nunique() == 8


COUNTS = "model,task,successes,trials\na,s,2,3\na,t,0,3\nb,s,3,3\nb,t,1,3\n"
TRIES = "model,task,{0}1,{0}2,{0}3\na,s,1,0,1\na,t,0,0,0\nb,s,1,1,1\nb,t,1,0,0\n"


@pytest.mark.parametrize(
    "text", [COUNTS, *(TRIES.format(name) for name in ("try", "Attempt_", "run "))]
)
@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_several_attempts_in_a_row(tmp_path: Path, text: str, ending: str) -> None:
    (tmp_path / "a.csv").write_text(text)
    table = pd.read_csv(tmp_path / "a.csv")
    if ending == "jsonl":
        table.to_json(tmp_path / "a.jsonl", orient="records", lines=True)
    log = psy.read_scores(tmp_path / f"a.{ending}")
    means = log.frame.groupby(["model", "question"])["score"].agg(["sum", "count"])
    assert means.to_numpy().tolist() == [[2, 3], [0, 3], [3, 3], [1, 3]]
    for results in (log, table):
        assert psy.attempts(results, k=3, rng=1).pass_hat_k[3].value.tolist() == [0.0, 0.5]


def test_attempts_of_one_model_and_empty_ones(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("task,try1,try2\ns,1,\nt,yes,no\n")
    log = psy.read_scores(tmp_path / "a.csv", score_map={"yes": 1, "no": 0})
    assert log.frame[["model", "question", "repeat", "score"]].dropna().to_numpy().tolist() == [
        ["a", "s", 1, 1.0], ["a", "t", 1, 1.0], ["a", "t", 2, 0.0],
    ]  # fmt: skip
    (tmp_path / "b.csv").write_text("question,run 1,run 2\ns,1,0\nt,1,1\n")
    with pytest.warns(PsychollmWarning, match="rows are read as questions"):
        assert set(psy.read_scores(tmp_path / "b.csv").frame["model"]) == {"run 1", "run 2"}


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("4,3", "4 successes of 3 trials: counts must be whole"),
        ("0.5,3", "0.5 successes of 3 trials: counts must be whole"),
        ("1,20000", "pass the table to psy.attempts with successes='successes'"),
        ("few,3", "successes holds 'few', which is not a number"),
    ],
)
def test_counts_that_cannot_be_used_are_named(tmp_path: Path, row: str, problem: str) -> None:
    (tmp_path / "a.csv").write_text(f"model,task,successes,trials\na,s,{row}\n")
    with pytest.raises(CodeError, match=problem):
        psy.read_scores(tmp_path / "a.csv")
