"""What docs/collect.md shows can be used as it stands."""

import re
from pathlib import Path

import pytest

from psychollm.collect.plan import read_plan
from psychollm.collect.wire import WIRES
from psychollm.instruments.instrument import INSTRUMENTS
from psychollm.instruments.rule_world import RuleWorld
from tests.cli.stores import filled
from tests.collect.conftest import write_plan

PAGE = (Path(__file__).parents[2] / "docs" / "collect.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    return found[1]


def test_the_plan(tmp_path: Path) -> None:
    write_plan(tmp_path, "http://127.0.0.1:9/v1", 2)  # its prompts
    path = tmp_path / "plan.toml"
    path.write_text(block("toml"))
    plan = read_plan(path)
    assert [model.name for model in plan.models] == ["large, careful", "small"]
    assert plan.endpoints["provider"].key == "MY_API_KEY"


def test_the_tables_name_what_there_is() -> None:
    assert set(re.findall(r"^\| `([a-z-]+)` \|", PAGE, re.M)) == {
        *(name.replace("_", "-") for name in INSTRUMENTS),
        *WIRES,
    }


def test_the_lines_of_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyarrow")
    world = RuleWorld(n=8, seed=1)
    filled(tmp_path / "run.sqlite", world.prompts(), {"m": lambda prompt, sample: "Answer: A"})
    monkeypatch.chdir(tmp_path)
    exec(block("python"), {})  # noqa: S102 -- of our own page
    assert "rule_world, 8 prompts put to 1 model." in capsys.readouterr().out
    assert (tmp_path / "replies.parquet").exists()
