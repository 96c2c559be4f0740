"""Tables as CSV: no cell is a formula to a spreadsheet, and numbers stay numbers."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from psychollm._base.csv_text import guarded, write_csv

FORMULAS = [
    "=1+1",
    "+1+1",
    "-2+3",
    "@SUM(1)",
    " =1",
    "\t=1",
    "\r=1",
    "-cmd|'/C'!A0",
    "- [x]",
]
PLAIN = ["-0.5", "+1e-3", "-", "-.5", "-inf", "a=1", "", "'=1", "1-2", "\u2212.5"]


@pytest.mark.parametrize("text", FORMULAS)
def test_formulas_are_guarded(text: str) -> None:
    assert guarded(text) == f"'{text}"


@pytest.mark.parametrize("value", [*PLAIN, -0.5, None, np.nan, -3, True])
def test_what_is_no_formula_stays(value: object) -> None:
    assert guarded(value) is value


def test_a_table(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "=a": pd.Categorical(["=1", "b"]),
            "n": [-0.5, np.nan],
            "k": pd.array([-1, None], dtype="Int64"),
            "text": pd.array(["+x", None], dtype="string"),
        }
    )
    write_csv(frame, tmp_path / "a.csv")
    lines = (tmp_path / "a.csv").read_text(encoding="utf-8").splitlines()
    assert lines == ["'=a,n,k,text", "'=1,-0.5,-1,'+x", "b,,,"]


def test_columns_that_are_numbers_or_occur_twice(tmp_path: Path) -> None:
    write_csv(pd.DataFrame([[1, "@a"]], columns=[-3, -3]), tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text(encoding="utf-8") == "-3,-3\n1,'@a\n"
