"""``psychollm items``, and logs and stores wherever tables go."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from psychollm.instruments.self_prediction import SelfPrediction
from tests.cli.stores import filled

SAMPLES = Path(__file__).resolve().parents[1] / "data" / "samples"


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    """A table of scores with a twin, a dead question and a wrong key."""
    rng = np.random.default_rng(1)
    chance = 1.0 / (1.0 + np.exp(rng.normal(size=40) - rng.normal(size=(40, 1))))
    right = (rng.random((40, 40)) < chance).astype(int)
    order = np.argsort(right.mean(axis=1))
    right[:, 0], right[:, 3], right[:, 4] = 1, right[:, 2], 0
    right[order[:20], 4] = 1
    frame = pd.DataFrame(right, columns=[f"q{i}" for i in range(40)])
    frame.to_csv(tmp_path / "scores.csv", index_label="model")
    return tmp_path / "scores.csv"


@pytest.fixture
def sure(tmp_path: Path) -> list[Path]:
    """Two files, each a long table of one model with scores and confidences."""
    rng = np.random.default_rng(2)
    rows = pd.DataFrame({"question": range(60), "score": rng.integers(0, 2, 60)})
    rows["confidence"] = np.clip(rows["score"] * 0.3 + rng.random(60) * 0.7, 0, 1).round(2)
    for name in ("a", "b"):
        rows.assign(model=name, score=np.roll(rows["score"], ord(name))).to_csv(
            tmp_path / f"{name}.csv", index=False
        )
    return [tmp_path / "a.csv", tmp_path / "b.csv"]


def test_a_table_says_which_questions_are_of_use(call, scores, tmp_path: Path) -> None:
    found = call("items", scores, "--out", "here")
    assert found.returncode == 0, found.stderr
    assert "39 of 40 questions distinguish between models, and " in found.stdout
    assert "1 has zero variance" in " ".join(found.stdout.split())
    assert "q2 and q3: answered alike by 40 of 40 models" in found.stdout
    folder = tmp_path / "here"
    assert {path.name for path in folder.iterdir()} == {
        "questions.csv",
        "redundant.csv",
        "results.json",
    }
    questions = pd.read_csv(folder / "questions.csv", index_col="question")
    assert questions.loc["q0", "dead"] == "all right"
    assert questions.loc["q4", "against"]
    assert questions.loc["q2", "redundant_with"] == "q3"


def test_json_holds_all_that_the_tables_hold(call, scores) -> None:
    found = json.loads(call("items", scores, "--json", "--hard", 0.3).stdout)
    assert len(found["questions"]) == 40
    assert found["redundant"][0]["first"] == "q2"
    assert found["hard"] == 0.3
    assert "psy.question_screen(log, hard=0.3" in found["call"]


def test_families_count_as_one_model(call, scores, tmp_path: Path) -> None:
    lines = (f"{model},{model // 2}" for model in range(40))
    (tmp_path / "vendors.csv").write_text("\n".join(["model,family", *lines]))
    found = call("items", scores, "--families", tmp_path / "vendors.csv", "--json")
    assert found.returncode == 0, found.stderr
    result = json.loads(found.stdout)
    assert not result["redundant"]
    assert "psy.question_screen(log, families=families)" in result["call"]


@pytest.mark.parametrize("command", ["study", "calibrate"])
def test_logs_without_confidence_lead_to_an_analysis(call, command) -> None:
    logs = SAMPLES / "helm"
    found = call(command, logs, "--scorer", "exact_match", "--no-report")
    assert found.returncode == 2
    line = found.stderr
    assert f"psychollm items {logs} --scorer exact_match'" in line
    typed = line.partition("'psychollm items")[2].partition("'")[0].split()
    assert call("items", *typed).returncode == 0


def test_logs_with_confidence_are_calibrated(call, sure, tmp_path: Path) -> None:
    metrics = ("--metrics", "brier,auroc", "--bootstrap", 50, "--null", 20, "--json")
    found = call("calibrate", *sure, *metrics)
    assert found.returncode == 0, found.stderr
    result = json.loads(found.stdout)
    assert (result["n_models"], result["n_questions"]) == (2, 60)
    table = pd.read_csv(sure[0])
    own = ((table["confidence"] - table["score"]) ** 2).mean()
    brier = [row for row in result["metrics"] if row["metric"] == "brier" and row["model"] == "a"]
    assert brier[0]["value"] == pytest.approx(own)
    folder = tmp_path / "logs"
    folder.mkdir()
    for path in sure:
        path.rename(folder / path.name)
    for inputs in ("logs", "logs/*.csv"):
        again = json.loads(call("calibrate", inputs, *metrics).stdout)
        assert again["metrics"] == result["metrics"]


def test_a_study_splits_the_confidence_of_logs(call, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    rows = [
        (f"m{i}", j, int(rng.random() < 0.6), round(float(rng.random()), 2))
        for i in range(5)
        for j in range(60)
    ]
    frame = pd.DataFrame(rows, columns=["model", "question", "score", "confidence"])
    frame.to_csv(tmp_path / "long.csv", index=False)
    quick = ("--bootstrap", 20, "--null", 19, "--json")
    refused = call("study", "long.csv", *quick)
    assert refused.returncode == 2
    assert "--threshold" in refused.stderr
    found = call("study", "long.csv", *quick, "--threshold", 0.5)
    assert found.returncode == 0, found.stderr
    rates = {row["model"]: row["yes_rate"] for row in json.loads(found.stdout)["models"]}
    own = frame.assign(yes=frame["confidence"] > 0.5).groupby("model")["yes"].mean()
    assert rates == pytest.approx(own.to_dict())


def test_repeats_and_grades_of_logs_are_chosen(call, sure, tmp_path: Path) -> None:
    quick = ("--metrics", "brier", "--bootstrap", 20, "--null", 9, "--json")
    table = pd.read_csv(sure[0])
    both = pd.concat([table, table.assign(score=table["score"] * 0.7)])
    both.to_csv(tmp_path / "twice.csv", index=False)
    refused = call("calibrate", "twice.csv", *quick)
    assert "--repeats" in refused.stderr
    refused = call("calibrate", "twice.csv", *quick, "--repeats", "majority")
    assert "--right-above" in refused.stderr
    chosen = ("--repeats", "majority", "--right-above", 0.5)
    found = json.loads(call("calibrate", "twice.csv", *quick, *chosen).stdout)
    assert found["n_questions"] == 60


def test_a_store_goes_wherever_logs_go(call, tmp_path: Path) -> None:
    asked = SelfPrediction(
        questions=[{"question": f"{i} + 1?", "answer": str(i + 1)} for i in range(12)],
        scales=("percent",),
    )

    def says(able: int):
        def reply(prompt, _):
            number = int(prompt.messages[-1].content.split("Question: ")[1].split(" +")[0])
            if "percent" in prompt.key:
                return f"Answer: {40 + 5 * (number % 9)} %"
            return str(number + 1) if number % able else "0"

        return reply

    store = filled(tmp_path / "run.sqlite", asked.prompts(), {"a": says(2), "b": says(3)})
    found = json.loads(call("items", store, "--json").stdout)
    assert (found["n_models"], len(found["questions"])) == (2, 12)
    found = json.loads(call("compare", store, "--json").stdout)
    assert [row["model"] for row in found["models"]] == ["b", "a"]
    found = json.loads(
        call("calibrate", store, "--metrics", "brier", "--bootstrap", 20, "--json").stdout
    )
    assert (found["n_models"], found["n_questions"]) == (2, 12)
    assert "psy.collect.read_store" in found["call"]


@pytest.mark.parametrize(
    ("command", "named"),
    [("items", "--families"), ("card", "--families"), ("card", "--domains"), ("compare", "--by")],
)
def test_a_column_that_is_not_there_is_named_by_its_option(
    call, tmp_path: Path, command: str, named: str
) -> None:
    (tmp_path / "s.csv").write_text("model,question,score\na,q,1\nb,q,0\na,r,0\nb,r,1\n")
    refused = call(command, "s.csv", named, "vendor")
    assert refused.stderr == (
        f"psychollm: error: {named} vendor: s.csv has no such column or field\n"
    )
