"""Effects of a world's rules on loads, computed in whole numbers up to the first gap.

The rules cover one kind of event: a passer is set off alone and faces exactly one unit. The
passer's load then moves to that unit. A doubler receives twice the load; a blocker prevents the
move. Every other event is a gap: the rules do not determine its effect on the participating units.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """Kind of a unit."""

    PASSER = "passer"
    DOUBLER = "doubler"
    BLOCKER = "blocker"
    UNKNOWN = "unknown"  # kind that no rule defines


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """Initial state of a unit."""

    label: str
    kind: Kind
    load: int
    faces: tuple[str, ...] = ()
    measured: bool = True  # False if `load` is an amount of an undefined quantity


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """World of units, with the steps and the requested unit."""

    units: tuple[Unit, ...]
    steps: tuple[tuple[str, ...], ...]  # units that are set off together at each step
    asked: str
    asks_load: bool = True  # False if the question is about an undefined quantity

    def unit(self, label: str) -> Unit:
        """Return a unit by its label."""
        return next(unit for unit in self.units if unit.label == label)


class Gap(StrEnum):
    """Part of an event that the rules do not cover."""

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
    """Load of each unit after the last covered step, and the first gap in the rules, if any."""

    loads: Mapping[str, int]  # load of each unit after the last covered step
    gap: Gap | None  # first gap, or None


def follow(world: World) -> Course:
    """Apply the rules to all steps of a world, up to the first gap."""
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
    """Return the gap of a step; None if the rules cover the step."""
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
