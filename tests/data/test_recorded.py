"""The recorded example: what is stored is what the replies say, and all of it is there."""

import csv
import runpy
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

import psychollm as psy
from psychollm.instruments.self_prediction import SelfPrediction, read_reply

ROOT = Path(__file__).resolve().parents[2]
MADE = ROOT / "examples" / "smollm2"


@pytest.fixture(scope="module")
def example():
    return psy.load_example("smollm2")


def test_size_and_shape(example):
    assert not example.simulated
    assert example.truth is None
    assert example.confidence.n_models >= 19
    assert example.confidence.n_questions >= 400
    assert example.confidence.models == example.correctness.models
    assert example.confidence.questions == example.correctness.questions
    assert example.stated.shape == example.confidence.codes.shape
    assert example.confidence.missing.mean() < 0.05
    assert example.correctness.missing.mean() < 0.05
    folder = files("psychollm.data").joinpath("files")
    assert sum(len(one.read_bytes()) for one in folder.iterdir()) < 400_000


def test_every_prompt_has_one_reply_of_every_respondent(example):
    replies = example.replies()
    assert len(replies) == 2 * example.confidence.n_models * example.confidence.n_questions
    assert not replies.duplicated(["model", "question", "part"]).any()
    assert (replies["outcome"] != "failed").mean() > 0.999


def test_reading_the_raw_replies_again_gives_the_tables(example):
    rows = example.recorded.questions
    asked = SelfPrediction(
        questions=[{**row, "text": row["question"]} for row in rows], form="direct"
    )
    prompts = {(p.item, p.about["part"]): p for p in asked.prompts()}
    seen = {}
    for row in example.recorded.replies:
        key = row["question"], row["part"], row["reply"], row["finish_reason"]
        if key not in seen:
            prompt = prompts[row["question"], row["part"]]
            reading = read_reply(prompt, row["reply"], finish_reason=row["finish_reason"])
            seen[key] = reading.outcome.value, reading.value
        outcome, value = seen[key]
        if row["outcome"] != "failed":
            assert (outcome, value) == (
                row["outcome"],
                float(row["value"]) if row["value"] else None,
            ), row


def test_greedy_respondents_say_what_their_probabilities_say(example):
    cold = [k for k, row in enumerate(example.recorded.models) if float(row["temperature"]) == 0]
    assert len(cold) >= 16
    said = np.where(example.confidence.missing, np.nan, example.confidence.codes)[cold]
    stated = example.stated[cold]
    clear = np.isfinite(said) & (np.abs(stated - 0.5) > 0.05)
    assert clear.sum() > 3000
    # Yes and no are the sums over spellings, the reply is the likeliest one of them.
    assert (said[clear] == (stated[clear] > 0.5)).mean() > 0.99


def test_the_plan_and_the_questions_are_those_that_made_it(example):
    with (MADE / "questions.csv").open(encoding="utf-8", newline="") as file:
        assert tuple(csv.DictReader(file)) == example.recorded.questions
    plan = (MADE / "plan.toml").read_text(encoding="utf-8")
    for row in example.recorded.models:
        assert f'name = "{row["model"]}"' in plan
        assert row["system"] in plan


def test_the_prompts_are_those_that_the_questions_make(example):
    made = runpy.run_path(str(MADE / "make_prompts.py"))["lines"]()
    assert (MADE / "prompts.jsonl").read_text(encoding="utf-8").splitlines() == made
    assert len(made) == 2 * example.confidence.n_questions


def test_a_simulated_example_has_no_replies():
    assert psy.load_example("shared_confidence").replies().empty
