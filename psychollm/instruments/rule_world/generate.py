"""Items of all types, each from a stream of its own: more items leave the first ones unchanged."""

from collections.abc import Callable, Iterator

import numpy as np

from psychollm.instruments.rule_world.item import Item, ItemType, Plot
from psychollm.instruments.rule_world.items_a import answerable, derived
from psychollm.instruments.rule_world.items_b import lexical
from psychollm.instruments.rule_world.items_c import uncovered
from psychollm.instruments.rule_world.options import positions, statements
from psychollm.instruments.rule_world.oracle import Gap
from psychollm.instruments.rule_world.rules import Rules
from psychollm.instruments.rule_world.skins import Lexicon, Skin, lexicon
from psychollm.instruments.rule_world.wording import question, scenario

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
