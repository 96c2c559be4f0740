"""The programs of the page on clusters that cannot run here are Python."""

import ast
import doctest
import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "clusters.md"


def test_the_programs_are_python() -> None:
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        ast.parse(
            "".join(example.source for example in doctest.DocTestParser().get_examples(block))
        )
