"""Semantic sampling: what is asked, how replies are read, and how answers become classes."""

import json
from collections import Counter
from collections.abc import Callable
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psychollm._base.errors import InputError, LabelError, OptionError, ShapeError
from psychollm.calibration.sampled.semantic_confidence import semantic_confidence
from psychollm.instruments.prompt import Prompt
from psychollm.instruments.questions import Question
from psychollm.instruments.reading import Outcome, Reading
from psychollm.instruments.semantic_sampling import (
    Collapse,
    SemanticSamples,
    SemanticSampling,
    Shot,
    by_entailment,
    by_form,
    by_function,
    by_relation,
    exact,
    normalised,
    numeric,
    read_reply,
    score_readings,
    stack_samples,
)
from psychollm.instruments.semantic_sampling.collapse import as_collapse, normal_form, wordings
from psychollm.instruments.semantic_sampling.judge import Verdicts
from psychollm.instruments.semantic_sampling.scoring import ABSTAINED
from tests.effort import examples

ROME = Question(key="rome", text="Where is the Forum?", answers=("Rome",))
CUPS = Question(key="cups", text="How many cups?", answers=("12",), rule="numeric", absolute=0.5)
FORMS = ("base", "base_reasoning", "instruct", "reasoning")


def scored(replies: dict[str, list[str | None]], **options: object) -> SemanticSamples:
    """Ask both questions and read these replies, one list per question."""
    depth = max(map(len, replies.values()))
    asked = SemanticSampling(
        [one for one in (ROME, CUPS) if one.key in replies],
        n_samples=depth,
        collapse=options.pop("collapse", None),  # type: ignore[arg-type]
    )
    said = {
        prompt.key: asked.read(prompt, reply)
        for prompt in asked.prompts()
        if (reply := replies[prompt.item][prompt.repeat]) is not None
    }
    return asked.score(said, **options)  # type: ignore[arg-type]


def prompt_of(form: str) -> Prompt:
    return SemanticSampling([ROME], form=form).prompts()[0]  # type: ignore[arg-type]


# What is asked.


@pytest.mark.parametrize("form", FORMS)
def test_every_sample_of_every_question_has_a_key_of_its_own(form: str) -> None:
    prompts = SemanticSampling([ROME, CUPS], n_samples=5, form=form).prompts()  # type: ignore[arg-type]
    assert len({prompt.key for prompt in prompts}) == 10
    assert sorted({prompt.repeat for prompt in prompts}) == [0, 1, 2, 3, 4]
    for prompt in prompts:
        assert Prompt.from_dict(prompt.to_dict()) == prompt
        assert prompt.about["instrument"] == "semantic_sampling"
        assert prompt.about["form"] == form


@pytest.mark.parametrize("form", ["base", "base_reasoning"])
def test_a_question_is_not_shown_solved_before_itself(form: str) -> None:
    shots = [
        Shot(question=ROME.text, answer="Rome", reasoning="It is."),
        Shot(question="Which?", answer="this", reasoning="It is."),
    ]
    asked = SemanticSampling([ROME], form=form, shots=shots)  # type: ignore[arg-type]
    text = asked.prompts()[0].messages[0].content
    assert text.count(ROME.text) == 1
    assert text.count("Question:") == 2
    assert text.endswith("Answer:" if form == "base" else "Reasoning:")


def test_right_answers_are_not_seen_by_the_model() -> None:
    for form in FORMS:
        shown = "".join(turn.content for turn in prompt_of(form).messages)
        assert "Rome" not in shown


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"questions": []}, InputError),
        ({"n_samples": 0}, OptionError),
        ({"form": "sideways"}, OptionError),
        ({"form": "base", "shots": ()}, InputError),
        ({"form": "base_reasoning", "shots": [Shot(question="?", answer="!")]}, InputError),
        ({"questions": [ROME, ROME]}, LabelError),
    ],
)
def test_bad_options(options: dict[str, object], error: type[Exception]) -> None:
    with pytest.raises(error):
        SemanticSampling(**{"questions": [ROME], **options})  # type: ignore[arg-type]


# How replies are read.

READ: list[tuple[str, str, str | None, str | Outcome]] = [
    ("base", " Rome\n\nQuestion: Who?\nAnswer: Nero", "length", "Rome"),
    ("base", "Rome", None, "Rome"),
    ("base", "Answer: Rome\n", None, "Rome"),
    ("base", "\n\nRome is the ca", "length", Outcome.TRUNCATED),
    ("base", "  \n", None, Outcome.EMPTY),
    ("base", "", "length", Outcome.TRUNCATED),
    ("base", "Question: Who?\nAnswer: Nero", None, Outcome.UNREADABLE),
    ("base", "...\n", None, Outcome.UNREADABLE),
    ("base", " I don't know.\n", None, Outcome.REFUSED),
    ("base_reasoning", " It is old.\nAnswer: Rome\n\nQuestion: Q", "length", "Rome"),
    ("base_reasoning", " It is old.\nQuestion: Who?\nAnswer: Nero\n", None, Outcome.UNREADABLE),
    ("base_reasoning", " It is old and", "length", Outcome.TRUNCATED),
    ("base_reasoning", " It is old.\nAnswer: Ro", "length", Outcome.TRUNCATED),
    ("instruct", "Rome", None, "Rome"),
    ("instruct", "**Answer:** Rome", None, "Rome"),
    ("instruct", "Rome is the", "length", Outcome.TRUNCATED),
    ("instruct", "<think>Bern?</think>", None, Outcome.EMPTY),
    ("instruct", "I cannot answer this.", None, Outcome.REFUSED),
    ("reasoning", "It is old.\nIt has a forum.\nAnswer: Rome", None, "Rome"),
    ("reasoning", "<think>Bern\nor so</think>Rome", None, "Rome"),
    ("reasoning", "It is old.\nIt has a forum.\n\\boxed{Rome}", None, "Rome"),
    ("reasoning", "It is old.\nIt has a forum.", None, Outcome.UNREADABLE),
    ("reasoning", 'It is old.\nThey call it "the city"', None, Outcome.UNREADABLE),
    ("instruct", 'It is called "the ci"', "length", Outcome.TRUNCATED),
    ("reasoning", "It is old.\nIt has a", "length", Outcome.TRUNCATED),
    ("reasoning", "It is old.\nAnswer: Ro", "length", Outcome.TRUNCATED),
]


@pytest.mark.parametrize(("form", "reply", "finish", "expected"), READ)
def test_readings(form: str, reply: str, finish: str | None, expected: str | Outcome) -> None:
    found = read_reply(prompt_of(form), reply, finish_reason=finish)
    if isinstance(expected, Outcome):
        assert found.outcome is expected
    else:
        assert found.value == expected


@given(st.sampled_from(FORMS), st.text(max_size=60), st.sampled_from([None, "length"]))
@examples(150)
def test_reading_never_raises(form: str, reply: str, finish: str | None) -> None:
    found = read_reply(prompt_of(form), reply, finish_reason=finish)
    assert found.answered == isinstance(found.value, str)


def test_a_prompt_of_another_instrument_is_not_read() -> None:
    prompt = prompt_of("base")
    other = Prompt.from_dict(prompt.to_dict() | {"about": {"instrument": "abstention"}})
    with pytest.raises(InputError, match="not from semantic_sampling"):
        read_reply(other, "Rome")


# How answers become classes.

WAYS: list[tuple[Collapse, list[str], list[int]]] = [
    (exact(), ["a", "a ", "A"], [0, 0, 1]),
    (normalised(), ["The A!", "a thing", "thing", "a"], [2, 0, 0, 1]),
    (normalised(), ["+", "-", "+"], [0, 1, 0]),
    (numeric(), ["12", "12.0", "twelve", "13"], [0, 0, 0, 1]),
    (numeric(absolute=0.1), ["3.1", "3", "3"], [0, 0, 0]),
    (numeric(relative=0.1), ["100", "109", "112"], [0, 0, 1]),
    (numeric(), ["$1,200", "1200", "unclear", "Unclear."], [0, 0, 1, 1]),
    (by_function(str.islower), ["a", "b", "C"], [0, 0, 1]),
    (by_relation(lambda q, a, b: a[0] == b[0]), ["ab", "ac", "b"], [1, 1, 0]),
    (by_entailment(lambda one, other: float(other[-1] in one)), ["x y", "y x", "y"], [0, 1, 0]),
]


@pytest.mark.parametrize(("way", "texts", "expected"), WAYS)
def test_classes(way: Collapse, texts: list[str], expected: list[int]) -> None:
    assert way("", texts) == expected


def partition(numbers: list[int], texts: tuple[str, ...]) -> set[frozenset[str]]:
    pairs = list(zip(numbers, texts, strict=True))
    return {frozenset(text for one, text in pairs if one == place) for place in set(numbers)}


@pytest.mark.parametrize(
    "way",
    [numeric(absolute=0.5), by_relation(lambda q, a, b: abs(float(a) - float(b)) <= 0.5)],
)
def test_a_relation_that_is_not_transitive_does_not_depend_on_the_order(way: Collapse) -> None:
    # 1.4 is near both of its neighbours, which are not near each other. It leads where it is
    # frequent; where all are equally frequent, what comes first by length and alphabet does.
    for texts, expected in [
        (("1.0", "1.4", "1.4", "1.8"), {frozenset({"1.0", "1.4", "1.8"})}),
        (("1.0", "1.4", "1.8"), {frozenset({"1.0", "1.4"}), frozenset({"1.8"})}),
    ]:
        for order in permutations(texts):
            assert partition(way("", order), order) == expected


@given(
    st.lists(st.sampled_from(["1", "1.3", "1.6", "1.9", "2.2", "many"]), min_size=1, max_size=8),
    st.randoms(use_true_random=False),
)
@examples(100)
def test_classes_do_not_depend_on_the_order_of_samples(
    texts: list[str], random: "np.random.Generator"
) -> None:
    way = numeric(absolute=0.4)
    number = dict(zip(texts, way("", texts), strict=True))
    shuffled = list(texts)
    random.shuffle(shuffled)
    assert way("", shuffled) == [number[text] for text in shuffled]


def test_a_relation_is_asked_once_per_pair_of_different_wordings() -> None:
    asked: list[tuple[str, str]] = []

    def same(_: str, first: str, second: str) -> bool:
        asked.append((first, second))
        return False

    by_relation(same)("", ["a b", "A b", "c", "c", "d"])
    assert len(asked) == len(set(asked)) == 3


@pytest.mark.parametrize("bad", [-1.0, float("nan"), float("inf")])
def test_bad_tolerances(bad: float) -> None:
    with pytest.raises(OptionError):
        numeric(absolute=bad)


# The judge.


def second_stage(both_orders: bool) -> tuple[SemanticSampling, dict[str, Reading]]:
    asked = SemanticSampling([ROME], n_samples=4)
    replies = ["Rome", "in Rome", "Bern", "Rome."]
    pairs = zip(asked.prompts(), replies, strict=True)
    return asked, {prompt.key: asked.read(prompt, reply) for prompt, reply in pairs}


@pytest.mark.parametrize("both_orders", [False, True])
def test_the_judge_compares_every_pair_of_wordings(both_orders: bool) -> None:
    asked, said = second_stage(both_orders)
    judged = asked.judge_prompts(said, both_orders=both_orders)
    assert len(judged) == 3 * (1 + both_orders)
    assert len({prompt.key for prompt in judged}) == len(judged)
    for prompt in judged:
        rome = {"Rome", "in Rome"} == {prompt.about["first"], prompt.about["second"]}
        said[prompt.key] = read_reply(prompt, "Yes." if rome else "No.")
    found = asked.score(said, judged=judged)
    assert found.classes == (("Rome", "Rome", "Bern", "Rome"),)
    assert found.correct.tolist() == [[1, 1, 0, 1]]
    assert found.n_unjudged == 0


def test_one_no_of_two_orders_decides_and_a_failed_comparison_is_counted() -> None:
    asked, said = second_stage(both_orders=True)
    judged = asked.judge_prompts(said, both_orders=True)
    first, second = judged[:2]
    yes, no = read_reply(first, "yes"), read_reply(first, "no")
    verdicts = Verdicts(judged, {first.key: yes, second.key: no})
    assert verdicts.unjudged == 2
    half = Verdicts(judged[:2], {first.key: yes})
    assert half.unjudged == 1
    pair = [first.about["first"], first.about["second"]]
    assert len(set(half.collapse()(ROME.text, pair))) == 2
    found = asked.score(said, judged=judged)
    assert found.n_unjudged == 3
    assert "3 pairs were not judged" in found.summary()


def test_comparisons_keep_their_keys_whatever_the_order_of_samples() -> None:
    asked, said = second_stage(both_orders=False)
    keys = list(said)
    turned = {key: said[other] for key, other in zip(keys, reversed(keys), strict=True)}
    found = {prompt.key for prompt in asked.judge_prompts(said)}
    assert found == {prompt.key for prompt in asked.judge_prompts(turned)}


# Scores.


def test_the_modal_class_is_graded_by_its_commonest_wording() -> None:
    found = scored({"rome": ["rome.", "Rome", "Bern", "Rome"], "cups": ["12", "12.4", "9", "9"]})
    assert found.modal == ("Rome", None)
    assert found.correct.tolist() == [[1, 1, 0, 1], [1, 1, 0, 0]]
    confidence = semantic_confidence(found.samples)
    assert confidence.confidence.tolist() == [[0.75, 0.5]]
    assert confidence.correct.tolist() == [[1.0, 0.5]]


@pytest.mark.parametrize(
    ("abstentions", "codes", "share", "right"),
    [
        ("left_out", [0, 1, 1], 2 / 3, np.nan),
        ("wrong", [0, 1, 1], 2 / 3, 0.0),
        ("missing", [0, -1, -1], 1.0, 1.0),
    ],
)
def test_abstentions(abstentions: str, codes: list[int], share: float, right: float) -> None:
    replies: list[str | None] = ["Rome", "I don't know", "unanswerable"]
    found = scored({"rome": replies}, abstentions=abstentions)
    assert found.samples.codes[0, 0].tolist() == codes
    confidence = semantic_confidence(found.samples)
    assert confidence.confidence[0, 0] == pytest.approx(share)
    assert confidence.correct[0, 0] == pytest.approx(right, nan_ok=True)


def test_abstaining_is_right_where_there_is_no_answer() -> None:
    asked = SemanticSampling([Question(key="q", text="When did nobody?")], n_samples=2)
    said = [asked.read(prompt, "unanswerable") for prompt in asked.prompts()]
    found = asked.score(said)
    assert found.modal == (ABSTAINED,)
    assert found.correct.tolist() == [[1.0, 1.0]]


def test_failed_calls_are_missing() -> None:
    found = scored({"rome": ["Rome", None, "Rome"], "cups": [None, None, None]})
    assert found.samples.n_samples.tolist() == [[2, 0]]
    assert found.modal == ("Rome", None)
    assert found.outcomes[1] == (Outcome.FAILED,) * 3
    assert "4 failed" in found.summary()


def test_a_store_alone_can_be_scored() -> None:
    asked = SemanticSampling([ROME, CUPS], n_samples=3)
    prompts = [Prompt.from_dict(one.to_dict()) for one in asked.prompts()]
    said = {one.key: read_reply(one, "12.4" if one.item == "cups" else "Rome") for one in prompts}
    own, alone = asked.score(said), score_readings(prompts, said)
    assert own.to_dict() == alone.to_dict()
    assert alone.correct.min() == 1.0


def test_classes_by_a_function_need_the_function() -> None:
    asked = SemanticSampling([ROME], n_samples=2, collapse=by_function(len))
    said = [asked.read(prompt, "Rome") for prompt in asked.prompts()]
    assert asked.score(said).modal == ("Rome",)
    with pytest.raises(InputError, match="by_function"):
        score_readings(asked.prompts(), said)


def test_forms_are_scored_by_themselves() -> None:
    both = [prompt_of("base"), prompt_of("instruct")]
    with pytest.raises(InputError, match="by_form"):
        score_readings(both, {})
    assert {form: len(these) for form, these in by_form(both).items()} == {
        "base": 1,
        "instruct": 1,
    }


def test_readings_that_belong_to_no_prompt() -> None:
    asked = SemanticSampling([ROME], n_samples=2)
    with pytest.raises(ShapeError):
        asked.score([None])
    with pytest.raises(LabelError):
        asked.score({"elsewhere": Reading(outcome=Outcome.EMPTY)})


def test_log_likelihoods_stand_beside_their_samples() -> None:
    asked = SemanticSampling([ROME], n_samples=2)
    keys = [prompt.key for prompt in asked.prompts()]
    said = [asked.read(prompt, "Rome") for prompt in asked.prompts()]
    found = asked.score(said, loglik={keys[1]: -2.5})
    assert found.samples.loglik[0, 0].tolist() == pytest.approx([np.nan, -2.5], nan_ok=True)
    assert found.to_frame("m").loglik.tolist() == pytest.approx([np.nan, -2.5], nan_ok=True)


def test_samples_are_stacked_by_question() -> None:
    one = scored({"rome": ["Rome", "Bern"], "cups": ["12", "9"]})
    other = scored({"cups": ["12", "12", "9"]})
    both = stack_samples({"a": one, "b": other})
    assert both.models == ("a", "b")
    assert both.questions == ("cups",)
    assert both.n_samples.tolist() == [[2], [3]]
    assert both.right[1, 0].tolist() == [1, 1, 0]


@pytest.mark.parametrize(
    ("arms", "match"),
    [
        (dict, "empty"),
        (lambda: {"a": scored({"rome": ["x"]}), "b": scored({"cups": ["x"]})}, "no question"),
        (
            lambda: {"a": stack_samples({1: scored({"rome": ["x"]}), 2: scored({"rome": ["x"]})})},
            "2 models",
        ),
    ],
)
def test_samples_that_cannot_be_stacked(arms: Callable[[], dict], match: str) -> None:  # type: ignore[type-arg]
    with pytest.raises(InputError, match=match):
        stack_samples(arms())


def test_recorded_replies_of_a_small_model(shared: Path) -> None:
    # 60 of its replies were stopped after one token, by design: none of them is an answer.
    path = shared / "samples" / "smollm2_squad" / "raw_responses.jsonl"
    counts: Counter[str] = Counter()
    for line in path.read_text(encoding="utf-8").splitlines():
        choice = json.loads(line)["response"]["choices"][0]
        found = read_reply(
            prompt_of("instruct"),
            choice["message"]["content"],
            finish_reason=choice["finish_reason"],
        )
        counts[f"{choice['finish_reason']} {found.outcome}"] += 1
    assert set(counts) == {"length truncated", "stop answered"}
    assert counts["stop answered"] == 28


def test_words_of_meanings():
    assert wordings(["x", "y", "y"], ["X", "y", "y"]) == {"y": "y", "x": "X"}
    assert list(wordings(["x", "y", "y"], ["X", "y", "y"])) == ["y", "x"]
    assert (normal_form("The end!"), normal_form("+")) == ("end", "+")
    assert as_collapse({"method": "numeric", "absolute": 0.5}).method == "numeric"
