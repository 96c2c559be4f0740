"""Statements to choose from: one names the gap, three fail in different ways.

Their order is a row of a Latin square, so that in every four items each claim stands once under
each letter.
"""

import numpy as np

from psychollm.instruments.rule_world.item import Claim, Plot, Statement
from psychollm.instruments.rule_world.oracle import Gap, Kind
from psychollm.instruments.rule_world.skins import Lexicon

LETTERS = "ABCD"


def positions(seed: int, code: int, number: int) -> tuple[Claim, ...]:
    """Return the claims in the order of the letters, balanced over blocks of four items."""
    rng = np.random.default_rng([seed, code, number // 4, 0x11])
    claims, shifts = rng.permutation(4), rng.permutation(4)
    shift = int(shifts[number % 4])
    return tuple(list(Claim)[claims[(i + shift) % 4]] for i in range(4))


def statements(
    plot: Plot, words: Lexicon, undefined: str | None, order: tuple[Claim, ...]
) -> tuple[Statement, ...]:
    """Return the statements about an open question."""
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
    """Begin a statement in one of two lengths, so that the shortest is not always the same."""
    return ("By the rules", "The rules cover every step, so at the end")[plot.draw // 64 % 2]


def _gap(plot: Plot, w: Lexicon, undefined: str | None) -> str:
    """Say what the rules leave open."""
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
    """State a rule that there is not."""
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
    """Call open what the item or the rules say, in the words of `_gap`."""
    # Statements that differ in form would betray the right one to who has not read the item.
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
    """Return an event that Rule 1, 2 or 3 covers."""
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
        msg = f"a plot of the family {plot.family!r} has no gap: there is nothing to choose from"
        raise ValueError(msg)
    return plot.gap
