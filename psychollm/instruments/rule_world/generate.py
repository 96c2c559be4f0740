"""Items of all types, each from a stream of its own: more items leave the first ones unchanged."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from psychollm.instruments.rule_world.item import Item, ItemType, Plot
from psychollm.instruments.rule_world.items import answerable, derived, lexical, uncovered
from psychollm.instruments.rule_world.options import positions, statements
from psychollm.instruments.rule_world.oracle import Gap
from psychollm.instruments.rule_world.skins import Lexicon, Skin, lexicon
from psychollm.instruments.rule_world.wording import question, scenario


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of a world, told in a lexicon."""

    # Inverted, the word that doubles elsewhere blocks, and the other way round; the text says so.

    usual: Lexicon
    inverted: bool = False

    @property
    def words(self) -> Lexicon:
        """The lexicon by what its words do here."""
        if not self.inverted:
            return self.usual
        return replace(self.usual, doubler=self.usual.blocker, blocker=self.usual.doubler)

    @property
    def text(self) -> str:
        """All that is known about the world."""
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
    """Yield worlds of one type without end, no two alike.

    Parameters
    ----------
    kind : {"A", "B", "C", "M"}
        The type.
    seed : int
        What they are drawn from.

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
    """Tell a world in the words of a skin."""
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
    """Return the word that no rule defines, if there is to be one."""
    if plot.gap in {Gap.KIND_GIVES, Gap.KIND_RECEIVES}:
        return words.kinds[plot.draw % len(words.kinds)]
    if plot.gap in {Gap.QUANTITY_GIVEN, Gap.QUANTITY_ASKED}:
        return words.quantities[plot.draw % len(words.quantities)]
    return None
