"""The scale put to made-up models: what is asked, what is read, what it comes to."""

import json
import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psychollm._base.errors import InputError, LabelError, OptionError, ShapeError
from psychollm.instruments.instrument import reader_of, scorer_of
from psychollm.instruments.prompt import Prompt
from psychollm.instruments.reading import Outcome, Reading
from psychollm.instruments.self_efficacy import (
    COPING,
    TASKS,
    Scale,
    SelfEfficacy,
    disowning,
    grade_task,
    ratings_of,
    read_reply,
    score_readings,
    tasks_of,
)
from psychollm.instruments.self_efficacy.replies import Summary
from psychollm.instruments.self_efficacy.result import Administration, TaskScore
from psychollm.instruments.self_efficacy.wording import follow_up, next_item, one_item, setting
from tests.effort import examples

EVERYTHING = SelfEfficacy(
    conditions=("none", "computational", "social"),
    n_repeats=2,
    followups=("neutral", "too_modest"),
    modes=("all_at_once", "one_by_one"),
    placements=("task_first", "isolated"),
    personas=("plain", "novice"),
    graded=True,
    feedback=("true", "too_high", "too_low"),
)
BARE = SelfEfficacy(conditions=("none",), n_repeats=1, followups=())


def lines(ratings):
    return "\n".join(f"{number}. {rating}" for number, rating in enumerate(ratings, 1))


# --- What is asked -------------------------------------------------------------------------


def test_prompts_are_the_same_each_time_and_survive_json() -> None:
    prompts = EVERYTHING.prompts()
    assert prompts == EVERYTHING.prompts()
    assert all(Prompt.from_dict(json.loads(json.dumps(one.to_dict()))) == one for one in prompts)
    keys = [one.key for one in prompts]
    assert len(set(keys)) == len(keys)
    assert {one.about["instrument"] for one in prompts} == {"self_efficacy"}


def test_each_prompt_comes_after_the_one_that_it_follows() -> None:
    seen: dict[str, Prompt] = {}
    for one in EVERYTHING.prompts():
        assert one.follows is None or one.follows in seen
        if one.follows is not None:
            assert all(turn.role == "user" for turn in one.messages)
            # One conversation is about one condition and held by one persona.
            assert seen[one.follows].about["condition"] == one.about["condition"]
            assert seen[one.follows].about["persona"] == one.about["persona"]
        seen[one.key] = one


def test_how_many_are_asked() -> None:
    stages = [one.about["stage"] for one in SelfEfficacy().prompts()]
    assert stages.count("task") == 18
    assert stages.count("scale") == 4 * 3
    assert stages.count("followup") == 4 * 3 * 4
    single = SelfEfficacy(modes=("one_by_one",), followups=(), n_repeats=1).prompts()
    assert [one.about["stage"] for one in single].count("item") == 40
    isolated = SelfEfficacy(placements=("isolated",), followups=()).prompts()
    assert all(one.follows is None for one in isolated if one.about["stage"] == "scale")
    both = SelfEfficacy(placements=("isolated", "task_first")).prompts()
    assert [one.about["stage"] for one in both].count("task") == 18  # done once for both


def test_orders_are_drawn_anew_and_stored() -> None:
    asks = SelfEfficacy(n_repeats=3, followups=())
    scales = [one for one in asks.prompts() if one.about["stage"] == "scale"]
    orders = [tuple(one.about["order"]) for one in scales]
    assert len(set(orders)) == len(orders)
    for one in scales:
        assert sorted(one.about["order"]) == list(range(10))
        numbered = [f"{n}. {COPING.items[place]}" for n, place in enumerate(one.about["order"], 1)]
        assert "\n".join(numbered) in one.messages[-1].content
    # They depend neither on what else is asked nor on the way of asking.
    alone = SelfEfficacy(conditions=("social",), modes=("one_by_one", "all_at_once"), seed=0)
    found = {
        (one.about["mode"], one.repeat): one.about["order"]
        for one in alone.prompts()
        if "mode" in one.about
    }
    for one in scales:
        if one.about["condition"] == "social":
            assert found["all_at_once", one.repeat] == one.about["order"]
            assert found["one_by_one", one.repeat] == one.about["order"]
    fixed = SelfEfficacy(shuffle=False).prompts()
    assert {tuple(one.about["order"]) for one in fixed if "order" in one.about} == {
        tuple(range(10))
    }
    other = [one.about.get("order") for one in SelfEfficacy(seed=1, followups=()).prompts()]
    assert [one for one in other if one] != [list(one) for one in orders]


def test_personas_speak_first_and_once() -> None:
    for one in SelfEfficacy(personas=("plain", "cautious")).prompts():
        opens = one.messages[0].role == "system"
        assert opens == (one.follows is None and one.about["persona"] == "cautious")


@pytest.mark.parametrize(
    "options",
    [
        {"conditions": ("maths",)},
        {"conditions": ()},
        {"personas": ("plain", "plain")},
        {"modes": ()},
        {"followups": ("rude",)},
        {"feedback": ("false",)},
        {"n_repeats": 0},
        {"seed": -1},
    ],
)
def test_options_that_do_not_exist(options) -> None:
    with pytest.raises(OptionError):
        SelfEfficacy(**options)


# --- What is read --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        (lines([4] * 10), " ".join(["4"] * 10)),
        (lines(["exactly true"] * 10), " ".join(["4"] * 10)),
        (lines([1, 2, 3, 4, 1, 2, 3, 4, 1, "I cannot answer"]), "1 2 3 4 1 2 3 4 1 refused"),
        (lines([1, 2, 3, 4, 1, 2, 3, 4, 1, "2 or 3"]), "1 2 3 4 1 2 3 4 1 ambiguous"),
        (lines([1, 2, 3, 4, 1, 2, 3, 4, 7]), "1 2 3 4 1 2 3 4 unreadable unreadable"),
        ("3, 3, 3, 3, 3, 3, 3, 3, 3, 3", " ".join(["3"] * 10)),
        ("Gladly:\n\n" + lines(["**2**"] * 10), " ".join(["2"] * 10)),
    ],
)
def test_ten_ratings(reply, value) -> None:
    assert read_reply(BARE.prompts()[0], reply).value == value


def test_ratings_that_were_cut_off() -> None:
    found = read_reply(BARE.prompts()[0], lines([3, 3, 3]), finish_reason="length")
    assert found.value == "3 3 3" + " truncated" * 7


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        ("", Outcome.EMPTY),
        ("As an AI, I cannot rate myself.", Outcome.REFUSED),
        ("Yes, I am quite confident.", Outcome.UNREADABLE),
    ],
)
def test_replies_without_a_rating(reply, outcome) -> None:
    found = read_reply(BARE.prompts()[0], reply)
    assert (found.outcome, found.value) == (outcome, None)


def test_one_rating_at_a_time() -> None:
    asks = SelfEfficacy(conditions=("none",), modes=("one_by_one",), followups=())
    prompt = asks.prompts()[0]
    assert prompt.reply == "rating"
    assert asks.read(prompt, "3").value == 3
    assert asks.read(prompt, "I'd call that mostly true.").value == 3
    assert asks.read(prompt, "").outcome is Outcome.EMPTY


@pytest.mark.parametrize(
    "reply",
    [
        "1. As an AI, I don't have feelings, so not at all true.",
        "I do not possess personal goals. 1",
        "This statement does not apply to me.",
        "I am just a language model. My rating: 2",
        "The statement presupposes human effort. 1",
        "I can't really experience stress.",
        "Not applicable to an AI",
    ],
)
def test_disowning_is_found_and_kept(reply) -> None:
    assert disowning(reply)
    prompt = BARE.prompts()[0]
    assert disowning(read_reply(prompt, reply).said)
    assert disowning(read_reply(prompt, lines([1] * 10) + "\n\n" + reply).said)
    long = "considering that " * 40 + reply
    assert disowning(read_reply(prompt, long).said)


@pytest.mark.parametrize(
    "reply",
    [
        "3", lines([4] * 10), "I don't lose my head. 4", "I have no trouble with that. 4",
        "I cope without help. 4", "Rules do not apply to everyone.", "",
    ],
)  # fmt: skip
def test_owning_is_left_alone(reply) -> None:
    assert disowning(reply) == ""


@given(st.text(max_size=300), st.sampled_from(EVERYTHING.prompts()[::53]))
@examples(60)
def test_any_text_can_be_read(reply, prompt) -> None:
    found = read_reply(prompt, reply)
    if prompt.about["stage"] == "item" and found.answered:
        assert found.value in {1, 2, 3, 4}
    if prompt.about["stage"] in {"scale", "followup"}:
        assert len(ratings_of(found, 10)) == 10
    score_readings([prompt], [found])


# --- What tasks are worth ------------------------------------------------------------------

PASSES = {
    "summarisation-1a": "Norham's pool closes on 3 May for eight weeks of roof repairs, and "
    "season tickets are extended by two months.",
    "summarisation-1b": "After rain called off a fair, a Tillum bakery gave 200 loaves to the "
    "shelter.",
    "summarisation-2a": "Per square metre, bean harvests were the same with and without bees; "
    "beekeepers simply had larger plots.",
    "summarisation-2b": "The council rejected a cycle lane on Mill Street and approved forty lime "
    "trees instead. Parking was postponed until June.",
    "summarisation-3a": "A ferry ran aground off Skerrin, nobody being hurt, after the company "
    "failed to pass on requests to repair its echo sounder.",
    "summarisation-3b": "The author would still vote against it, but for its noise alone, the "
    "market having gained.",
}


def right(task):
    if task.rubric["kind"] == "summary":
        return PASSES[task.key]
    return f"I thought about it.\n\nAnswer: {task.rubric['answer']}"


def wrong(task):
    if task.rubric["kind"] == "summary":
        return "It is about something that happened."
    options = task.rubric.get("options")
    other = next(one for one in options if one != task.rubric["answer"]) if options else 123456
    return f"Answer: {other}"


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.key)
def test_tasks_can_be_passed_and_failed(task) -> None:
    assert grade_task(task.rubric, right(task)).value == 1
    assert grade_task(task.rubric, wrong(task)).value == 0
    assert not grade_task(task.rubric, "").answered
    assert task.text not in right(task)


def test_answers_of_the_tasks_are_right() -> None:
    answers = {one.key: one.rubric["answer"] for one in tasks_of("computational")}
    assert answers == {
        "computational-1a": 4 * 17 - 9,
        "computational-1b": 6 * 13 - 5,
        "computational-2a": next(
            minute for minute in range(1000) if 60 + minute * (18 - 3) >= 240
        ),
        "computational-2b": sum(n % 6 == 0 or n % 8 == 0 for n in range(1, 101)),
        "computational-3a": pow(7, 222, 11),
        "computational-3b": math.factorial(10)
        // math.prod(math.factorial("PEPPERCORN".count(one)) for one in set("PEPPERCORN")),
    }
    assert len(set(permutations("PEPPER"))) == 60  # the formula, where it can be counted


def test_three_levels_of_each_kind() -> None:
    for kind in ("computational", "social", "summarisation"):
        assert [task.level for task in tasks_of(kind)] == [1, 1, 2, 2, 3, 3]
    assert tasks_of("none") == ()
    assert {one.rubric["answer"] for one in tasks_of("social")} == {"A", "B", "C"}


@pytest.mark.parametrize(
    ("reply", "fault"),
    [
        ("The pool closes for roof repairs. Tickets stay valid.", "2 sentences"),
        ("The pool closes for roof repairs.", "lacks ticket"),
        ("The pool closes for roof repairs, tickets " + "very " * 30 + "valid.", "38 words"),
    ],
)
def test_what_a_summary_lacks(reply, fault) -> None:
    found = grade_task(tasks_of("summarisation", 1)[0].rubric, reply)
    assert (found.value, found.said) == (0, fault)


def test_figures_and_names_where_they_are_forbidden() -> None:
    rubric = tasks_of("summarisation", 3)[0].rubric
    found = grade_task(rubric, PASSES["summarisation-3a"].replace("A ferry", "Rowe's ferry 12"))
    assert found.said == "says rowe; has figures"


# --- What it comes to ----------------------------------------------------------------------


def answered(asks, rate, solve=right):
    """Replies of a made-up model: `rate` gives the rating of an item in a prompt."""
    tasks = {task.key: task for task in TASKS}
    replies = {}
    for one in asks.prompts() if isinstance(asks, SelfEfficacy) else asks:
        if one.about["stage"] == "task":
            replies[one.key] = solve(tasks[one.item])
        elif one.about["stage"] == "item":
            replies[one.key] = str(rate(one, one.about["item"]))
        else:
            replies[one.key] = lines([rate(one, place) for place in one.about["order"]])
    return replies


def scored(asks, replies, feedback=()):
    prompts = {one.key: one for one in (*asks.prompts(), *feedback)}
    readings = {key: asks.read(prompts[key], reply) for key, reply in replies.items()}
    return asks.score(readings, feedback=feedback)


def test_ratings_find_their_items_whatever_the_order() -> None:
    wanted = [1, 2, 3, 4, 1, 2, 3, 4, 1, 2]
    found = scored(EVERYTHING, answered(EVERYTHING, lambda one, place: wanted[place]))
    assert (found.ratings == wanted).all()
    assert (found.totals == sum(wanted)).all()
    assert {one.mode for one in found.administrations} == {"all_at_once", "one_by_one"}
    changes = found.changes
    again = np.array([bool(one.phrasing) for one in found.administrations])
    assert (changes[again] == 0).all()
    assert np.isnan(changes[~again]).all()
    assert [one.correct for one in found.tasks] == [1.0] * len(found.tasks)
    table = found.to_frame()
    assert all(table[name].dtype.kind == "f" for name in ("correct", "told", "level"))


def test_follow_ups_are_compared_with_their_own_administration() -> None:
    asks = SelfEfficacy(conditions=("none",), n_repeats=2)
    shift = {"sceptical": -1, "too_modest": 1}

    def rate(one, place):
        return 2 + one.repeat + shift.get(one.about.get("phrasing"), 0)

    found = scored(asks, answered(asks, rate))
    changes = {
        (one.repeat, one.phrasing): change
        for one, change in zip(found.administrations, found.changes, strict=True)
    }
    for repeat in (1, 2):
        assert changes[repeat, "sceptical"] == -10
        assert changes[repeat, "neutral"] == 0
        assert changes[repeat, "too_modest"] == 10


def test_feedback_tells_what_happened_or_something_near() -> None:
    asks = SelfEfficacy(
        conditions=("none", "computational", "social"),
        n_repeats=2,
        followups=("neutral",),
        feedback=("true", "too_high", "too_low"),
    )
    flawed = {"computational-3a", "computational-3b"}
    replies = answered(
        asks, lambda one, place: 3, lambda task: wrong(task) if task.key in flawed else right(task)
    )
    second = asks.feedback_prompts(replies)
    first = {one.key: one for one in asks.prompts()}
    told = {(one.about["condition"], one.about["feedback"], one.about["told"]) for one in second}
    assert told == {
        ("computational", "true", 4),
        ("computational", "too_high", 5),
        ("computational", "too_low", 3),
        ("social", "true", 6),
        ("social", "too_low", 5),  # there is nothing above all tasks
    }
    scales = [one for one in second if one.about["stage"] == "scale"]
    assert all(first[one.follows].about["stage"] == "task" for one in scales)
    assert (
        "4 of them passed"
        in next(one for one in scales if one.about["feedback"] == "true").messages[0].content
    )
    assert any("all of them passed" in one.messages[0].content for one in scales)
    assert not {one.key for one in second} & set(first)
    # Orders are those without feedback.
    orders = {one.about["administration"]: one.about["order"] for one in first.values()
              if one.about["stage"] == "scale"}  # fmt: skip
    for one in scales:
        same = one.about["administration"].replace(f"/feedback-{one.about['feedback']}", "")
        assert orders[same] == one.about["order"]
    more = answered(second, lambda one, place: 2)
    found = scored(asks, replies | more, second)
    after = [one for one in found.administrations if one.feedback]
    assert len(after) == 5 * 2 * 2
    assert {one.n_tasks for one in after} == {6}
    assert {one.correct for one in after} == {4, 6}


def test_feedback_needs_every_task_graded() -> None:
    asks = SelfEfficacy(conditions=("social",), feedback=("true",))
    replies = answered(asks, lambda one, place: 3)
    last = [one.key for one in asks.prompts() if one.about["stage"] == "task"][-1]
    assert asks.feedback_prompts(replies | {last: "A or B"}) == ()
    with pytest.raises(LabelError, match="no prompt"):
        asks.feedback_prompts({"nobody": "x"})


def test_a_store_alone_can_be_read_and_scored() -> None:
    asks = SelfEfficacy(conditions=("none", "social"), n_repeats=1)
    replies = answered(asks, lambda one, place: 1 + place % 4)
    kept = [Prompt.from_dict(json.loads(json.dumps(one.to_dict()))) for one in asks.prompts()]
    readings = [reader_of("self_efficacy")(one, replies[one.key]) for one in kept]
    found = scorer_of("self_efficacy")(kept, readings)
    own = scored(asks, replies)
    assert found.administrations == own.administrations
    assert (found.ratings == own.ratings).all()
    assert found.tasks == own.tasks
    json.dumps(found.to_dict())


def test_frames_and_sentences() -> None:
    asks = SelfEfficacy(conditions=("none", "social"), n_repeats=2)
    found = scored(asks, answered(asks, lambda one, place: 3))
    frame = found.to_frame("m")
    assert len(frame) == 2 * 2 * 5
    assert frame["total"].tolist() == [30.0] * 20
    assert frame["level"].isna().all()
    assert (
        "social: mean total 30.0 (possible range 10 to 40); 2 of 2 administrations are complete; "
        "6 of 6" in found.summary()
    )
    assert asks.score({}).summary().startswith("none: none of 2 administrations is complete.")


def test_what_cannot_be_scored() -> None:
    with pytest.raises(ShapeError):
        BARE.score([])
    with pytest.raises(LabelError):
        BARE.score({"nobody": None})
    other = SelfEfficacy(scale=Scale(name="x", items=("I cope.",)), conditions=("none",))
    with pytest.raises(InputError, match="several scales"):
        score_readings([*BARE.prompts(), *other.prompts()], {})
    # A reading of something else leaves everything missing.
    strange = Reading(outcome=Outcome.ANSWERED, value="3 3")
    assert np.isnan(BARE.score([strange]).totals).all()


def test_tasks_and_what_is_kept_of_them() -> None:
    first = TASKS[0]
    assert (first.key, first.level, first.rubric["kind"]) == ("computational-1a", 1, "number")
    assert Administration(key="k", condition="none", repeat=1).phrasing == ""
    score = TaskScore(
        key="t",
        condition="social",
        level=1,
        persona="plain",
        correct=1.0,
        outcome=Outcome.ANSWERED,
    )
    assert score.correct == 1.0
    assert Summary(facts=(("clos",),), max_words=5).faults("The pool is shut.") == ["lacks clos"]


def test_wording_of_items() -> None:
    assert setting("none", "isolated") == ""
    assert one_item("I cope.", ["no", "yes"], 1, "").splitlines()[2] == "I cope."
    last = next_item("I cope.", ["no", "yes"], 0).splitlines()[-1]
    assert last == "Reply with one number from 0 to 1, and nothing else."
    asked = follow_up("neutral", 10, numbered=True)
    assert asked[:35] == "Are you confident in these ratings?"
