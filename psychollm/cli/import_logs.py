"""``psychollm import``: logs of evaluation tools in, one table of responses out."""

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psychollm._base.csv_text import write_csv
from psychollm._base.errors import InputError, OptionError
from psychollm._base.optional import require

if TYPE_CHECKING:
    import pandas as pd

    from psychollm.data.logs import NoAnswer
    from psychollm.data.logs_repeats import Repeats
    from psychollm.data.logs_result import LogImport
    from psychollm.data.readers.logs.detect import LogFormat

    Commands = argparse._SubParsersAction[Any]

# Spelt out here, for the readers are not loaded before they are needed.
FORMATS = (
    "inspect", "lm-eval", "every-eval-ever", "helm", "lighteval", "opencompass", "promptfoo",
    "deepeval", "openai-evals", "hal", "table",
)  # fmt: skip
REPEATS = ("mean", "first", "majority", "keep")
NO_ANSWERS = ("wrong", "missing")

DESCRIPTION = """\
Read logs of evaluation tools (Inspect AI, lm-evaluation-harness, Every Eval Ever, HELM, lighteval,
OpenCompass, promptfoo, deepeval, OpenAI evals, HAL; or any CSV, Parquet or JSONL file with a row
per score) as one table, models x questions, and say what was kept and what was dropped. Nothing is
guessed: where there is a choice, the command stops and lists what there is.
"""
EPILOG = """\
examples:
  psychollm import logs/ --task performance --scorer match --repeats first --out right.csv
  psychollm import logs/ --task confidence --no-answer missing --out said.parquet
  psychollm import scores.jsonl --columns model=llm,question=qid,score=f1 --threshold 0.8
  psychollm study said.parquet right.csv

exit codes: 0 done; 2 a log or an option cannot be used, or a choice has to be made.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportSettings:
    """What was asked for on the command line."""

    logs: tuple[Path, ...]
    out: Path | None
    long: Path | None
    confidence: Path | None
    format: "LogFormat | None"
    task: tuple[str, ...] | None
    scorer: str | dict[str, str] | None
    filter: str | None
    repeats: "Repeats | None"
    threshold: float | None
    at_least: bool
    no_answer: "NoAnswer | None"
    by_label: bool
    columns: dict[str, str] | None
    json: bool
    quiet: bool


def add_options(commands: "Commands") -> None:
    """Add the subcommand and its options to the parser."""
    parser = commands.add_parser(
        "import",
        usage="%(prog)s [options] LOG [LOG ...]",
        help="read logs of evaluation tools as a table of responses",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    _add_choices(parser)
    add = parser.add_argument
    add("--out", type=Path, metavar="FILE", help="write the table as .csv or .parquet")
    add("--long", type=Path, metavar="FILE", help="write a row per answer as .csv or .parquet")
    add("--confidence", type=Path, metavar="FILE", help="write the confidences, if there are any")
    add("--json", action="store_true", help="print the summary as JSON and nothing else")
    add("--quiet", action="store_true", help="no summary on the screen")


def _add_choices(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("logs", type=Path, nargs="+", metavar="LOG", help="logs, or folders of logs")
    add(
        "--format",
        choices=FORMATS,
        metavar="NAME",
        help=f"by default what each file's content says; one of {', '.join(FORMATS)}",
    )
    add("--task", action="append", metavar="NAME", help="the task that counts; may be repeated")
    add("--scorer", metavar="NAME", help="the scorer or metric that counts, or TASK=NAME,...")
    add("--filter", metavar="NAME", help="the filter (lm-eval) or perturbation (HELM)")
    add("--repeats", choices=REPEATS, help="what becomes of repeated answers")
    add("--threshold", type=float, metavar="CUT", help="scores above it are right")
    add("--at-least", action="store_true", help="scores equal to the threshold are right, too")
    add("--no-answer", choices=NO_ANSWERS, help="what 'N' of Inspect AI means")
    add("--by-label", action="store_true", help="questions with one label are the same question")
    add("--columns", metavar="PAIRS", help="of a table: model=...,question=...,score=...")


def settings_of(options: argparse.Namespace) -> ImportSettings:
    """Return what was typed.

    Raises
    ------
    OptionError
        If pairs are not written as ``name=value``.
    """
    found = {name: getattr(options, name) for name in ImportSettings.__slots__}
    found["logs"] = tuple(options.logs)
    found["task"] = tuple(options.task) if options.task else None
    if options.scorer is not None and "=" in options.scorer:
        found["scorer"] = _pairs("--scorer", options.scorer)
    if options.columns is not None:
        found["columns"] = _pairs("--columns", options.columns)
    return ImportSettings(**found)


def _pairs(option: str, text: str) -> dict[str, str]:
    pairs = [pair.partition("=") for pair in text.split(",")]
    bad = [name for name, sign, value in pairs if not (name and sign and value)]
    if bad:
        msg = f"{option} {text}: write it as name=value,name=value"
        raise OptionError(msg)
    return {name.strip(): value.strip() for name, _, value in pairs}


def run(settings: ImportSettings) -> int:
    """Read, write, and say what was kept and dropped."""
    from psychollm.cli.notes import as_notes

    for path in (settings.out, settings.long, settings.confidence):
        _check_name(path)
    with as_notes(quiet=settings.quiet):
        found = _read(settings)
        _write_all(found, settings)
    _tell(found, settings)
    return 0


def _read(settings: ImportSettings) -> "LogImport":
    from psychollm.cli.notes import watched
    from psychollm.data.logs import read_logs

    return read_logs(
        settings.logs,
        format=settings.format,
        task=settings.task,
        scorer=settings.scorer,
        filter=settings.filter,
        repeats=settings.repeats,
        threshold=settings.threshold,
        strict=not settings.at_least,
        no_answer=settings.no_answer,
        match="label" if settings.by_label else "content",
        columns=settings.columns,
        progress=watched(quiet=settings.quiet),
    )


def _write_all(found: "LogImport", settings: ImportSettings) -> None:
    if settings.confidence is not None and found.confidence is None:
        msg = "--confidence: these logs hold no confidences"
        raise InputError(msg)
    if settings.out is not None:
        codes = found.responses.to_frame().astype("Int64")  # 1 and 0 also beside empty cells
        _write(codes.rename_axis(index="model"), settings.out, index=True)
    if settings.long is not None:
        _write(found.frame, settings.long, index=False)
    if settings.confidence is not None and found.confidence is not None:
        _write(found.confidence, settings.confidence, index=True)


def _check_name(path: Path | None) -> None:
    """Refuse a name that says no format, before anything is read."""
    if path is None:
        return
    if path.suffix not in {".csv", ".parquet"}:
        msg = f"{path}: name it .csv or .parquet"
        raise InputError(msg)
    if path.suffix == ".parquet":
        require("pyarrow", extra="io", purpose="writing Parquet files")


def _write(frame: "pd.DataFrame", path: Path, *, index: bool) -> None:
    plain = frame.reset_index() if index else frame
    try:
        if path.suffix == ".csv":
            write_csv(plain, path)
        else:
            plain.rename(columns=str).to_parquet(path, index=False)
    except OSError as error:
        msg = f"{path} cannot be written: {error.strerror}"
        raise InputError(msg) from error


def _tell(found: "LogImport", settings: ImportSettings) -> None:
    from psychollm.cli.outputs import as_json
    from psychollm.cli.wording import in_options

    places = {name: getattr(settings, name) for name in ("out", "long", "confidence")}
    written = {name: path for name, path in places.items() if path is not None}
    if settings.json:
        print(as_json({**found.counts(), "written": written}))
    elif not settings.quiet:
        print(in_options(found.summary()))
        for path in written.values():
            print(f"Written: {path}")
        if not written:
            print("Nothing was written: name a file with --out.")
