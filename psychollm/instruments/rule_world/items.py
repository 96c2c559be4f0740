"""Generators of plots that have an answer, an undefined word (B) or an uncovered event (C).

In type B, one word is undefined: the word for the kind of the giving or receiving unit, or for the
given or requested quantity.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from psychollm.instruments.rule_world.item import Claim, Plot
from psychollm.instruments.rule_world.oracle import Gap, Kind, Unit, World, follow

# Labels of units. They differ from the letters of statements (A to D), and do not look like a word
# or a digit.
LABELS = tuple("KLMNPQRSTUVWXYZ")
RECEIVERS = (Kind.PASSER, Kind.DOUBLER)  # kinds to which a load can move


def labels(rng: np.random.Generator, n: int) -> list[str]:
    """Draw `n` different labels."""
    return [LABELS[i] for i in rng.permutation(len(LABELS))[:n]]


def some(rng: np.random.Generator) -> int:
    """Draw an even load of at least two, so that it can be divided in half."""
    return 2 * int(rng.integers(1, 31))


def any_load(rng: np.random.Generator) -> int:
    """Draw a load that is zero with a probability of one third."""
    return 0 if rng.random() < 1 / 3 else int(rng.integers(2, 61))


def receiver(rng: np.random.Generator) -> Kind:
    """Draw a kind of unit to which a load can move."""
    return RECEIVERS[rng.integers(2)]


def with_prelude(
    rng: np.random.Generator, units: Sequence[Unit], label: str, into: str
) -> tuple[tuple[Unit, ...], tuple[tuple[str, ...], ...]]:
    """Insert a covered step before the last step, in half of the cases."""
    # In the inserted step, the unit with this label passes its load to the unit `into`. The order
    # of units is random; without an inserted step, the tuple of steps is empty.
    told = list(units)
    steps: tuple[tuple[str, ...], ...] = ()
    if rng.random() < 0.5:
        told.append(Unit(label=label, kind=Kind.PASSER, load=some(rng), faces=(into,)))
        steps = ((label,),)
    return shuffled(rng, told), steps


def shuffled(rng: np.random.Generator, units: Sequence[Unit]) -> tuple[Unit, ...]:
    """Return units in random order."""
    return tuple(units[i] for i in rng.permutation(len(units)))


def answerable(rng: np.random.Generator, number: int) -> Plot:
    """Draw a world in which the rules cover every step."""
    # Families of worlds alternate: a transfer, a doubling, a block, or all three rules at once.
    families = tuple(_ANSWERABLE)
    family = families[number % len(families)]
    world = _ANSWERABLE[family](rng)
    return Plot(family=family, world=world, answer=follow(world).loads[world.asked])


def derived(rng: np.random.Generator, number: int) -> Plot:
    """Draw a world with a unit that doubles or blocks, so that exchanging the words matters."""
    return answerable(rng, number % 3 + 1)


def _chain(rng: np.random.Generator, last: Kind) -> World:
    """Draw a row of passers that ends in a unit of the given kind."""
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
    """Draw a world with two passers and a doubler in a row, and a passer that faces a blocker."""
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


_ANSWERABLE: dict[str, Callable[[np.random.Generator], World]] = {
    "transfer": lambda rng: _chain(rng, Kind.PASSER),
    "double": lambda rng: _chain(rng, Kind.DOUBLER),
    "block": lambda rng: _chain(rng, Kind.BLOCKER),
    "all rules": _all_rules,
}


def lexical(rng: np.random.Generator, number: int) -> Plot:
    """Draw a world with one word that no rule defines."""
    gap = tuple(_LEXICAL)[number % len(_LEXICAL)]
    world = _LEXICAL[gap](rng)
    return Plot(
        family=gap.value,
        world=world,
        gap=gap,
        draw=int(rng.integers(1 << 30)),
        numbers={claim: _number(world, gap, claim) for claim in _SURE},
    )


_SURE = (Claim.CONFABULATED, Claim.UNMONITORED)


def _pair(rng: np.random.Generator, giver: Kind, taker: Kind) -> World:
    """Draw a unit that gives its load to another, possibly after receiving a load itself."""
    first, second, third = labels(rng, 3)
    units = [
        Unit(label=first, kind=giver, load=some(rng), faces=(second,)),
        Unit(label=second, kind=taker, load=any_load(rng)),
    ]
    # The rules must cover all earlier steps, so that no load moves to an undefined unit before the
    # last step.
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


_LEXICAL: dict[Gap, Callable[[np.random.Generator], World]] = {
    Gap.KIND_RECEIVES: lambda rng: _pair(rng, Kind.PASSER, Kind.UNKNOWN),
    Gap.QUANTITY_GIVEN: _quantity_given,
    Gap.KIND_GIVES: lambda rng: _pair(rng, Kind.UNKNOWN, receiver(rng)),
    Gap.QUANTITY_ASKED: _quantity_asked,
}


def _number(world: World, gap: Gap, claim: Claim) -> int:
    """Return the wrong answer that follows from an invented meaning, or from ignoring the gap."""
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
    # The invented meaning is that the undefined object counts twice.
    if gap is Gap.QUANTITY_ASKED:
        return 2 * plain
    before = follow(replace(sure, steps=world.steps[:-1])).loads
    return plain + _times(sure) * before[giver]


def _meant(kind: Kind, gap: Gap, claim: Claim) -> Kind:
    if kind is not Kind.UNKNOWN:
        return kind
    doubled = gap is Gap.KIND_RECEIVES and claim is Claim.CONFABULATED
    return Kind.DOUBLER if doubled else Kind.PASSER


def uncovered(rng: np.random.Generator, number: int) -> Plot:
    """Draw a world whose last step no rule covers."""
    # The last step is one of three uncovered events: a doubler or blocker is set off; a passer
    # faces two units; two passers face each other and are set off together.
    gap = tuple(_UNCOVERED)[number % len(_UNCOVERED)]
    world = _UNCOVERED[gap](rng)
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


_UNCOVERED: dict[Gap, Callable[[np.random.Generator], World]] = {
    Gap.DOUBLER_GIVES: lambda rng: _gives(rng, Kind.DOUBLER),
    Gap.BLOCKER_GIVES: lambda rng: _gives(rng, Kind.BLOCKER),
    Gap.FORK: _fork,
    Gap.MUTUAL: _mutual,
}


# Each function returns two loads of the requested unit: under an invented rule, and under an
# existing rule that is applied beyond its scope.


def _guess_gives(world: World, before: Mapping[str, int]) -> tuple[int, int]:
    giver, held = world.unit(world.steps[-1][0]), before[world.asked]
    moved = before[giver.label] * _times(world)
    keeps = giver.kind is Kind.BLOCKER
    return (held if keeps else held + 2 * moved), held + moved


def _guess_fork(world: World, before: Mapping[str, int]) -> tuple[int, int]:
    held, moved = before[world.asked], before[world.steps[-1][0]] * _times(world)
    return held + moved // 2, held + moved


def _guess_mutual(world: World, before: Mapping[str, int]) -> tuple[int, int]:
    """Return two loads: if units act in turn (an invented rule), and if units exchange loads."""
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
