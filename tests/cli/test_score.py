"""``psychollm score`` and ``psychollm study``: a store in, scores and a study out."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from psychollm.cli import UNUSABLE
from psychollm.instruments.abstention import Abstention
from psychollm.instruments.prompt import Message, Prompt
from psychollm.instruments.revision import Revision
from psychollm.instruments.rule_world import RuleWorld
from psychollm.instruments.self_efficacy import SelfEfficacy
from psychollm.instruments.self_prediction import SelfPrediction
from psychollm.instruments.semantic_sampling import SemanticSampling
from psychollm.instruments.wagering import Wagering
from tests.cli.stores import filled

WORLD = RuleWorld(n=24, seed=2)
QUICK = ("--null", 19, "--bootstrap", 50)


def oracle(prompt: Prompt, sample: int) -> str | None:
    correct = prompt.about.get("correct")
    return f"Answer: {prompt.about['undefined'] if correct is None else correct}"


def guesser(prompt: Prompt, sample: int) -> str | None:
    if prompt.item.endswith("0001"):
        return None  # the call fails
    return "Answer: 7" if prompt.reply == "integer" else "Answer: A"


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    says = {"oracle": oracle, "guesser": guesser}
    return filled(tmp_path / "rules.sqlite", WORLD.prompts(), says)


@pytest.fixture
def predictions(tmp_path: Path) -> Path:
    """Six models; which questions they can answer differs, and so does what they say."""
    chance = np.random.default_rng(5)
    difficulty = chance.normal(size=100)
    asked = SelfPrediction(
        questions=[{"question": f"What is {k} + 1?", "answer": str(k + 1)} for k in range(100)]
    )

    def says(ability: float):
        right = difficulty + chance.normal(size=100) < ability
        yes = difficulty + chance.normal(size=100) < ability

        def said(prompt: Prompt, sample: int) -> str | None:
            k = int(prompt.item) - 1
            if prompt.about["part"] == "predict":
                return "Answer: Yes" if yes[k] else "Answer: No"
            return str(k + 1) if right[k] else "0"

        return said

    models = {f"m{k}": says(ability) for k, ability in enumerate(np.linspace(-0.6, 0.6, 6))}
    return filled(tmp_path / "said.sqlite", asked.prompts(), models)


def test_scores_of_each_model(call, rules: Path) -> None:
    found = call("score", rules)
    assert found.returncode == 0, found.stderr
    assert "rule_world: 24 prompts were sent to 2 models." in found.stdout
    assert "oracle: 24 answered" in found.stdout
    assert "guesser: 20 answered, 4 failed" in found.stdout
    assert "A: 100.0 % of 6 answers pass" in found.stdout


def test_scores_as_a_table_and_as_json(call, rules: Path, tmp_path: Path) -> None:
    found = call("score", rules, "--json", "--out", "scores.csv")
    result = json.loads(found.stdout)["rule_world"]
    assert result["outcomes"]["guesser"] == {"answered": 20, "failed": 4}
    assert set(result["scores"]["oracle"]["0"]["strict"]) == {1.0}
    table = pd.read_csv(tmp_path / "scores.csv")
    assert table.columns[:2].tolist() == ["model", "sample"]
    assert len(table) == 48
    missing = table[table["score"].isna()]
    assert set(missing["outcome"]) == {"failed"}
    assert len(missing) == 4


def test_samples_are_scored_apart(call, tmp_path: Path) -> None:
    path = filled(tmp_path / "r.sqlite", WORLD.prompts()[:2], {"m": oracle}, repeats=2)
    assert "m, sample 2" in call("score", path).stdout


def test_the_study_of_a_rule_world(call, rules: Path, tmp_path: Path) -> None:
    found = call("study", rules, *QUICK, "--out", "here")
    assert found.returncode == 0, found.stderr
    assert "guesser: 20 answered, 4 failed" in found.stdout
    assert "Certainty" in found.stdout
    result = json.loads((tmp_path / "here" / "results.json").read_text())
    assert len(result["profiles"]) == 8
    assert {"profiles.csv", "answers.csv", "certainty_inversion.csv"} <= {
        path.name for path in (tmp_path / "here").iterdir()
    }
    again = call("study", rules, *QUICK, "--json")
    assert json.loads(again.stdout) == result


@pytest.mark.usefixtures("plotting")
def test_the_study_of_self_predictions(call, predictions: Path, tmp_path: Path) -> None:
    found = call("study", predictions, *QUICK, "--out", "here", "--seed", 4)
    assert found.returncode == 0, found.stderr
    page = (tmp_path / "here" / "report.html").read_text(encoding="utf-8")
    assert "psy.collect.Store" in page
    models = pd.read_csv(tmp_path / "here" / "models.csv")
    assert models["model"].tolist() == [f"m{k}" for k in range(6)]
    result = json.loads((tmp_path / "here" / "results.json").read_text())
    assert result["n_questions"] == 100
    assert result["source"] == [str(predictions)]


def test_the_study_of_self_efficacy(call, tmp_path: Path) -> None:
    asked = SelfEfficacy(conditions=("none", "social"), n_repeats=2, followups=())
    chance = np.random.default_rng(3)

    def says(prompt: Prompt, sample: int) -> str:
        if prompt.reply == "rating":
            return str(chance.integers(1, 5))
        numbers = "\n".join(f"{k}. {chance.integers(1, 5)}" for k in range(1, 11))
        return numbers if "ratings" in str(prompt.about) or prompt.reply != "text" else "Done."

    path = filled(
        tmp_path / "e.sqlite", asked.prompts(), dict.fromkeys(("a", "b", "c"), says), repeats=2
    )
    assert call("score", path).returncode == 0
    found = call("study", path, *QUICK, "--out", "here")
    assert found.returncode == 0, found.stderr
    table = pd.read_csv(tmp_path / "here" / "conditions.csv")
    assert table["condition"].tolist() == ["none", "social"]
    page = (tmp_path / "here" / "report.html").read_text(encoding="utf-8")
    assert "psy.self_efficacy(scores, bootstrap=50, level=0.95, rng=1)" in page


def test_the_study_of_samples(call, tmp_path: Path) -> None:
    questions = [{"question": f"What is {k} + 1?", "answer": str(k + 1)} for k in range(30)]
    asked = SemanticSampling(questions, n_samples=5)
    chance = np.random.default_rng(3)

    def says(prompt: Prompt, sample: int) -> str:
        return f"Answer: {int(prompt.item) + int(chance.random() < int(prompt.item) / 40)}"

    path = filled(tmp_path / "s.sqlite", asked.prompts(), dict.fromkeys(("a", "b"), says))
    assert call("score", path).returncode == 0
    found = call("study", path, *QUICK, "--json")
    assert found.returncode == 0, found.stderr
    assert len(json.loads(found.stdout)["arms"]) == 2
    assert call("study", path, *QUICK, "--level", 0.9, "--out", "here").returncode == 0
    page = (tmp_path / "here" / "report.html").read_text(encoding="utf-8")
    assert "psy.semantic_calibration(scores, n_null=19, bootstrap=50, level=0.9, rng=1)" in page


@pytest.mark.parametrize("name", ["abstention", "revision"])
def test_studies_of_skills(call, name: str, tmp_path: Path) -> None:
    questions = [{"question": f"What is {k} + 1?", "answer": str(k + 1)} for k in range(12)]
    asked = Abstention(n_pairs=3) if name == "abstention" else Revision(questions=questions)
    chance = np.random.default_rng(4)

    def says(prompt: Prompt, sample: int) -> str:
        if chance.random() < 0.2:
            return "Answer: I do not know."
        return f"Let me see.\nAnswer: {chance.integers(1, 13)}"

    path = filled(tmp_path / "x.sqlite", asked.prompts(), dict.fromkeys(("a", "b"), says))
    scored = call("score", path, "--out", "scores.csv")
    assert scored.returncode == 0, scored.stderr
    assert (tmp_path / "scores.csv").read_text().startswith("model,sample,")
    found = call("study", path, *QUICK, "--json")
    assert found.returncode == 0, found.stderr
    table = json.loads(found.stdout)[name]
    assert {row["model"] for row in table} == {"a", "b"}


def test_what_has_no_study_is_said(call, tmp_path: Path) -> None:
    asked = Wagering([{"question": "What is 2 + 2?", "answer": "4"}], form="open")
    path = filled(tmp_path / "x.sqlite", asked.prompts(), {"m": lambda prompt, sample: "4"})
    assert call("score", path).returncode == 0
    found = call("study", path)
    assert found.returncode == UNUSABLE
    assert "holds wagering" in found.stderr
    assert f"psychollm score {path}" in found.stderr


def test_models_of_a_store_can_be_left_out(call, predictions: Path, rules: Path) -> None:
    for path, model in ((predictions, "m3"), (rules, "guesser")):
        found = call("study", path, *QUICK, "--json", "--no-report", "--leave-out", model)
        assert found.returncode == 0, found.stderr
        assert model not in json.loads(found.stdout)
        wrong = call("study", path, *QUICK, "--no-report", "--leave-out", "nobody")
        assert wrong.returncode == UNUSABLE
        assert "nobody" in wrong.stderr


def test_repeats_of_predictions_must_be_spoken_of(call, tmp_path: Path) -> None:
    asked = SelfPrediction(questions=[{"question": f"{k} + 1?", "answer": "9"} for k in range(40)])

    def says(prompt: Prompt, sample: int) -> str:
        if prompt.about["part"] == "answer":
            return "9" if (int(prompt.item) + sample) % 3 else "8"
        return "Yes" if int(prompt.item) % 2 else "No"

    path = filled(
        tmp_path / "twice.sqlite", asked.prompts(), {"a": says, "b": says, "c": says}, repeats=3
    )
    found = call("study", path, *QUICK, "--json")
    assert found.returncode == UNUSABLE
    assert "--repeats" in found.stderr


@pytest.mark.parametrize("command", ["score", "study"])
def test_a_store_of_several_instruments(call, command: str, tmp_path: Path) -> None:
    asked = SelfPrediction(questions=[{"question": "2 + 2?", "answer": "4"}])
    both = (*WORLD.prompts(), *asked.prompts())
    path = filled(tmp_path / "both.sqlite", both, {"m": lambda prompt, sample: "4"})
    if command == "score":
        found = call("score", path)
        assert "self_prediction: 2 prompts" in found.stdout
        assert "rule_world: 24 prompts" in found.stdout
        wrong = call("score", path, "--out", "x.csv")
    else:
        wrong = call("study", path)
        found = call("study", path, "--instrument", "rule-world", *QUICK, "--json")
        assert found.returncode == 0, found.stderr
    assert wrong.returncode == UNUSABLE
    assert "--instrument" in wrong.stderr


def test_prompts_of_no_instrument(call, tmp_path: Path) -> None:
    plain = Prompt(key="q", item="q", messages=(Message("user", "?"),), reply="yes_no")
    path = filled(tmp_path / "plain.sqlite", [plain], {"m": lambda prompt, sample: "Yes"})
    for command in ("score", "study"):
        found = call(command, path)
        assert found.returncode == UNUSABLE
        assert "names no instrument" in found.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["score", "none.sqlite"], ["none.sqlite does not exist"]),
        (["study", "none.sqlite"], ["none.sqlite does not exist"]),
        (["score", "empty.sqlite"], ["has no requests", "psychollm collect"]),
        (["study", "empty.sqlite"], ["holds nothing", "self_prediction"]),
        (["score", "rules.sqlite", "--instrument", "coding"], ["coding", "none of them"]),
        (["study", "rules.sqlite", "--instrument", "coding"], ["choose one", "rule_world"]),
        (["study", "rules.sqlite", "b.csv"], ["omit CORRECTNESS"]),
        (["study", "rules.sqlite", "--threshold", "0.5"], ["--threshold applies to tables"]),
        (["score", "rules.sqlite", "--out", "no/x.csv"], ["--out no/x.csv"]),
    ],
)
def test_wrong_use_is_one_line(
    call, rules: Path, tmp_path: Path, arguments: list[str], words: list[str]
) -> None:
    filled(tmp_path / "empty.sqlite", [], {"m": oracle})
    found = call(*arguments)
    assert found.returncode == UNUSABLE
    (line,) = found.stderr.splitlines()
    for word in words:
        assert word in line
