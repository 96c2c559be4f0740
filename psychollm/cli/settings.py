"""What was asked for on the command line, checked."""

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from psychollm._base.errors import OptionError
from psychollm._base.types import EmptyCells, Missing
from psychollm.cli.study_options import smallest_of

if TYPE_CHECKING:
    from psychollm.estimates.verdict import SmallestEffects

DEFAULT_FOLDER = "psychollm-report"
_HEADER = b"SQLite format 3\x00"  # that every SQLite file begins with


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What was asked for on the command line."""

    confidence: Path | None
    correctness: Path | None
    example: bool
    store: bool  # whether `confidence` is a store of replies
    instrument: str | None
    repeats: Literal["error", "first", "majority"]
    out: Path | None
    layout: str
    model_column: str | None
    question_column: tuple[str, ...] | None
    confidence_column: str | None
    correctness_column: str | None
    duplicates: str
    codes: dict[str, int] | None
    threshold: str | float | None
    at_least: bool
    common: bool
    leave_out: tuple[str, ...]
    least_answers: int
    empty_cells: EmptyCells
    missing: Missing
    drop_unusable: bool
    null: int
    bootstrap: int
    level: float
    smallest: "SmallestEffects"
    seed: int
    jobs: int
    json: bool
    quiet: bool
    report: bool


def settings_of(options: argparse.Namespace) -> Settings:
    """Check what was typed, and return it.

    Raises
    ------
    OptionError
        If options clash, or a value cannot be read.
    """
    options.store = not options.example and is_store(options.confidence)
    known = {name: getattr(options, name) for name in Settings.__slots__}
    known["codes"] = codes_of(options.codes)
    known["smallest"] = smallest_of(options.smallest)
    known["threshold"] = _threshold(options.threshold)
    known["question_column"] = tuple(options.question_column or ()) or None
    known["leave_out"] = tuple(options.leave_out)
    if options.out is None and not options.json:
        known["out"] = Path(DEFAULT_FOLDER)
    if options.store:
        _check_store(options)
    elif not options.example:
        check_tables(options, "study", otherwise=", or a store, or --example")
    elif options.confidence is not None:
        msg = "--example brings its own tables: leave out CONFIDENCE and CORRECTNESS"
        raise OptionError(msg)
    return Settings(**known)


def is_store(path: Path | None) -> bool:
    """Tell whether a path names a store rather than a table: by its beginning, or by its name.

    Examples
    --------
    >>> is_store(Path("run.sqlite")), is_store(Path("said.csv")), is_store(None)
    (True, False, False)
    """
    if path is None:
        return False
    try:
        with path.open("rb") as file:
            return file.read(len(_HEADER)) == _HEADER
    except OSError:
        return path.suffix == ".sqlite"


def _check_store(options: argparse.Namespace) -> None:
    """Refuse what a store has no use for."""
    if options.correctness is not None:
        msg = f"{options.confidence} is a store and holds both: leave out CORRECTNESS"
        raise OptionError(msg)
    for name in ("threshold", "codes", "confidence_column", "correctness_column"):
        if getattr(options, name) is not None:
            msg = f"--{name.replace('_', '-')} is for tables: a store is read by its instrument"
            raise OptionError(msg)


def check_tables(options: argparse.Namespace, command: str, *, otherwise: str = "") -> None:
    """See that two tables are named, or one long file and two of its columns.

    Raises
    ------
    OptionError
        If something is lacking.
    """
    if options.confidence is None:
        msg = (
            f"{command} needs CONFIDENCE and CORRECTNESS{otherwise} "
            f"(see 'psychollm {command} --help')"
        )
        raise OptionError(msg)
    both = options.confidence_column is not None and options.correctness_column is not None
    if options.correctness is None and not both:
        msg = (
            f"{command} needs CORRECTNESS; if one long file holds both, name "
            "--confidence-column and --correctness-column"
        )
        raise OptionError(msg)


def _threshold(text: str | None) -> str | float | None:
    """Return a number if it looks like one; names of rules are checked where they are used."""
    try:
        return None if text is None else float(text)
    except ValueError:
        return text


def codes_of(text: str | None) -> dict[str, int] | None:
    """Read ``yes=1,no=0``.

    Raises
    ------
    OptionError
        If the text is no such list.

    Examples
    --------
    >>> codes_of("yes=1, no=0")
    {'yes': 1, 'no': 0}
    """
    if text is None:
        return None
    codes = {}
    for part in text.split(","):
        word, _, value = part.rpartition("=")
        if not word.strip() or not value.strip().isdigit():
            msg = f"--codes {text}: write WORD=NUMBER, separated by commas, such as yes=1,no=0"
            raise OptionError(msg)
        codes[word.strip()] = int(value)
    return codes
