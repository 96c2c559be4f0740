"""Abstention: pairs that differ in one thing, replies read by rule and by judge, scores."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psychollm._base.errors import InputError, LabelError, OptionError, ShapeError
from psychollm.instruments.abstention import (
    Abstention,
    Reply,
    as_askable,
    read_askable,
    read_reply,
    score_readings,
)
from psychollm.instruments.abstention.frames import (
    FRAMES,
    SCENARIOS,
    Twins,
    beast,
    days_ahead,
    larger,
    meeting,
    pairs,
    sisters,
    timetable,
    two_places,
    weekday_ahead,
)
from psychollm.instruments.abstention.instrument import judging
from psychollm.instruments.prompt import Prompt
from psychollm.instruments.questions import Question
from psychollm.instruments.readers.plain_text import (
    Trace,
    split_trace,
    with_reasoning,
    without_thinking,
)
from psychollm.instruments.reading import Outcome, Reading

ASKED = Abstention(n_pairs=4, seed=3)
PROMPTS = ASKED.prompts()


def prompt_of(scenario, *, due):
    return next(
        one
        for one in PROMPTS
        if one.about["scenario"] == scenario and one.about["should_abstain"] is due
    )


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_twins_differ_in_little(scenario):
    items = pairs(scenario, 12, seed=1)
    assert len({one.question.text for one in items}) == 24
    for answered, twin in zip(items[::2], items[1::2], strict=True):
        assert (answered.should_abstain, twin.should_abstain) == (False, True)
        assert answered.pair == twin.pair
        words, others = (one.question.text.split() for one in (answered, twin))
        assert abs(len(words) - len(others)) <= 4
        shared = len(set(words) & set(others)) / len(set(words) | set(others))
        assert shared > 0.4
        assert words[-1] == others[-1] or scenario in {
            "unknowable_future", "subjective", "nonsense_entity"
        }  # fmt: skip


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_right_answers_are_graded_so(scenario):
    for item in pairs(scenario, 12, seed=2)[::2]:
        prompt = next(
            one
            for one in Abstention(n_pairs=12, seed=2, scenarios=(scenario,)).prompts()
            if one.item == item.key
        )
        (answer,) = item.question.answers
        assert Reply.of(read_reply(prompt, f"Answer: {answer}").value).decision == "correct"


def test_oracles_of_sums():
    rng = np.random.default_rng(0)
    for _ in range(20):
        for frame in FRAMES["missing_fact"]:
            twins = frame(rng)
            numbers = [int(one) for one in twins.answerable.split() if one.isdigit()]
            one, two = numbers
            assert int(twins.answer) in {one + two, one * two // 60}
            assert twins.unanswerable.count(str(one)) >= 1


def test_a_larger_set_begins_with_a_smaller():
    keys = [one.question for one in pairs("nonsense_entity", 30, seed=5)]
    assert [one.question for one in pairs("nonsense_entity", 10, seed=5)] == keys[:20]
    assert pairs("subjective", 3, seed=1)[0].question != pairs("subjective", 3, seed=2)[0].question


def test_prompts_are_json_and_unique():
    asked = Abstention(n_pairs=2, n_repeats=2, reasoned=False, licence="silent")
    prompts = asked.prompts()
    assert len({one.key for one in prompts}) == len(prompts) == 48
    for one in prompts:
        assert Prompt.from_dict(json.loads(json.dumps(one.to_dict()))) == one
        assert one.about["instrument"] == "abstention"
    assert "no answer" not in prompts[0].messages[0].content
    assert "no answer" in PROMPTS[0].messages[0].content


ABSTAINING = {
    "missing_fact": [
        "Answer: It is not stated how many went into the second one.",
        "Answer: cannot be determined",
        "The text does not say how many there were. Answer: unknown",
        "I can't answer that without knowing the other number.",
    ],
    "false_premise": [
        "Answer: That ferry does not call at the pier.",
        "Answer: There is no such ferry.",
        "She has no younger sister.",
        "**Answer:** none",
    ],
    "underspecified": [
        "Answer: It depends on whose is meant.",
        "Which of the two do you mean?",
        "Answer: ambiguous, two lengths are given",
        "Answer: Could you please specify who she is?",
    ],
    "unknowable_future": [
        "Answer: nobody can know that today",
        "Answer: The weather cannot be predicted that far ahead.",
        "Answer: I don't know.",
    ],
    "subjective": [
        "Answer: That is a matter of taste.",
        "Answer: no objective answer",
        "Answer: That’s subjective.",
    ],
    "nonsense_entity": [
        "Answer: I'm not aware of any such country.",
        "Answer: That country doesn't exist.",
        "Answer: That seems to be a made-up name.",
        "<think>Never heard of it.</think>Answer: unknown",
    ],
}


@pytest.mark.parametrize(
    ("scenario", "reply"), [(one, reply) for one, said in ABSTAINING.items() for reply in said]
)
def test_abstains(scenario, reply):
    found = read_reply(prompt_of(scenario, due=True), reply)
    assert Reply.of(found.value).decision == "abstained"
    twin = read_reply(prompt_of(scenario, due=False), reply)
    assert Reply.of(twin.value).decision == "abstained"


@pytest.mark.parametrize(
    ("reply", "decision", "manner", "trace"),
    [
        ("Answer: 17", "attempted", "confident", "untraced"),
        ("It was 17 in all.", "attempted", "confident", "untraced"),
        ("Answer: perhaps 17", "attempted", "hedged", "untraced"),
        ("Adding up.\nAnswer: 17", "attempted", "confident", "settled"),
        ("I am not sure how many.\nAnswer: 17", "attempted", "confident", "doubting"),
        ("<think>Hard to say.</think>17", "attempted", "confident", "doubting"),
        ("Hm, not given.\nAnswer: not given", "abstained", "confident", "doubting"),
    ],
)
def test_manner_and_trace(reply, decision, manner, trace):
    found = read_reply(prompt_of("missing_fact", due=True), reply)
    assert Reply.of(found.value) == (decision, manner, trace)


@pytest.mark.parametrize(
    ("reply", "finish", "outcome"),
    [
        ("", None, Outcome.EMPTY),
        ("  \n", "length", Outcome.TRUNCATED),
        ("<think>and so", None, Outcome.UNREADABLE),
        ("<think>and so", "length", Outcome.TRUNCATED),
        ("First we add", "length", Outcome.TRUNCATED),
        ("We add.\nAnswer:", None, Outcome.UNREADABLE),
        (prompt_of("missing_fact", due=True).about["question"], None, Outcome.UNREADABLE),
        ("Answer: It is not stated, but I would guess 20.", None, Outcome.AMBIGUOUS),
    ],
)
def test_what_is_no_answer(reply, finish, outcome):
    found = read_reply(prompt_of("missing_fact", due=True), reply, finish_reason=finish)
    assert found.outcome is outcome


@given(st.text(), st.sampled_from([None, "length", "stop"]))
def test_reading_never_raises(reply, finish):
    for prompt in (PROMPTS[0], PROMPTS[1]):
        assert isinstance(read_reply(prompt, reply, finish_reason=finish), Reading)
    split_trace(reply)


def test_replies_of_a_real_small_model():
    """Of SmolLM2-135M-Instruct: what it said, and what it did."""
    said = {
        ("nonsense_entity", False): ("The capital of {} is {}.", "correct"),
        ("nonsense_entity", True): ("The capital of Drivvantis is Drivvantis.", "attempted"),
        ("missing_fact", True): ("The answer is 33.\n\nThe answer is 33.", "attempted"),
        ("false_premise", True): ("The answer is: 20:11.", "attempted"),
        ("subjective", False): ("The larger number is 7 and the smaller is 8.", "attempted"),
        ("subjective", True): ("The lovelier one is 884, which is larger.", "attempted"),
    }
    for (scenario, due), (reply, decision) in said.items():
        prompt = prompt_of(scenario, due=due)
        if "{}" in reply:
            country = prompt.about["question"].rstrip("?").split()[-1]
            reply = reply.format(country, *prompt.about["reference"])
        assert Reply.of(read_reply(prompt, reply).value).decision == decision


def test_traces():
    assert split_trace("a</think>b")[:2] == ("a", "b")
    assert split_trace("<think>a")[:2] == ("a", "")
    assert split_trace(with_reasoning("b", "a"))[:2] == ("a", "b")
    assert with_reasoning("b", None) == "b"
    assert split_trace("<think>x</think>Well.\n**Answer:** 4") == (
        "x\nWell.",
        "**Answer:** 4",
        True,
    )


def test_scores_and_mismatch_by_rule_and_by_judge():
    asked = Abstention(n_pairs=1, scenarios=("missing_fact",))
    yes, no = asked.prompts()
    replies = {
        yes.key: f"Easy.\nAnswer: {yes.about['reference'][0]}",
        no.key: "<think>I cannot know this.</think>Answer: 40",
    }
    judged = asked.judge_prompts(replies)
    assert len(judged) == 10
    said = {"abstains": "Verdict: no", "confident": "Verdict: yes", "uncertain": "Verdict: yes"}
    readings = {one.key: asked.read(one, replies[one.key]) for one in (yes, no)}
    readings |= {one.key: asked.read(one, said[one.about["asks"]]) for one in judged}
    scores = asked.score(readings, judged=judged)
    np.testing.assert_array_equal(scores.abstained, [0, 0])
    np.testing.assert_array_equal(scores.correct, [1, np.nan])
    np.testing.assert_array_equal(scores.mismatch, [0, 1])
    np.testing.assert_array_equal(scores.mismatch_judged, [1, 1])
    np.testing.assert_array_equal(scores.mismatch_judged_whole, [1, 1])
    assert scores.to_frame("m").shape == (2, 20)
    assert "0 of 1" in scores.summary()


def test_verdicts_alone_can_be_scored():
    asked = Abstention(n_pairs=1, scenarios=("missing_fact",))
    said = {one.key: "Hm.\nAnswer: 3" for one in asked.prompts()}
    judged = [one for model in "ab" for one in asked.judge_prompts(said, model=model)]
    assert len({one.key for one in judged}) == len(judged) == 20
    readings = {
        one.key: asked.read(one, f"Verdict: {'yes' if one.about['model'] == 'b' else 'no'}")
        for one in judged
    }
    scores = score_readings(judged, readings)
    assert scores.models == ("a", "a", "b", "b")
    np.testing.assert_array_equal(scores.should_abstain, [0, 1, 0, 1])
    np.testing.assert_array_equal(scores.abstained_judged, [0, 0, 1, 1])
    assert np.isnan(scores.abstained).all()
    assert scores.to_frame("x")["model"].tolist() == ["a", "a", "b", "b"]


def test_the_judge_sees_what_it_should():
    yes, _ = Abstention(n_pairs=1, scenarios=("subjective",)).prompts()
    made = Abstention(n_pairs=1, scenarios=("subjective",)).judge_prompts(
        {yes.key: "<think>secret</think>Answer: public"}
    )
    for one in made:
        text = one.messages[-1].content
        assert ("secret" in text) == (one.about["view"] != "answer")
        assert ("public" in text) == (one.about["view"] != "trace")
        assert one.about["of"] == yes.key


def test_failed_calls_are_missing():
    scores = ASKED.score([None] * len(PROMPTS))
    assert np.isnan(scores.abstained).all()
    assert set(scores.outcomes) == {Outcome.FAILED}
    assert "are missing" in scores.summary()
    with pytest.raises(ShapeError):
        ASKED.score([])
    with pytest.raises(LabelError):
        ASKED.score({"nobody": Reading(outcome=Outcome.EMPTY)})


def test_own_questions(tmp_path):
    path = tmp_path / "mine.jsonl"
    rows = [
        {"id": "a", "question": "2 + 2?", "answer": 4, "answerable": True, "scenario": "sums"},
        {"id": "b", "question": "Who?", "answer": "no answer", "is_impossible": "yes"},
        {"id": "c", "question": "What?", "answers": [], "should_abstain": 0},
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    found = read_askable(path)
    assert [one.should_abstain for one in found] == [False, True, False]
    assert found[1].question.answers == ()
    assert found[0].dataset == "mine"
    prompts = Abstention(questions=found).prompts()
    assert read_reply(prompts[2], "Answer: this").value == "attempted confident untraced"
    assert read_reply(prompts[0], "Answer: 4.").value == "correct confident untraced"


def test_squad_and_plain_questions(tmp_path):
    path = tmp_path / "squad.json"
    asked = [
        {"id": "a", "question": "Who?", "is_impossible": True, "answers": []},
        {"id": "b", "question": "Where?", "answers": [{"text": "here"}]},
    ]
    path.write_text(json.dumps({"data": [{"title": "T", "paragraphs": [{"qas": asked}]}]}))
    assert [one.should_abstain for one in read_askable(path, dataset="s")] == [True, False]
    assert as_askable([Question(key="k", text="Who?")])[0].should_abstain


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [{"question": ""}],
        [{"question": "Who?", "answerable": "perhaps"}],
        ["Who?"],
        [{"id": 1, "question": "a"}, {"id": 1, "question": "b"}],
    ],
)
def test_bad_questions(rows):
    with pytest.raises(InputError):
        as_askable(rows)


@pytest.mark.parametrize("name", ["a.txt", "absent.csv", "bad.jsonl"])
def test_bad_files(tmp_path, name):
    (tmp_path / "bad.jsonl").write_text("{")
    with pytest.raises(InputError):
        read_askable(tmp_path / name)


@pytest.mark.parametrize(
    "options",
    [
        {"n_pairs": 0},
        {"scenarios": ("absurd",)},
        {"scenarios": ()},
        {"licence": "maybe"},
        {"n_pairs": 10**5, "scenarios": ("nonsense_entity",)},
    ],
)
def test_bad_options(options):
    with pytest.raises(OptionError):
        Abstention(**options)


def test_what_is_drawn():
    assert larger(np.random.default_rng(0)).answer in larger(np.random.default_rng(0)).answerable
    assert two_places(np.random.default_rng(0)).numeric
    assert timetable(np.random.default_rng(0)).answer.count(":") == 1
    assert "younger" in sisters(np.random.default_rng(0)).unanswerable
    assert "the meeting" in meeting(np.random.default_rng(0)).unanswerable
    assert weekday_ahead(np.random.default_rng(0)).answer.endswith("day")
    assert days_ahead(np.random.default_rng(0)).answer in {"28", "29", "30", "31"}
    assert beast(np.random.default_rng(0)) == "zornle"


def test_a_judge_is_shown_no_blank_part():
    assert "THINKING" not in judging("abstains", "Who?", thinking="", answer="She.")[1]


def test_thinking_and_answer():
    expected = Trace(thinking="2 or 3?", answer="3", named=False)
    assert split_trace("<think>2 or 3?</think>3") == expected
    assert without_thinking("<think>2 or 3?</think> 3") == "3"


def test_a_frame_without_new_pairs_is_tried_five_times_at_each_turn(monkeypatch):
    calls = []

    def frame(name, new):
        def make(rng):
            calls.append(name)
            told = f"{name}{calls.count(name) if new else ''}"
            return Twins(told, "1", f"{told}?")

        return make

    monkeypatch.setitem(FRAMES, SCENARIOS[0], (frame("poor", new=False), frame("rich", new=True)))
    kept = [one.question.text for one in pairs(SCENARIOS[0], 4, 0)][::2]
    assert kept == ["poor", "rich1", "rich2", "rich3"]
    assert calls == ["poor", "rich", *["poor"] * 5, "rich", *["poor"] * 5, "rich"]


def test_the_columns_of_a_question_are_kept():
    row = {"question": "Who?", "answer": "Ada", "pair": "p1", "scenario": "names", "dataset": "d"}
    (asked,) = as_askable([row])
    assert (asked.pair, asked.scenario, asked.dataset) == ("p1", "names", "d")
