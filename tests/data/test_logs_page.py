"""The programs of the page on logs run."""

import doctest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_programs_run(monkeypatch) -> None:
    monkeypatch.chdir(ROOT)
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    failed, tried = doctest.testfile(
        str(ROOT / "docs" / "logs.md"), module_relative=False, optionflags=options
    )
    assert tried > 5
    assert failed == 0
