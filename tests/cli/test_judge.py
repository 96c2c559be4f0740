"""``psychollm judge``: columns of verdicts and of labels."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

VERDICTS = "model=llm,question=qid,score=passed"
LABELS = "model=system,question=prompt,score=approved"


@pytest.fixture
def tables(tmp_path: Path) -> pd.DataFrame:
    """Verdicts and labels in long tables, with different names of columns."""
    drawn = np.random.default_rng(1)
    models, questions = ["a", "b", "c"], [f"q{k}" for k in range(100)]
    truth = (drawn.random((3, 100)) < [[0.8], [0.6], [0.5]]).astype(int)
    lenient = np.where(drawn.random(truth.shape) < 0.1, 1, truth)
    rows = pd.MultiIndex.from_product([models, questions], names=["llm", "qid"])
    verdicts = pd.DataFrame({"passed": lenient.ravel()}, rows).reset_index()
    verdicts.to_csv(tmp_path / "verdicts.csv", index=False)
    labels = pd.DataFrame({"approved": truth.ravel()}, rows.set_names(["system", "prompt"]))
    labels = labels.reset_index()[lambda frame: frame["prompt"] < "q5"]
    labels.to_csv(tmp_path / "labels.csv", index=False)
    return labels


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize("command", ["judge", "card"])
def test_each_file_has_its_own_columns(call, command: str) -> None:
    labels = ("--human-labels",) if command == "card" else ()
    named = ("--columns", VERDICTS, "--label-columns", LABELS, "--json")
    found = call(command, "verdicts.csv", *labels, "labels.csv", *named)
    assert found.returncode == 0, found.stderr
    results = json.loads(found.stdout)
    assert "People would score a highest" in json.dumps(results)
    assert "'score': 'passed'" in results["call"]
    assert "'score': 'approved'" in results["call"]


def test_labels_may_have_the_usual_names_or_those_of_the_verdicts(call, tables) -> None:
    texts = set()
    for names in (["model", "question", "score"], ["llm", "qid", "passed"]):
        tables.set_axis(names, axis=1).to_csv("own.csv", index=False)
        found = call("judge", "verdicts.csv", "own.csv", "--columns", VERDICTS)
        assert found.returncode == 0, found.stderr
        texts.add(found.stdout)
    tables.set_axis(["llm", "qid", "vote"], axis=1).to_csv("own.csv", index=False)
    named = ("--columns", VERDICTS, "--label-columns", "model=llm,question=qid,score=vote")
    texts.add(call("judge", "verdicts.csv", "own.csv", *named).stdout)
    assert len(texts) == 1


@pytest.mark.usefixtures("tables")
def test_an_error_names_the_option_for_labels(call) -> None:
    found = call("judge", "verdicts.csv", "labels.csv", "--columns", VERDICTS)
    assert found.returncode == 2
    assert "labels.csv" in found.stderr
    assert "(--label-columns names the columns of LABELS)" in found.stderr
    given = ("--columns", VERDICTS, "--label-columns", "model=sys")
    found = call("judge", "verdicts.csv", "labels.csv", *given)
    assert "no column 'sys'" in found.stderr


def test_two_files_of_one_unnamed_model_are_matched(call, tables, tmp_path: Path) -> None:
    verdicts = pd.read_csv(tmp_path / "verdicts.csv")
    one = verdicts[verdicts["llm"] == "a"].drop(columns="llm")
    one.set_axis(["question", "verdict"], axis=1).to_csv(tmp_path / "judge.csv", index=False)
    labels = tables[tables["system"] == "a"].drop(columns="system")
    labels = labels.set_axis(["question", "human_label"], axis=1)
    labels.to_csv(tmp_path / "people.csv", index=False)
    found = call("judge", "judge.csv", "people.csv")
    assert found.returncode == 0, found.stderr
    assert "'people' and 'judge' are taken for the same model" in found.stderr
    named = call("judge", "a=judge.csv", "a=people.csv")
    assert named.stderr == ""
    assert "People would give a 0." in named.stdout
    (tmp_path / "a.csv").write_text((tmp_path / "people.csv").read_text())
    several = ("--columns", VERDICTS, "--label-columns", "question=question,score=human_label")
    assert call("judge", "verdicts.csv", "a.csv", *several).returncode == 0
    refused = call("judge", "verdicts.csv", "people.csv", *several)
    assert refused.returncode == 2
    assert "no model in common" in refused.stderr
    assert "add a column 'model', or name its model: MODEL=FILE" in refused.stderr


def test_labels_are_not_the_verdicts_themselves(call, tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"model": ["a", "a", "b", "b"], "question": ["p", "q"] * 2, "judge_verdict": [1, 0, 1, 1],
         "human_label": [1, 0, 0, 1]}
    )  # fmt: skip
    frame.to_csv(tmp_path / "both.csv", index=False)
    bad = call("judge", "both.csv", "both.csv", "--columns", "score=judge_verdict")
    assert bad.returncode == 2
    assert "--label-columns score=COLUMN" in bad.stderr
