"""What was asked of ``psychollm calibrate``, checked."""

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from psychollm.cli.settings import check_tables, codes_of
from psychollm.cli.study_options import smallest_of

if TYPE_CHECKING:
    from psychollm.estimates.verdict import SmallestEffects

DEFAULT_FOLDER = "psychollm-report-calibration"


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrateSettings:
    """What was asked for on the command line."""

    confidence: Path
    correctness: Path | None
    out: Path | None
    layout: str
    model_column: str | None
    question_column: tuple[str, ...] | None
    confidence_column: str | None
    correctness_column: str | None
    duplicates: str
    scale: float | None
    codes: dict[str, int] | None
    clusters: str | None
    leave_out: tuple[str, ...]
    least_answers: int
    common: bool
    metrics: tuple[str, ...] | None
    bootstrap: int
    null: int
    level: float
    smallest: "SmallestEffects"
    seed: int
    jobs: int
    json: bool
    quiet: bool
    report: bool


def calibrate_settings_of(options: argparse.Namespace) -> CalibrateSettings:
    """Check what was typed, and return it.

    Raises
    ------
    OptionError
        If options clash, or a value cannot be read.
    """
    known = {name: getattr(options, name) for name in CalibrateSettings.__slots__}
    known["codes"] = codes_of(options.codes)
    known["smallest"] = smallest_of(options.smallest)
    known["question_column"] = tuple(options.question_column or ()) or None
    known["leave_out"] = tuple(options.leave_out)
    if options.metrics is not None:
        known["metrics"] = tuple(key.strip() for key in options.metrics.split(","))
    if options.out is None and not options.json:
        known["out"] = Path(DEFAULT_FOLDER)
    check_tables(options, "calibrate")
    return CalibrateSettings(**known)
