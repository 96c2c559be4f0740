"""A small world: units that hold a load, what they face, and the steps that are taken."""

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
