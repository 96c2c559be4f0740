"""One table in many files: commas, semicolons, tabs, JSON lines; and files that are not read."""

import json
import runpy
import shlex
import sys
from pathlib import Path

import pandas as pd
import pytest

import psychollm as psy
from psychollm._base.convert import conversion
from psychollm._base.errors import CodeError, InputError, LabelError, ShapeError
from psychollm.data.readers import read_clusters, read_table

WIDE = [["model", "q1", "q,2"], ["a, b", "0.25", "1"], ["c", "", "1e-1"]]
LONG = [["model", "question", "value"], ["a, b", "q1", "0.25"], ["a, b", "q,2", "1"]]
LONG += [["c", "q1", ""], ["c", "q,2", "1e-1"]]


def text(rows: list[list[str]], mark: str, *, decimal: str = ".") -> str:
    """Write rows with a separator; numbers with a decimal mark, other cells quoted if need be."""

    def cell(value: str) -> str:
        if value[:1].isdigit():
            value = value.replace(".", decimal)
        return f'"{value}"' if mark in value else value

    return "".join(mark.join(map(cell, row)) + "\n" for row in rows)


def objects(rows: list[list[str]]) -> str:
    """Write rows as JSON lines, numbers as numbers and what is empty as null."""

    def value(cell: str) -> object:
        return (float(cell) if cell[0].isdigit() else cell) if cell else None

    header, *rest = rows
    lines = (dict(zip(header, map(value, row), strict=True)) for row in rest)
    return "".join(json.dumps(line) + "\n" for line in lines)


@pytest.mark.parametrize("rows", [WIDE, LONG])
@pytest.mark.parametrize(
    ("name", "mark", "decimal"),
    [("t.csv", ";", ","), ("t.csv", ";", "."), ("t.csv", "\t", "."), ("t.tsv", "\t", ",")],
)
def test_a_table_is_the_same_however_it_is_separated(tmp_path, rows, name, mark, decimal) -> None:
    (tmp_path / "plain.csv").write_text(text(rows, ","))
    (tmp_path / name).write_text(text(rows, mark, decimal=decimal))
    expected = read_table(tmp_path / "plain.csv")
    assert expected.loc["a, b"].tolist() == [0.25, 1.0]
    pd.testing.assert_frame_equal(read_table(tmp_path / name), expected)


@pytest.mark.parametrize("rows", [WIDE, LONG])
def test_json_lines_are_the_same_table(tmp_path, rows) -> None:
    (tmp_path / "plain.csv").write_text(text(rows, ","))
    (tmp_path / "t.jsonl").write_text(objects(rows))
    expected = read_table(tmp_path / "plain.csv")
    pd.testing.assert_frame_equal(read_table(tmp_path / "t.jsonl"), expected)


def test_scores_are_the_same_however_they_are_separated(tmp_path) -> None:
    rows = [["model", "question", "score", "confidence"], ["a", "1", "0.5", "0.25"]]
    rows += [["a", "2", "1", "0.75"], ["b", "1", "", "1"]]
    (tmp_path / "t.csv").write_text(text(rows, ","))
    (tmp_path / "t.tsv").write_text(text(rows, "\t", decimal=","))
    (tmp_path / "semi").mkdir()
    (tmp_path / "semi" / "t.csv").write_text(text(rows, ";", decimal=","))
    frames = [
        psy.read_scores(tmp_path / name).frame.drop(columns="source")
        for name in ("t.csv", "t.tsv", "semi")
    ]
    assert frames[0]["confidence"].tolist() == [0.25, 0.75, 1.0]
    for other in frames[1:]:
        pd.testing.assert_frame_equal(frames[0], other)


def test_a_decimal_comma_is_no_number_where_commas_separate(tmp_path) -> None:
    (tmp_path / "t.csv").write_text('model,q1\na,"0,5"\n')
    with pytest.raises(CodeError, match="0,5"):
        read_table(tmp_path / "t.csv")


def test_words_in_json_lines_need_a_meaning(tmp_path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"model": "a", "q1": "yes", "q2": true}\n\n{"model": "b", "q2": 0}\n')
    with pytest.raises(CodeError, match=r"line 1, column 'q1'"):
        psy.read_responses(path)
    found = psy.read_responses(path, codes={"yes": 1, 1: 1, 0: 0})
    assert found.to_frame().loc["a"].tolist() == [1.0, 1.0]
    assert found.missing.tolist() == [[False, False], [True, False]]


@pytest.mark.parametrize(
    ("content", "error", "words"),
    [
        ("", ShapeError, "is empty"),
        ('{"model": "a", "question": 1, "value": 1}\n' * 2, LabelError, "line 1 and .*line 2"),
        ('{"model": "", "question": 1, "value": 1}\n', LabelError, "line 1 has no model"),
        ('{"model": "a", "q1": [1]}\n', CodeError, "line 1, column 'q1'"),
        ('{"model": "a", "q1": 1}\n{"model"\n', InputError, "line 2 is not complete JSON"),
        ("[1]\n", InputError, "line 1 does not hold a JSON object"),
    ],
)
def test_json_lines_that_cannot_be_used(tmp_path, content, error, words) -> None:
    (tmp_path / "t.jsonl").write_text(content)
    with pytest.raises(error, match=words):
        psy.read_responses(tmp_path / "t.jsonl")


def test_clusters_may_stand_behind_semicolons(tmp_path) -> None:
    (tmp_path / "c.csv").write_text("question;page\nq1;a\nq2;b\n")
    assert read_clusters(tmp_path / "c.csv").to_dict() == {"q1": "a", "q2": "b"}


def test_the_command_that_converts_a_file_does_so(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"model": ["a"], "q1": [1]}).to_json("my table.json", orient="records")
    with pytest.raises(InputError, match="convert it: python -c") as refused:
        psy.read_responses("my table.json")
    typed = shlex.split(str(refused.value).partition("convert it: ")[2])
    assert typed[:2] == ["python", "-c"]
    Path("run.py").write_text(typed[2])
    runpy.run_path("run.py")
    assert psy.read_responses("my table.csv").models == ("a",)
    assert "pandas" in sys.modules


def test_only_known_files_are_converted() -> None:
    assert conversion(Path("a.rds")) == ""
    assert "openpyxl" in conversion(Path("A.XLSX"))
    assert "\\'" not in conversion(Path("it's.ods"))


@pytest.mark.parametrize("name", ["book.xlsx", "book.ods"])
def test_a_workbook_is_no_log(tmp_path, name) -> None:
    (tmp_path / name).write_bytes(b"PK\x03\x04")
    with pytest.raises(InputError, match="is a workbook.*convert it"):
        psy.read_scores(tmp_path / name)


def test_a_comma_before_three_digits_is_ambiguous_between_tabs_only(tmp_path) -> None:
    tabs, semicolons = tmp_path / "a.tsv", tmp_path / "a.csv"
    tabs.write_text("model\tq1\tq2\na\t1,234\t0,5\n")
    semicolons.write_text("model;q1;q2\na;1,234;0,5\n")
    assert read_table(semicolons).loc["a"].tolist() == [1.234, 0.5]
    with pytest.raises(CodeError, match="1,234"):
        read_table(tabs)
    tabs.write_text("model\tq1\tq2\na\t0,234\t85,25\n")
    assert read_table(tabs).loc["a"].tolist() == [0.234, 85.25]
