"""Replies that were written before the readers were tried on them."""

import json
import math
from functools import partial
from types import SimpleNamespace

import pytest

from psychollm.instruments import readers
from psychollm.instruments.grading import grade
from tests.instruments.readers.replies import GOLDEN

AGREEMENT = {
    "strongly disagree": 1, "disagree": 2, "neutral": 3, "neither agree nor disagree": 3,
    "agree": 4, "strongly agree": 5,
}  # fmt: skip
CAPITALS = {"A": "Sydney", "B": "Melbourne", "C": "Canberra", "D": "Perth"}
CITIES = {"A": "Paris", "B": "Rome", "C": "Madrid", "D": "Berlin"}


def graded(reply):
    """Return what became of an answer in words where "Paris" is right."""
    one = grade(reply, ["Paris"])
    said = "correct" if one.correct else "abstained" if one.abstained else "wrong"
    return SimpleNamespace(value=None if one.correct is None else said)


READERS = {
    "grade": graded,
    "option/cities": partial(readers.read_option, options=CITIES),
    "yes_no": readers.read_yes_no,
    "yes_no/can": partial(readers.read_yes_no, yes=readers.CAN_ANSWER, no=readers.CANNOT_ANSWER),
    "integer": readers.read_integer,
    "number": readers.read_number,
    "number/comma": partial(readers.read_number, decimal_mark=","),
    "option": readers.read_option,
    "option/capitals": partial(readers.read_option, options=CAPITALS),
    "option/ten": partial(readers.read_option, options="ABCDEFGHIJ"),
    "option/five": partial(readers.read_option, options="ABCDE"),
    "option/digits": partial(readers.read_option, options="1234"),
    "option/circled": partial(readers.read_option, options="①②③④"),
    "option/roman": partial(readers.read_option, options=["i", "ii", "iii", "iv"]),
    "option/cyrillic": partial(readers.read_option, options="АБВГ"),
    "option/kana": partial(readers.read_option, options="アイウエ"),
    "option/arabic": partial(readers.read_option, options="أبجد"),
    "rating": readers.read_rating,
    "rating/seven": partial(readers.read_rating, high=7),
    "rating/agree": partial(readers.read_rating, high=5, labels=AGREEMENT),
    "percent": readers.read_percent,
    "percent/0-1": partial(readers.read_percent, scale="0-1"),
    "verbal": readers.read_verbal,
    "verbal/levels": partial(readers.read_verbal, scale=readers.CONFIDENCE_LEVELS),
}
FILES = sorted(path.name for path in (GOLDEN / "unseen").glob("*.jsonl"))


def same(value, expected):
    if isinstance(value, str) or None in {value, expected}:
        return value == expected
    return math.isclose(value, expected, rel_tol=1e-9, abs_tol=1e-12)


@pytest.mark.parametrize("name", FILES)
def test_wrong_values_are_rare_and_most_answers_are_read(name):
    lines = (GOLDEN / "unseen" / name).read_text(encoding="utf-8").splitlines()
    wrong, missed, answers = [], [], 0
    for reader, reply, expected, *_ in map(json.loads, lines):
        value = READERS[reader](reply).value
        answers += expected is not None
        if not same(value, expected):
            (missed if value is None else wrong).append((reader, reply, expected, value))
    assert len(wrong) <= 0.005 * len(lines), wrong
    assert len(missed) <= 0.08 * answers, missed
