"""Helpers that commands share, tried by what they return."""

import argparse
from pathlib import Path

import numpy as np
import pytest

from psychollm._base.record import as_json
from psychollm.cli.import_logs import is_store
from psychollm.cli.options import CommandHelp
from psychollm.cli.score import scores_frame
from psychollm.cli.study_store import Study
from psychollm.cli.two_tables import no_smallest, smallest_of
from psychollm.instruments.rule_world import RuleWorld


def test_the_longest_command_has_its_explanation_beside_it() -> None:
    parser = argparse.ArgumentParser(prog="p", formatter_class=CommandHelp)
    commands = parser.add_subparsers(metavar="COMMAND")
    commands.add_parser("calibrate", help="explained")
    assert parser.format_help().splitlines()[4] == "    calibrate  explained"


def test_json_without_numbers_that_json_lacks() -> None:
    words = as_json({"p": float("nan"), "r": np.array([0.5, np.inf])}).split()
    assert words == ["{", '"p":', "null,", '"r":', "[", "0.5,", "null", "]", "}"]


def test_a_table_of_scores() -> None:
    world = RuleWorld(n=4, seed=1)
    table = scores_frame({"m": {0: world.score({})}})
    assert table[["model", "type"]].iloc[0].tolist() == ["m", "A"]


@pytest.mark.parametrize(
    ("path", "holds"), [(Path("run.sqlite"), True), (Path("said.csv"), False), (None, False)]
)
def test_names_of_stores(path: Path | None, holds: bool) -> None:
    assert is_store(path) is holds


@pytest.mark.parametrize(
    ("content", "holds"), [(b"SQLite format 3\x00...", True), (b"Model,a\n", False), (b"", False)]
)
def test_a_store_is_known_by_its_beginning(content: bytes, holds: bool, tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    path.write_bytes(content)
    assert is_store(path) is holds


def test_smallest_effects() -> None:
    assert smallest_of("auroc=0.1").auroc == 0.1
    assert no_smallest().auroc == 0.05


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        (("compare", "a.csv", "--smallest", "share=3"), "at most 1: 3 points are 0.03"),
        (("compare", "a.csv", "--smallest", "auroc=0.1"), "does not judge auroc, only share=X"),
        (("agree", "a.csv", "b.csv", "--smallest", "brier=0.1"), "not judge brier, only share=X"),
        (("study", "a.csv", "b.csv", "--smallest", "kappa=0.1"), "does not judge kappa, only au"),
        (("horizon", "a.csv", "--minutes", "m.csv", "--smallest", "share=0.1"), "unrecognized"),
        (("gate", "a.csv", "b.csv", "--at-most", "10"), "(both excluded): 10 % is 0.1"),
        (("compare", "--example", "--level", "95"), "(both excluded): 95 % is 0.95"),
    ],
)
def test_a_smallest_effect_that_cannot_be_meant(call, typed: list[str], message: str) -> None:
    for name in ("a.csv", "b.csv"):
        Path(name).write_text("model,q,r,s\nm,1,0,1\nn,0,0,1\n", encoding="utf-8")
    failed = call(*typed)
    assert failed.returncode == 2
    assert message in failed.stderr


def test_minutes_are_a_column_or_a_file(call) -> None:
    rows = [
        f"{model},q{task},{int(2 * task < 3 * place + 9)},{2.0**task:g},{task // 2}"
        for place, model in enumerate("abc")
        for task in range(12)
    ]
    table = "\n".join(["model,question,score,minutes,kind", *rows, ""])
    Path("long.csv").write_text(table, encoding="utf-8")
    done = call("horizon", "long.csv", "--minutes", "minutes", "--families", "kind")
    assert (done.returncode, done.stderr) == (0, "")
    assert "12 tasks of 1.00 to 2048 minutes in 6 families" in done.stdout
    for named, message in (
        ("long.csv", "--minutes long.csv is the table of scores: name the column of long.csv"),
        ("hours", "--minutes hours: long.csv has no such column or field"),
    ):
        failed = call("horizon", "long.csv", "--minutes", named)
        assert failed.returncode == 2
        assert message in failed.stderr


@pytest.mark.parametrize("command", ["gate", "study", "calibrate"])
@pytest.mark.parametrize("long", [False, True])
def test_tables_in_the_wrong_order(call, command: str, long: bool) -> None:
    table = "model,question,sure,right\na,q,0.9,1\na,r,0.3,0\na,s,0.8,1\n"
    Path("long.csv").write_text(table, encoding="utf-8")
    Path("right.csv").write_text("model,q,r,s\na,1,0,1\n", encoding="utf-8")
    Path("sure.csv").write_text("model,q,r,s\na,0.9,0.3,0.8\n", encoding="utf-8")
    typed = ["right.csv", "sure.csv"]
    if long:
        typed = ["long.csv", "--confidence-column", "right", "--correctness-column", "sure"]
    few = ["--metrics", "brier", "--bootstrap", "9"] if command == "calibrate" else []
    done = call(command, *typed, *few, "--no-report", "--out", "here")
    # Graded answers, and confidence of 0 and 1, are what calibrate also takes.
    assert done.returncode == (0 if command == "calibrate" else 2)
    assert done.stderr.count("swapped") == 1
    assert "name CONFIDENCE before CORRECTNESS (or exchange --confidence-column" in done.stderr


def test_models_without_answers_are_left_out_only_if_asked() -> None:
    command = Study(inputs=(Path("said.csv"), Path("right.csv")))
    assert command.absent(["a"], {" in confidence": [("a", 0)]}) == {}
