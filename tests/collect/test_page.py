"""What docs/collect.md and its two further pages show can be used as it stands."""

import re
from pathlib import Path

import pytest

from psychollm.cli import main
from psychollm.cli.run import STUDY_PARTS
from psychollm.collect.plan import read_plan
from psychollm.collect.wire import WIRES
from psychollm.instruments.instrument import INSTRUMENTS
from psychollm.instruments.rule_world import RuleWorld
from tests.cli.stores import filled
from tests.collect.conftest import write_plan

PAGES = Path(__file__).parents[2] / "docs"
PAGE = "".join(
    (PAGES / f"{name}.md").read_text(encoding="utf-8")
    for name in ("collect", "stages", "collect_endpoints")
)


def block(language: str, number: int = 0) -> str:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)[number]


def test_the_plan(tmp_path: Path) -> None:
    write_plan(tmp_path, "http://127.0.0.1:9/v1", 2)  # its prompts
    path = tmp_path / "plan.toml"
    path.write_text(block("toml"))
    plan = read_plan(path)
    assert [model.name for model in plan.models] == ["large, careful", "small"]
    assert plan.endpoints["provider"].key == "MY_API_KEY"


def test_the_plan_in_stages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = (PAGES.parent / "examples" / "smollm2" / "questions.csv").read_text().splitlines()
    (tmp_path / "questions.csv").write_text("\n".join(lines[:21]))
    (tmp_path / "plan.toml").write_text(block("toml", 1))
    monkeypatch.chdir(tmp_path)
    assert main(["run", "metacognitive_skill", "plan.toml", "--dry-run"]) == 0
    told = capsys.readouterr().out
    foretold = block("console", 1).partition("...\n")[2].partition("$ psychollm")[0]
    assert foretold in told


def test_the_table_of_studies_names_their_parts() -> None:
    rows = {
        name: [re.findall(r"`(\w+)`", part) for part in parts]
        for name, *parts in re.findall(r"^\| (\w+) \| (.*?) \| ?(.*?) \|$", PAGE, re.M)
    }
    for name, parts in STUDY_PARTS.items():
        assert rows[name] == [list(parts.first), list(parts.later)]


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
    assert "rule_world: 8 prompts were sent to 1 model." in capsys.readouterr().out
    assert (tmp_path / "replies.parquet").exists()
