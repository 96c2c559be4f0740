"""``--by`` of compare and calibrate: a result for each group, and how the groups differ."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import psychollm as psy

SAMPLES = Path(__file__).resolve().parents[1] / "data" / "samples"


@pytest.fixture
def answers(tmp_path: Path) -> pd.DataFrame:
    """A long table with a domain for each question and a family for each model."""
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(
        [(model, f"q{item}") for model in "abcd" for item in range(80)],
        columns=["model", "question"],
    )
    frame["domain"] = np.where(frame["question"].str[1:].astype(int) < 40, "sums", "proofs")
    frame["family"] = np.where(frame["model"].isin(["a", "b"]), "big", "small")
    frame["score"] = (rng.random(320) < np.where(frame["domain"] == "sums", 0.9, 0.4)).astype(int)
    frame["confidence"] = rng.random(320).round(2)
    frame.to_csv(tmp_path / "answers.csv", index=False)
    return frame


def test_domains_of_a_table_are_compared(call, answers, tmp_path: Path) -> None:
    found = call("compare", "answers.csv", "--by", "domain", "--out", "here")
    assert found.returncode == 0, found.stderr
    assert "4 of the 4 differences between groups are significant" in found.stdout
    assert "Report:" not in found.stdout
    names = {path.name for path in (tmp_path / "here").iterdir()}
    assert names == {"groups.csv", "differences.csv", "results.json", "comment.md"}
    rows = pd.read_csv(tmp_path / "here" / "differences.csv").set_index("model")
    means = answers.groupby(["model", "domain"])["score"].mean()
    assert rows["value"].to_dict() == pytest.approx(
        (means[:, "sums"] - means[:, "proofs"]).to_dict()
    )


def test_families_are_found_by_column_or_file(call, answers, tmp_path: Path) -> None:
    answers[["model", "family"]].drop_duplicates().to_csv(tmp_path / "kin.csv", index=False)
    column, file = (
        json.loads(call("compare", "answers.csv", "--by", by, "--json").stdout)
        for by in ("family", "kin.csv")
    )
    assert column["of"] == file["of"] == "models"
    assert column["differences"] == file["differences"]
    assert len(column["differences"]) == 1


def test_panels_of_domains(call, answers, tmp_path: Path) -> None:
    quick = ("--metrics", "brier", "--bootstrap", 50, "--json", "--by")
    found = json.loads(call("calibrate", "answers.csv", *quick, "domain").stdout)
    assert found["groups"] == ["sums", "proofs"]
    squares = answers.assign(loss=(answers["confidence"] - answers["score"]) ** 2)
    means = squares.groupby(["model", "domain"])["loss"].mean()
    expected = (means[:, "sums"] - means[:, "proofs"]).to_dict()
    values = {row["model"]: row["value"] for row in found["differences"]}
    assert values == pytest.approx(expected)
    for name, column in (("sure.csv", "confidence"), ("right.csv", "score")):
        answers[["model", "question", column, "domain"]].to_csv(tmp_path / name, index=False)
    columns = ("--confidence-column", "confidence", "--correctness-column", "score")
    tables = call("calibrate", "sure.csv", "right.csv", *columns, *quick, "domain")
    assert json.loads(tables.stdout)["differences"] == found["differences"]


@pytest.mark.parametrize(
    ("by", "words"),
    [
        ("era", ["--by era:", "no such column"]),
        ("confidence", ["--by confidence", "one value per question or per model"]),
        ("few.csv", ["--by few.csv", "'q1' has none"]),
    ],
)
def test_groups_that_are_none_are_refused(call, answers, tmp_path, by, words) -> None:
    (tmp_path / "few.csv").write_text("question,domain\nq0,x\n")
    found = call("compare", "answers.csv", "--by", by)
    assert found.returncode == 2
    assert len(found.stderr.splitlines()) == 1
    for word in words:
        assert word in found.stderr


def test_fields_of_what_was_asked_are_kept(tmp_path: Path) -> None:
    log = next((SAMPLES / "lm_eval").rglob("samples_toy_mc_*.jsonl"))
    row = json.loads(log.read_text().splitlines()[0])
    name = next(key for key, value in row["doc"].items() if isinstance(value, str))
    found = psy.read_scores(SAMPLES / "lm_eval", task="toy_mc", scorer="acc", keep=[name])
    assert found.frame[name].iloc[0] == row["doc"][name]
    rows = "model,question,score,era\na,1,1,new\na,2,0,\n"
    (tmp_path / "t.csv").write_text(rows)
    kept = psy.read_scores(tmp_path / "t.csv", keep=["era"]).frame
    assert kept["era"].tolist() == ["new", ""]
