"""``psychollm study``: two tables in, a verdict and a report out."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from psychollm._base.types import EmptyCells, Missing
from psychollm.cli.settings import DEFAULT_FOLDER, Settings
from psychollm.cli.study_options import add_computation, add_output

if TYPE_CHECKING:
    from psychollm.cli.inputs import Tables
    from psychollm.studies.shared_confidence.study import SharedConfidence

    Commands = argparse._SubParsersAction[Any]

DESCRIPTION = """\
Judge whether models share one signal of confidence or several, where each puts its threshold, and
whether a model's own confidence tells anything that the shared signal does not.

CONFIDENCE holds what each model said when asked whether it can answer each question (1 = yes,
0 = no, or a stated confidence with --threshold); CORRECTNESS whether it then answered correctly
(1, 0). Both are CSV or Parquet files, wide (a row per model, a column per question) or long (a row
per answer, with columns "model" and "question" or "item"). Empty cells are missing answers.

A store of psychollm collect takes the place of both: its replies are read, and the study that fits
what was asked is run: this one for self-prediction, others for rule-world, self-efficacy,
semantic-sampling, abstention and revision.
"""
EPILOG = """\
examples:
  psychollm study --example
  psychollm study said.csv right.csv --out results --seed 1
  psychollm study long.csv --confidence-column sure --correctness-column right --threshold 0.5
  psychollm study run.sqlite --out results
"""


def add_options(commands: "Commands") -> None:
    """Add the subcommand and its options to the parser."""
    parser = commands.add_parser(
        "study",
        usage="%(prog)s [options] CONFIDENCE CORRECTNESS | RUN.sqlite | --example",
        help="from two tables, or a store of replies, to a verdict and a report",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    _add_tables(parser)
    _add_reading(parser)
    _add_analysis(parser)
    add_output(parser, folder=DEFAULT_FOLDER, shown="verdict")


def _add_tables(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "confidence",
        nargs="?",
        type=Path,
        metavar="CONFIDENCE",
        help="what the models said; or a store",
    )
    add(
        "correctness",
        nargs="?",
        type=Path,
        metavar="CORRECTNESS",
        help="whether they were right; left out where one long file holds both",
    )
    add("--example", action="store_true", help="use the embedded example (simulated data)")
    add("--instrument", metavar="NAME", help="which, where a store holds prompts of several")
    add(
        "--repeats",
        choices=("error", "first", "majority"),
        default="error",
        help="what a prompt put several times counts as, in a store (default: %(default)s)",
    )


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
    add("--confidence-column", metavar="NAME", help="answers in a long CONFIDENCE")
    add("--correctness-column", metavar="NAME", help="answers in a long CORRECTNESS")
    add(
        "--duplicates",
        choices=("error", "first", "last"),
        default="error",
        help="a question answered twice by a model in a long file (default: %(default)s)",
    )
    add("--codes", metavar="WORD=N,...", help="what words mean, such as yes=1,no=0")
    add(
        "--threshold",
        metavar="T",
        help="split a stated confidence: yes above T, a number or model_median, model_mean, "
        "model_balanced",
    )
    add("--at-least", action="store_true", help="yes at the threshold as well as above it")
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
        help="leave out models with fewer answers in either table",
    )
    add("--common", action="store_true", help="keep models and questions that both tables hold")


def _add_analysis(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("analysis")
    add = group.add_argument
    add(
        "--empty-cells",
        choices=get_args(EmptyCells),
        default="keep_margins",
        help="what is done to 2 x 2 tables with an empty cell (default: %(default)s)",
    )
    add(
        "--missing",
        choices=get_args(Missing),
        default="pairwise",
        help="thresholds of a pair: from its own table, or from all answers "
        "(default: %(default)s)",
    )
    add(
        "--drop-unusable",
        action="store_true",
        help="leave out models that the validity screen finds not usable (default: name them)",
    )
    add("--null", type=int, default=499, metavar="N", help="replicates of each null (%(default)s)")
    add_computation(group)


def run(settings: Settings) -> int:
    """Read, compute, write, and say where it is."""
    if settings.store:
        from psychollm.cli.store_study import run as run_store

        return run_store(settings)
    from psychollm.cli.inputs import read_tables
    from psychollm.cli.notes import as_notes, busy, computing
    from psychollm.cli.outputs import Outputs

    outputs = Outputs.prepare(settings)
    with as_notes(quiet=settings.quiet):
        with busy("reading the tables", quiet=settings.quiet):
            tables = read_tables(settings)
        with computing(quiet=settings.quiet):
            study = compute(settings, tables)
        with busy("writing the report", quiet=settings.quiet):
            outputs.write(study, tables)
    outputs.tell(study, tables)
    return 0


def compute(settings: Settings, tables: "Tables") -> "SharedConfidence":
    """Return the study of two tables, as the settings say."""
    from psychollm.cli.notes import watched
    from psychollm.studies.shared_confidence.study import shared_confidence

    return shared_confidence(
        tables.confidence,
        tables.correctness,
        empty_cells=settings.empty_cells,
        missing=settings.missing,
        screen="drop" if settings.drop_unusable else "flag",
        n_null=settings.null,
        n_bootstrap=settings.bootstrap,
        level=settings.level,
        rng=settings.seed,
        n_jobs=settings.jobs,
        progress=watched(quiet=settings.quiet),
    )
