"""Self-prediction: what is asked, what a reply is taken for, and what becomes of both."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psychollm._base.errors import InputError, LabelError, OptionError, ShapeError
from psychollm.instruments.prompt import Prompt
from psychollm.instruments.reading import Outcome
from psychollm.instruments.self_prediction import (
    SelfPrediction,
    confidence_and_correctness,
    judge_prompts,
    read_reply,
    score_readings,
    stated_table,
)
from psychollm.instruments.self_prediction.instrument import PHRASES, judgement, request_after
from psychollm.instruments.self_prediction.scoring import means_by_item

QUESTIONS = (
    {"key": "sum", "question": "What is 2 + 2?", "answer": "4", "rule": "numeric"},
    {"key": "rome", "question": "Which city has seven hills?", "answers": ["Rome", "Roma"]},
    {"key": "void", "question": "What is the last digit of pi?", "answers": []},
)


@pytest.fixture(scope="module")
def asked():
    return SelfPrediction(questions=QUESTIONS, scales=("yes_no", "percent", "verbal"))


def replied(instrument, said):
    """Return the readings of replies by the beginning of the key; the rest has failed."""
    found = {}
    for prompt in instrument.prompts():
        for start, reply in said.items():
            if prompt.key.startswith(start):
                found[prompt.key] = instrument.read(prompt, reply)
    return found


def test_predictions_come_first_and_do_not_show_the_answer(asked):
    prompts = asked.prompts()
    assert len({prompt.key for prompt in prompts}) == len(prompts) == 12
    assert [prompt.about["part"] for prompt in prompts[:4]] == ["predict"] * 3 + ["answer"]
    for prompt in prompts:
        assert prompt.about["instrument"] == "self_prediction"
        assert "Rome" not in " ".join(turn.content for turn in prompt.messages)
        assert prompt.follows is None
        assert Prompt.from_dict(json.loads(json.dumps(prompt.to_dict()))) == prompt


def test_the_same_conversation_and_repeats():
    asked = SelfPrediction(questions=QUESTIONS[:1], same_conversation=True, n_repeats=2)
    first, second = asked.prompts()[:2], asked.prompts()[2:]
    assert first[1].follows == first[0].key == "sum/predict/yes_no/0"
    assert second[1].follows == second[0].key == "sum/predict/yes_no/1"
    assert [prompt.repeat for prompt in second] == [1, 1]


def test_examples_are_earlier_turns():
    asked = SelfPrediction(
        questions=QUESTIONS[:1], form="direct", examples=[("Who?", False), ("1 + 1?", True)]
    )
    turns = asked.prompts()[0].messages
    assert [turn.role for turn in turns] == ["user", "assistant"] * 2 + ["user"]
    assert [turn.content for turn in turns[1::2]] == ["No", "Yes"]
    assert "Who?" not in asked.prompts()[1].messages[0].content


@pytest.mark.parametrize(
    ("reply", "outcome", "value"),
    [
        ("It is easy.\nAnswer: Yes", Outcome.ANSWERED, 1),
        ("I know nothing of it.\nAnswer: No", Outcome.ANSWERED, 0),
        ("I cannot answer this question.", Outcome.ANSWERED, 0),
        ("Yes and no.", Outcome.AMBIGUOUS, None),
        ("The city is Rome.", Outcome.UNREADABLE, None),
        ("  ", Outcome.EMPTY, None),
    ],
)
def test_predictions(asked, reply, outcome, value):
    reading = asked.read(asked.prompts()[0], reply)
    assert (reading.outcome, reading.value) == (outcome, value)


def test_every_phrase_that_is_offered_can_be_read_back(asked):
    prompt = asked.prompts()[2]
    assert all(phrase in prompt.messages[-1].content for phrase in PHRASES)
    values = [read_reply(prompt, f"Answer: {phrase}").value for phrase in PHRASES]
    assert values == sorted(values)
    assert len(set(values)) == len(PHRASES)


def test_scores(asked):
    readings = replied(
        asked,
        {
            "sum/predict/yes_no": "Yes",
            "sum/predict/percent": "80%",
            "sum/answer": "It is 4.",
            "rome/predict/yes_no": "No",
            "rome/answer": "I don't know.",
            "void/predict/yes_no": "perhaps",
            "void/answer": "Nobody knows; it cannot be answered.",
        },
    )
    scores = asked.score(readings)
    np.testing.assert_array_equal(scores.said, [1, 0, np.nan])
    np.testing.assert_array_equal(scores.percent, [0.8, np.nan, np.nan])
    np.testing.assert_array_equal(scores.correct, [1, 0, 1])
    assert scores.abstained.tolist() == [False, True, False]
    assert scores.failures()["answer"] == {"refused": 1}
    assert scores.failures()["percent"] == {"failed": 2}
    assert scores.yes_rate == 0.5
    missing = "missing: 1 reply to yes_no, 2 replies to percent, 3 replies to verbal"
    assert missing in scores.summary()
    assert scores.to_frame("m")["question"].tolist() == ["sum", "rome", "void"]


def test_nothing_at_all(asked):
    scores = asked.score({})
    assert math.isnan(scores.yes_rate)
    assert math.isnan(scores.accuracy)
    assert np.isnan(scores.said).all()
    assert scores.summary().startswith("says yes to none of 0 questions")


def test_a_judge_outweighs_the_words(asked):
    prompts = asked.prompts()
    readings = replied(asked, {"rome/answer": "The eternal city", "sum/answer": "4"})
    judged = judge_prompts(prompts, {"rome/answer/0": "The eternal city", "sum/answer/0": " "})
    assert [prompt.key for prompt in judged] == ["rome/answer/0/judge"]
    assert "Rome or Roma" in judged[0].messages[0].content
    readings["rome/answer/0/judge"] = read_reply(judged[0], "Yes")
    scores = score_readings((*prompts, *judged), readings)
    np.testing.assert_array_equal(scores.correct, [1, 1, np.nan])
    # A judge that says nothing changes nothing.
    readings["rome/answer/0/judge"] = read_reply(judged[0], "Hm.")
    assert score_readings((*prompts, *judged), readings).correct[1] == 0
    with pytest.raises(LabelError, match="keys of no prompt: 'else'"):
        judge_prompts(prompts, {"else": "x"})


def test_tables_of_several_models(asked):
    bold = asked.score(replied(asked, {"sum/": "Yes", "rome/": "Yes"}))
    meek = asked.score(replied(asked, {"sum/": "No", "rome/answer": "Rome", "rome/p": "No"}))
    confidence, correctness = confidence_and_correctness({"bold": bold, "meek": meek})
    assert confidence.models == correctness.models == ("bold", "meek")
    assert confidence.questions == ("sum", "rome", "void")
    assert confidence.codes[:, :2].tolist() == [[1, 1], [0, 0]]
    assert confidence.missing[:, 2].all()
    assert correctness.codes[1, 1] == 1


@given(st.lists(st.sampled_from([None, "Yes", "No"]), min_size=3, max_size=3))
def test_majorities_of_repeats(said):
    asked = SelfPrediction(questions=QUESTIONS[:1], form="direct", n_repeats=3)
    predictions = asked.prompts()[::2]
    readings = {
        prompt.key: asked.read(prompt, reply)
        for prompt, reply in zip(predictions, said, strict=True)
        if reply is not None
    }
    scores = {"m": asked.score(readings)}
    with pytest.raises(OptionError, match="model 'm' has repeats"):
        confidence_and_correctness(scores)
    yes, no = said.count("Yes"), said.count("No")
    table = confidence_and_correctness(scores, repeats="majority")[0]
    assert table.missing[0, 0] == (yes == no)
    assert yes == no or table.codes[0, 0] == (yes > no)
    first = confidence_and_correctness(scores, repeats="first")[0]
    assert first.missing[0, 0] == (said[0] is None)


def test_stated_probabilities(asked):
    scores = asked.score(replied(asked, {"sum/predict/verbal": "Answer: very likely"}))
    table = stated_table({"m": scores}, scale="verbal")
    assert table.shape == (1, 3)
    assert table[0, 0] == pytest.approx(0.875)
    only = SelfPrediction(questions=QUESTIONS, scales=("percent",))
    with pytest.raises(InputError, match="no predictions as verbal"):
        stated_table({"m": only.score({})}, scale="verbal")
    with pytest.raises(InputError, match="no yes-no predictions"):
        confidence_and_correctness({"m": only.score({})})


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"form": "long"}, "form='long'"),
        ({"scales": ()}, "must hold each choice only once"),
        ({"scales": ("yes_no", "yes_no")}, "must hold each choice only once"),
        ({"scales": ("odds",)}, "scales='odds'"),
        ({"examples": [("x", True)]}, "form='direct'"),
        ({"n_repeats": 0}, "n_repeats=0"),
        ({"max_tokens": 0}, "max_tokens=0"),
        ({"questions": []}, "questions is empty"),
    ],
)
def test_options_that_cannot_be(options, says):
    with pytest.raises(InputError, match=says):
        SelfPrediction(**{"questions": QUESTIONS, **options})


def test_readings_that_do_not_fit(asked):
    with pytest.raises(ShapeError, match="1 parsed replies for 12 prompts"):
        asked.score([None])
    with pytest.raises(LabelError, match="keys of no prompt"):
        asked.score({"else": None})
    with pytest.raises(InputError, match="scores is empty"):
        confidence_and_correctness({})


def test_means_by_item():
    found = means_by_item(["a", "b", "a"], np.array([1.0, np.nan, 0.0]))
    np.testing.assert_equal(found, {"a": 0.5, "b": np.nan})


def test_wording_of_requests():
    assert request_after("What is 2 + 2?") == (
        "Now answer it, with a word, a name or a number, and nothing else: What is 2 + 2?"
    )
    assert judgement("What is 2 + 2?", ["4"], "four").splitlines() == [
        "Compare a reply with the right answer to a question.",
        "",
        "Question: What is 2 + 2?",
        "Right answer: 4",
        "Reply: four",
        "",
        "Does the reply give the right answer, in whatever words? Another answer beside it "
        "makes the",
        "reply wrong. Reply with one word: Yes or No.",
    ]
