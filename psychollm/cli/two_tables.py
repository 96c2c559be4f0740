"""Options of `study` and `calibrate` for two tables or logs, and for output."""

import shlex
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar

from psychollm._base.call import Call
from psychollm._base.errors import CodeError, InputError, LabelError, OptionError
from psychollm.cli.carry_out import Analysis
from psychollm.cli.import_logs import LOGS, Choices, is_store
from psychollm.cli.options import option, pairs
from psychollm.cli.streamed import Choosing, is_large, refuse

if TYPE_CHECKING:
    import pandas as pd

    from psychollm._base.types import Axis
    from psychollm.data.logs_result import ScoreLog
    from psychollm.data.responses import Responses
    from psychollm.estimates.verdict import SmallestEffects

READING, ANALYSIS, OUTPUT = "reading the tables", "analysis", "output"
_EFFECTS = pairs(float, "a quantity and a number, such as share=0.02")
T = TypeVar("T")


def no_smallest() -> "SmallestEffects":
    """Return the default smallest effects of interest."""
    from psychollm.estimates.verdict import SMALLEST

    return SMALLEST


def smallest_of(text: str) -> "SmallestEffects":
    """Convert text such as ``auroc=0.1,share=0.02`` to smallest effects of interest."""
    return no_smallest().with_values(_EFFECTS(text))


# Options that do not apply to streamed tables.
IN_MEMORY = (
    "layout",
    "labels",
    "missing",
    "score_map",
    "duplicates",
    "codes",
    "repeats",
    "right_above",
    "leave_out",
    "common",
)
CHOOSE = "select and change answers in the source, e.g. with --query"


@dataclass(frozen=True, kw_only=True)
class TwoTables(Analysis, Choosing, Choices):
    """Options for reading and analysing confidence and correctness, and for output."""

    FOLDER: ClassVar[str]  # default folder of the results
    OTHERWISE: ClassVar[str] = ", or logs"  # alternatives to tables, for messages
    ARMS: ClassVar[bool] = False  # whether several stores may be given as arms

    inputs: tuple[Path, ...] = option(
        "a table of reported confidence and a table of correctness; or one long file, logs or a "
        "store with both",
        "FILE",
        default=(),
        positional=True,
    )
    model_column: str | None = option(
        'labels of the models (long: "model")', "NAME", default=None, group=READING
    )
    question_column: tuple[str, ...] = option(
        'labels of the questions in a long file ("question" or "item"); may be repeated',
        "NAME",
        default=(),
        group=READING,
    )
    confidence_column: str | None = option(
        "answers in a long CONFIDENCE", "NAME", default=None, group=READING
    )
    correctness_column: str | None = option(
        "answers in a long CORRECTNESS", "NAME", default=None, group=READING
    )
    duplicates: Literal["error", "first", "last"] = option(
        "treatment of a second answer of a model to a question in a long file",
        default="error",
        group=READING,
    )
    codes: dict[str, int] | None = option(
        "numbers that replace words, such as yes=1,no=0",
        "WORD=N,...",
        default=None,
        parse=pairs(int, "yes=1,no=0"),
        group=READING,
    )
    repeats: Literal["error", "first", "majority"] = option(
        "how to combine several answers to one question in logs and stores",
        default="error",
        group=LOGS,
    )
    right_above: float | None = option(
        "count answers in logs as right above this score, if scores are not 1 and 0",
        "CUT",
        default=None,
        group=LOGS,
    )
    leave_out: tuple[str, ...] = option(
        "exclude this model; may be repeated", "MODEL", default=(), group=READING
    )
    least_answers: int = option(
        "exclude models with fewer answers in either table", default=0, group=READING
    )
    common: bool = option(
        "keep only models and questions that occur in both tables", default=False, group=READING
    )
    out: Path | None = option("folder for the results", "DIR", default=None, group=OUTPUT)
    report: bool = option(
        "write a page with figures as well as tables", default=True, group=OUTPUT
    )
    json: bool = option(
        "print only the results as JSON; write files only with --out",
        default=False,
        group=OUTPUT,
    )
    quiet: bool = option("print no progress, no notes and no verdict", default=False, group=OUTPUT)

    @property
    def folder(self) -> Path | None:
        """Folder of the results."""
        return Path(self.FOLDER) if self.out is None and not self.json else self.out

    @property
    def reads(self) -> str:
        """Name of the command's input."""
        return "the tables"

    @property
    def stores(self) -> bool:
        """Whether the inputs are stores of replies."""
        return bool(self.inputs) and all(map(is_store, self.inputs))

    @property
    def confidence(self) -> Path:
        """Table of reported confidence."""
        return self.inputs[0]

    @property
    def correctness(self) -> Path:
        """Table of correctness; this is the table of confidence if one file contains both."""
        return self.inputs[-1]

    @cached_property
    def streams(self) -> bool:
        """Whether the input is streamed."""
        named = bool(self.confidence_column)
        return len(self.inputs) == 1 and is_large(self.confidence, long=named)

    def check_stream(self, *names: str) -> None:
        """Raise an error for options that do not apply to streamed tables."""
        refuse(self, (*IN_MEMORY, "least_answers", *names), CHOOSE)

    @cached_property
    def of_logs(self) -> bool:
        """Whether the inputs are logs or a store instead of separate tables."""
        named = (self.confidence_column, self.correctness_column)
        if len(self.inputs) == 1 and any(named):
            return False
        return len(self.inputs) != 2 or any(map(_holds_both, self.inputs))

    def check_inputs(self) -> None:
        """Raise an error unless the inputs are two tables, one long file with both, or logs."""
        if not self.inputs:
            msg = (
                f"{self.NAME} needs CONFIDENCE and CORRECTNESS{self.OTHERWISE} "
                f"(see 'psychollm {self.NAME} --help')"
            )
            raise OptionError(msg)
        store = next(filter(is_store, self.inputs), None)
        if store is not None and len(self.inputs) > 1 and not (self.ARMS and self.stores):
            msg = f"{store} is a store with both: omit CORRECTNESS"
            raise OptionError(msg)
        if self.streams:
            self.check_stream()
            return
        if self.table is not None or self.query is not None:
            msg = "--table and --query require one DuckDB database file"
            raise OptionError(msg)
        columns = (self.confidence_column, self.correctness_column)
        alone = len(self.inputs) == 1 and not self.stores
        if alone and None in columns and (any(columns) or not _is_log(self.confidence)):
            msg = (
                f"{self.NAME} needs CORRECTNESS; if one long file holds both, name "
                "--confidence-column and --correctness-column"
            )
            raise OptionError(msg)

    def stated_in_logs(
        self, keep: tuple[str, ...] = ()
    ) -> "tuple[pd.DataFrame, Responses, list[str], ScoreLog]":
        """Return confidence and correctness from logs or a store.

        The result also includes the logs, and the Python code that reads the tables.
        """
        reading = self.reading_of(self.inputs, keep)
        repeats = None if self.repeats == "error" else self.repeats
        options = {"repeats": repeats, "threshold": self.right_above}
        call = Call("psy.data.logs.imported", (reading,), options, name="found")
        log = self.scores_in(self.inputs, keep)
        if log.frame["confidence"].isna().all():
            raise InputError(self._no_confidence())
        try:
            found = call.run({id(reading): log})
        except (CodeError, OptionError) as error:
            # The option --threshold applies to reported confidence, not to correctness.
            raise type(error)(error.told({"threshold": "--right-above"})) from error
        assert found.confidence is not None  # noqa: S101 -- checked above
        code = [
            f"log = {reading.text()}",
            f"found = {call.text()}",
            "confidence, correctness = found.confidence, found.responses",
        ]
        return found.confidence, found.responses, code, log

    def _no_confidence(self) -> str:
        named = " ".join((*map(shlex.quote, map(str, self.inputs)), *self.typed_choices()))
        table = (
            "for a table of confidences also pass CORRECTNESS; for a table with both, pass "
            "--confidence-column and --correctness-column"
        )
        own_task = (
            "if confidence is a separate task, 'psychollm import --task' makes a table of each"
        )
        one_file = len(self.inputs) == 1 and self.confidence.is_file()
        return (
            f"{' '.join(map(str, self.inputs))}: no confidence is stated; "
            f"{table if one_file else own_task}. From scores alone, 'psychollm items {named}' "
            f"describes the questions and 'psychollm compare {named}' the models"
        )

    def calls(
        self, reader: str, confidence: Mapping[str, Any], correctness: Mapping[str, Any]
    ) -> tuple[Call, Call]:
        """Return the Python calls that read the two tables, each with its own options."""
        both = {
            "layout": self.layout,
            "labels": self.labels,
            "missing_values": self.missing,
            "model": self.model_column,
            "question": self.question_column or None,
            "duplicates": self.duplicates,
        }
        first = {**both, "value": self.confidence_column, **confidence}
        second = {**both, "value": self.correctness_column, **correctness}
        return (
            Call(reader, (self.confidence,), first, name="confidence"),
            Call(reader, (self.correctness,), second, name="correctness"),
        )

    @property
    def files(self) -> tuple[str, ...]:
        """Names of the input files without duplicates."""
        return tuple(dict.fromkeys(map(str, self.inputs)))

    def absent(
        self,
        models: Iterable[Hashable],
        n_answers: Mapping[str, Iterable[tuple[Hashable, int]]] | None = None,
    ) -> dict[Hashable, str]:
        """Return the excluded models with reasons.

        Parameters
        ----------
        models : iterable
            All models.
        n_answers : mapping of str to iterable of (model, number), optional
            Numbers of answers in each table; the keys are the names of the tables in messages.
        """
        from psychollm.data.labels import listed

        known = {str(model): model for model in models}
        absent: dict[Hashable, str] = {}
        for name in self.leave_out:
            if name not in known:
                msg = f"--leave-out {name}: unknown model: use some of {listed(list(known))}"
                raise LabelError(msg)
            absent[known[name]] = "as requested"
        for where, counts in (n_answers or {}).items():
            for model, n in counts:
                if n < self.least_answers:
                    absent.setdefault(model, f"{n} answers{where}")
        return absent


@dataclass(frozen=True, kw_only=True)
class Resampled(TwoTables):
    """Options for resampling and smallest effects."""

    bootstrap: int = option("number of bootstrap resamples", "B", default=2000, group=ANALYSIS)
    level: float = option("coverage of intervals", "L", default=0.95, group=ANALYSIS)
    smallest: "SmallestEffects" = option(
        "the smallest effect of interest, such as auroc=0.1,share=0.02; effects whose interval "
        "is smaller are reported as negligible",
        "QUANTITY=X,...",
        default=no_smallest,
        parse=smallest_of,
        group=ANALYSIS,
    )
    seed: int = option("random seed", "S", default=1, group=ANALYSIS)
    jobs: int = option("number of threads; -1 for all processors", "J", default=1, group=ANALYSIS)

    @property
    def replication(self) -> dict[str, Any]:
        """Return arguments for resampling."""
        from psychollm.cli.notes import watched
        from psychollm.estimates.resampling import Bootstrap

        return {
            "bootstrap": Bootstrap(
                self.bootstrap, n_jobs=self.jobs, progress=watched(quiet=self.quiet)
            ),
            "level": self.level,
            "rng": self.seed,
        }


def _is_log(path: Path) -> bool:
    """Return whether a path is a log in a known format, or is not an existing file."""
    from psychollm.data.readers.logs.detect import format_of

    return not path.is_file() or format_of(path) is not None


def _holds_both(path: Path) -> bool:
    """Return whether a path is a log, folder or pattern, or a table of scores and confidence."""
    from psychollm.data.readers.logs.source import Source
    from psychollm.data.readers.logs.table_log import holds_confidence

    if not path.is_file():
        return path.is_dir() or has_magic(str(path))
    if not {".csv", ".tsv"} & set(path.suffixes):  # logs have other formats
        from psychollm.data.readers.logs.detect import format_of

        if format_of(path) not in {None, "table"}:
            return True
    return holds_confidence(Source(path))


@dataclass(frozen=True, slots=True)
class Tables(Generic[T]):
    """Tables of confidence and correctness, and their source."""

    confidence: T
    correctness: T
    source: tuple[str, ...]  # names of the files, or of the example
    code: str  # Python code that makes the tables
    left_out: str = ""  # excluded models in words; "" if none are
    clusters: "pd.Series[Any] | None" = None
    groups: "tuple[Axis, list[Any]] | None" = None  # kind of unit, and group of each unit


def left_out_line(absent: Mapping[Hashable, str]) -> str:
    """Return the excluded models with reasons in words."""
    return f"Excluded: {', '.join(f'{m} ({why})' for m, why in absent.items())}."
