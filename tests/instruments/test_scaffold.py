"""Directions on how to think: prompts in two arms, answers, and what changes between them."""

import numpy as np
import pytest

from psychollm._base.errors import InputError, OptionError
from psychollm.instruments import Scaffold
from psychollm.instruments.reading import Outcome
from psychollm.instruments.scaffold import DIRECTIONS, directed, read_reply, score_readings

SUMS = [
    {"id": f"q{i}", "question": f"{i} + 1?", "answer": str(i + 1), "rule": "numeric"}
    for i in range(6)
]


def test_the_arms_differ_in_the_directions_alone() -> None:
    for own, led in zip(*[iter(Scaffold(questions=SUMS).prompts())] * 2, strict=True):
        system, asked = led.messages
        assert asked == own.messages[1]
        directions = " ".join(["While you think:", *DIRECTIONS.values()])
        assert system.content.replace(f"{directions} ", "") == own.messages[0].content
        assert (own.about["arm"], led.about["arm"]) == ("spontaneous", "directed")
        assert own.item == led.item
        assert own.follows is led.follows is None


def test_directions_come_in_one_order_whatever_is_typed() -> None:
    assert directed(["evaluation", "self_awareness"]) == directed(["self_awareness", "evaluation"])
    keys = [
        Scaffold(questions=SUMS[:1], direct=direct).prompts()[1].key
        for direct in (("evaluation",), tuple(DIRECTIONS))
    ]
    assert keys == ["q0/directed-evaluation/0", "q0/directed-all/0"]


def test_repeats_are_runs() -> None:
    asked = Scaffold(questions=SUMS, n_repeats=2)
    scores = asked.score([asked.read(one, "Answer: 1") for one in asked.prompts()])
    assert len(asked.prompts()) == 24
    assert set(scores.runs) == {1, 2}
    assert scores.pairs().shape == (12, 2)


def test_what_changes_is_counted_pair_by_pair() -> None:
    asked = Scaffold(questions=SUMS)

    def said(prompt) -> str:
        n = int(prompt.item[1:])
        if prompt.about["arm"] == "spontaneous":
            return f"Answer: {n + 1 if n < 4 else 99}"  # right, right, right, right, wrong, wrong
        return "" if n == 0 else f"Answer: {n + 1 if n != 1 else 99}"  # missing, wrong, right, ...

    scores = asked.score([asked.read(one, said(one)) for one in asked.prompts()])
    assert scores.summary().splitlines() == [
        "spontaneous: 4 of 6 answers right; directed: 4 of 5 answers right",
        "the directing prompt corrects 2 of 2 wrong answers and makes 1 of 3 right answers wrong",
    ]
    frame = scores.to_frame("m")
    assert frame["correct"].isna().sum() == 1
    assert frame.loc[1, "outcome"] is Outcome.EMPTY or frame.loc[1, "outcome"] == "empty"


def test_an_answer_that_was_cut_off_is_missing() -> None:
    prompt = Scaffold(questions=SUMS).prompts()[0]
    assert read_reply(prompt, "Let me", finish_reason="length").outcome is Outcome.TRUNCATED
    assert read_reply(prompt, "Hm.\nAnswer: 1", finish_reason="length").value == "correct"
    assert read_reply(prompt, "Answer: I don't know").value == "abstained"


def test_nobody_replied() -> None:
    asked = Scaffold(questions=SUMS)
    scores = score_readings(asked.prompts(), {})
    assert np.isnan(scores.correct).all()
    assert scores.pairs().shape == (0, 2)
    assert "0 of 0" in scores.summary()


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"direct": ()}, OptionError, "direct"),
        ({"direct": ("luck",)}, OptionError, "luck"),
        ({"direct": ("evaluation", "evaluation")}, OptionError, "once"),
        ({"n_repeats": 0}, OptionError, "n_repeats=0"),
        ({"questions": [{"question": "Why?", "answer": []}]}, InputError, "no right answer"),
        ({"questions": []}, InputError, "questions is empty"),
    ],
)
def test_what_cannot_be(options, error, words) -> None:
    with pytest.raises(error, match=words):
        Scaffold(**{"questions": SUMS, **options})
