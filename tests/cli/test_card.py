"""``psychollm card``: one page from logs or tables."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    """A long table: 4 models, 60 questions of 3 domains, two answers to each."""
    rng = np.random.default_rng(1)
    level, ease = rng.normal(size=4), rng.normal(size=60)
    rows = [
        {
            "model": f"m{m}", "question": f"q{q}", "repeat": run, "domain": f"d{q % 3}",
            "vendor": "ab"[m // 2],
            "score": int(rng.random() < 1.0 / (1.0 + np.exp(-level[m] - ease[q]))),
        }
        for m in range(4) for q in range(60) for run in (1, 2)
    ]  # fmt: skip
    pd.DataFrame(rows).to_csv(tmp_path / "scores.csv", index=False)
    return tmp_path / "scores.csv"


def test_a_card_is_written(call, scores, tmp_path: Path) -> None:
    options = ("--domains", "domain", "--families", "vendor", "--out", "here")
    found = call("card", scores, *options)
    assert found.returncode == 0, found.stderr
    assert "How accurate are the models?" in found.stdout
    folder = tmp_path / "here"
    assert "models x domains:" in (folder / "comment.md").read_text(encoding="utf-8")
    names = {"models", "pairs", "shares", "components", "questions"}
    assert {path.name for path in folder.iterdir()} == (
        {f"{name}.csv" for name in names} | {"results.json", "report.html", "comment.md"}
    )
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "Evaluation card" in page
    assert "keep=[" in page
    assert "<code>import psychollm as psy\n\nlog = psy.read_scores(" in page
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    assert 0.0 < results["reliability"]["value"] < 1.0
    assert sum(one["value"] for one in results["shares"]) == pytest.approx(1.0)


def test_files_name_groups_and_json_is_all_there_is(call, scores, tmp_path: Path) -> None:
    for name, unit, labels in (("d", "q", 60), ("f", "m", 4)):
        lines = "label,group\n" + "".join(f"{unit}{i},{i % 2}\n" for i in range(labels))
        (tmp_path / f"{name}.csv").write_text(lines, encoding="utf-8")
    found = call("card", scores, "--domains", "d.csv", "--families", "f.csv", "--json")
    assert found.returncode == 0, found.stderr
    results = json.loads(found.stdout)
    assert {"family", "domain"} <= {one["component"] for one in results["shares"]}
    assert results["gaps"][-1].startswith("No stated confidence")


def test_a_card_and_a_comparison_say_the_same_of_differences(call, scores) -> None:
    both = [call(name, scores, "--seed", 7, "--markdown").stdout for name in ("card", "compare")]
    card, comparison = (re.search(r"[\d.]+ to [\d.]+ points", text) for text in both)
    assert card[0] == comparison[0]


def test_markdown(call, scores) -> None:
    found = call("card", scores, "--markdown")
    assert found.returncode == 0, found.stderr
    assert "### Where does the variance of answers come from?" in found.stdout


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--domains", "repeat"), "question 'q0' has several values in this column"),
        (("--families", "f.csv"), "--families f.csv: model 'm1' has no group"),
    ],
)
def test_groups_that_cannot_be(call, scores, tmp_path: Path, options, said: str) -> None:
    (tmp_path / "f.csv").write_text("model,family\nm0,a\n", encoding="utf-8")
    found = call("card", scores, *options)
    assert found.returncode == 2
    assert said in found.stderr
