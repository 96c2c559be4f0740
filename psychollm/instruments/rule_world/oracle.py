"""What the rules make of a world, in whole numbers, and where they fall silent.

The rules cover one event: a passer that is set off alone and faces exactly one unit. Then its load
moves there, twice over if that unit is a doubler, and stays where it is if that unit is a blocker.
Every other event is a gap: the rules do not settle what it does to those that take part in it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What a unit is."""

    PASSER = "passer"
    DOUBLER = "doubler"
    BLOCKER = "blocker"
    UNKNOWN = "unknown"  # of a kind that no rule defines


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A unit at the start."""

    label: str
    kind: Kind
    load: int
    faces: tuple[str, ...] = ()
    measured: bool = True  # False if `load` is an amount of something that no rule defines


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Units, steps and the unit that is asked about."""

    units: tuple[Unit, ...]
    steps: tuple[tuple[str, ...], ...]  # the units set off at each step, together
    asked: str
    asks_load: bool = True  # False if the question is about something that no rule defines

    def unit(self, label: str) -> Unit:
        """Return a unit by its label."""
        return next(unit for unit in self.units if unit.label == label)


class Gap(StrEnum):
    """What the rules do not cover."""

    DOUBLER_GIVES = "doubler gives"
    BLOCKER_GIVES = "blocker gives"
    FORK = "fork"
    MUTUAL = "mutual"
    KIND_GIVES = "kind gives"
    KIND_RECEIVES = "kind receives"
    QUANTITY_GIVEN = "quantity given"
    QUANTITY_ASKED = "quantity asked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """How far the rules carry, and what stops them."""

    loads: Mapping[str, int]  # after the last step that the rules cover
    gap: Gap | None  # the first, if there is one


def follow(world: World) -> Course:
    """Follow the rules through all steps of a world, up to the first gap."""
    loads = {unit.label: unit.load for unit in world.units}
    for step in world.steps:
        gap = _gap(world, step)
        if gap is not None:
            return Course(loads=loads, gap=gap)
        giver = world.unit(step[0])
        _move(loads, giver, world.unit(giver.faces[0]))
    return Course(loads=loads, gap=None if world.asks_load else Gap.QUANTITY_ASKED)


_GIVING = {
    Kind.DOUBLER: Gap.DOUBLER_GIVES,
    Kind.BLOCKER: Gap.BLOCKER_GIVES,
    Kind.UNKNOWN: Gap.KIND_GIVES,
}


def _gap(world: World, step: tuple[str, ...]) -> Gap | None:
    """Return what the rules do not cover in one step, None if they cover it all."""
    if len(step) > 1:
        return Gap.MUTUAL
    giver = world.unit(step[0])
    if giver.kind in _GIVING:
        return _GIVING[giver.kind]
    if len(giver.faces) != 1:
        return Gap.FORK
    receiver = world.unit(giver.faces[0])
    if receiver.kind is Kind.UNKNOWN:
        return Gap.KIND_RECEIVES
    return None if giver.measured and receiver.measured else Gap.QUANTITY_GIVEN


def _move(loads: dict[str, int], giver: Unit, receiver: Unit) -> None:
    if receiver.kind is Kind.BLOCKER:
        return
    times = 2 if receiver.kind is Kind.DOUBLER else 1
    loads[receiver.label] += times * loads[giver.label]
    loads[giver.label] = 0
