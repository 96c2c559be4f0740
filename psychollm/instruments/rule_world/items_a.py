"""Type A: the rules settle the answer, a whole number."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from psychollm.instruments.rule_world.draws import any_load, labels, shuffled, some
from psychollm.instruments.rule_world.item import Plot
from psychollm.instruments.rule_world.oracle import follow
from psychollm.instruments.rule_world.world import Kind, Unit, World


def answerable(rng: np.random.Generator, number: int) -> Plot:
    """Draw a world whose every step the rules cover."""
    # Families follow each other: a transfer, a doubling, a block, all three rules at once.
    families = tuple(_DRAWN)
    family = families[number % len(families)]
    world = _DRAWN[family](rng)
    return Plot(family=family, world=world, answer=follow(world).loads[world.asked])


def derived(rng: np.random.Generator, number: int) -> Plot:
    """Draw a world with a unit that doubles or blocks: what an inversion changes."""
    return answerable(rng, number % 3 + 1)


def _chain(rng: np.random.Generator, last: Kind) -> World:
    """Draw passers in a row, and a unit at their end that matters most."""
    n = int(rng.integers(2, 5))
    names = labels(rng, n)
    units = [
        Unit(label=name, kind=Kind.PASSER, load=some(rng), faces=(after,))
        for name, after in pairwise(names)
    ]
    units.append(Unit(label=names[-1], kind=last, load=any_load(rng)))
    givers = names[:-1]
    if rng.random() < 1 / 3:
        givers = [givers[i] for i in rng.permutation(n - 1)]
    asked = names[-1] if rng.random() < 2 / 3 else names[rng.integers(n)]
    return World(
        units=shuffled(rng, units), steps=tuple((giver,) for giver in givers), asked=asked
    )


def _all_rules(rng: np.random.Generator) -> World:
    """Draw a row of two passers and a doubler, and a passer that faces a blocker."""
    first, second, doubler, third, blocker = names = labels(rng, 5)
    units = [
        Unit(label=first, kind=Kind.PASSER, load=some(rng), faces=(second,)),
        Unit(label=second, kind=Kind.PASSER, load=some(rng), faces=(doubler,)),
        Unit(label=doubler, kind=Kind.DOUBLER, load=any_load(rng)),
        Unit(label=third, kind=Kind.PASSER, load=some(rng), faces=(blocker,)),
        Unit(label=blocker, kind=Kind.BLOCKER, load=any_load(rng)),
    ]
    order = rng.permutation(3)
    steps = tuple(((first, second, third)[i],) for i in order)
    return World(units=shuffled(rng, units), steps=steps, asked=names[rng.integers(5)])


_DRAWN: dict[str, Callable[[np.random.Generator], World]] = {
    "transfer": lambda rng: _chain(rng, Kind.PASSER),
    "double": lambda rng: _chain(rng, Kind.DOUBLER),
    "block": lambda rng: _chain(rng, Kind.BLOCKER),
    "all rules": _all_rules,
}
