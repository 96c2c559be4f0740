"""``psychollm calibrate``: stated confidences and correctness in, a panel and a report out."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psychollm.cli.calibrate_settings import DEFAULT_FOLDER, CalibrateSettings
from psychollm.cli.study_options import add_computation, add_output

if TYPE_CHECKING:
    from psychollm.calibration.panels.panel import CalibrationPanel
    from psychollm.cli.calibrate_inputs import StatedTables

    Commands = argparse._SubParsersAction[Any]

DESCRIPTION = """\
Judge whether what models state about their answers can be believed: every metric of calibration
and metacognition with intervals, reliability diagrams, risk-coverage and type-2 ROC curves.

CONFIDENCE holds the probability of being correct that each model stated for each question (0 to
1, or up to --scale; yes/no as 1 and 0); CORRECTNESS whether it was (1, 0). Both are CSV or Parquet
files, wide (a row per model, a column per question) or long (a row per answer, with columns
"model" and "question" or "item"). Empty cells are missing answers.
"""
EPILOG = """\
examples:
  psychollm calibrate sure.csv right.csv --out results --seed 1
  psychollm calibrate long.csv --confidence-column sure --correctness-column right --scale 100
  psychollm calibrate sure.csv right.csv --clusters passages.csv --metrics brier,auroc,ece
"""


def add_options(commands: "Commands") -> None:
    """Add the subcommand and its options to the parser."""
    parser = commands.add_parser(
        "calibrate",
        usage="%(prog)s [options] CONFIDENCE [CORRECTNESS]",
        help="from stated confidences and correctness to metrics, curves and a report",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("confidence", nargs="?", type=Path, metavar="CONFIDENCE", help="what the models stated")
    add(
        "correctness",
        nargs="?",
        type=Path,
        metavar="CORRECTNESS",
        help="whether they were right; left out where one long file holds both",
    )
    _add_reading(parser)
    _add_analysis(parser)
    add_output(parser, folder=DEFAULT_FOLDER, shown="numbers")


def _add_reading(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("reading the tables").add_argument
    add("--layout", choices=("auto", "wide", "long"), default="auto", help="default: %(default)s")
    add("--model-column", metavar="NAME", help='labels of the models (long: "model")')
    add(
        "--question-column",
        metavar="NAME",
        action="append",
        help='labels of the questions in a long file ("question" or "item"); may be repeated',
    )
    add("--confidence-column", metavar="NAME", help="stated confidence in a long CONFIDENCE")
    add("--correctness-column", metavar="NAME", help="correctness in a long CORRECTNESS")
    add(
        "--duplicates",
        choices=("error", "first", "last"),
        default="error",
        help="a question answered twice by a model in a long file (default: %(default)s)",
    )
    add("--scale", type=float, metavar="S", help="confidence is out of S, such as 10 or 100")
    add(
        "--codes",
        metavar="WORD=N,...",
        help="what words of CORRECTNESS mean, such as right=1,wrong=0",
    )
    add(
        "--clusters",
        metavar="FILE|COLUMN",
        help="what questions belong to: a file with a question and its cluster per line, or a "
        "column of a long CONFIDENCE",
    )
    add(
        "--leave-out",
        metavar="MODEL",
        action="append",
        default=[],
        help="a model that takes no part; may be repeated",
    )
    add(
        "--least-answers",
        type=int,
        default=0,
        metavar="N",
        help="leave out models with fewer answers that have both confidence and correctness",
    )
    add("--common", action="store_true", help="keep models and questions that both tables hold")


def _add_analysis(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("analysis")
    add = group.add_argument
    add(
        "--metrics",
        metavar="KEY,...",
        help="metrics to compute, such as brier,auroc,ece (default: all)",
    )
    add(
        "--null",
        type=int,
        default=1000,
        metavar="N",
        help="data sets simulated under calibration (%(default)s)",
    )
    add_computation(group)


def run(settings: CalibrateSettings) -> int:
    """Read, compute, write, and say where it is."""
    from psychollm.cli.calibrate_inputs import read_stated
    from psychollm.cli.calibrate_outputs import write_panel
    from psychollm.cli.notes import as_notes, busy, computing, watched
    from psychollm.cli.outputs import prepared

    folder = prepared(settings.out, report=settings.report)
    with as_notes(quiet=settings.quiet):
        with busy("reading the tables", quiet=settings.quiet):
            tables = read_stated(settings)
        with computing(quiet=settings.quiet):
            panel = _panel(settings, tables)
            curves = panel.curves(
                n_draws=settings.null,
                rng=settings.seed,
                n_jobs=settings.jobs,
                progress=watched(quiet=settings.quiet),
            )
        with busy("writing the report", quiet=settings.quiet):
            tell = write_panel(panel, curves, tables, settings, folder)
    tell()
    return 0


def _panel(settings: CalibrateSettings, tables: "StatedTables") -> "CalibrationPanel":
    from psychollm.calibration.panels.panel import calibration_panel
    from psychollm.cli.notes import watched

    return calibration_panel(
        tables.confidence,
        tables.correctness,
        metrics=settings.metrics,
        clusters=tables.clusters,
        n_bootstrap=settings.bootstrap,
        level=settings.level,
        rng=settings.seed,
        n_jobs=settings.jobs,
        progress=watched(quiet=settings.quiet),
    )
