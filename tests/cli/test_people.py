"""``psychollm study --people``: replies and scores of people beside a store and beside tables."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from psychollm.cli import main
from psychollm.instruments import RuleWorld, Scaffold, SelfEfficacy
from tests.cli.stores import filled

QUESTIONS = [{"key": f"q{k}", "question": f"{k} + 1?", "answer": str(k + 1)} for k in range(12)]


def says(share: float):
    """Return what somebody replies who is right in this share of questions."""

    def reply(prompt, sample):
        drawn = np.random.default_rng([*f"{share}{prompt.key}{sample}".encode()])
        if prompt.about["instrument"] == "self_efficacy":
            return "\n".join(f"{k}. {drawn.integers(1, 5)}" for k in range(1, 11))
        number = prompt.item.removeprefix("q")
        right = str(int(number) + 1) if number.isdigit() else str(prompt.about.get("answer", 7))
        return f"Answer: {right if drawn.random() < share else 99}"

    return reply


def replies_of(prompts, path: Path, n_people: int = 6) -> Path:
    """Write what people replied as the form does."""
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["person", "instrument", "prompt", "item", "reply"])
        for person in range(n_people):
            for one in prompts:
                cells = [one.about["instrument"], one.key, one.item, says(0.6)(one, person)]
                rows.writerow([f"p{person}", *cells])
    return path


@pytest.mark.parametrize(
    ("instrument", "part"),
    [
        (RuleWorld(n=24, seed=1), "passed, type A"),
        (SelfEfficacy(), "total, none"),
        (Scaffold(questions=QUESTIONS), "accuracy, arm directed"),
    ],
)
def test_replies_of_people_stand_beside_those_of_models(
    tmp_path, capsys, instrument, part
) -> None:
    prompts = instrument.prompts()
    store = filled(tmp_path / "run.sqlite", prompts, {"good": says(0.9), "poor": says(0.2)})
    people = replies_of(prompts, tmp_path / "people.csv")
    out = tmp_path / "out"
    command = ["study", str(store), "--people", str(people), "--out", str(out)]
    assert main([*command, "--bootstrap", "20", "--null", "19", "--no-report"]) == 0
    assert "How do models compare with people?" in capsys.readouterr().out
    found = json.loads((out / "results.json").read_text(encoding="utf-8"))
    assert part in {row["part"] for row in found["people"]}
    assert {row["n_people"] for row in found["people"]} == {6.0}
    assert (out / "people.csv").is_file()


def test_scores_of_people_stand_beside_those_of_a_table(tmp_path, capsys) -> None:
    drawn = np.random.default_rng(1)
    for name, who, n in (("models", "model", 3), ("people", "person", 7)):
        lines = [",".join([who, *(f"q{k}" for k in range(30))])]
        lines += [",".join([f"{who}{r}", *(str(drawn.integers(0, 2)) for _ in range(30))])
                  for r in range(n)]  # fmt: skip
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
    models, people = str(tmp_path / "models.csv"), str(tmp_path / "people.csv")
    out = tmp_path / "out"
    assert main(["compare", models, "--people", people, "--out", str(out), "--no-report"]) == 0
    assert "7 people score" in capsys.readouterr().out
    found = json.loads((out / "results.json").read_text(encoding="utf-8"))
    assert "people = psy.studies.read_people(" in found["call"]
    space: dict[str, object] = {}
    exec(found["call"], space)  # noqa: S102 -- the script that the command shows
    assert space["result"].people.parts["score"].baseline.n[0] == 7
    assert main(["compare", models, "--people", people, "--by", "domain"]) == 2
    assert "--people and --by cannot be combined" in capsys.readouterr().err
