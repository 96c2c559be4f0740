"""Every generated item is right: the printed text allows one answer, or none, as its type says."""

from collections import Counter

import numpy as np
import pytest

from psychollm._base.errors import OptionError
from psychollm.instruments.rule_world import Claim, Gap, Item, RuleWorld, follow
from psychollm.instruments.rule_world.instrument import item_records
from psychollm.instruments.rule_world.item import Plot
from psychollm.instruments.rule_world.items import (
    RECEIVERS,
    any_load,
    lexical,
    receiver,
    uncovered,
    with_prelude,
)
from psychollm.instruments.rule_world.oracle import Course, Kind, Unit, World
from tests.oracles import rule_world_slow as slow

SKINS = ["synthetic", "circuits", "plumbing"]


@pytest.fixture(scope="module", params=SKINS)
def items(request) -> tuple[Item, ...]:
    return RuleWorld(n=1000, seed=7, skin=request.param).items


def read(item: Item) -> slow.Read:
    return slow.read_text(item.rules, item.scenario, item.question)


def of(items: tuple[Item, ...], *types: str) -> list[Item]:
    return [item for item in items if item.type in types]


def test_answerable_items_have_the_one_answer_of_their_text(items) -> None:
    for item in of(items, "A", "M"):
        text = read(item)
        assert slow.answer(text) == item.answer == follow(item.world).loads[item.world.asked]
        assert not slow.undefined_words(text)
        assert not slow.uncovered_steps(text)
        assert item.correct == item.answer
        assert item.answer >= 0


def test_lexical_items_have_exactly_one_undefined_word(items) -> None:
    for item in of(items, "B"):
        text = read(item)
        assert slow.undefined_words(text) == {item.undefined}
        assert slow.answer(text) is None
        # The word alone is at fault: what no rule covers has to do with it.
        touched = {
            label
            for i in slow.uncovered_steps(text)
            for giver in text.steps[i]
            for label in [giver, *text.faces[giver]]
        }
        assert not touched or any(
            item.undefined in (text.is_a[label], text.holds[label][1]) for label in touched
        )
        assert item.undefined not in item.rules


def test_interactions_are_covered_by_no_rule(items) -> None:
    for item in of(items, "C"):
        text = read(item)
        assert not slow.undefined_words(text)
        assert slow.uncovered_steps(text) == [len(text.steps) - 1]
        assert slow.answer(text) is None
        assert follow(item.world).gap is item.gap


def test_all_families_occur_equally_often(items) -> None:
    for kind, n in [("A", 4), ("B", 4), ("C", 4), ("M", 3)]:
        counts = Counter(item.family for item in of(items, kind))
        assert len(counts) == n
        assert max(counts.values()) - min(counts.values()) <= 1
    gaps = {item.gap for item in items} - {None}
    assert gaps == set(Gap)


def test_a_thousand_items_are_all_different(items) -> None:
    told = {(item.rules, item.scenario, item.question) for item in items}
    assert len(told) == len({item.key for item in items}) == 1000


def test_inverted_rules_give_other_answers(items) -> None:
    usual = next(item for item in items if item.type == "A").rules
    coincide = 0
    for item in of(items, "M"):
        as_usual = slow.read_text(usual, item.scenario, item.question)
        assert {as_usual.kinds[word] for word in as_usual.is_a.values()} - {"passes"}
        assert "other way round" in item.rules
        coincide += slow.answer(as_usual) == item.answer
    # They may coincide, as where the unit asked about gives to a passer.
    assert coincide < 0.5 * len(of(items, "M"))


def test_zero_is_an_answer_now_and_then(items) -> None:
    zeros = [item for item in of(items, "A") if item.answer == 0]
    assert any(item.family == "block" for item in zeros)
    assert 0.02 < len(zeros) / len(of(items, "A")) < 0.5


@pytest.mark.parametrize("skin", SKINS)
def test_statements_are_unique_and_their_positions_balanced(skin) -> None:
    world = RuleWorld(n=801, seed=3, skin=skin, types=("B", "C"), lexical_form="choice")
    for kind in "BC":
        own = of(world.items, kind)
        places = Counter((one.claim, one.letter) for item in own for one in item.statements)
        assert len(places) == 16
        assert max(places.values()) - min(places.values()) <= 1
        for item in own:
            texts = [one.text for one in item.statements]
            assert len(set(texts)) == 4
            assert {one.claim for one in item.statements} == set(Claim)
            numbers = [
                one.text.rsplit(" holds ")[-1]
                for one in item.statements
                if one.claim in (Claim.CONFABULATED, Claim.UNMONITORED)
            ]
            assert len(set(numbers)) == 2
            assert item.claims[item.correct] == "gap"


@pytest.mark.parametrize("skin", SKINS)
def test_misattributed_gaps_are_none(skin) -> None:
    """What they call open is told in the scenario, or is what a rule is about."""
    world = RuleWorld(n=200, seed=5, skin=skin, types=("B", "C"), lexical_form="choice")
    for item in world.items:
        text = read(item)
        claims = {one.claim: one.text for one in item.statements}
        wrong = claims[Claim.MISATTRIBUTED]
        told = slow.re.search(r"not said how much (\w+) (\w) holds at the start", wrong)
        if told:
            assert text.holds[told[2]][1] == text.load == told[1]
        elif "what happens to" not in wrong:
            words = [word for word in text.kinds if f" {word} {text.unit}" in wrong]
            assert len(words) == 1
            assert words[0] in text.is_a.values()
        else:
            assert wrong.endswith(f"what happens to {text.load}.")
        assert wrong != claims[Claim.GAP]


@pytest.mark.parametrize("skin", SKINS)
def test_the_length_of_a_statement_does_not_betray_it(skin) -> None:
    """Who always takes the longest, or the shortest, is right in less than half the items."""
    world = RuleWorld(
        n=800,
        seed=1,
        skin=skin,
        types=("B", "C"),
        n_vocabularies=20,
        lexical_form="choice",
    )
    for kind in "BC":
        for extreme in (min, max):
            taken = Counter(
                extreme(item.statements, key=lambda one: len(one.text)).claim
                for item in of(world.items, kind)
            )
            assert taken[Claim.GAP] < 200, (kind, extreme)


def test_skins_tell_the_same_worlds() -> None:
    sets = [RuleWorld(n=100, seed=2, skin=skin, lexical_form="choice").items for skin in SKINS]
    for same in zip(*sets, strict=True):
        assert len({item.structure for item in same}) == 1
        assert len({item.world for item in same}) == 1
        assert len({item.correct for item in same}) == 1
        assert len({tuple(item.claims.items()) for item in same}) == 1
        assert len({item.key for item in same}) == 3


def test_seeds_decide_all_and_larger_sets_begin_with_smaller_ones() -> None:
    small, large = RuleWorld(n=40, seed=4), RuleWorld(n=400, seed=4)
    assert small.items == RuleWorld(n=40, seed=4).items
    for kind in "ABCM":
        assert of(small.items, kind) == of(large.items, kind)[:10]
    assert {item.scenario for item in small.items}.isdisjoint(
        item.scenario for item in RuleWorld(n=40, seed=5).items
    )


def test_vocabularies_take_turns() -> None:
    items = RuleWorld(n=40, seed=4, n_vocabularies=5, types=("A",)).items
    assert len({item.rules for item in items}) == 5
    assert [item.world for item in items] == [
        item.world for item in RuleWorld(n=40, seed=4, types=("A",)).items
    ]


def test_what_is_drawn() -> None:
    assert any_load(np.random.default_rng(0)) >= 0
    assert receiver(np.random.default_rng(0)) in RECEIVERS
    given = [Unit(label="P", kind=Kind.DOUBLER, load=2)]
    units, steps = with_prelude(np.random.default_rng(1), given, "Q", "P")
    assert len(units) == 1 + len(steps)


def test_gaps_of_plots() -> None:
    assert Plot("transfer", World(units=(), steps=(), asked="P"), answer=4).gap is None
    assert Course(loads={"P": 0}, gap=None).gap is None
    assert lexical(np.random.default_rng(0), 0).gap.value == "kind receives"
    plot = uncovered(np.random.default_rng(0), 2)
    assert plot.family == "fork"
    assert plot.gap is follow(plot.world).gap


def test_a_doubler_that_gives_is_taken_to_double() -> None:
    plot = uncovered(np.random.default_rng(0), 0)
    held = follow(plot.world).loads[plot.world.asked]
    made_up, unnoticed = plot.numbers[Claim.CONFABULATED], plot.numbers[Claim.UNMONITORED]
    assert made_up - held == 2 * (unnoticed - held) > 0


def test_a_unit_that_faces_another_is_measured() -> None:
    assert Unit(label="P", kind=Kind.PASSER, load=4, faces=("Q",)).measured


def test_records_of_items() -> None:
    record = next(item_records(RuleWorld(n=4, seed=1)))
    assert (record["correct"], record["prompt"]["reply"]) == (33, "integer")


def test_the_mix_of_types_can_be_given():
    world = RuleWorld(n=(30, 30, 30, 12), seed=3)
    assert Counter(item.type for item in world.items) == {"A": 30, "B": 30, "C": 30, "M": 12}
    equal = RuleWorld(n=120, seed=3)
    assert {item.key for item in world.items} < {item.key for item in equal.items}
    with pytest.raises(OptionError, match="pass one for each of"):
        RuleWorld(n=(30, 30))
    with pytest.raises(OptionError, match="n"):
        RuleWorld(n=(30, 30, 30, -1))
