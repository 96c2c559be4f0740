"""Tables in the shapes that people have them: gzipped, semicolons, a file per model, turned."""

import gzip
from pathlib import Path

import pytest

import psychollm as psy
from psychollm._base.errors import InputError, PsychollmWarning

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
