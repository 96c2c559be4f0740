"""Options that `study` and `calibrate` share: how much is computed, and where results go."""

import argparse
from pathlib import Path
from typing import Any


def add_computation(group: Any) -> None:
    """Add the number of resamples, the level, the seed and the threads to a group of options."""
    add = group.add_argument
    add("--bootstrap", type=int, default=2000, metavar="B", help="resamples (%(default)s)")
    add(
        "--level",
        type=float,
        default=0.95,
        metavar="L",
        help="coverage of intervals (%(default)s)",
    )
    add("--seed", type=int, default=1, metavar="S", help="seed of all randomness (%(default)s)")
    add("--jobs", type=int, default=1, metavar="J", help="threads; -1 for all (%(default)s)")


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
