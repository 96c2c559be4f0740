"""Locations of the arms of ``psychollm study`` in one or several stores."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from psychollm._base.errors import InputError, OptionError


@dataclass(frozen=True, slots=True)
class Source:
    """Store with the replies of one arm of the study, and the arm's name in this store."""

    path: Path
    arm: str | None  # name of the arm in the store; None if the whole store is the arm

    @property
    def code(self) -> str:
        """Code that selects the arm, to be appended to the arguments of a call."""
        return "" if self.arm is None else f", arm={self.arm!r}"


def sources_of(held: Mapping[Path, tuple[str, ...]], arm: str | None) -> dict[str, Source]:
    """Return the source of each arm by the arm's name or, without arms, by the store's name.

    Parameters
    ----------
    held : mapping
        Arms of each store, empty if it has none.
    arm : str, optional
        Arm to select; by default all arms.
    """
    found: dict[str, Source] = {}
    for path, arms in held.items():
        for name in arms or (path.stem,):
            if name in found:
                msg = (
                    f"{found[name].path} and {path} both have the arm {name!r}: omit one, or "
                    "rename a store"
                )
                raise InputError(msg)
            found[name] = Source(path, name if arms else None)
    if arm is None:
        return found
    if arm not in found:
        msg = f"--arm {arm} is unknown: use one of {', '.join(found)}"
        raise OptionError(msg)
    return {arm: found[arm]}
