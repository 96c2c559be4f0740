"""The page on live evaluations: its programs run, and its plan is one."""

import doctest
import re
import tomllib
from pathlib import Path

import pytest

from psychollm.collect import plan

PAGE = Path(__file__).resolve().parents[2] / "docs" / "live.md"


def test_the_programs_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    failed, tried = doctest.testfile(str(PAGE), module_relative=False, optionflags=options)
    assert tried > 5
    assert failed == 0


def test_the_plan_of_the_page_is_one() -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    table = tomllib.loads(text)
    assert set(table) <= plan._TOP
    assert set(table["adaptive"]) <= plan._ADAPTIVE
