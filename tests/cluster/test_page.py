"""The programs of the page on clusters run, where they can run here."""

import ast
import doctest
import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "clusters.md"


def test_the_programs_run() -> None:
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    failed, tried = doctest.testfile(str(PAGE), module_relative=False, optionflags=options)
    assert tried > 5
    assert failed == 0


def test_the_others_are_python() -> None:
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        ast.parse(
            "".join(example.source for example in doctest.DocTestParser().get_examples(block))
        )
