"""Type C: every word is defined, but no rule covers the event that decides the answer."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from psychollm.instruments.rule_world.draws import any_load, labels, receiver, some, with_prelude
from psychollm.instruments.rule_world.item import Claim, Plot
from psychollm.instruments.rule_world.oracle import Gap, follow
from psychollm.instruments.rule_world.world import Kind, Unit, World


def uncovered(rng: np.random.Generator, number: int) -> Plot:
    """Draw a world whose last step no rule covers."""
    # A doubler or a blocker is set off, a passer faces two units, or two passers face each other
    # and are set off together.
    gap = tuple(_DRAWN)[number % len(_DRAWN)]
    world = _DRAWN[gap](rng)
    before = follow(world).loads
    confabulated, unmonitored = _GUESSES[gap](world, before)
    return Plot(
        family=gap.value,
        world=world,
        gap=gap,
        draw=int(rng.integers(1 << 30)),
        numbers={Claim.CONFABULATED: confabulated, Claim.UNMONITORED: unmonitored},
    )


def _gives(rng: np.random.Generator, kind: Kind) -> World:
    first, second, third = labels(rng, 3)
    units = [
        Unit(label=first, kind=kind, load=some(rng), faces=(second,)),
        Unit(label=second, kind=receiver(rng), load=any_load(rng)),
    ]
    told, steps = with_prelude(rng, units, third, first)
    return World(units=told, steps=(*steps, (first,)), asked=second)


def _fork(rng: np.random.Generator) -> World:
    first, second, third, fourth = labels(rng, 4)
    units = [
        Unit(label=first, kind=Kind.PASSER, load=some(rng), faces=(second, third)),
        Unit(label=second, kind=receiver(rng), load=any_load(rng)),
        Unit(label=third, kind=receiver(rng), load=any_load(rng)),
    ]
    told, steps = with_prelude(rng, units, fourth, first)
    asked = (second, third)[rng.integers(2)]
    return World(units=told, steps=(*steps, (first,)), asked=asked)


def _mutual(rng: np.random.Generator) -> World:
    first, second, third = labels(rng, 3)
    units = [
        Unit(label=first, kind=Kind.PASSER, load=some(rng), faces=(second,)),
        Unit(label=second, kind=Kind.PASSER, load=some(rng), faces=(first,)),
    ]
    told, steps = with_prelude(rng, units, third, first)
    asked = (first, second)[rng.integers(2)]
    return World(units=told, steps=(*steps, (first, second)), asked=asked)


_DRAWN: dict[Gap, Callable[[np.random.Generator], World]] = {
    Gap.DOUBLER_GIVES: lambda rng: _gives(rng, Kind.DOUBLER),
    Gap.BLOCKER_GIVES: lambda rng: _gives(rng, Kind.BLOCKER),
    Gap.FORK: _fork,
    Gap.MUTUAL: _mutual,
}


# What the asked unit would hold under a rule made up, and if some rule is taken to cover it all.


def _guess_gives(world: World, before: Mapping[str, int]) -> tuple[int, int]:
    giver, held = world.unit(world.steps[-1][0]), before[world.asked]
    moved = before[giver.label] * _times(world)
    keeps = giver.kind is Kind.BLOCKER
    return (held if keeps else held + 2 * moved), held + moved


def _guess_fork(world: World, before: Mapping[str, int]) -> tuple[int, int]:
    held, moved = before[world.asked], before[world.steps[-1][0]] * _times(world)
    return held + moved // 2, held + moved


def _guess_mutual(world: World, before: Mapping[str, int]) -> tuple[int, int]:
    """Made up: the first named goes first. Taken as covered: they exchange what they hold."""
    apart = tuple((one,) for one in world.steps[-1])
    in_turn = follow(replace(world, steps=(*world.steps[:-1], *apart))).loads
    (other,) = set(world.steps[-1]) - {world.asked}
    return in_turn[world.asked], before[other]


_GUESSES: dict[Gap, Callable[[World, Mapping[str, int]], tuple[int, int]]] = {
    Gap.DOUBLER_GIVES: _guess_gives,
    Gap.BLOCKER_GIVES: _guess_gives,
    Gap.FORK: _guess_fork,
    Gap.MUTUAL: _guess_mutual,
}


def _times(world: World) -> int:
    return 2 if world.unit(world.asked).kind is Kind.DOUBLER else 1
