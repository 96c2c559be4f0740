"""No text breaks a reader, dressing changes nothing, and two answers are never one."""

import itertools
from collections.abc import Iterator
from functools import cache

import hypothesis.strategies as st
import pytest
from hypothesis import given

from psychollm.instruments import Outcome, readers
from tests.hangs import ends
from tests.instruments.readers.replies import READERS, forms

# What readers look for, so that random texts reach into them.
FRAGMENTS = [
    *["yes", "no", "Yes.", "NO", "not", "yes or no", "oui", "nein", "是", "否", "हाँ", "لا", "👍"],
    *["5", "1,234", "1.5", "-3", "½", "٥", "1e999", "3/4", "80%", "five", "one hundred", "二十"],
    *["A", "(B)", "C)", "Option D", "Rome", "Paris", "often true", "very likely", "unlikely"],
    *["Answer:", "The answer is", "Final answer:", "\\boxed{", "}", "{", '"answer":', "null"],
    *["<think>", "</think>", "<answer>", "</answer>", "```", "**", "~~", "#### ", "> ", "- ", "|"],
    *[
        "I don't know",
        "I can't help",
        "as an AI",
        "so",
        "therefore",
        "if",
        "?",
        ".",
        ",",
        "\n",
        " ",
    ],
    *["=", "+", "between", "or", "and", "to", "at least", "\x00", "\ue000", "\ud800", "\u0301"],
]
texts = st.one_of(
    st.text(max_size=60), st.lists(st.sampled_from(FRAGMENTS), max_size=14).map("".join)
)
reasons = st.sampled_from([None, "stop", "length"])


@pytest.mark.parametrize("name", READERS)
@given(text=texts, reason=reasons)
def test_never_raises_and_never_answers_without_a_value(name, text, reason):
    reading = READERS[name](text, finish_reason=reason)
    assert reading.answered == (reading.value is not None)
    assert reading.outcome is not Outcome.FAILED
    if not text.strip():
        assert reading.outcome in {Outcome.EMPTY, Outcome.TRUNCATED}


@pytest.mark.parametrize("name", READERS)
def test_a_reply_may_end_with_the_name_of_its_answer(name):
    reading = READERS[name]("If you want my final answer:")
    assert reading.outcome is Outcome.UNREADABLE


@given(text=texts, n=st.integers(1, 5))
def test_numbered_never_raises(text, n):
    found = readers.read_numbered(text, n, readers.read_rating)
    assert len(found) == n


@pytest.mark.parametrize("name", READERS)
@given(text=texts)
def test_values_are_admissible(name, text):
    value = READERS[name](text).value
    admissible = {
        "yes_no": lambda: value in {0, 1},
        "integer": lambda: isinstance(value, int),
        "option": lambda: value in {"A", "B", "C", "D"},
        "rating": lambda: value in {1, 2, 3, 4} and isinstance(value, int),
    }
    assert value is None or admissible.get(name, lambda: 0 <= value <= 1)()


DRESSINGS = {
    "space": "  \n{}\n \t",
    "bold": "**{}**",
    "italic": "_{}_",
    "both": "***{}***",
    "code": "```\n{}\n```",
    "HTML": "<p>{}</p>",
    "quotation": "> {}",
    "heading": "## {}",
    "list": "- {}",
    "token": "{}<|im_end|>",
    "thinking": "<think>\nYes? No. 1, 2, A or B, never true, likely or unlikely.\n</think>\n\n{}",
}


@cache
def bare_reading(name, plain):
    return READERS[name](plain)


@pytest.mark.parametrize("dressing", DRESSINGS)
@pytest.mark.parametrize("name", READERS)
def test_dressing_changes_nothing(name, dressing):
    changed = []
    for form in forms(name):
        plain = form.reply.strip()
        # Marks within marks, and marks for one line around several, are other texts.
        marked = set(plain) & set("*_`#<>~|$\\\n") or plain[:1] in {"-", "+", "•", "→", "="}
        # Before a number, ">" may as well say that it is a bound.
        bound = dressing == "quotation" and plain.lstrip("$€£.")[:1].isnumeric()
        if form.outcome == "empty" or marked or bound:
            continue
        bare, dressed = bare_reading(name, plain), READERS[name](DRESSINGS[dressing].format(plain))
        if (bare.outcome, bare.value) != (dressed.outcome, dressed.value):
            changed.append((plain, bare, dressed))
    assert not changed


# Two answers each, in forms that a reader knows, and what may stand between them.
OPPOSED = {
    "yes_no": (
        ["Yes", "yes", "YES!", "Yep", "I would say yes", "I think so", "Oui", "Ja", "Sí", "Да"],
        ["No", "no", "NO!", "Nope", "I would say no", "I don't think so", "Non", "Nein", "Нет"],
    ),
    "integer": (["5", "five", "5 coins", "It is 5", "$5"], ["6", "six", "6 coins", "It is 6"]),
    "rating": (
        ["2", "two", "sometimes true", "I'd say 2", "2/4"],
        ["3", "three", "often true", "I'd say 3", "3 of 4"],
    ),
    "option": (
        ["B", "(B)", "b)", "Option B", "London"],
        ["C", "(C)", "C.", "Option C", "Rome"],
    ),
    "percent": (["70%", "70 percent", "7/10", "I'm 70% sure"], ["80%", "80 percent", "8/10"]),
    "proportion": (["0.7", "70%", "7/10"], ["0.8", "80%", "8/10", "I'd say 0.8"]),
    "verbal": (
        ["likely", "It is likely", "probable"],
        ["unlikely", "It is unlikely", "remote", "Very likely"],
    ),
}
BETWEEN = [" ", ". ", ", ", "; ", " and ", " or ", " but ", " - ", "... ", " (", " — ", "! ", ": "]


def opposed(name: str) -> Iterator[str]:
    one, other = OPPOSED[name]
    for pair in [*itertools.product(one, other), *itertools.product(other, one)]:
        yield from (between.join(pair) for between in BETWEEN)
        # A last line of its own is a final answer: a line break parts only what stands alone.
        if not any(" " in said for said in pair):
            yield "\n".join(pair)


@pytest.mark.parametrize("name", OPPOSED)
def test_two_answers_are_none(name):
    assert not [text for text in opposed(name) if READERS[name](text).answered]


@pytest.mark.parametrize("name", READERS)
def test_time_grows_with_length_only(name):
    # A pattern that backtracks needs hours for these. A cubic one would take eight times as long
    # for 2,000 characters: the bound is an eighth of the usual one.
    pieces = [
        *FRAGMENTS,
        "a",
        "1",
        "1,",
        "1 ",
        "---",
        "| ---",
        "not never ",
        "1 = ",
        "[",
        "(",
        "\\",
    ]
    with ends(15.0):
        for piece in pieces:
            READERS[name]((piece * 1000)[:1000] + "x")
