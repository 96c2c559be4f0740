"""``--json``: one object on standard output and nothing else, whatever the command."""

import json
from pathlib import Path

import pytest

from psychollm._base.version import __version__
from psychollm.cli import UNUSABLE
from psychollm.cli.parser import build_parser
from psychollm.instruments.rule_world import RuleWorld
from tests.cli.stores import filled

SAMPLES = Path(__file__).resolve().parents[1] / "data" / "samples"
QUICK = ("--null", 19, "--bootstrap", 50)


def strict(text: str) -> dict:
    """Parse JSON in which NaN and Infinity are errors."""

    def refuse(name: str) -> None:
        raise AssertionError(name)

    found = json.loads(text, parse_constant=refuse)
    assert isinstance(found, dict)
    return found


@pytest.fixture
def store(tmp_path: Path) -> Path:
    def says(prompt, sample):
        return None if prompt.item.endswith("0001") else "Answer: A"

    return filled(tmp_path / "run.sqlite", RuleWorld(n=8, seed=2).prompts(), {"m": says})


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    prompts = [json.dumps(one.to_dict()) for one in RuleWorld(n=4, seed=1).prompts()]
    (tmp_path / "items.jsonl").write_text("\n".join(prompts))
    path = tmp_path / "plan.toml"
    path.write_text(
        'prompts = "items.jsonl"\nstore = "new.sqlite"\n[endpoints.here]\n'
        'url = "http://127.0.0.1:9/v1"\n[[models]]\nname = "m"\nmodel = "m"\nendpoint = "here"\n'
    )
    return path


@pytest.mark.parametrize(
    ("arguments", "keys"),
    [
        (["version"], {"psychollm", "python"}),
        (["doctor", "--no-speed"], {"packages", "extras", "machine"}),
        (["study", "TABLES", *QUICK], {"verdict", "models", "seed"}),
        (["calibrate", "TABLES", *QUICK], {"verdict", "metrics", "calibration_error"}),
        (["import", SAMPLES / "hal"], {"n_models", "n_questions", "written"}),
        (["score", "STORE"], {"rule_world"}),
        (["study", "STORE", *QUICK], {"verdict", "profiles", "outcomes"}),
        (["collect", "PLAN", "--dry-run"], {"models"}),
        (["instrument", "rule-world", "--n", "4", "--out", "i.jsonl"], {"n_prompts", "n_items"}),
        (["stage", "coding", "STORE", "--out", "i.jsonl"], {"stage", "n_prompts", "asked"}),
    ],
)
def test_one_object(call, tables, store, plan, arguments, keys) -> None:
    places = {"TABLES": tables, "STORE": (store,), "PLAN": (plan,)}
    words = [word for one in arguments for word in places.get(str(one), (one,))]
    found = call(*words, "--json")
    assert found.returncode == 0, found.stderr
    assert keys <= strict(found.stdout).keys()


def test_what_was_written_is_named(call, tmp_path: Path) -> None:
    found = strict(call("import", SAMPLES / "hal", "--out", "a.csv", "--json").stdout)
    assert found["written"] == {"out": "a.csv"}
    found = strict(call("instrument", "rule-world", "--n", 4, "--out", "b.jsonl", "--json").stdout)
    assert (found["n_prompts"], found["out"]) == (4, "b.jsonl")
    assert len((tmp_path / "b.jsonl").read_text().splitlines()) == 4


def test_the_version(call) -> None:
    assert strict(call("version", "--json").stdout)["psychollm"] == __version__


def test_an_error_leaves_standard_output_empty(call) -> None:
    found = call("import", "absent", "--json")
    assert (found.returncode, found.stdout) == (UNUSABLE, "")
    assert len(found.stderr.splitlines()) == 1


def test_every_command_that_computes_has_it() -> None:
    (commands,) = (one for one in build_parser()._actions if one.dest == "command")
    for name, parser in commands.choices.items():
        text = parser.format_help()
        below = [one for one in parser._actions if hasattr(one, "_choices_actions")]
        if below:
            text = " ".join(one.format_help() for one in below[0].choices.values())
        assert ("--json" in text) == (name != "completion"), name
