"""Grades: normalisation, several right answers, numbers, abstaining; real replies read by hand."""

import csv
import gzip
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psychollm._base.errors import InputError, OptionError
from psychollm.instruments import Outcome
from psychollm.instruments.grading import (
    abstains,
    exact_match,
    final_text,
    grade,
    normalise,
    token_f1,
)
from tests.oracles import squad_slow

ascii_text = st.lists(
    st.sampled_from(["the", "a", "An", "Rhine", "river", "$12", "U.S.", "x-ray", "!", "12", "'s"]),
    max_size=6,
).map(" ".join)


@given(text=ascii_text, answer=ascii_text)
def test_agrees_with_the_slow_comparison(text, answer):
    assert exact_match(text, [answer]) == squad_slow.exact(text, answer)
    assert token_f1(text, [answer]) == pytest.approx(squad_slow.f1(text, answer), abs=1e-15)


@given(text=st.text(max_size=40), answer=st.text(max_size=40))
def test_any_text_can_be_graded(text, answer):
    assert 0 <= token_f1(text, [answer]) <= 1
    assert token_f1(text, [answer]) == token_f1(answer, [text])
    assert exact_match(text, [text])
    assert normalise(normalise(text)) == normalise(text)
    if answer.strip():
        for rule in ("exact", "contains", "f1"):
            result = grade(text, [answer], rule=rule)
            assert (result.correct is None) == math.isnan(result.score)


@given(text=ascii_text, answer=ascii_text)
def test_rules_are_ordered(text, answer):
    # What is equal is contained, and what is contained shares words.
    if normalise(answer) and exact_match(text, [answer]):
        assert grade(text, [answer], rule="contains").correct
        assert token_f1(text, [answer]) == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The Cat", "cat"),
        ("a  an  the", ""),
        ("An apple a day.", "apple day"),
        ("Theatre", "theatre"),
        ("U.S.A.", "usa"),
        ("non-violent", "nonviolent"),
        ("$12", "12"),
        ("“Quoted”", "quoted"),
        ("¿Qué?", "qué"),
        ("STRASSE straße", "strasse strasse"),
        ("Ｒｏｍｅ", "rome"),
        ("北京。", "北 京"),
        ("", ""),
    ],
)
def test_normalise(text, words):
    assert normalise(text) == words


@pytest.mark.parametrize(
    ("reply", "answers", "rule", "correct"),
    [
        ("Denver Broncos", ["Denver Broncos", "The Broncos"], "exact", True),
        ("the broncos!", ["Denver Broncos", "The Broncos"], "exact", True),
        ("**Broncos**", ["The Broncos"], "exact", True),
        ("It was the Broncos.", ["The Broncos"], "exact", False),
        ("It was the Broncos.", ["The Broncos"], "contains", True),
        ("Broncosaurus", ["Broncos"], "contains", False),
        ("Long thought.\nAnswer: Broncos", ["Broncos"], "exact", True),
        ("The answer is: the Broncos.", ["Broncos"], "exact", True),
        ("<think>The Panthers?</think>Broncos", ["Broncos"], "exact", True),
        ("<think>Broncos</think>Panthers", ["Broncos"], "contains", False),
        ("\\boxed{42}", ["42"], "exact", True),
        ('{"answer": "Rome"}', ["Rome"], "exact", True),
        ("The result of the war was peace.", ["war"], "contains", True),
        ("北京", ["北京"], "exact", True),
        ("中国的首都是北京。", ["北京"], "contains", True),
        ("1945", [1945], "exact", True),
        ("in 1945", ["1945", "1946"], "contains", True),
        ("3.14", [3.14159], "numeric", False),
        ("1,234", [1234], "numeric", True),
        ("twelve", [12], "numeric", True),
        ("12 coins", ["12"], "numeric", True),
        ("12 or 13", [12], "numeric", False),
        ("Paris", [12], "numeric", False),
        ("½", [0.5], "numeric", True),
    ],
)
def test_grade(reply, answers, rule, correct):
    assert grade(reply, answers, rule=rule).correct is correct


@pytest.mark.parametrize(
    ("said", "options", "correct"),
    [
        ("3.1", {"absolute": 0.1}, True),
        ("3.11", {"absolute": 0.1}, False),
        ("2.9", {"absolute": 0.1}, True),
        ("3.03", {"relative": 0.01}, True),
        ("3.04", {"relative": 0.01}, False),
        ("3.04", {"relative": 0.01, "absolute": 0.05}, True),
        ("3", {}, True),
        ("-3", {"relative": 0.5}, False),
    ],
)
def test_tolerances(said, options, correct):
    assert grade(said, [3], rule="numeric", **options).correct is correct


def test_f1_of_known_value():
    # Two of three words of the reply, two of two of the answer: 2 * 2 / (3 + 2).
    result = grade("old Rhine river", ["Rhine river", "Elbe"], rule="f1")
    assert result.score == pytest.approx(0.8)
    assert result.matched == "Rhine river"
    assert result.correct is False
    assert grade("old Rhine river", ["Rhine river"], rule="f1", threshold=0.75).correct


def test_best_answer_is_named():
    result = grade("Rome", ["Paris", "ROME"])
    assert (result.correct, result.matched, result.outcome) == (True, "ROME", Outcome.ANSWERED)
    assert grade("Rome", ["Paris"]).matched is None


def test_abstaining():
    wrong = grade("I don't know.", ["Rome"])
    assert (wrong.correct, wrong.abstained, wrong.outcome) == (False, True, Outcome.REFUSED)
    right = grade("This cannot be determined from the text.", [])
    assert (right.correct, right.abstained, right.score) == (True, True, 1.0)
    made_up = grade("Rome", [])
    assert (made_up.correct, made_up.abstained, made_up.score) == (False, False, 0.0)
    # A guess beside a disclaimer is an answer if it is right.
    guess = grade("I don't know for sure, but Rome", ["Rome"], rule="contains")
    assert (guess.correct, guess.abstained) == (True, False)
    assert grade("unknown", ["unknown"]).correct


@pytest.mark.parametrize(
    "text", ["No answer.", "unanswerable", "I have no idea", "N/A", "我不知道"]
)
def test_what_abstains(text):
    assert abstains(text)


@pytest.mark.parametrize("text", ["Nobody", "No one knew him but his mother.", "0", "The unknown"])
def test_what_does_not_abstain(text):
    assert not abstains(text)


@pytest.mark.parametrize(("reason", "outcome"), [(None, "empty"), ("length", "truncated")])
def test_nothing_to_grade(reason, outcome):
    result = grade(" ** ** ", ["Rome"], finish_reason=reason)
    assert result.outcome == outcome
    assert result.correct is None
    assert math.isnan(result.score)


def test_final_text():
    assert final_text("Answer: Rome\nAnswer: Paris") == "Paris"
    assert final_text("Answer: Rome\nFinal answer: Paris\nAnswer: Bern") == "Paris"
    assert final_text("  plain ") == "plain"


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"rule": "fuzzy"}, OptionError, "rule"),
        ({"threshold": 0}, InputError, "threshold"),
        ({"threshold": 1.5}, InputError, "threshold"),
        ({"absolute": -1}, InputError, "tolerances"),
        ({"relative": math.nan}, InputError, "tolerances"),
        ({"rule": "numeric"}, InputError, "is not a number"),
    ],
)
def test_what_cannot_be(options, error, words):
    with pytest.raises(error, match=words):
        grade("Rome", ["Rome"], **options)


def test_blank_right_answer():
    with pytest.raises(InputError, match="blank"):
        grade("Rome", ["Rome", " "])


def recorded(shared):
    path = shared / "samples" / "smollm2_squad" / "raw_responses.jsonl"
    with path.open(encoding="utf-8") as file:
        for line in file:
            record = json.loads(line)
            choice = record["response"]["choices"][0]
            yield record["id"], record["kind"], choice["message"]["content"]


def test_recorded_answers(shared):
    # Read by hand: of the 60 answers two hold a right one in its words ("the non-violent
    # resistance", "the most abundant element"), none is one, and none abstains.
    with gzip.open(
        shared / "data" / "squad_dev_v1.1_questions.csv.gz", "rt", encoding="utf-8"
    ) as file:
        gold = {row["id"]: json.loads(row["gold"]) for row in csv.DictReader(file)}
    replies = [(item, said) for item, kind, said in recorded(shared) if kind == "performance"]
    exact = [grade(said, gold[item]) for item, said in replies]
    contains = {item for item, said in replies if grade(said, gold[item], rule="contains").correct}
    assert len(exact) == 60
    assert not any(one.correct or one.abstained for one in exact)
    assert contains == {"5728df634b864d1900164fe2", "571c97e2dd7acb1400e4c11e"}


@pytest.mark.parametrize(
    "after", ["I'm sorry for any confusion, but as a", "I'm ready to help. What's your question?"]
)
def test_what_follows_the_result_of_an_equation(after):
    assert grade(f"2 * 8 = 16\n\n{after}", ["16"], rule="numeric").correct
    assert not grade("I'm sorry, there are 16 terms.", ["16"], rule="numeric").correct
    assert not grade("You have 16 texts. What is your question?", ["16"], rule="numeric").correct


def test_what_is_said_of_the_world_is_an_answer():
    said = grade("The chemical element with the symbol N is not known.", ["nitrogen"])
    assert (said.outcome, said.correct, said.abstained) == (Outcome.ANSWERED, False, False)
