"""``psychollm stage``: from a store to the prompts of the next stage."""

import json
from pathlib import Path

import pytest

from psychollm.cli import UNUSABLE, main
from psychollm.collect.export import replied
from psychollm.collect.plan import read_prompts
from psychollm.collect.store import Store
from psychollm.instruments import Abstention, Revision, RuleWorld, SelfEfficacy, SelfPrediction
from psychollm.instruments.stages import STAGES
from tests.cli.stores import filled

SUMS = [
    {"id": f"q{n}", "question": f"What is {n} + 40?", "answer": str(n + 40), "rule": "numeric"}
    for n in range(3)
]
RATINGS = "\n".join(f"{n}. 3" for n in range(1, 11))


def says(prompt, sample) -> str:
    rated = prompt.about["instrument"] == "self_efficacy" and prompt.about["stage"] != "task"
    return RATINGS if rated else "Let me check that.\nAnswer: 41"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    prompts = [
        *SelfPrediction(questions=SUMS).prompts(),
        *Abstention(n_pairs=1).prompts(),
        *Revision(questions=SUMS, arms=()).prompts(),
        *SelfEfficacy(conditions=("computational",), n_repeats=1).prompts(),
    ]
    return filled(tmp_path / "run.sqlite", prompts, {"a": says, "b": says})


@pytest.mark.parametrize("name", STAGES)
def test_the_prompts_of_a_stage(call, store: Path, name: str) -> None:
    given = {"revision": ("--of", "revision"), "scaffold": ("--of", "revision")}.get(name, ())
    found = call("stage", name, "run.sqlite", *given, "--out", "next.jsonl")
    assert found.returncode == 0, found.stderr
    with Store(store, create=False) as opened:
        options = {"of": "revision"} if given else {}
        made = STAGES[name].make(replied(opened), **options)
    assert read_prompts(store.parent / "next.jsonl") == made
    asked = "judges" if STAGES[name].judged else "the same models"
    files = 'prompts = "next.jsonl" and store = "run.sqlite"'
    assert found.stdout.splitlines() == [
        f"{len(made)} prompts for {asked}: next.jsonl",
        f"To send them, write {files} in a plan of {asked}.",
    ]


def test_options_are_those_of_the_function(call, store: Path) -> None:
    call("stage", "revision", "run.sqlite", "--of", "revision", "--arms", "doubt,insist_wrong",
         "--out", "a.jsonl")  # fmt: skip
    stages = {one.about["stage"] for one in read_prompts(store.parent / "a.jsonl")}
    assert stages == {"doubt", "insist_wrong"}
    call("stage", "coding", "run.sqlite", "--of", "abstention", "--of", "revision",
         "--n-items", 1, "--scheme", "stance", "--out", "b.jsonl")  # fmt: skip
    coded = read_prompts(store.parent / "b.jsonl")
    assert {one.about["scheme"] for one in coded} == {"stance"}
    assert len(coded) == 4


def test_json(call, store: Path) -> None:
    found = call("stage", "grading", "run.sqlite", "--out", "next.jsonl", "--json")
    told = json.loads(found.stdout)
    assert told == {"stage": "grading", "n_prompts": 126, "asked": "judges", "out": "next.jsonl"}
    assert call("stage", "grading", "run.sqlite", "--out", "n.jsonl", "--quiet").stdout == ""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], ["NAME", "psychollm stage --help"]),
        (["horoscope", "run.sqlite", "--out", "x"], ["horoscope", "grading"]),
        (["grading", "--out", "x"], ["RUN.sqlite"]),
        (["grading", "run.sqlite"], ["--out"]),
        (["grading", "none.sqlite", "--out", "x"], ["none.sqlite", "does not exist"]),
        (
            ["grading", "rules.sqlite", "--out", "x"],
            ["self_prediction", "the instruments it grades"],
        ),
        (["revision", "run.sqlite", "--out", "x"], ["name one with 'of'"]),
        (["coding", "run.sqlite", "--scheme", "six", "--out", "x"], ["six"]),
        (["grading", "run.sqlite", "--out", "no/x"], ["--out no/x", "cannot be written"]),
    ],
)
def test_wrong_use_is_one_line(call, store: Path, arguments, words) -> None:
    filled(store.parent / "rules.sqlite", RuleWorld(n=4).prompts(), {"a": says})
    found = call("stage", *arguments)
    assert found.returncode == UNUSABLE
    (line,) = found.stderr.splitlines()
    for word in words:
        assert word in line


def test_helps_are_sentences(capsys) -> None:
    helps = {
        ("stage", "revision"): "Write prompts that follow up on stored answers (review, ask",
        ("stage", "scaffold"): "Write prompts that repeat answered prompts, with directions",
        ("instrument", "semantic-sampling"): "continues solved questions (base, base_reasoning)",
        ("instrument", "self-efficacy"): '("none" on the command line omits the question)',
    }
    for command, said in helps.items():
        with pytest.raises(SystemExit):
            main([*command, "--help"])
        assert said in " ".join(capsys.readouterr().out.split())
