"""``psychollm import``: logs in, tables out, and a summary of what was kept and dropped."""

import json
from dataclasses import fields
from pathlib import Path
from typing import get_args

import numpy as np
import pandas as pd
import pytest

from psychollm._base.errors import InputError, OptionError, PsychollmError
from psychollm.cli.import_logs import FORMATS, Import
from psychollm.cli.options import Parser
from psychollm.data.logs import NoAnswer, Repeats
from psychollm.data.readers import read_responses
from psychollm.data.readers.logs.detect import LogFormat

SAMPLES = Path(__file__).resolve().parents[1] / "data" / "samples"
HELM = [[1, 1, 1, 1, 0, 0], [1, 1, 0, 1, 1, 0]]


@pytest.fixture
def command(capsys):
    """Return a function that runs the subcommand and returns what it prints."""
    parser = Parser()
    Import.add_to(parser)

    def run(*arguments: object) -> str:
        assert Import.of(parser.parse_args([*map(str, arguments)])).run() == 0
        said = capsys.readouterr()
        assert not said.err
        return said.out

    return run


def test_choices_are_those_of_the_library():
    types = {one.name: one.type for one in fields(Import)}
    assert set(get_args(LogFormat)) == set(FORMATS)
    assert types["repeats"] == Repeats | None
    assert types["no_answer"] == NoAnswer | None


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_what_is_written_is_what_study_reads(command, tmp_path, kind):
    pytest.importorskip("pyarrow")
    out, long = tmp_path / f"right.{kind}", tmp_path / f"long.{kind}"
    said = command(SAMPLES / "helm", "--scorer", "exact_match", "--out", out, "--long", long)
    assert said.splitlines() == [
        "2 logs (helm): 2 models x 6 questions of task 'toy_add'.",
        "12 answers, 12 with a score by 'exact_match'; 8 of 12 cells are correct (66.7 %).",
        "Missing: 0 of 12 cells (0.0 %).",
        f"Written: {out}",
        f"Written: {long}",
    ]
    found = read_responses(out)
    np.testing.assert_array_equal(found.values, HELM)
    assert found.models == ("org/alpha", "org/beta")
    again = read_responses(long, value="score", question="question")
    np.testing.assert_array_equal(again.values, HELM)


def test_missing_cells_stay_missing(command, tmp_path):
    log, out = tmp_path / "a.csv", tmp_path / "out.csv"
    log.write_text("model,question,score,error\na,q,1,\na,r,,timeout\nb,q,0,\n")
    command(log, "--out", out)
    assert out.read_text().splitlines() == ["model,q,r", "a,1,", "b,0,"]


def test_json(command):
    said = json.loads(
        command(SAMPLES / "promptfoo", "--scorer=success", "--repeats=first", "--json")
    )
    assert (said["n_models"], said["n_questions"], said["repeats"]) == (1, 3, "first")
    assert said["left_out"] == []


def test_quiet(command):
    assert command(SAMPLES / "hal", "--quiet") == ""


def test_all_choices(command, tmp_path):
    log = tmp_path / "a.jsonl"
    rows = [
        {"m": "a", "q": q, "s": s, "t": t, "k": k, "c": 0.3}
        for q, s in ((1, 0.5), (2, 0.2)) for t in ("x", "y") for k in ("f", "e")
    ]  # fmt: skip
    log.write_text("\n".join(map(json.dumps, rows)))
    out, sure = tmp_path / "out.csv", tmp_path / "sure.csv"
    command(
        log, "--format", "table", "--columns",
        "model=m,question=q,score=s,task=t,scorer=k,confidence=c", "--task", "x", "--task", "y",
        "--scorer", "x=f,y=e", "--threshold", "0.5", "--at-least", "--by-label",
        "--out", out, "--confidence", sure,
    )  # fmt: skip
    assert out.read_text().splitlines() == ["model,x/1,x/2,y/1,y/2", "a,1,0,1,0"]
    assert (pd.read_csv(sure, index_col="model") == 0.3).all(axis=None)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (["helm"], OptionError, "pass --scorer, one of 'exact_match', 'quasi_exact_match'"),
        (["lm_eval", "--task", "toy_gen"], OptionError, "pass --filter, one of 'strict-match'"),
        (["lm_eval"], OptionError, "pass --task, with --scorer TASK=NAME,... for each task"),
        (["promptfoo", "--scorer", "success"], OptionError, "pass --repeats, one of 'mean' (with"),
        (
            ["promptfoo", "--scorer", "score", "--repeats", "first"],
            InputError,
            "pass --threshold; answers above it",
        ),
        (["hal", "--out", "table.xlsx"], InputError, "table.xlsx: name it .csv or .parquet"),
        (["absent", "--out", "table.xlsx"], InputError, "table.xlsx: name it .csv or .parquet"),
        (["hal", "--out", "no/such/folder.csv"], InputError, "folder.csv cannot be written"),
        (["hal", "--confidence", "sure.csv"], InputError, "these logs have no confidences"),
        (["hal", "--columns", "model"], OptionError, "--columns model: write it as name=value"),
        (["absent"], InputError, "no such file or folder"),
        (
            ["README.md"],
            InputError,
            "nor a table: which column holds the model? pass --columns model=COLUMN",
        ),
    ],
)
def test_errors_are_one_line_in_the_words_of_the_command(command, arguments, error, message):
    with pytest.raises(error) as caught:
        command(SAMPLES / arguments[0], *arguments[1:])
    assert message in caught.value.told(Import.arguments())
    assert isinstance(caught.value, PsychollmError)
    assert "\n" not in str(caught.value)
