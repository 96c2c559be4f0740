"""Numbers are printed in one way: by psychollm._base.numbers, and nowhere else by hand."""

import ast
import math
import re
from collections.abc import Iterator
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from psychollm._base import numbers

ROOT = Path(__file__).parents[2] / "psychollm"
SOURCES = [path for path in sorted(ROOT.rglob("*.py")) if path != ROOT / "_base" / "numbers.py"]
VALUES = st.floats(allow_nan=True, allow_infinity=True, width=32)


@given(VALUES, st.integers(0, 4), st.booleans())
def test_no_sign_before_what_is_zero_or_undefined(value, digits, signed) -> None:
    text = numbers.number(value, digits, signed=signed)
    assert "nan" not in text
    if math.isnan(value):
        assert text == numbers.ABSENT
    elif not text.strip("+-0."):
        assert text[0] == "0"
    else:
        assert text.startswith("-") == (value < 0)
        assert text.startswith("+") == (signed and value > 0)


@given(st.floats(0.0, 1.0))
def test_p_values_have_one_form(p) -> None:
    text = numbers.p_value(p)
    assert re.fullmatch(r"< \.001|\.\d{3}|1\.000", text)
    assert numbers.p_equals(p) == ("p " if text[0] == "<" else "p = ") + text


@given(VALUES, VALUES)
def test_typesetting_loses_nothing(low, high) -> None:
    text = f"a-1 {numbers.with_interval(0.5, (low, high), signed=True)}, 12,000 of model-3"
    plain = numbers.typeset(text).replace("−", "-").replace("\u00a0", " ").replace("\u202f", ",")
    assert plain == text
    assert "a-1 " in numbers.typeset(text)
    assert "model-3" in numbers.typeset(text)


def by_hand(path: Path) -> Iterator[str]:
    """Yield the places of a file where a sign or a p-value is printed by hand."""
    text = path.read_text(encoding="utf-8")
    if not re.search(r":\+|p [=<] ", text):  # parsing takes longest
        return
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.JoinedStr):
            continue
        before = ""
        for part in node.values:
            if isinstance(part, ast.Constant):
                before = part.value
                continue
            form = "" if part.format_spec is None else ast.unparse(part.format_spec)[2:-1]
            signed = form.startswith("+") and form[-1] in "fg"
            if signed or (form and before.endswith(("p = ", "p < "))):
                yield f"{path.relative_to(ROOT)}, line {node.lineno}"
            before = ""


def test_nobody_prints_signs_or_p_values_by_hand() -> None:
    """A format such as "+.2f" writes "-0.00" and "+nan"."""
    assert [place for path in SOURCES for place in by_hand(path)] == []
