"""The program of the document on self-efficacy runs."""

import doctest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def test_the_program_of_the_document_runs() -> None:
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    failed, tried = doctest.testfile(
        str(ROOT / "docs" / "self_efficacy.md"), module_relative=False, optionflags=options
    )
    assert tried > 0
    assert failed == 0
