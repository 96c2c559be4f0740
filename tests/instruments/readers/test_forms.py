"""What a human reader makes of each form of reply, the readers make of it too."""

import csv

import pytest

from psychollm.instruments import Outcome
from psychollm.instruments.readers.plain_text import split_trace
from tests.instruments.readers.replies import GOLDEN, READERS, agrees, forms

# How many distinct forms there have to be; they were written by hand, before the readers.
FEWEST = {
    "yes_no": 300,
    "integer": 300,
    "option": 300,
    "rating": 300,
    "percent": 100,
    "proportion": 90,
    "verbal": 100,
}


@pytest.mark.parametrize("name", FEWEST)
def test_reads_as_a_human_does(name):
    wrong = [
        (form.reply, f"{form.outcome} {form.value}", READERS[name](form.reply))
        for form in forms(name)
        if not agrees(READERS[name](form.reply), form.outcome, form.value)
    ]
    assert not wrong


@pytest.mark.parametrize("name", FEWEST)
def test_forms_are_many_distinct_and_explained(name):
    found = forms(name)
    assert len({form.reply for form in found}) == len(found) >= FEWEST[name]
    assert all(form.why for form in found)
    assert {form.outcome for form in found} == {
        "answered",
        "ambiguous",
        "unreadable",
        "refused",
        "empty",
    }


@pytest.mark.parametrize("name", FEWEST)
def test_says_what_an_answer_was_read_from(name):
    readings = [READERS[name](form.reply) for form in forms(name)]
    assert all(reading.said for reading in readings if reading.answered)


@pytest.mark.parametrize("reason", [None, "stop", "length"])
@pytest.mark.parametrize(
    "reply",
    [
        "[THINK]Answer: {}",
        "<|channel|>analysis<|message|>Answer: {}",
        "Sure. <think>Answer: {}",
        "{} <think>Answer: {}",
    ],
)
def test_thoughts_that_never_ended_are_no_answer(reply, reason):
    for name, said in {"yes_no": "Yes", "integer": "5", "option": "B", "percent": "70%"}.items():
        reading = READERS[name](reply.replace("{}", said), finish_reason=reason)
        expected = Outcome.TRUNCATED if reason == "length" else Outcome.UNREADABLE
        assert reading.outcome is expected
    assert split_trace(reply.replace("{}", "Yes")).answer == ""


def test_thoughts_in_the_tags_of_other_models():
    for reply in (
        "[THINK]Answer: Yes[/THINK]No",
        "<|channel|>analysis<|message|>Answer: Yes<|end|>"
        "<|start|>assistant<|channel|>final<|message|>No<|return|>",
    ):
        assert READERS["yes_no"](reply).value == 0


@pytest.mark.parametrize("label", ["", "Answer: ", "**Final answer:** "])
@pytest.mark.parametrize(
    "reply",
    [
        "Yes, but actually no",
        "Yes... wait, no.",
        "Yes\n\nHmm, actually no.",
        "Yes (not really)",
        "No, wait, Yes",
    ],
)
def test_an_answer_that_is_corrected_is_ambiguous(label, reply):
    assert READERS["yes_no"](label + reply).outcome is Outcome.AMBIGUOUS


@pytest.mark.parametrize(
    "reply",
    [
        "Answer: Yes. No doubt.",
        "Answer: Yes, there is no evidence against it.",
        "Answer: Yes\n\nExplanation: Actually, no one denies it.",
        "Is it? Hmm, actually no.\n\nAnswer: Yes",
    ],
)
def test_words_after_an_answer_that_do_not_correct_it(reply):
    assert READERS["yes_no"](reply).value == 1


def test_replies_cut_off():
    with (GOLDEN / "truncated.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    readings = [READERS[row["reader"]](row["reply"], finish_reason="length") for row in rows]
    wrong = [
        (row["reader"], row["reply"], row["outcome"], reading)
        for row, reading in zip(rows, readings, strict=True)
        if not agrees(reading, row["outcome"], row["value"])
    ]
    assert not wrong


@pytest.mark.parametrize("name", FEWEST)
def test_being_cut_off_never_makes_an_answer(name):
    # What a whole reply leaves unsaid, its beginning does not say either; nor another answer.
    for form in forms(name):
        whole = READERS[name](form.reply)
        cut = READERS[name](form.reply, finish_reason="length")
        assert not cut.answered or cut.value == whole.value, form.reply
