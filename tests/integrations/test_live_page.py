"""The page on live evaluations: its plan is one."""

import re
import tomllib
from pathlib import Path

from psychollm.collect import plan

PAGE = Path(__file__).resolve().parents[2] / "docs" / "live.md"


def test_the_plan_of_the_page_is_one() -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    table = tomllib.loads(text)
    assert set(table) <= plan._TOP
    assert set(table["adaptive"]) <= plan._ADAPTIVE
