"""``psychollm bank``, from logs to a finished session."""

import json
from pathlib import Path

import pandas as pd
import pytest

from tests.bank.conftest import simulated


@pytest.fixture
def scores(tmp_path: Path) -> pd.DataFrame:
    """Two files: the answers of thirty models, and those of one more."""
    right = pd.DataFrame(
        simulated(31, 120, 3).astype(int),
        index=[f"m{k}" for k in range(31)],
        columns=[f"q{k}" for k in range(120)],
    )
    right[:30].to_csv(tmp_path / "known.csv", index_label="model")
    right[30:].iloc[:, :50].to_csv(tmp_path / "new.csv", index_label="model")
    pd.DataFrame({"question": right.columns, "domain": ["a", "b"] * 60}).to_csv(
        tmp_path / "domains.csv", index=False
    )
    return right


def test_from_logs_to_a_score(call, scores: pd.DataFrame, tmp_path: Path) -> None:
    built = call("bank", "build", "known.csv", "--domains", "domains.csv", "--out", "my.bank")
    assert built.returncode == 0, built.stderr
    assert "120 questions, 2 domains, 30 models" in built.stdout
    described = json.loads(call("bank", "describe", "my.bank", "--json").stdout)
    assert described["domains"] == ["a", "b"]
    plan = call("bank", "plan", "my.bank", "--half-width", "0.05", "--sizes", "40,80")
    assert "a median model" in plan.stdout
    assert "of 120 questions" in plan.stdout
    assert "(median model of the bank: " in plan.stdout
    found = call("bank", "score", "my.bank", "new.csv", "--drawn", "--by-domain", "--json")
    held = json.loads(found.stdout)
    assert [one["domain"] for one in held["scores"]] == [None, "a", "b"]
    assert held["scores"][0]["used"] == "assisted"
    truth = scores.iloc[30].mean()
    assert abs(held["scores"][0]["models"][0]["value"] - truth) < 0.15


def test_a_session_in_a_file(call, scores: pd.DataFrame, tmp_path: Path) -> None:
    call("bank", "build", "known.csv", "--out", "my.bank")
    step = ("bank", "next", "my.bank", "my.session", "--questions", "15", "--json")
    held = json.loads(call(*step, "--size", "45").stdout)
    assert held["estimate"] is None
    for _ in range(3):
        answers = pd.DataFrame({"question": held["next"]})
        answers["score"] = [scores.iloc[30][question] for question in held["next"]]
        answers.to_csv(tmp_path / "answers.csv", index=False)
        held = json.loads(call(*step, "--answers", "answers.csv").stdout)
    assert held["done"]
    assert held["why"] == "all 45 questions of the budget are answered"
    assert held["asked"] == 45
    low, high = held["estimate"]["interval"][0]
    assert low < scores.iloc[30].mean() < high


def test_what_is_refused(call, scores: pd.DataFrame, tmp_path: Path) -> None:
    call("bank", "build", "known.csv", "--out", "my.bank")
    (tmp_path / "wrong.csv").write_text("item,right\nq1,1\n")
    refused = call("bank", "next", "my.bank", "my.session", "--answers", "wrong.csv")
    assert refused.returncode == 2
    assert "columns question and score are required" in refused.stderr
    undrawn = tmp_path / "undrawn.csv"
    undrawn.write_text("question,score\nq1,1\n")
    refused = call("bank", "next", "my.bank", "my.session", "--answers", "undrawn.csv")
    assert refused.returncode == 2
    assert "'q1' was not drawn" in refused.stderr
    refused = call("bank", "score", "known.csv", "new.csv")
    assert refused.returncode == 2
