"""What the readers' options do, and which of them cannot be."""

import pytest

from psychollm._base.errors import InputError, OptionError
from psychollm.instruments import Outcome
from psychollm.instruments.readers import (
    CAN_ANSWER,
    CANNOT_ANSWER,
    CONFIDENCE_LEVELS,
    LIKELIHOOD,
    declines,
    read_number,
    read_numbered,
    read_option,
    read_percent,
    read_rating,
    read_verbal,
    read_yes_no,
)

# Whole sentences answer "can you answer this?", and no other question.
ABILITY = [
    ("I can answer this question correctly.", 1),
    ("I think I can answer this.", 1),
    ("I believe I could answer that correctly.", 1),
    ("I know the answer.", 1),
    ("I am confident that I can answer this question.", 1),
    ("I'm sure I can.", 1),
    ("Since it is common knowledge, I am able to answer it.", 1),
    ("I cannot answer this question correctly.", 0),
    ("I can't answer this without the passage.", 0),
    ("I don't think I can answer this.", 0),
    ("I do not think I can.", 0),
    ("I'm not confident that I can answer this correctly.", 0),
    ("I'm unable to answer this question.", 0),
    ("I don't know the answer to this question.", 0),
    ("I doubt that I can answer it.", 0),
]


@pytest.mark.parametrize(("reply", "value"), ABILITY)
def test_sentences_of_ability_count_where_the_question_asks_for_it(reply, value):
    assert read_yes_no(reply, yes=CAN_ANSWER, no=CANNOT_ANSWER).value == value
    assert read_yes_no(reply).outcome in {Outcome.UNREADABLE, Outcome.REFUSED}


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        ("I can answer part of it. I cannot answer the rest.", "ambiguous"),
        ("Yes, I can answer it.", "answered"),
        ("Yes, but I cannot answer it.", "ambiguous"),
        ("Can I answer it?", "unreadable"),
        ("I'm sorry, but I can't help with that.", "refused"),
    ],
)
def test_sentences_of_ability_beside_other_evidence(reply, outcome):
    assert read_yes_no(reply, yes=CAN_ANSWER, no=CANNOT_ANSWER).outcome == outcome


@pytest.mark.parametrize(
    ("reply", "mark", "value"),
    [
        ("1,234", ".", 1234),
        ("1,234", ",", 1.234),
        ("1.234", ".", 1.234),
        ("1.234", ",", 1234),
        ("1.234,5", ".", 1234.5),
        ("1,234.5", ",", 1234.5),
        ("-1.234", ",", -1234),
        ("3,14", ".", 3.14),
        ("3.14", ",", 3.14),
        ("2.5e3", ".", 2500),
        ("1.5 million", ".", 1_500_000),
        ("3/4", ".", 0.75),
        ("80%", ".", 80),
        ("½", ".", 0.5),
        ("x = 0.25", ".", 0.25),
        ("The answer is about 2.54 cm.", ".", 2.54),
        ("one hundred and five", ".", 105),
    ],
)
def test_numbers(reply, mark, value):
    assert read_number(reply, decimal_mark=mark).value == value


def test_rating_scales():
    assert read_rating("7", low=1, high=7).value == 7
    assert read_rating("5 out of 7", low=1, high=7).value == 5
    assert read_rating("0", low=0, high=3).value == 0
    assert read_rating("On a scale of 0 to 10, 9", low=0, high=10).value == 9
    # Of a scale with points of two digits, a number cut off may go on.
    cut = read_rating("1", low=0, high=10, finish_reason="length")
    assert cut.outcome is Outcome.TRUNCATED


def test_option_letters_of_any_kind():
    assert read_option("E", "ABCDE").value == "E"
    assert read_option("The answer is 2.", ["1", "2", "3"]).value == "2"
    assert read_option("(iv)", ["i", "ii", "iii", "iv"]).value == "iv"
    assert read_option("b", {"A": "yes", "B": "no"}).value == "B"


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("It is New York City.", "C"),
        ("New York City, C.", "C"),
        ("The answer is New York.", "B"),
        ("York, I would say.", "A"),
    ],
)
def test_an_option_whose_text_begins_another(reply, value):
    options = {"A": "York", "B": "New York", "C": "New York City"}
    assert read_option(reply, options).value == value


def test_scales_of_words():
    assert read_verbal("Very high.", scale=CONFIDENCE_LEVELS).value == 0.9
    assert read_verbal("not very confident", scale=CONFIDENCE_LEVELS).value == 0.3
    assert read_verbal("rarely", scale={"rarely": 0.2, "often": 0.8}).value == 0.2
    assert read_verbal("likely", scale={"rarely": 0.2}).outcome is Outcome.UNREADABLE


def test_scale_of_likelihood_is_in_order():
    # Intelligence Community Directive 203: the middle of each range.
    ranges = {
        "almost no chance": (0.01, 0.05),
        "very unlikely": (0.05, 0.20),
        "unlikely": (0.20, 0.45),
        "roughly even chance": (0.45, 0.55),
        "likely": (0.55, 0.80),
        "very likely": (0.80, 0.95),
        "almost certain": (0.95, 0.99),
    }
    for phrase, (low, high) in ranges.items():
        assert LIKELIHOOD[phrase] == pytest.approx((low + high) / 2)


@pytest.mark.parametrize(
    ("reply", "n", "values"),
    [
        ("1. 3\n2. 4\n3. 2", 3, [3, 4, 2]),
        ("1) 3\n2) 4\n3) 2", 3, [3, 4, 2]),
        ("1: 3\n2: 4\n3: 2", 3, [3, 4, 2]),
        ("1 - 3\n2 - 4", 2, [3, 4]),
        ("(1) 3\n(2) 4", 2, [3, 4]),
        ("Item 1: 3\nItem 2: 4", 2, [3, 4]),
        ("Statement 1: **3**\nStatement 2: **4**", 2, [3, 4]),
        ("**1.** 3\n**2.** 4", 2, [3, 4]),
        ("1: 3, 2: 4, 3: 2", 3, [3, 4, 2]),
        ('{"1": 3, "2": 4}', 2, [3, 4]),
        ("| 1 | 3 |\n| 2 | 4 |", 2, [3, 4]),
        ("3\n4\n2", 3, [3, 4, 2]),
        ("3, 4, 2", 3, [3, 4, 2]),
        ("[3, 4, 2]", 3, [3, 4, 2]),
        ("Here are my ratings:\n\n1. 3\n2. 4\n\nLet me know!", 2, [3, 4]),
        ("1. I solve hard problems: 3\n2. I find a way: 4", 2, [3, 4]),
        ("2. 4\n1. 3", 2, [3, 4]),
        ("1. 3\n3. 2", 3, [3, None, 2]),
        ("1. 3\n2. 4\n1. 2", 2, [None, 4]),
        ("1. 3\n2. 7", 2, [3, None]),
        ("1. 3\n2. 2 or 3", 2, [3, None]),
        ("3, 4", 3, [None, None, None]),
        ("I cannot rate myself.", 2, [None, None]),
        ("", 2, [None, None]),
    ],
)
def test_numbered(reply, n, values):
    assert [one.value for one in read_numbered(reply, n, read_rating)] == values


def test_numbered_says_what_became_of_the_rest():
    def outcomes(reply, reason=None):
        found = read_numbered(reply, 3, read_rating, finish_reason=reason)
        return [one.outcome.value for one in found]

    assert outcomes("1. 3\n2. 4", "length") == ["answered", "answered", "truncated"]
    assert outcomes("1. 3\n2. 4\n2. 1") == ["answered", "ambiguous", "unreadable"]
    assert outcomes("I'm sorry, I can't rate that.") == ["refused"] * 3
    assert outcomes(" ") == ["empty"] * 3


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: read_rating("3", low=4, high=4), "fewer than two points"),
        (lambda: read_rating("3", labels={"superb": 9}), "outside the scale"),
        (lambda: read_option("A", "A"), "fewer than two"),
        (lambda: read_option("A", ["A", " "]), "letters"),
        (lambda: read_verbal("likely", scale={}), "at least one phrase"),
        (lambda: read_numbered("1", 0, read_rating), "at least one question"),
        (lambda: read_percent("1", scale="0-10"), "scale"),
        (lambda: read_number("1", decimal_mark=";"), "decimal_mark"),
    ],
)
def test_what_cannot_be_asked_for(call, words):
    with pytest.raises((InputError, OptionError), match=words):
        call()


@pytest.mark.parametrize(
    "text", ["I can do that.", "I do know.", "It can be determined.", "As an AI, I like it.", ""]
)
def test_no_refusal(text):
    assert not declines(text)
