"""Wagering: what is staked, what an honest respondent stakes, and what it comes to."""

import json

import numpy as np
import pytest

import psychollm as psy
from psychollm._base.errors import InputError, LabelError, OptionError, ShapeError
from psychollm.instruments.prompt import Prompt
from psychollm.instruments.reading import Outcome
from psychollm.instruments.wagering import (
    Wagering,
    confidence_and_correctness,
    read_reply,
    score_readings,
)
from psychollm.instruments.wagering.instrument import PAYOFFS

QUESTIONS = (
    {"key": "sum", "question": "What is 2 + 2?", "answer": "4", "rule": "numeric"},
    {"key": "rome", "question": "Which city has seven hills?", "answers": ["Rome", "Roma"]},
    {"key": "oslo", "question": "What is the capital of Norway?", "answer": "Oslo"},
)
MANY = [{"key": f"q{n}", "question": f"What is {n} + 1?", "answer": str(n + 1)} for n in range(40)]


def scored(asked, right, lines):
    """Return the scores of a model that is right and stakes as told, question by question."""
    readings = {}
    for prompt in asked.prompts():
        number = int(prompt.item[1:])
        if prompt.about["part"] == "wager":
            reply = str(lines[number])
        else:
            good = prompt.about["correct"]
            reply = good if right[number] else "AB"["AB".index(good) - 1]
        readings[prompt.key] = asked.read(prompt, reply)
    return asked.score(readings)


def test_a_wager_follows_its_answer_and_tells_nothing_of_it():
    prompts = Wagering(QUESTIONS, n_repeats=2).prompts()
    assert len({prompt.key for prompt in prompts}) == len(prompts) == 12
    for answer, wager in zip(prompts[::2], prompts[1::2], strict=True):
        assert wager.follows == answer.key
        assert wager.item == answer.item
        assert wager.repeat == answer.repeat
        assert "Oslo" not in wager.messages[0].content
    for prompt in prompts:
        assert Prompt.from_dict(json.loads(json.dumps(prompt.to_dict()))) == prompt


def test_the_right_answer_changes_its_place_between_repeats():
    asked = Wagering(MANY, n_repeats=2, seed=5)
    answers = [prompt for prompt in asked.prompts() if prompt.about["part"] == "answer"]
    first = [prompt.about["correct"] for prompt in answers[:40]]
    again = [prompt.about["correct"] for prompt in answers[40:]]
    assert all(one != other for one, other in zip(first, again, strict=True))
    assert 8 < first.count("A") < 32
    for prompt in answers:
        offered = prompt.about["options"]
        question = MANY[int(prompt.item[1:])]
        assert offered[prompt.about["correct"]] == question["answer"]
        assert len(set(offered.values())) == 2


@pytest.mark.parametrize("probability", np.linspace(0.0, 1.0, 101))
def test_the_quadratic_line_worth_most_is_the_nearest_probability(probability):
    lines = np.array(PAYOFFS["quadratic"], dtype=float)
    worth = probability * lines[:, 0] + (1.0 - probability) * lines[:, 1]
    best = np.flatnonzero(np.isclose(worth, worth.max()))
    distance = np.abs(lines[:, 2] - max(probability, 0.5))
    nearest = np.flatnonzero(np.isclose(distance, distance.min()))
    assert set(best) == set(nearest)


def test_the_quadratic_points_are_those_of_the_brier_score():
    for win, loss, confidence in PAYOFFS["quadratic"]:
        assert win == pytest.approx(25.0 * (1.0 - 4.0 * (1.0 - confidence) ** 2))
        assert loss == pytest.approx(25.0 * (1.0 - 4.0 * confidence**2))


@pytest.mark.parametrize(
    ("reply", "outcome", "value"),
    [
        ("3", Outcome.ANSWERED, 3),
        ("**6**", Outcome.ANSWERED, 6),
        ("I'd go with option 2.", Outcome.ANSWERED, 2),
        ("5) +24 if your answer is right, -56 if it is wrong", Outcome.ANSWERED, 5),
        ("7", Outcome.UNREADABLE, None),
        ("", Outcome.EMPTY, None),
    ],
)
def test_wagers_are_read(reply, outcome, value):
    wager = Wagering(QUESTIONS).prompts()[1]
    found = read_reply(wager, reply)
    assert (found.outcome, found.value) == (outcome, value)


@pytest.mark.parametrize(
    ("reply", "value"), [("Rome", 1.0), ("Athens", 0.0), ("I don't know.", 0.0)]
)
def test_open_answers_are_graded_and_abstaining_is_wrong(reply, value):
    asked = Wagering(QUESTIONS, form="open")
    answer = next(one for one in asked.prompts() if one.key == "rome/answer/0")
    assert asked.read(answer, reply).value == value
    assert "A)" not in answer.messages[0].content


def test_points_and_the_advantage_over_a_constant_wager():
    asked = Wagering(MANY)
    right = np.array([True] * 30 + [False] * 10)
    knowing = scored(asked, right, np.where(right, 6, 1))
    assert knowing.accuracy == 0.75
    assert knowing.mean_gain == pytest.approx(25 * 0.75)
    # At 75 % right, lines .7 and .8 are worth 6: .75 * 16 - .25 * 24 = .75 * 21 - .25 * 39.
    assert knowing.advantage == pytest.approx(18.75 - 6.0)
    for line in range(1, 7):
        assert scored(asked, right, np.full(40, line)).advantage <= 1e-12
    backwards = scored(asked, right, np.where(right, 1, 6))
    assert backwards.mean_gain == pytest.approx(-75 * 0.25)
    assert "40 answers right" in knowing.summary()
    assert "12.8 above the best constant wager" in knowing.summary()


def test_counts_are_those_that_meta_d_takes():
    asked = Wagering(MANY * 1, payoff="even", n_repeats=1, seed=2)
    rng = np.random.default_rng(0)
    right, lines = rng.random(40) < 0.7, rng.integers(1, 3, 40)
    scores = scored(asked, right, lines)
    first, second = scores.counts()
    frame = scores.to_frame()
    for counts, stimulus in ((first, 0), (second, 1)):
        expected = [
            int(((frame.stimulus == stimulus) & (frame.response == one) & (frame.line == k)).sum())
            for one, k in ((0, 2), (0, 1), (1, 1), (1, 2))
        ]
        assert counts.tolist() == expected
    assert first.sum() + second.sum() == 40
    correct = first[:2].sum() + second[2:].sum()
    assert correct == right.sum()
    meta = psy.calibration.meta_d_from_counts(first, second, padding=True, bootstrap=0)
    assert np.isfinite(meta.d_prime.value).all()


def test_the_tables_are_those_of_a_calibration_panel():
    asked = Wagering(MANY, n_repeats=2)
    rng = np.random.default_rng(1)
    right, lines = rng.random(40) < 0.7, rng.integers(1, 7, 40)
    confidence, correctness = confidence_and_correctness(
        {"m": scored(asked, right, lines), "n": asked.score({})}
    )
    np.testing.assert_allclose(confidence.loc["m"], 0.4 + 0.1 * lines)
    np.testing.assert_array_equal(correctness.loc["m"], right)
    assert list(confidence.columns) == [one["key"] for one in MANY]
    assert confidence.loc["n"].isna().all()
    brier = psy.calibration.brier(confidence.loc[["m"]], correctness.loc[["m"]], bootstrap=0)
    assert brier.value[0] == pytest.approx(np.mean((0.4 + 0.1 * lines - right) ** 2))


def test_what_is_missing_is_no_answer_and_no_points():
    asked = Wagering(QUESTIONS)
    answer, wager = asked.prompts()[:2]
    no_wager = asked.score({answer.key: asked.read(answer, answer.about["correct"])})
    assert no_wager.correct[0] == 1
    assert np.isnan(no_wager.gain).all()
    assert no_wager.failures()["wager"] == {"failed": 3}
    assert "no wager is readable" in no_wager.summary()
    no_answer = asked.score({wager.key: asked.read(wager, "6")})
    assert no_answer.line[0] == 6
    assert np.isnan(no_answer.gain).all()
    assert no_answer.summary() == "no answer is readable"
    assert np.isnan(no_answer.advantage)
    assert np.isnan(asked.score({}).accuracy)


def test_readings_are_scored_from_prompts_alone_and_must_belong_to_them():
    asked = Wagering(QUESTIONS)
    assert score_readings(asked.prompts(), {}).items == ("sum", "rome", "oslo")
    with pytest.raises(ShapeError):
        asked.score([None])
    with pytest.raises(LabelError):
        asked.score({"other": None})


def test_what_has_no_meaning_is_refused():
    with pytest.raises(InputError, match="choice between two"):
        Wagering(QUESTIONS, form="open").score({}).counts()
    even = scored(Wagering(MANY, payoff="even"), [True] * 40, [2] * 40)
    with pytest.raises(InputError, match="even stakes imply no probability"):
        confidence_and_correctness({"m": even})
    with pytest.raises(InputError, match="scores is empty"):
        confidence_and_correctness({})


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"form": "closed"}, "form='closed'"),
        ({"payoff": "odds"}, "payoff='odds'"),
        ({"n_repeats": 0}, "n_repeats=0"),
        ({"seed": -1}, "seed=-1"),
        ({"suggestions": {"sum": "4.0"}}, "'4.0' is right"),
    ],
)
def test_options_that_cannot_be(options, says):
    with pytest.raises(InputError, match=says):
        Wagering(QUESTIONS, **options)
    assert issubclass(OptionError, InputError)


def test_a_question_without_an_answer_is_named():
    with pytest.raises(InputError, match="'void' has no right answer"):
        Wagering([{"key": "void", "question": "What is the last digit of pi?", "answers": []}])
