"""Options that `study` and `calibrate` share: how much is computed, and where results go."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psychollm._base.errors import OptionError

if TYPE_CHECKING:
    from psychollm.estimates.verdict import SmallestEffects


def add_computation(group: Any) -> None:
    """Add resamples, level, smallest effects, seed and threads to a group of options."""
    add = group.add_argument
    add("--bootstrap", type=int, default=2000, metavar="B", help="resamples (%(default)s)")
    add(
        "--level",
        type=float,
        default=0.95,
        metavar="L",
        help="coverage of intervals (%(default)s)",
    )
    add(
        "--smallest",
        metavar="QUANTITY=X,...",
        help="the smallest effect that matters, such as auroc=0.1,share=0.02: what is shown to be "
        "smaller is called so, and is not called absent where data are few",
    )
    add("--seed", type=int, default=1, metavar="S", help="seed of all randomness (%(default)s)")
    add("--jobs", type=int, default=1, metavar="J", help="threads; -1 for all (%(default)s)")


def smallest_of(text: str | None) -> "SmallestEffects":
    """Read ``auroc=0.1,share=0.02``.

    Raises
    ------
    OptionError
        If there is no such quantity, or a value is not positive.

    Examples
    --------
    >>> smallest_of("auroc=0.1").auroc, smallest_of(None).auroc
    (0.1, 0.05)
    """
    from psychollm.estimates.verdict import SMALLEST  # needs SciPy: not for --help

    values: dict[str, float] = {}
    for part in (text or "").split(",") if text else []:
        name, _, value = part.partition("=")
        try:
            values[name.strip()] = float(value)
        except ValueError as error:
            msg = f"--smallest {part!r}: write a quantity and a number, such as auroc=0.1"
            raise OptionError(msg) from error
    return SMALLEST.with_values(values)


def add_output(parser: argparse.ArgumentParser, *, folder: str, shown: str) -> None:
    """Add where results go; `shown` is what else stands on the screen."""
    add = parser.add_argument_group("output").add_argument
    add("--out", type=Path, metavar="DIR", help=f"where the report goes ({folder})")
    add("--no-report", dest="report", action="store_false", help="tables only, no figures")
    add(
        "--json",
        action="store_true",
        help="print the results as JSON and nothing else; files only with --out",
    )
    add("--quiet", action="store_true", help=f"no progress, no notes, no {shown} on the screen")
