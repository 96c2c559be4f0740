"""What instruments and the readers of replies are built of, tried by what it returns."""

from typing import Literal

import pytest

from psychollm._base.errors import OptionError
from psychollm.instruments.instrument import check_chosen, instrument_class, purpose
from psychollm.instruments.readers.clauses import (
    Mention,
    Mode,
    clause_before,
    conditioned,
    of_error,
    sentences,
)
from psychollm.instruments.readers.markers import conclusion
from psychollm.instruments.readers.number_words import (
    english_numbers,
    number_in_words,
    numbers_in_words,
)
from psychollm.instruments.readers.numerals import number_alone, numerals
from psychollm.instruments.readers.verbal import Phrases
from psychollm.instruments.revision import Revision
from psychollm.instruments.revision.rates import voting


def test_what_is_said_unless_denied() -> None:
    assert Mode.SAID.value == "said"
    assert Mention(3, 10, 11).mode.value == "said"


def test_numbers_in_words_and_their_places() -> None:
    text = "She has twenty-one coins and a hundred nails."
    assert english_numbers(text) == [(21, 8, 18), (100, 29, 38)]
    text = "two thirds, or three point five"
    assert numbers_in_words(text) == [(2, 3, 0, 10), (3.5, None, 15, 31)]


@pytest.mark.parametrize(
    ("text", "number"), [("einundzwanzig", 21), ("二十五", 25), ("a house", None)]
)
def test_a_number_in_words(text: str, number: int | None) -> None:
    assert number_in_words(text) == number


def test_numerals() -> None:
    found = [(one.value, one.mode.value) for one in numerals("Not 5 but at least 6.")]
    assert found == [(5, "denied"), (6, "left open")]
    assert [one.value for one in numerals("By rule 2: 10 - 4 = 6.")] == [6]
    assert number_alone("(fünf)") == 5


def test_the_longest_phrase_counts() -> None:
    phrases = Phrases({"likely": 0.7, "very likely": 0.9})
    assert [one.value for one in phrases.mentions("Very likely.")] == [0.9]


def test_sentences_and_clauses() -> None:
    assert sentences("Is it 5? No.")[0].asks
    assert clause_before("I am not sure, but I would say yes", 31) == " I would say "
    assert conclusion("It is well known. So yes.") == "yes."


@pytest.mark.parametrize(
    ("text", "holds"), [("Yes, if it rains.", True), ("Yes, if I had to guess.", False)]
)
def test_answers_on_a_condition(text: str, holds: bool) -> None:
    assert conditioned(text, 3) is holds


@pytest.mark.parametrize(
    ("text", "start", "end", "holds"),
    [("a 30% chance that I'm wrong", 2, 5, True), ("30%. I may be wrong", 0, 3, False)],
)
def test_probabilities_of_error(text: str, start: int, end: int, holds: bool) -> None:
    assert of_error(text, start, end) is holds


def test_an_option_is_chosen_once() -> None:
    text = r"arms=\('again', 'again'\) must hold each choice only once, and at least one"
    with pytest.raises(OptionError, match=text):
        check_chosen("arms", ("again", "again"), Literal["again", "doubt"])


def test_an_instrument_by_its_name() -> None:
    assert instrument_class("rule_world").__name__ == "RuleWorld"
    assert purpose("self_prediction") == (
        'A prediction before each answer ("Can you answer this?"), compared with the answer.'
    )


def test_a_vote_before_and_after_a_round() -> None:
    asked = Revision(questions=[{"question": "2 + 2?", "answer": "4"}], n_chains=3)
    assert voting(asked.score({}).by_chain(), 1).single.labels == (0, 1)
