"""Items of all types, each drawn from its own random stream.

A larger set of items begins with the items of a smaller set. An item may offer four statements.
One statement names the gap, that is, the matter that the rules leave open; the other three are
wrong in different ways. The order of the statements follows a row of a Latin square. In each block
of four items, every kind of statement therefore occurs once under each letter.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from psychollm.instruments.rule_world.item import Claim, Item, ItemType, Plot, Statement
from psychollm.instruments.rule_world.items import answerable, derived, lexical, uncovered
from psychollm.instruments.rule_world.oracle import Gap, Kind
from psychollm.instruments.rule_world.skins import Lexicon, Skin, lexicon, question, scenario

LETTERS = "ABCD"


def positions(seed: int, code: int, number: int) -> tuple[Claim, ...]:
    """Return the kinds of statements by letter, balanced over blocks of four items."""
    rng = np.random.default_rng([seed, code, number // 4, 0x11])
    claims, shifts = rng.permutation(4), rng.permutation(4)
    shift = int(shifts[number % 4])
    return tuple(list(Claim)[claims[(i + shift) % 4]] for i in range(4))


def statements(
    plot: Plot, words: Lexicon, undefined: str | None, order: tuple[Claim, ...]
) -> tuple[Statement, ...]:
    """Return the four statements to choose from."""
    texts = {
        Claim.GAP: f"It is open, because {_gap(plot, words, undefined)}.",
        Claim.CONFABULATED: f"{_made_up(plot, words, undefined)}, so at the end "
        f"{_held(plot, words, undefined, Claim.CONFABULATED)}.",
        Claim.MISATTRIBUTED: f"It is open, because {_wrong_gap(plot, words)}.",
        Claim.UNMONITORED: f"{_covered(plot)} {_held(plot, words, undefined, Claim.UNMONITORED)}.",
    }
    return tuple(
        Statement(letter=letter, claim=claim, text=texts[claim])
        for letter, claim in zip(LETTERS, order, strict=True)
    )


def _covered(plot: Plot) -> str:
    """Return a statement with a short or long opening, so that length is uninformative."""
    return ("By the rules", "The rules cover every step, so at the end")[plot.draw // 64 % 2]


def _gap(plot: Plot, w: Lexicon, undefined: str | None) -> str:
    """Return the statement that the rules do not determine what happens."""
    none = "no rule says what happens when"
    return {
        Gap.DOUBLER_GIVES: f"{none} a {w.doubler} {w.unit} is {w.set_off}",
        Gap.BLOCKER_GIVES: f"{none} a {w.blocker} {w.unit} is {w.set_off}",
        Gap.FORK: f"{none} a {w.passer} {w.unit} {w.faces} two {w.units}",
        Gap.MUTUAL: f"{none} two {w.units} are {w.set_off} at the same moment",
        Gap.KIND_GIVES: f"no rule says what a {undefined} {w.unit} does",
        Gap.KIND_RECEIVES: f"no rule says what a {undefined} {w.unit} does",
        Gap.QUANTITY_GIVEN: f"no rule says what happens to {undefined}",
        Gap.QUANTITY_ASKED: f"no rule says what happens to {undefined}",
    }[_known(plot)]


def _made_up(plot: Plot, w: Lexicon, undefined: str | None) -> str:
    """Return the text of a rule that does not exist in the world."""
    return {
        Gap.DOUBLER_GIVES: f"A {w.doubler} {w.unit} gives twice what it holds",
        Gap.BLOCKER_GIVES: f"A {w.blocker} {w.unit} lets nothing out",
        Gap.FORK: f"A {w.passer} {w.unit} shares equally between two {w.units}",
        Gap.MUTUAL: "Of two at the same moment the one named first goes first",
        Gap.KIND_GIVES: f"A {undefined} {w.unit} gives twice what it holds",
        Gap.KIND_RECEIVES: f"A {undefined} {w.unit} takes in twice what moves to it",
        Gap.QUANTITY_GIVEN: f"{w.amount(2)} make up one of {undefined}",
        Gap.QUANTITY_ASKED: f"There is twice as much {undefined} as {w.load}",
    }[_known(plot)]


def _held(plot: Plot, w: Lexicon, undefined: str | None, claim: Claim) -> str:
    numbers = plot.numbers or {}
    what = w.load if plot.world.asks_load else undefined
    return f"{plot.world.asked} holds {numbers[claim]} {w.measure}{what}"


def _wrong_gap(plot: Plot, w: Lexicon) -> str:
    """Return a false claim that information is missing, worded like the claims of `_gap`."""
    # If the statements differed in form, the right statement could be recognised without the item.
    giver = plot.world.unit(plot.world.steps[-1][0])
    known = [unit for unit in plot.world.units if unit.measured]
    told = next((unit for unit in known if unit.label == giver.label), known[0])
    kinds = [unit.kind for unit in plot.world.units if unit.kind is not Kind.UNKNOWN]
    claims = [f"it is not said how much {w.load} {told.label} holds at the start"]
    if _known(plot) in {Gap.QUANTITY_GIVEN, Gap.QUANTITY_ASKED}:
        claims += [f"no rule says what happens to {w.load}"] * len(kinds)
    elif plot.gap in {Gap.KIND_GIVES, Gap.KIND_RECEIVES}:
        claims += [f"no rule says what a {w.word(kind)} {w.unit} does" for kind in kinds]
    else:
        claims += [f"no rule says what happens when {_ruled(kind, plot, w)}" for kind in kinds]
    return claims[plot.draw % len(claims)]


def _ruled(kind: Kind, plot: Plot, w: Lexicon) -> str:
    """Return the description of an event that Rule 1, 2 or 3 covers."""
    alone = f"a {w.passer} {w.unit} is {w.set_off} alone"
    return {
        Kind.PASSER: alone
        if plot.gap is Gap.MUTUAL
        else f"a {w.passer} {w.unit} {w.faces} one {w.unit}",
        Kind.DOUBLER: f"{w.load} moves to a {w.doubler} {w.unit}",
        Kind.BLOCKER: f"{w.load} is about to move to a {w.blocker} {w.unit}",
    }[kind]


def _known(plot: Plot) -> Gap:
    if plot.gap is None:
        msg = f"a plot of the family {plot.family!r} has no gap: there are no statements for it"
        raise ValueError(msg)
    return plot.gap


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of a world in the words of a lexicon."""

    # In an inverted world the words for doubling and blocking are exchanged, and the text states
    # this.

    usual: Lexicon
    inverted: bool = False

    @property
    def words(self) -> Lexicon:
        """Lexicon with the functions that words have in this world."""
        if not self.inverted:
            return self.usual
        return replace(self.usual, doubler=self.usual.blocker, blocker=self.usual.doubler)

    @property
    def text(self) -> str:
        """Full description of the world."""
        w = self.words
        lines = [
            f"In this world there are {w.units}, and each can hold {w.load}. Three rules are "
            "known.",
            f"Rule 1. When a {w.passer} {w.unit} is {w.set_off} alone and {w.faces} exactly one "
            f"other {w.unit}, all of its {w.load} moves to that {w.unit} and is added to what is "
            "there.",
            f"Rule 2. When {w.load} moves to a {w.doubler} {w.unit}, twice the amount that set "
            "out is added there instead.",
            f"Rule 3. No {w.load} moves to a {w.blocker} {w.unit}: it stays where it would have "
            "come from.",
            f"A {w.unit} that takes part in no step keeps what it holds. Nothing else is known: "
            "what the rules do not say is not settled.",
        ]
        return "\n".join([*lines, *self._warning])

    @property
    def _warning(self) -> list[str]:
        if not self.inverted:
            return []
        w = self.usual
        return [
            f"In other worlds of this sort a {w.doubler} {w.unit} doubles and a {w.blocker} "
            f"{w.unit} blocks. Here it is the other way round, as the rules above say."
        ]


DRAWN: dict[ItemType, Callable[[np.random.Generator, int], Plot]] = {
    "A": answerable,
    "B": lexical,
    "C": uncovered,
    "M": derived,
}


def plots(kind: ItemType, seed: int) -> Iterator[Plot]:
    """Yield an endless sequence of distinct worlds of one type.

    Parameters
    ----------
    kind : {"A", "B", "C", "M"}
        Type of the items.
    seed : int
        Seed of the worlds.

    Examples
    --------
    >>> next(plots("C", 1)).family
    'doubler gives'
    """
    seen = set()
    number = 0
    attempt = 0
    while True:
        rng = np.random.default_rng([seed, ord(kind), number, attempt])
        plot = DRAWN[kind](rng, number)
        if plot.world in seen:
            attempt += 1
            continue
        seen.add(plot.world)
        number, attempt = number + 1, 0
        yield plot


def told(
    plot: Plot,
    kind: ItemType,
    number: int,
    *,
    seed: int,
    skin: Skin,
    vocabulary: int,
    choice: bool,
) -> Item:
    """Return an item that describes a world in the words of a surface form."""
    rules = Rules(lexicon(skin, seed=seed, number=vocabulary), inverted=kind == "M")
    words = rules.words
    undefined = _undefined(plot, words)
    structure = f"{seed}-{kind}{number + 1:04d}"
    order = positions(seed, ord(kind), number)
    return Item(
        key=f"{skin}-{structure}",
        structure=structure,
        skin=skin,
        type=kind,
        family=plot.family,
        world=plot.world,
        rules=rules.text,
        scenario=scenario(plot.world, words, undefined),
        question=question(plot.world, words, undefined),
        answer=plot.answer,
        gap=plot.gap,
        undefined=undefined,
        statements=statements(plot, words, undefined, order) if choice else (),
    )


def _undefined(plot: Plot, words: Lexicon) -> str | None:
    """Return the undefined word in an item's plot, or None if every word is defined."""
    if plot.gap in {Gap.KIND_GIVES, Gap.KIND_RECEIVES}:
        return words.kinds[plot.draw % len(words.kinds)]
    if plot.gap in {Gap.QUANTITY_GIVEN, Gap.QUANTITY_ASKED}:
        return words.quantities[plot.draw % len(words.quantities)]
    return None
