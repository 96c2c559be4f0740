"""Where the arms of ``psychollm study`` are: in one store or in several."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from psychollm._base.errors import InputError, OptionError


@dataclass(frozen=True, slots=True)
class Source:
    """Where the replies of an arm are."""

    path: Path
    arm: str | None  # None where the store is the arm

    @property
    def code(self) -> str:
        """What names the arm in a call, after other arguments."""
        return "" if self.arm is None else f", arm={self.arm!r}"


def sources_of(held: Mapping[Path, tuple[str, ...]], arm: str | None) -> dict[str, Source]:
    """Return where each arm is, by its name: that in the plan, else that of the store.

    Parameters
    ----------
    held : mapping
        By store: its arms, none where it was asked in one way.
    arm : str, optional
        The only one that is wanted.
    """
    found: dict[str, Source] = {}
    for path, arms in held.items():
        for name in arms or (path.stem,):
            if name in found:
                msg = (
                    f"{found[name].path} and {path} both hold the arm {name!r}: leave one out, or "
                    "rename a store"
                )
                raise InputError(msg)
            found[name] = Source(path, name if arms else None)
    if arm is None:
        return found
    if arm not in found:
        msg = f"--arm {arm}: there is no such arm; known are {', '.join(found)}"
        raise OptionError(msg)
    return {arm: found[arm]}
