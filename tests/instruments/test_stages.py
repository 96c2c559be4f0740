"""Second stages: what they ask, of whom, about what, and that replies alone decide it."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from psychollm._base.errors import InputError, OptionError
from psychollm.instruments import (
    Abstention,
    Coding,
    Message,
    Prompt,
    Revision,
    RuleWorld,
    Scaffold,
    SelfEfficacy,
    SelfPrediction,
    SemanticSampling,
    Wagering,
)
from psychollm.instruments.instrument import instrument_of, scorer_of
from psychollm.instruments.revision import score_readings as revision_scores
from psychollm.instruments.scaffold import directed
from psychollm.instruments.self_efficacy import tasks_of
from psychollm.instruments.stages import (
    STAGES,
    Replied,
    coding,
    feedback,
    grading,
    revision,
    scaffold,
    transcripts,
)

SUMS = [
    {"id": f"q{i}", "question": f"What is {i} + 1?", "answer": str(i + 1), "rule": "numeric"}
    for i in range(6)
]

RATINGS = "\n".join(f"{n}. 3" for n in range(1, 11))


def put(prompts, says, model="m", **fields) -> list[Replied]:
    """Put prompts to a model that says what a function of the prompt returns."""
    return [Replied(model=model, prompt=one, text=says(one), **fields) for one in prompts]


def solves(n_right: int):
    """Return a model that solves so many tasks, and rates itself."""
    right = {task.key for task in tasks_of("computational")[:n_right]}

    def says(prompt: Prompt) -> str:
        if prompt.about["stage"] == "task":
            answer = prompt.about["rubric"]["answer"]
            return f"Answer: {answer if prompt.item in right else answer + 1000}"
        return (
            "3" if prompt.about["stage"] == "item" else "\n".join(f"{n}. 3" for n in range(1, 11))
        )

    return says


# Feedback ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"modes": ("one_by_one",)},
        {"modes": ("all_at_once", "one_by_one"), "placements": ("task_first", "isolated")},
        {"personas": ("plain", "expert"), "shuffle": False},
        {"graded": True, "n_repeats": 2},
    ],
)
@pytest.mark.parametrize("n_right", [0, 2, 6])
def test_feedback_is_that_of_the_instrument(options, n_right: int) -> None:
    asks = SelfEfficacy(
        conditions=("none", "computational"),
        **{"n_repeats": 1, "followups": ("neutral",), "feedback": ("true", "too_high", "too_low")}
        | options,
    )
    said = put(asks.prompts(), solves(n_right))
    wanted = {p.key: p for p in asks.feedback_prompts({one.prompt.key: one.text for one in said})}
    made = {one.key: one for one in feedback(said)}
    first = {one.prompt.key for one in said}
    assert made.keys() == wanted.keys()
    for key, prompt in made.items():
        other = wanted[key]
        assert prompt.to == "m"
        assert {**prompt.about} == {**other.about, "after": "feedback"}
        assert (prompt.item, prompt.repeat, prompt.reply) == (
            other.item,
            other.repeat,
            other.reply,
        )
        assert prompt.messages[-1] == other.messages[-1]
        if other.follows in first:  # its conversation stands in the prompt
            assert prompt.follows is None
            assert [turn.role for turn in prompt.messages][-3:] == ["user", "assistant", "user"]
        else:
            assert (prompt.follows, prompt.messages) == (other.follows, other.messages)


def test_feedback_continues_the_conversation_with_the_models_own_words() -> None:
    asks = SelfEfficacy(conditions=("computational",), n_repeats=1, followups=())
    said = put(asks.prompts(), solves(2))
    prompt = feedback(said, kinds=("too_high",))[0]
    tasks = [one for one in said if one.prompt.about["stage"] == "task"]
    expected = [turn for one in tasks for turn in (one.prompt.messages[-1].content, one.text)]
    assert [turn.content for turn in prompt.messages[:-1]] == expected
    assert "3 of them passed" in prompt.messages[-1].content


def test_no_feedback_on_tasks_that_could_not_all_be_graded() -> None:
    asks = SelfEfficacy(conditions=("computational",), n_repeats=1, followups=())
    said = put(asks.prompts(), solves(2))
    missing = [replace(said[0], text=None), *said[1:]]
    unread = [replace(said[0], text="I'd rather not say."), *said[1:]]
    assert feedback(missing) == feedback(unread) == ()


def test_scores_of_both_stages_are_those_of_the_instrument() -> None:
    asks = SelfEfficacy(conditions=("computational",), n_repeats=1, followups=(),
                        feedback=("true",))  # fmt: skip
    said = put(asks.prompts(), solves(2))
    later = feedback(said, kinds=("true",))
    read = {one.prompt.key: one.reading for one in [*said, *put(later, solves(2))]}
    score = scorer_of("self_efficacy")
    found = score([*asks.prompts(), *later], read)
    own = asks.feedback_prompts({one.prompt.key: one.text for one in said})
    assert found.to_frame().equals(asks.score(read, feedback=own).to_frame())


# Revision ------------------------------------------------------------------------------------


def unsure(prompt: Prompt) -> str:
    n, about = int(prompt.item[1:]), prompt.about
    if about["stage"] == "critique":
        return f"Verdict: {'yes' if n % 2 else 'no'}"
    if about["stage"] == "insist_wrong" and n > 3:
        return f"Answer: {about['suggested']}"
    return f"Hm.\nAnswer: {n + 1 if n % 3 or about['stage'] == 'revised' else 77}"


def test_revision_after_answers_is_scored_as_the_instrument_scores() -> None:
    whole = Revision(questions=SUMS, n_rounds=2, seed=3)
    own = whole.score([whole.read(one, unsure(one)) for one in whole.prompts()])
    first = Revision(questions=SUMS, arms=())
    later = revision(put(first.prompts(), unsure), n_rounds=2, seed=3)
    read = {one.prompt.key: one.reading for one in put(later, unsure)}
    found = revision_scores(later, read)
    assert np.array_equal(found.rates().value, own.rates().value, equal_nan=True)
    assert np.array_equal(found.differences().value, own.differences().value, equal_nan=True)
    assert sorted(found.stages) == sorted(own.stages)


def test_each_arm_opens_with_the_conversation_and_rounds_follow_each_other() -> None:
    whole = SelfPrediction(questions=SUMS[:2], form="direct", same_conversation=True)
    predict, asked, *_ = whole.prompts()
    others = SelfPrediction(questions=SUMS[:2]).prompts()[2:]
    said = [
        Replied(model="m", prompt=predict, text="Yes"),
        Replied(model="m", prompt=asked, text="one", reasoning="Hm."),
        *put(others, lambda one: None),
    ]
    made = revision(said, n_rounds=2)
    opening = [turn.content for turn in made[0].messages[:-1]]
    assert opening == [predict.messages[0].content, "Yes", asked.messages[0].content, "one"]
    assert {one.to for one in made} == {"m"}
    assert [one.follows for one in made[:4]] == [None, made[0].key, made[1].key, made[2].key]
    assert {one.item for one in made} == {"q0"}


def test_a_first_answer_that_was_cut_off_stays_missing() -> None:
    first = Revision(questions=SUMS, arms=()).prompts()
    said = put(first, lambda one: "I begin with", finish_reason="length")
    later = revision(said, arms=("again",))
    found = revision_scores(later, {one.prompt.key: one.reading for one in put(later, unsure)})
    own = np.array(found.stages) == "first"
    assert np.isnan(found.correct[own]).all()
    assert np.isfinite(found.correct[~own]).all()


# Scaffolds -----------------------------------------------------------------------------------


def test_a_scaffold_repeats_the_prompt_and_adds_directions() -> None:
    first = Revision(questions=SUMS, arms=()).prompts()
    said = put(first, lambda one: "Answer: 3")
    for one, made in zip(said, scaffold(said, direct=("evaluation",)), strict=True):
        *before, turn = made.messages
        assert tuple(before) == one.prompt.messages[:-1]
        plain = one.prompt.messages[-1].content
        assert turn == Message("user", f"{plain}\n\n{directed(['evaluation'])}")
        assert (made.to, made.follows, instrument_of(made)) == ("m", None, "scaffold")


def test_both_arms_come_from_the_later_prompts_alone() -> None:
    first = Revision(questions=SUMS, arms=()).prompts()
    said = put(first, lambda one: f"Answer: {int(one.item[1:]) + 1 if one.item < 'q3' else 77}")
    later = scaffold(said)
    read = {one.prompt.key: one.reading for one in put(later, lambda one: "Answer: 1")}
    found = scorer_of("scaffold")(later, read)
    assert found.summary().startswith(
        "spontaneous: 3 of 6 answers right; directed: 1 of 6 answers right"
    )
    traces = transcripts(put(later, lambda one: "Answer: 1"))
    assert [one.arm for one in traces[:2]] == ["spontaneous", "directed"]
    assert [one.correct for one in traces if one.arm == "spontaneous"] == [1, 1, 1, 0, 0, 0]


# Judges --------------------------------------------------------------------------------------


def test_verdicts_name_whom_they_judge() -> None:
    asked = SelfPrediction(questions=SUMS).prompts()
    said = [*put(asked, lambda one: "four", "a"), *put(asked, lambda one: None, "b")]
    said += put(asked, lambda one: "five", "c", run=2)
    made = grading(said)
    assert [one.about["judges"] for one in made] == ["a"] * 6 + ["c"] * 6
    assert [one.about.get("run") for one in made] == [None] * 6 + [2] * 6
    assert len({one.key for one in made}) == 12
    assert {one.to for one in made} == {None}


def test_thinking_is_shown_where_it_is_judged_and_only_there() -> None:
    asked = Abstention(n_pairs=1, scenarios=("subjective",)).prompts()
    shown = grading(put(asked, lambda one: "Answer: 3", reasoning="I doubt it."))
    assert len(shown) == 10
    for prompt in shown:
        seen = "I doubt it." in prompt.messages[-1].content
        assert seen == (prompt.about["view"] != "answer")
    predicted = SelfPrediction(questions=SUMS).prompts()
    plain = grading(put(predicted, lambda one: "3", reasoning="I doubt it."))
    assert not any("doubt" in one.messages[-1].content for one in plain)


def test_verdicts_find_questions_whose_labels_look_like_samples() -> None:
    questions = [{"id": "a#b", "question": "Who?", "answer": "she", "answerable": True}]
    asked = Abstention(questions=questions).prompts()
    judged = grading(put(asked, lambda one: "Answer: she", model="m#1"))
    score = scorer_of("abstention")
    read = {one.prompt.key: one.reading for one in put(judged, lambda one: "Verdict: no")}
    found = score([*asked, *judged], read)
    assert found.abstained_judged.tolist() == [0.0]


def test_different_wordings_are_compared_pair_by_pair() -> None:
    asked = SemanticSampling(SUMS, n_samples=3).prompts()
    made = grading(put(asked, lambda one: f"about {one.repeat}"))
    assert len(made) == 6 * 3
    assert not grading(put(asked, lambda one: "Seven"))


def test_traces_know_arm_run_and_grade() -> None:
    asked = Scaffold(questions=SUMS[:2], n_repeats=2).prompts()
    said = put(
        asked, lambda one: f"Answer: {int(one.item[1:]) + 1 if one.repeat else 99}", tokens=7
    )
    found = transcripts([*said, *put(asked, lambda one: "Answer: 1", run=2)])
    cells = [(one.item, one.run, one.arm) for one in found]
    assert len(set(cells)) == len(cells) == 16
    assert {one.run for one in found} == {1, 2, 3, 4}
    assert [one.correct for one in found if one.run in {1, 2}] == [0.0] * 4 + [1.0] * 4
    assert found[0].tokens == 7


def test_what_is_no_trace_of_its_own_is_left_out() -> None:
    said = put(Revision(questions=SUMS).prompts(), unsure)
    predicted = put(SelfPrediction(questions=SUMS).prompts(), lambda one: "Yes", "p")
    coded = put(Coding(transcripts={"a": "Hm."}).prompts(), lambda one: "{}", "j")
    found = transcripts([*said, *predicted, *coded])
    assert {one.model for one in found} == {"m", "p"}
    assert len(found) == 12
    assert {one.item.partition("/")[0] for one in found} == {"revision", "self_prediction"}


def test_the_first_questions_are_coded_whoever_answered() -> None:
    asked = RuleWorld(n=8, seed=1).prompts()
    full = coding(put(asked, lambda one: "Hm. 3"), n_items=3)
    partly = coding(put(asked, lambda one: None if one is asked[0] else "Hm. 3"), n_items=3)
    assert len(full) == 3
    assert {one.key for one in partly} == {one.key for one in full[1:]}


# All of them ---------------------------------------------------------------------------------


@cache
def many_prompts() -> tuple[Prompt, ...]:
    """Return the first prompts of many instruments."""
    return (
        *SelfPrediction(questions=SUMS).prompts(),
        *Abstention(n_pairs=1).prompts(),
        *SemanticSampling(SUMS[:2], n_samples=3, form="reasoning").prompts(),
        *Revision(questions=SUMS).prompts(),
        *Scaffold(questions=SUMS).prompts(),
        *SelfEfficacy(n_repeats=1).prompts(),
        *RuleWorld(n=4).prompts(),
    )


def everything(rng: np.random.Generator) -> list[Replied]:
    """Return replies of two models to many instruments, some missing."""
    says = ("Answer: 3", "59", "Let me check.\nAnswer: 2", "<think>Hm.</think>Answer: 5", "B")

    def draw(prompt: Prompt) -> str | None:
        return None if rng.random() < 0.2 else says[rng.integers(len(says))]

    return [one for model in "ab" for one in put(many_prompts(), draw, model)]


OPTIONS = {"revision": {"of": "revision"}, "scaffold": {"of": "revision"}}


@pytest.mark.parametrize("name", STAGES)
def test_further_replies_only_add_prompts(name: str) -> None:
    rng = np.random.default_rng(1)
    said = everything(rng)
    make, options = STAGES[name].make, OPTIONS.get(name, {})
    whole = {(one.key, one.to): one for one in make(said, **options)}
    assert len(whole) == len(make(said, **options)) > 0
    for _ in range(5):
        part = [replace(one, text=None) if rng.random() < 0.5 else one for one in said]
        made = {(one.key, one.to): one for one in make(part, **options)}
        assert made.keys() <= whole.keys()
        assert all(whole[key] == one for key, one in made.items())


@pytest.mark.parametrize("name", STAGES)
def test_prompts_of_a_stage_tell_so_and_survive_writing(name: str) -> None:
    for made in STAGES[name].make(everything(np.random.default_rng(2)), **OPTIONS.get(name, {})):
        assert made.about["after"] == name
        assert Prompt.from_dict(made.to_dict()) == made
        assert (made.to is None) == STAGES[name].judged


@pytest.mark.parametrize("name", STAGES)
def test_no_replies_ask_for_more_than_is_foretold(name: str) -> None:
    stage, options = STAGES[name], OPTIONS.get(name, {})
    most = stage.most(many_prompts(), options)
    for seed in range(4):
        said = [one for one in everything(np.random.default_rng(seed)) if one.model == "a"]
        made = stage.make(said, **options)
        assert 0 < len(made) <= len(most)
        assert length(made) <= length(most)


def length(prompts) -> int:
    return sum(len(turn.content) for one in prompts for turn in one.messages)


def test_stages_are_not_made_of_stages() -> None:
    said = put(Revision(questions=SUMS, arms=()).prompts(), unsure)
    later = put(revision(said, arms=("again",)), unsure)
    assert len(revision([*said, *later])) == len(revision(said))
    assert len(scaffold([*said, *later])) == len(scaffold(said))


PREDICTED = put(SelfPrediction(questions=SUMS).prompts(), lambda one: "3")
RULES = put(RuleWorld(n=4).prompts(), lambda one: "3")
WAGERS = put(Wagering(questions=SUMS).prompts(), lambda one: "3")
SCAFFOLDED = put(Scaffold(questions=SUMS).prompts(), lambda one: "3")
RATED = put(SelfEfficacy(conditions=("none",), n_repeats=1).prompts(), lambda one: "3")
TWICE = put(SelfEfficacy(n_repeats=1).prompts(), lambda one: "3", run=2)


@pytest.mark.parametrize(
    ("make", "said", "options", "error", "words"),
    [
        (grading, RULES, {}, InputError, "grading: there are no replies to self_prediction"),
        (grading, [], {}, InputError, "no replies"),
        (coding, [], {}, InputError, "coding: there are no replies to code"),
        (coding, RULES, {"of": ("revision",)}, InputError, "no replies of revision"),
        (coding, RULES, {"n_items": 0}, OptionError, "n_items=0"),
        (coding, RULES, {"scheme": "six"}, OptionError, "six"),
        (feedback, RATED, {}, InputError, "no self_efficacy ratings after tasks"),
        (feedback, TWICE, {}, OptionError, "n_repeats"),
        (feedback, RATED, {"kinds": ()}, OptionError, "kinds"),
        (feedback, RATED, {"kinds": ("false",)}, OptionError, "false"),
        (revision, RULES, {}, InputError, "no answers in words"),
        (revision, WAGERS, {}, InputError, "no answers in words"),
        (revision, PREDICTED, {"of": "abstention"}, InputError, "of abstention"),
        (revision, PREDICTED + SCAFFOLDED, {}, OptionError, "name one with 'of'"),
        (revision, PREDICTED, {"arms": ("flatter",)}, OptionError, "flatter"),
        (revision, PREDICTED, {"n_rounds": 0}, OptionError, "n_rounds=0"),
        (scaffold, PREDICTED, {}, InputError, "without reasoning"),
        (scaffold, SCAFFOLDED, {}, InputError, "no answers to direct"),
        (scaffold, PREDICTED, {"direct": ("luck",)}, OptionError, "luck"),
    ],
)
def test_what_cannot_be(make, said, options, error, words) -> None:
    with pytest.raises(error, match=words):
        make(said, **options)
