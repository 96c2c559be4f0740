"""The door of texts that leave."""

import io
import os
import subprocess
import sys

import pytest

from psychollm._base.errors import LabelError
from psychollm._base.shown import Screen, in_lines, on_screen, one_line, visible
from psychollm._base.typeset import markdown_text


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("plain – 中文 é\tline\n", "plain – 中文 é\tline\n"),
        ("\x1b[31m\x9b\x7f", r"\u001b[31m\u009b\u007f"),
        ("a\u202eb\u2066\u200f", r"a\u202eb\u2066\u200f"),
        ("half \ud800", r"half \ud800"),
        ("\r\u2028", r"\r\u2028"),
    ],
)
def test_what_would_be_obeyed_is_written(text: str, seen: str) -> None:
    assert visible(text) == seen
    assert one_line(text) == seen.replace("\n", r"\n").replace("\t", r"\t")
    assert str(LabelError(text)) == seen


def test_what_holds_no_text_of_two_lines_is_handed_on() -> None:
    value = ((1, 2), ["a", {"b": ("c",)}])
    assert in_lines(value) is value
    assert in_lines((("a\nb", 1), {"c\n": 2})) == (("a\\nb", 1), {"c\\n": 2})


@pytest.mark.parametrize("coding", ["ascii", "latin-1", "cp1252", "utf-8"])
def test_a_screen_gets_what_it_can_write(coding: str) -> None:
    screen = io.TextIOWrapper(io.BytesIO(), encoding=coding)
    print("… 中 \U0001f600 é \x1b[2J \ud800", file=Screen(screen), flush=True)
    seen = screen.buffer.getvalue().decode(coding)
    assert r"\u001b[2J \ud800" in seen
    assert (seen[0] == "…") == (coding in ("utf-8", "cp1252"))
    assert (r"\u4e2d \ud83d\ude00" in seen) == (coding != "utf-8")


SHOW = """
import numpy as np, psychollm as psy
right = np.random.default_rng(0).random((3, 40)) < 0.5
result = psy.compare(psy.Responses(right.astype(int), models=["é…", "b–", "\\x1b"]))
print(result, repr(result), result.summary(), result.findings())
print(psy.calibration.brier(right * 0.5, right))
"""


@pytest.mark.parametrize("run", [("-c", SHOW), ("-m", "psychollm", "compare", "table.csv")])
def test_an_ascii_screen(run: tuple[str, ...], tmp_path) -> None:
    rows = "".join(f"{m},{q},{(q + len(m)) % 2}\n" for m in ("é…", "中文 –") for q in range(12))
    (tmp_path / "table.csv").write_text(f"model,question,score\n{rows}", encoding="utf-8")
    found = subprocess.run(
        [sys.executable, *run],
        cwd=tmp_path,
        env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert found.returncode == 0, found.stderr
    assert r"\u00e9..." in found.stdout


def test_markdown_prints_a_label_as_it_stands() -> None:
    assert markdown_text("a_b [0.1, 0.2] -0.3 m\\n 5 * 3") == r"a_b [0.1, 0.2] -0.3 m\n 5 \* 3"
    assert markdown_text("_a_ https://b www.c &lt; ![d](e)") == (
        r"\_a\_ https\://b www\.c \&lt; ![d\](e)"
    )


def test_a_text_is_for_the_screen_that_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    assert on_screen("0.5 – 0.6…") == "0.5 - 0.6..."
