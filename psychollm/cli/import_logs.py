"""``psychollm import``: convert logs of evaluation tools to one table of responses."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from psychollm._base.call import Call
from psychollm._base.csv_text import check_table_name, write_table
from psychollm._base.errors import InputError, LabelError, OptionError
from psychollm._base.wording import Text
from psychollm.cli.options import Command, option, pairs, words

if TYPE_CHECKING:
    import pandas as pd

    from psychollm.data.logs_result import LogImport, ScoreLog

LOGS = "reading logs"
# These names are copied from `psychollm.data.readers.logs.detect`, because importing that module
# would load pandas.
FORMATS = (
    "inspect", "lm-eval", "every-eval-ever", "helm", "lighteval", "promptfoo", "deepeval",
    "openai-evals", "hal", "evalscope", "opencompass", "table",
)  # fmt: skip
DESCRIPTION = """\
Read logs of evaluation tools (Inspect AI, lm-evaluation-harness, Every Eval Ever, HELM, lighteval,
OpenCompass, promptfoo, deepeval, OpenAI evals, HAL, EvalScope; or any CSV, Parquet or JSONL file
with one row per score) as one table, models x questions, and report exclusions. Nothing is
guessed: if the logs leave a choice, the command stops and lists the options.
"""
EPILOG = """\
examples:
  psychollm import logs/ --task performance --scorer match --repeats first --out right.csv
  psychollm import logs/ --task confidence --no-answer missing --out said.parquet
  psychollm import scores.jsonl --columns model=llm,question=qid,score=f1 --threshold 0.8
  psychollm study said.parquet right.csv

exit codes: 0 done; 2 a log or an option cannot be used, or a choice is required.
"""


# Help text of commands that accept scores from any source.
LOG_IS = """
LOG is a log of an evaluation tool (Inspect AI, lm-evaluation-harness, HELM, promptfoo and others;
see 'psychollm import --help'), a folder of such logs, a CSV, Parquet or JSONL file with one row
per score (columns "model", "question" and "score") or per model (a column per question), or a
store of psychollm collect. NAME=LOG names the model in a log or folder, such as
before=main/ after=pr/ for two runs of one model.
"""
_HEADER = b"SQLite format 3\x00"  # first bytes of every SQLite file


def is_store(*paths: Path | None) -> bool:
    """Return whether a path is a store of replies, judged by its first bytes or its name."""
    if len(paths) != 1 or paths[0] is None:
        return False
    try:
        with paths[0].open("rb") as file:
            return file.read(len(_HEADER)) == _HEADER
    except OSError:
        return paths[0].suffix == ".sqlite"


def split_name(path: Path) -> tuple[str, Path]:
    """Return the name and the path in ``NAME=PATH``; without a name, return "" and the path.

    Examples
    --------
    >>> split_name(Path("before=main/logs"))[0], split_name(Path("runs/model=a"))[0]
    ('before', '')
    """
    name, equals, rest = str(path).partition("=")
    if not equals or not name.strip() or not rest or Path(name).name != name or path.exists():
        return "", path
    if has_magic(name) or (has_magic(rest) and any(Path().glob(str(path)))):
        return "", path
    return name, Path(rest)


def named_paths(paths: tuple[Path, ...]) -> "tuple[Path, ...] | dict[str, tuple[Path, ...]]":
    """Return the paths by name if they are given as ``NAME=PATH``."""
    parts = [split_name(path) for path in paths]
    if not any(name for name, _ in parts):
        return paths
    bare = next((path for name, path in parts if not name), None)
    if bare is not None:
        msg = f"{bare} has no name, but other logs have one: write NAME={bare}, or omit all names"
        raise OptionError(msg)
    by_name: dict[str, tuple[Path, ...]] = {}
    for name, path in parts:
        if is_store(path):
            msg = f"{path} is a store of psychollm collect, which names its models: omit '{name}='"
            raise OptionError(msg)
        by_name[name] = (*by_name.get(name, ()), path)
    return by_name


def scorers(text: str) -> str | dict[str, str]:
    """Return one scorer for all tasks, or one scorer per task."""
    return pairs(str, "name=value,name=value")(text) if "=" in text else text


def missing_values(text: str) -> tuple[str, ...]:
    """Split values at commas; "none" gives an empty list."""
    return () if text == "none" else words(text)


@dataclass(frozen=True, kw_only=True)
class Choices(Command):
    """Options that select among the scores in logs."""

    format: str | None = option(
        "the tool that wrote the logs (default: detected from each file)",
        default=None,
        choices=lambda: FORMATS,
        group=LOGS,
    )
    task: tuple[str, ...] | None = option(
        "use this task; may be repeated", "NAME", default=None, group=LOGS
    )
    scorer: str | dict[str, str] | None = option(
        "use this scorer or metric, or one per task: TASK=NAME,...",
        "NAME",
        default=None,
        parse=scorers,
        group=LOGS,
    )
    filter: str | None = option(
        "the filter (lm-eval) or perturbation (HELM)", "NAME", default=None, group=LOGS
    )
    no_answer: Literal["wrong", "missing"] | None = option(
        "how to read the value 'N' of Inspect AI", default=None, group=LOGS
    )
    by_label: bool = option(
        "treat questions with the same label as one question", default=False, group=LOGS
    )
    columns: dict[str, str] | None = option(
        "columns of a table, if they have other names: model=...,question=...,score=...",
        "PAIRS",
        default=None,
        parse=pairs(str, "name=value,name=value"),
        group=LOGS,
    )
    layout: Literal["auto", "wide", "long", "transposed"] = option(
        "layout of a table: a row per model, per answer, or per question",
        default="auto",
        group=LOGS,
    )
    labels: bool = option(
        "whether a column of a wide table labels its rows", default=True, group=LOGS
    )
    missing: tuple[str, ...] | None = option(
        "codes of missing answers in a table, such as -99,.; 'none' if every value is a score",
        "VALUE,...",
        default=None,
        parse=missing_values,
        group=LOGS,
    )
    score_map: dict[str, float] | None = option(
        "scores of words, such as left=0,both=1",
        "WORD=X,...",
        default=None,
        parse=pairs(float, "left=0,both=1"),
        group=LOGS,
    )
    errors: Literal["missing", "wrong"] = option(
        "how to count answers that ended in an error", default="missing", group=LOGS
    )
    strict: bool = option(
        "stop at an unreadable log instead of skipping it",
        default=False,
        group=LOGS,
    )
    quiet: bool = option("print no progress, notes or summary", default=False)

    @property
    def selection(self) -> dict[str, Any]:
        """Arguments for the functions that read logs."""
        from psychollm.cli.notes import watched

        return {
            "format": self.format,
            "task": self.task,
            "scorer": self.scorer,
            "filter": self.filter,
            "no_answer": self.no_answer,
            "match": "label" if self.by_label else "content",
            "columns": self.columns,
            "layout": self.layout,
            "labels": self.labels,
            "missing_values": self.missing,
            "score_map": self.score_map,
            "errors": self.errors,
            "unreadable": "refuse" if self.strict else "skip",
            "progress": watched(quiet=self.quiet),
        }

    def typed_choices(self) -> list[str]:
        """Return the given options as a user would type them."""
        typed = ["--by-label"] if self.by_label else []
        for name in ("format", "scorer", "filter", "no_answer", "columns", "score_map"):
            value = getattr(self, name)
            if isinstance(value, dict):
                value = ",".join(f"{key}={one}" for key, one in value.items())
            if value is not None:
                typed += [f"--{name.replace('_', '-')}", shlex.quote(value)]
        return typed + [part for one in self.task or () for part in ("--task", shlex.quote(one))]

    def scores_in(self, paths: tuple[Path, ...], keep: tuple[str, ...] = ()) -> "ScoreLog":
        """Read logs or a store of replies as a score log."""
        try:
            return self.reading_of(paths, keep).run()  # type: ignore[no-any-return]
        except LabelError as error:
            named = ("by", "domains", "families", "minutes", "dates", "published")
            kept = {f"keep={getattr(self, name, None)!r}": f"--{name}" for name in named}
            raise LabelError(error.told(kept)) from error

    def reading_of(self, paths: tuple[Path, ...], keep: tuple[str, ...] = ()) -> Call:
        """Return the Python call that reads logs or a store of replies as a score log."""
        if is_store(*paths):
            return Call("psy.collect.read_store", (paths[0],), name="log")
        options = self.selection
        bar = {"progress": options.pop("progress")}
        options |= {"keep": list(keep)} if keep else {}
        return Call("psy.read_scores", (named_paths(paths),), options, name="log", aside=bar)


@dataclass(frozen=True, kw_only=True)
class Logs(Choices):
    """Logs, and options that select among their scores."""

    USAGE = "%(prog)s [options] LOG [LOG ...]"

    logs: tuple[Path, ...] = option("logs, or folders of logs", "LOG", positional=True)


@dataclass(frozen=True, kw_only=True)
class Import(Logs):
    """Command `psychollm import`."""

    NAME = "import"
    HELP = "convert logs of evaluation tools to a table of answers"
    DESCRIPTION = DESCRIPTION
    EPILOG = EPILOG

    repeats: Literal["mean", "first", "majority", "keep"] | None = option(
        "how to combine repeated answers", default=None
    )
    threshold: float | None = option("scores above this value are right", "CUT", default=None)
    at_least: bool = option("count scores equal to the threshold as right", default=False)
    out: Path | None = option("write the table as .csv or .parquet", default=None)
    long: Path | None = option("write a row per answer as .csv or .parquet", default=None)
    confidence: Path | None = option("also write the confidences, if any", default=None)
    json: bool = option("print only the summary as JSON", default=False)

    @property
    def files(self) -> dict[str, Path]:
        """Files to write, by option name."""
        named = {"out": self.out, "long": self.long, "confidence": self.confidence}
        return {name: path for name, path in named.items() if path is not None}

    def run(self) -> int:
        """Read the logs, write the tables, and report exclusions."""
        for path in self.files.values():
            check_table_name(path)
        with self.noting():
            imported = self._read()
            tables = {path: _table(imported, name) for name, path in self.files.items()}
            for path, table in tables.items():
                write_table(table, path)
        self._tell(imported)
        return 0

    def _read(self) -> "LogImport":
        from psychollm.data.logs import read_logs

        return read_logs(
            named_paths(self.logs),
            repeats=self.repeats,
            threshold=self.threshold,
            strict=not self.at_least,
            **self.selection,
        )

    def _tell(self, imported: "LogImport") -> None:
        written = [f"Written: {path}" for path in self.files.values()]
        self.say(
            {**imported.counts(), "written": self.files},
            _told(imported, self.arguments()).summary(),
            *(written or ["Nothing was written: pass a file with --out."]),
        )


def _told(imported: "LogImport", options: Mapping[str, str]) -> "LogImport":
    """Return the import result, with notes and reasons that name options of the command."""
    notes = (Text(note).told(options) for note in imported.notes)
    left = (replace(run, reason=Text(run.reason).told(options)) for run in imported.left_out)
    return replace(imported, notes=tuple(notes), left_out=tuple(left))


def _table(imported: "LogImport", name: str) -> "pd.DataFrame":
    """Return the table to write to the file that an option names."""
    if name == "long":
        return imported.frame
    if name == "out":
        codes = imported.responses.to_frame().astype("Int64")  # allows integers with missing cells
        return codes.rename_axis(index="model").reset_index()
    if imported.confidence is None:
        msg = "--confidence: these logs have no confidences"
        raise InputError(msg)
    return imported.confidence.reset_index()
