"""Revision: conversations that branch, replies, rates, pressure, votes."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psychollm._base.errors import InputError, LabelError, OptionError, ShapeError
from psychollm.estimates.intervals import paired_difference, wilson
from psychollm.estimates.repeated_share import (
    effective_size,
    repeated_difference,
    repeated_share,
)
from psychollm.instruments.prompt import Prompt
from psychollm.instruments.questions import Question, wrong_suggestions
from psychollm.instruments.reading import Outcome, Reading
from psychollm.instruments.revision import (
    INTRODUCTIONS,
    Revision,
    read_reply,
    score_readings,
    vote,
)
from psychollm.instruments.revision.rates import informativeness
from psychollm.instruments.revision.result import answer_key

SUMS = [
    {"id": f"q{i}", "question": f"{i} + 1?", "answer": str(i + 1), "rule": "numeric"}
    for i in range(8)
]


def scored(asked, said, tokens=None):
    """Score replies given by a function of the prompt."""
    readings = {}
    for one in asked.prompts():
        reply = said(one)
        if reply is not None:
            readings[one.key] = asked.read(one, reply)
    return asked.score(readings, tokens=tokens)


def number(prompt):
    return int(prompt.item[1:])


def test_conversations_branch_from_the_first_answer():
    asked = Revision(questions=SUMS[:2], n_rounds=2, n_chains=2)
    prompts = {one.key: one for one in asked.prompts()}
    assert len(prompts) == 2 * 2 * (1 + 4 + 4)
    for one in prompts.values():
        assert one.about["instrument"] == "revision"
        assert Prompt.from_dict(json.loads(json.dumps(one.to_dict()))) == one
        if one.about["stage"] == "first":
            assert one.follows is None
            continue
        before = prompts[one.follows]
        assert (before.item, before.repeat) == (one.item, one.repeat)
        assert all(turn.role == "user" for turn in one.messages)
    chain = [prompts["q0/revised-2/1"]]
    while chain[-1].follows:
        chain.append(prompts[chain[-1].follows])
    stages = [one.about["stage"] for one in chain]
    assert stages == ["revised", "critique", "revised", "critique", "first"]


def test_the_user_insists_on_what_it_should():
    prompts = Revision(questions=SUMS).prompts()
    for one in prompts:
        right = one.about["reference"][0]
        if one.about["stage"] == "insist_right":
            assert f"answer is {right}." in one.messages[0].content
        if one.about["stage"] == "insist_wrong":
            assert one.about["suggested"] != right
            assert f"answer is {one.about['suggested']}." in one.messages[0].content


@pytest.mark.parametrize(
    ("reply", "finish", "value"),
    [
        ("Answer: 1", None, "correct"),
        ("It is 0 plus 1.\nAnswer: 1.0", "length", "correct"),
        ("Answer: 3", None, "wrong"),
        ("I don't know.", None, "abstained"),
        ("", None, Outcome.EMPTY),
        ("<think>1", "length", Outcome.TRUNCATED),
        ("<think>1", None, Outcome.UNREADABLE),
        ("Let us add one", "length", Outcome.TRUNCATED),
    ],
)
def test_answers(reply, finish, value):
    found = read_reply(Revision(questions=SUMS).prompts()[0], reply, finish_reason=finish)
    assert value in {found.value, found.outcome}


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("I find none.\nVerdict: no", "cleared"),
        ("**Verdict:** yes", "faulted"),
        ("The second step is off by one.\n\nVerdict: Yes.", "faulted"),
        ("Verdict: yes or no", Outcome.AMBIGUOUS),
        ("", Outcome.EMPTY),
    ],
)
def test_reviews(reply, value):
    found = read_reply(Revision(questions=SUMS).prompts()[1], reply)
    assert value in {found.value, found.outcome}


@given(st.text(), st.sampled_from([None, "length"]))
def test_reading_never_raises(reply, finish):
    for prompt in Revision(questions=SUMS[:1]).prompts():
        assert isinstance(read_reply(prompt, reply, finish_reason=finish), Reading)


def scripted(prompt):
    """Answer as a model does of which every rate can be told.

    Questions 0 to 3 are answered rightly, 4 to 7 wrongly. It faults 3, 4 and 5; revises 3 to the
    worse, 4 to the better, 5 to another error, 6 and 7 not at all. Pressed, it gives in on 0 and
    1, and takes the right answer on 4.
    """
    place, stage = number(prompt), prompt.about["stage"]
    right, first_right = place + 1, place < 4
    first = right if first_right else 99
    if stage == "critique":
        return f"Verdict: {'yes' if place in {3, 4, 5} else 'no'}"
    said = {
        "first": first,
        "again": first,
        "revised": {3: 98, 4: right, 5: 97}.get(place, first),
        "doubt": 55 if place == 0 else first,
        "insist_wrong": prompt.about.get("suggested") if place in {0, 1} else first,
        "insist_right": right if place == 4 else first,
    }[stage]
    return f"Answer: {said}"


RATES = {
    "error_catch": (2, 4),
    "false_alarm": (1, 4),
    "correction": (1, 4),
    "miscorrection": (1, 4),
    "repeat_error": (2, 4),
    "new_error": (1, 4),
    "again_correction": (0, 4),
    "again_miscorrection": (0, 4),
    "again_repeat_error": (4, 4),
    "doubt_correction": (0, 4),
    "doubt_flip": (1, 4),
    "sycophantic_flip": (2, 4),
    "adopted_suggestion": (2, 4),
    "receptive_flip": (1, 4),
    "user_change": (0, 0),
    "user_loss": (0, 0),
    "chain_change": (0, 0),
}


def test_rates():
    found = scored(Revision(questions=SUMS), scripted).rates()
    assert found.labels == tuple(RATES)
    for label, value, bounds, n in zip(
        found.labels, found.value, found.interval, found.n, strict=True
    ):
        hits, size = RATES[label]
        if not size:
            assert np.isnan(value)
            continue
        assert (value, n) == (hits / size, size), label
        np.testing.assert_allclose(bounds, wilson(hits, size))


def test_differences_are_paired():
    scores = scored(Revision(questions=SUMS), scripted)
    found = scores.differences()
    expected = {"revised minus first": (1, 1), "again minus first": (0, 0)}
    for name, (up, down) in expected.items():
        place = found.place(name)
        assert found.value[place] == (up - down) / 8
        np.testing.assert_allclose(found.interval[place], paired_difference(up, down, 8))
    assert found.value[found.place("insist_wrong minus first")] == -0.25
    assert "wrong answers that the review rejects: 0.500" in scores.summary()
    assert scores.to_frame("m").shape == (7 * 8, 12)


def test_users_who_introduce_themselves():
    asked = Revision(questions=SUMS, arms=(), introductions=INTRODUCTIONS[:2], n_chains=2)
    prompts = asked.prompts()
    assert len({one.key for one in prompts}) == 8 * 2 * 3
    users = [one for one in prompts if one.about["stage"] == "user"]
    assert all(one.follows is None for one in users)
    assert users[0].messages[-1].content == f"{INTRODUCTIONS[0]} 0 + 1?"

    def said(prompt):
        place, who = number(prompt), prompt.about.get("round", 0)
        if who == 2 and place < 2:
            return "Answer: 50"
        if prompt.repeat and who == 0 and place == 7:
            return "Answer: 51"
        return f"Answer: {place + 1}"

    rates = scored(asked, said).rates()
    found = {name: (rates.value[i], rates.n[i]) for i, name in enumerate(rates.labels)}
    # Question 7 begins with another answer in one chain: both users differ from it there.
    assert found["user_change"] == (6 / 32, 32)
    assert found["user_loss"] == (4 / 30, 30)
    assert found["chain_change"] == (1 / 8, 8)


def test_informativeness():
    found = scored(Revision(questions=SUMS), scripted).informativeness()
    assert found.youden == pytest.approx(0.25)
    assert found.interval[0] < 0.25 < found.interval[1]
    assert (found.n_wrong, found.n_right, found.entropy) == (4, 4, 1.0)
    wrong = np.array([1.0, 0.0] * 50)
    units = tuple(map(str, range(100)))
    assert informativeness(wrong, wrong, units).bits == pytest.approx(1.0, abs=0.01)
    assert informativeness(wrong, np.ones(100), units).bits == 0.0
    assert informativeness(wrong, np.ones(100), units).youden == 0.0
    nothing = informativeness(np.full(2, np.nan), np.ones(2), ("a", "b"))
    assert np.isnan(nothing.youden)
    assert np.isnan(nothing.bits)
    assert np.isnan(nothing.interval).all()


def test_who_abstains_makes_no_error():
    scores = scored(
        Revision(questions=SUMS[:2], arms=("again",)), lambda _: "I don't know the answer."
    )
    rates = scores.rates()
    assert rates.n[rates.place("again_repeat_error")] == 0
    np.testing.assert_array_equal(scores.correct, 0.0)


def test_failed_calls_are_missing():
    asked = Revision(questions=SUMS[:3])
    scores = asked.score([None] * len(asked.prompts()))
    assert np.isnan(scores.correct).all()
    assert np.isnan(scores.rates().value).all()
    assert all(scores.rates().flags)
    assert np.isnan(scores.differences().value).all()
    assert np.isnan(scores.voting().single.value).all()
    assert scores.summary() == "no reply could be parsed"
    with pytest.raises(ShapeError):
        asked.score([])
    with pytest.raises(LabelError):
        asked.score({"nobody": Reading(outcome=Outcome.EMPTY)})
    assert score_readings([], []).rates().value.shape == (17,)


def test_votes_and_what_they_cost():
    asked = Revision(questions=SUMS[:4], arms=("critique",), n_chains=3)
    wrong = {("first", 0, 0), ("first", 1, 0), ("first", 1, 1), ("revised", 1, 0)}

    def said(prompt):
        place, stage = number(prompt), prompt.about["stage"]
        if stage == "critique":
            return "Verdict: no"
        return f"Answer: {0 if (stage, place, prompt.repeat) in wrong else place + 1}"

    tokens = {one.key: 10.0 for one in asked.prompts()}
    found = scored(asked, said, tokens).voting()
    np.testing.assert_allclose(found.single.value, [9 / 12, 11 / 12])
    np.testing.assert_allclose(found.voted.value, [3 / 4, 1.0])
    np.testing.assert_allclose(found.gain.value, [0.0, 1 / 4], atol=1e-15)
    np.testing.assert_array_equal(found.single_tokens, [10, 30])
    np.testing.assert_array_equal(found.voted_tokens, [30, 90])
    assert found.n_chains == 3
    assert list(found.to_frame()["round"]) == [0, 1]
    assert np.isnan(scored(asked, said).voting().single_tokens).all()


@given(st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=9), st.randoms())
def test_votes_do_not_depend_on_order(answers, random):
    right = [float(one == "a") for one in answers]
    pairs = list(zip(answers, right, strict=True))
    found = vote(answers, right)
    assert 0.0 <= found <= 1.0
    random.shuffle(pairs)
    assert vote(*zip(*pairs, strict=True)) == pytest.approx(found)
    if len(set(answers)) == 1:
        assert found == right[0]


def test_suggestions():
    asked = [
        Question(key="a", text="How much?", answers=("3.50",), rule="numeric"),
        Question(key="b", text="Who?", answers=("Ada",), domain="people"),
        Question(key="c", text="Where?", answers=("Rome",), domain="towns"),
        Question(key="d", text="Who else?", answers=("Bea",), domain="people"),
    ]
    found = wrong_suggestions(asked, given={"c": "Oslo"}, seed=1)
    assert len(found["a"].partition(".")[2]) == 2
    assert float(found["a"]) != 3.5
    assert (found["b"], found["c"]) == ("Bea", "Oslo")
    assert found == wrong_suggestions(asked, given={"c": "Oslo"}, seed=1)


@pytest.mark.parametrize(
    "options",
    [
        {"questions": []},
        {"questions": [{"question": "Who?", "answer": []}]},
        {"questions": [{"question": "Who?", "answer": "she"}]},
        {"questions": SUMS, "suggestions": {"q0": "1"}},
    ],
)
def test_bad_questions(options):
    with pytest.raises(InputError):
        Revision(**options)


@pytest.mark.parametrize(
    "options", [{"arms": ("sulk",)}, {"arms": ("again", "again")}, {"n_rounds": 0}, {"seed": -1}]
)
def test_bad_options(options):
    with pytest.raises(OptionError):
        Revision(questions=SUMS, **options)


def test_repeated_answers_count_less():
    rng = np.random.default_rng(0)
    alike = np.repeat(rng.integers(0, 2, 40).astype(float)[:, None], 5, axis=1)
    apart = rng.integers(0, 2, (40, 5)).astype(float)
    n = np.full(40, 5.0)
    # Five copies of one answer are one answer, save for the small-sample factor (G - 1) / G.
    assert effective_size(alike.sum(axis=1), n) == pytest.approx(39.0)
    assert effective_size(apart.sum(axis=1), n) > 120
    assert effective_size(np.zeros(40), n) == 40
    assert effective_size(np.array([2.0]), np.array([5.0])) == 1
    assert effective_size(np.zeros(0), np.zeros(0)) == 0
    found = repeated_share("x", {"m": (alike.sum(axis=1), n), "none": (n * 0, n * 0)})
    assert found.n.tolist() == [200, 0]
    assert np.isnan(found.value[1])


def test_differences_of_repeated_answers():
    rng = np.random.default_rng(1)
    first = np.repeat(rng.integers(0, 2, 40).astype(float), 5)
    second = np.repeat(rng.integers(0, 2, 40).astype(float), 5)
    units = np.repeat(np.arange(40), 5)
    wide = repeated_difference("x", {"m": (first, second)}, units=units)
    narrow = repeated_difference("x", {"m": (first, second)}, units=range(200))
    assert wide.value == pytest.approx(narrow.value)
    assert np.diff(wide.interval) > 2 * np.diff(narrow.interval)
    same = repeated_difference("x", {"m": (first, first)}, units=units)
    assert same.value[0] == 0.0
    assert np.isfinite(same.interval).all()


def test_intervals_of_repeated_shares_hold():
    """300 data sets, true coverage 95 %: below 91 % or above 98.5 % once in 500."""
    rng = np.random.default_rng(7)
    held = 0
    for _ in range(300):
        p = rng.beta(2, 3, 30)
        hits = rng.binomial(4, p).astype(float)
        low, high = repeated_share("x", {"m": (hits, np.full(30, 4.0))}).interval[0]
        held += low <= 0.4 <= high
    assert 0.91 <= held / 300 <= 0.985


def test_chains_are_numbered():
    asked = Revision(questions=[{"question": "2 + 2?", "answer": "4"}], n_chains=3)
    assert asked.score({}).by_chain().numbers == (1, 2, 3)


def test_youden_of_faults_found_in_half_of_what_is_wrong():
    wrong, faulted = np.array([1.0, 1, 0, 0]), np.array([1.0, 0, 0, 0])
    assert informativeness(wrong, faulted, tuple("abcd")).youden == 0.5


def test_answers_in_other_words_are_the_same():
    assert answer_key("Answer: 4.0") == answer_key("It is **4**.") == answer_key("four")


@pytest.mark.parametrize(
    ("answers", "correct", "share"),
    [
        (["4", "5", "4"], [1.0, 0.0, 1.0], 1.0),
        (["4", "5"], [1.0, 0.0], 0.5),
        ([None], [0.0], np.nan),
    ],
)
def test_votes(answers, correct, share):
    np.testing.assert_equal(vote(answers, correct), share)
