"""``psychollm instrument``: prompts in a file that a plan can name."""

import argparse
import json
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

from psychollm.cli import UNUSABLE
from psychollm.cli.instrument import WriteInstrument
from psychollm.cli.options import PARSING, Parser
from psychollm.collect.plan import read_prompts
from psychollm.instruments.instrument import INSTRUMENTS, instrument_class, instrument_of
from psychollm.instruments.rule_world import RuleWorld
from tests.cli.stores import filled

QUESTIONS = "question,answer\nWhat is 2 + 2?,4\nWhat is the capital of France?,Paris\n"


def test_the_prompts_of_a_rule_world(call, tmp_path: Path) -> None:
    found = call("instrument", "rule-world", "--n", 12, "--seed", 3, "--out", "items.jsonl")
    assert found.returncode == 0, found.stderr
    assert "12 prompts about 12 items: items.jsonl" in found.stdout
    assert read_prompts(tmp_path / "items.jsonl") == RuleWorld(n=12, seed=3).prompts()


def test_the_same_options_write_the_same_file(call, tmp_path: Path) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        call("instrument", "rule-world", "--n", 8, "--types", "A,C", "--out", name, "--quiet")
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
    types = {prompt.about["type"] for prompt in read_prompts(tmp_path / "a.jsonl")}
    assert types == {"A", "C"}


def test_self_predictions_of_a_file_of_questions(call, tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text(QUESTIONS)
    found = call(
        "instrument", "self-prediction", "q.csv", "--form", "direct", "--scales",
        "yes_no,percent", "--rule", "f1", "--same-conversation", "--out", "i.jsonl",
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    prompts = read_prompts(tmp_path / "i.jsonl")
    assert [prompt.reply for prompt in prompts] == ["yes_no", "percent", "text"] * 2
    assert prompts[2].follows == prompts[0].key
    assert prompts[2].about["rule"] == "f1"


def test_passages_of_squad_are_dropped(call, tmp_path: Path) -> None:
    asked = {"id": "s1", "question": "Who?", "answers": [{"text": "she", "answer_start": 0}]}
    passage = {"context": "A passage that nobody sees.", "qas": [asked]}
    squad = {"version": "1.1", "data": [{"title": "t", "paragraphs": [passage]}]}
    (tmp_path / "squad.json").write_text(json.dumps(squad))
    assert call("instrument", "self-prediction", "squad.json", "--out", "i").returncode == 0
    assert "nobody sees" not in (tmp_path / "i").read_text()


def instruments() -> dict[str, argparse.ArgumentParser]:
    """Return the parser of each instrument."""
    parser = Parser(prog="p", **PARSING)
    WriteInstrument.add_to(parser)
    (names,) = (one for one in parser._actions if one.dest == "instrument")
    return dict(names.choices)


@pytest.mark.parametrize("name", INSTRUMENTS)
def test_every_option_is_a_field_and_says_what_it_is(name: str) -> None:
    known = {one.name for one in fields(instrument_class(name))} | {
        "rule",
        "dataset",
        "n_questions",
    }
    own = {one.name for one in fields(WriteInstrument)}
    for action in instruments()[name.replace("_", "-")]._actions:
        if action.dest != "help":
            assert action.dest in known | own
            assert len(action.help) > 5


def every_choice() -> Iterator[tuple[str, ...]]:
    """Yield each instrument with its own defaults, and with each choice of each option."""
    files = {"questions": "q.csv", "transcripts": "t.jsonl"}
    for name, parser in instruments().items():
        needed = tuple(files[one.dest] for one in parser._actions if not one.option_strings)
        yield name, *needed
        for action in parser._actions:
            if action.nargs == 0 and action.dest not in ("help", "json", "quiet"):
                yield name, *needed, action.option_strings[-1]
            listed = (action.metavar or "").removesuffix(",...").split("|")
            for choice in action.choices or (listed if len(listed) > 1 else ()):
                yield name, *needed, action.option_strings[0], choice


@pytest.mark.parametrize("arguments", [*every_choice()], ids=" ".join)
def test_every_choice_makes_prompts(arguments: tuple[str, ...], call, tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text("question,answer\nWhat is 2 + 2?,4\nAnd 2 + 3?,5\n")
    (tmp_path / "t.jsonl").write_text('{"key": "t1", "text": "Let me see."}\n')
    found = call("instrument", *arguments, "--out", "items.jsonl")
    assert found.returncode == 0, found.stderr
    prompts = read_prompts(tmp_path / "items.jsonl")
    assert {instrument_of(prompt) for prompt in prompts} == {arguments[0].replace("-", "_")}


def test_an_empty_list(call, tmp_path: Path) -> None:
    call("instrument", "self-efficacy", "--followups", "none", "--out", "a.jsonl")
    call("instrument", "self-efficacy", "--followups", "neutral", "--out", "b.jsonl")
    assert len(read_prompts(tmp_path / "a.jsonl")) < len(read_prompts(tmp_path / "b.jsonl"))


def test_replies_of_a_store_are_coded(call, tmp_path: Path) -> None:
    said = {"m": lambda prompt, sample: "Let me see. Answer: 3" if prompt.repeat == 0 else None}
    filled(tmp_path / "r.sqlite", RuleWorld(n=4, seed=1, n_repeats=2).prompts(), said)
    found = call("instrument", "coding", "r.sqlite", "--out", "codes.jsonl")
    assert found.returncode == 0, found.stderr
    prompts = read_prompts(tmp_path / "codes.jsonl")
    assert len({prompt.about["transcript"] for prompt in prompts}) == 4
    assert {prompt.about["model"] for prompt in prompts} == {"m"}
    assert "Let me see." in prompts[0].messages[-1].content


def test_a_scale_of_ones_own(call, tmp_path: Path) -> None:
    (tmp_path / "two.csv").write_text("item\nI cope.\nI manage.\n")
    found = call("instrument", "self-efficacy", "--scale", "two.csv", "--out", "a.jsonl")
    assert found.returncode == 0, found.stderr
    assert "I manage." in (tmp_path / "a.jsonl").read_text()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], ["NAME", "psychollm instrument --help"]),
        (["horoscope", "--out", "x"], ["horoscope", "rule-world"]),
        (["rule-world"], ["--out"]),
        (["rule-world", "--n", "0", "--out", "x"], ["n=0"]),
        (["rule-world", "--types", "A,Z", "--out", "x"], ["'Z'"]),
        (["rule-world", "--skin", "gold", "--out", "x"], ["gold", "plumbing"]),
        (["rule-world", "--out", "no/x"], ["--out no/x", "cannot be written"]),
        (["self-prediction", "none.csv", "--out", "x"], ["none.csv"]),
        (["coding", "none.jsonl", "--out", "x"], ["none.jsonl", "cannot be read"]),
        (["coding", "broken.jsonl", "--out", "x"], ["broken.jsonl, line 1"]),
    ],
)
def test_wrong_use_is_one_line(
    call, tmp_path: Path, arguments: list[str], words: list[str]
) -> None:
    (tmp_path / "broken.jsonl").write_text("{")
    found = call("instrument", *arguments)
    assert found.returncode == UNUSABLE
    (line,) = found.stderr.splitlines()
    for word in words:
        assert word in line
