"""Type B: the rules would settle the answer, but for one word that they do not define.

It is a kind of unit that gives or receives, or the quantity that is given or asked about.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from psychollm.instruments.rule_world.draws import (
    any_load,
    labels,
    receiver,
    some,
    with_prelude,
)
from psychollm.instruments.rule_world.item import Claim, Plot
from psychollm.instruments.rule_world.oracle import Gap, follow
from psychollm.instruments.rule_world.world import Kind, Unit, World


def lexical(rng: np.random.Generator, number: int) -> Plot:
    """Draw a world with one thing in it that no rule defines."""
    gap = tuple(_DRAWN)[number % len(_DRAWN)]
    world = _DRAWN[gap](rng)
    return Plot(
        family=gap.value,
        world=world,
        gap=gap,
        draw=int(rng.integers(1 << 30)),
        numbers={claim: _number(world, gap, claim) for claim in _SURE},
    )


_SURE = (Claim.CONFABULATED, Claim.UNMONITORED)


def _pair(rng: np.random.Generator, giver: Kind, taker: Kind) -> World:
    """Draw a unit that gives to another, perhaps after it has received."""
    first, second, third = labels(rng, 3)
    units = [
        Unit(label=first, kind=giver, load=some(rng), faces=(second,)),
        Unit(label=second, kind=taker, load=any_load(rng)),
    ]
    # Only what the rules cover comes first: nothing moves to what is undefined.
    into = first if taker is Kind.UNKNOWN else second
    told, steps = with_prelude(rng, units, third, into)
    return World(units=told, steps=(*steps, (first,)), asked=second)


def _quantity_given(rng: np.random.Generator) -> World:
    world = _pair(rng, Kind.PASSER, receiver(rng))
    giver = world.steps[-1][0]
    units = tuple(
        replace(unit, measured=False) if unit.label == giver else unit for unit in world.units
    )
    return replace(world, units=units)


def _quantity_asked(rng: np.random.Generator) -> World:
    return replace(_pair(rng, Kind.PASSER, receiver(rng)), asks_load=False)


_DRAWN: dict[Gap, Callable[[np.random.Generator], World]] = {
    Gap.KIND_RECEIVES: lambda rng: _pair(rng, Kind.PASSER, Kind.UNKNOWN),
    Gap.QUANTITY_GIVEN: _quantity_given,
    Gap.KIND_GIVES: lambda rng: _pair(rng, Kind.UNKNOWN, receiver(rng)),
    Gap.QUANTITY_ASKED: _quantity_asked,
}


def _number(world: World, gap: Gap, claim: Claim) -> int:
    """Return what is left of the question once a meaning is made up, or none is missed."""
    giver = world.steps[-1][0]
    sure = replace(
        world,
        asks_load=True,
        units=tuple(
            replace(unit, measured=True, kind=_meant(unit.kind, gap, claim))
            for unit in world.units
        ),
    )
    plain = follow(sure).loads[world.asked]
    if claim is Claim.UNMONITORED or gap is Gap.KIND_RECEIVES:
        return plain
    # Made up: what is undefined counts twice.
    if gap is Gap.QUANTITY_ASKED:
        return 2 * plain
    before = follow(replace(sure, steps=world.steps[:-1])).loads
    return plain + _times(sure) * before[giver]


def _meant(kind: Kind, gap: Gap, claim: Claim) -> Kind:
    if kind is not Kind.UNKNOWN:
        return kind
    doubled = gap is Gap.KIND_RECEIVES and claim is Claim.CONFABULATED
    return Kind.DOUBLER if doubled else Kind.PASSER


def _times(world: World) -> int:
    return 2 if world.unit(world.asked).kind is Kind.DOUBLER else 1
