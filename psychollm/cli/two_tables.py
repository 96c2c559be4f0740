"""What `study` and `calibrate` share: two tables in, results in a folder out."""

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar

from psychollm._base.errors import LabelError, OptionError
from psychollm.cli.options import Command, option, pairs

if TYPE_CHECKING:
    import pandas as pd

    from psychollm.cli.outputs import Output
    from psychollm.estimates.verdict import SmallestEffects

READING, ANALYSIS, OUTPUT = "reading the tables", "analysis", "output"
_DEFAULTS = {"layout": "auto", "duplicates": "error", "strict": True}
_EFFECTS = pairs(float, "a quantity and a number, such as auroc=0.1")
T = TypeVar("T")


def no_smallest() -> "SmallestEffects":
    """Return the smallest effects where none is typed; needs SciPy, so not for the help."""
    from psychollm.estimates.verdict import SMALLEST

    return SMALLEST


def smallest_of(text: str) -> "SmallestEffects":
    """Read ``auroc=0.1,share=0.02``."""
    return no_smallest().with_values(_EFFECTS(text))


@dataclass(frozen=True, kw_only=True)
class TwoTables(Command):
    """Confidence and correctness: how they are read, what is computed, where it goes."""

    FOLDER: ClassVar[str]  # of the results, where none is named
    OTHERWISE: ClassVar[str] = ""  # what may stand in place of the tables

    confidence: Path | None = option(
        "what the models stated", "CONFIDENCE", default=None, positional=True
    )
    correctness: Path | None = option(
        "whether they were right; left out where one long file holds both",
        "CORRECTNESS",
        default=None,
        positional=True,
    )
    layout: Literal["auto", "wide", "long"] = option(
        "a row per model, or a row per answer", default="auto", group=READING
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
        "a question answered twice by a model in a long file", default="error", group=READING
    )
    codes: dict[str, int] | None = option(
        "what words mean, such as yes=1,no=0",
        "WORD=N,...",
        default=None,
        parse=pairs(int, "yes=1,no=0"),
        group=READING,
    )
    leave_out: tuple[str, ...] = option(
        "a model that takes no part; may be repeated", "MODEL", default=(), group=READING
    )
    least_answers: int = option(
        "leave out models with fewer answers in either table", default=0, group=READING
    )
    common: bool = option(
        "keep models and questions that both tables hold", default=False, group=READING
    )
    bootstrap: int = option("resamples", "B", default=2000, group=ANALYSIS)
    level: float = option("coverage of intervals", "L", default=0.95, group=ANALYSIS)
    smallest: "SmallestEffects" = option(
        "the smallest effect that matters, such as auroc=0.1,share=0.02: what is shown to be "
        "smaller is called so, and is not called absent where data are few",
        "QUANTITY=X,...",
        default=no_smallest,
        parse=smallest_of,
        group=ANALYSIS,
    )
    seed: int = option("seed of all randomness", "S", default=1, group=ANALYSIS)
    jobs: int = option("threads; -1 for all", "J", default=1, group=ANALYSIS)
    out: Path | None = option("where the results go", "DIR", default=None, group=OUTPUT)
    report: bool = option("a page with figures beside the tables", default=True, group=OUTPUT)
    json: bool = option(
        "print the results as JSON and nothing else; files only with --out",
        default=False,
        group=OUTPUT,
    )
    quiet: bool = option(
        "no progress, no notes, no verdict on the screen", default=False, group=OUTPUT
    )

    @property
    def folder(self) -> Path | None:
        """Where the results go."""
        return Path(self.FOLDER) if self.out is None and not self.json else self.out

    @property
    def replication(self) -> dict[str, Any]:
        """Arguments of whatever resamples."""
        from psychollm.cli.notes import watched
        from psychollm.estimates.resampling import Bootstrap

        return {
            "bootstrap": Bootstrap(
                self.bootstrap, n_jobs=self.jobs, progress=watched(quiet=self.quiet)
            ),
            "level": self.level,
            "rng": self.seed,
        }

    def check_tables(self) -> None:
        """See that two tables are named, or one long file and two of its columns."""
        if self.confidence is None:
            msg = (
                f"{self.NAME} needs CONFIDENCE and CORRECTNESS{self.OTHERWISE} "
                f"(see 'psychollm {self.NAME} --help')"
            )
            raise OptionError(msg)
        if self.correctness is None and None in (self.confidence_column, self.correctness_column):
            msg = (
                f"{self.NAME} needs CORRECTNESS; if one long file holds both, name "
                "--confidence-column and --correctness-column"
            )
            raise OptionError(msg)

    def calls(
        self, reader: str, confidence: Mapping[str, Any], correctness: Mapping[str, Any]
    ) -> tuple["Call", "Call"]:
        """Return how each table is read, given what the two differ in."""
        both = {
            "layout": self.layout,
            "model": self.model_column,
            "question": self.question_column or None,
            "duplicates": self.duplicates,
        }
        first = {**both, "value": self.confidence_column, **confidence}
        second = {**both, "value": self.correctness_column, **correctness}
        return (
            Call(reader, str(self.confidence), first),
            Call(reader, str(self.correctness or self.confidence), second),
        )

    @property
    def files(self) -> tuple[str, ...]:
        """Names of the files, each once."""
        named = (self.confidence, self.correctness)
        return tuple(dict.fromkeys(str(file) for file in named if file is not None))

    def absent(
        self, models: Iterable[Hashable], n_answers: Iterable[tuple[Hashable, int, str]] = ()
    ) -> dict[Hashable, str]:
        """Return the models that take no part, each with its reason.

        Parameters
        ----------
        models : iterable
            All that there are.
        n_answers : iterable of (model, number, where)
            How many answers there are, and in what.
        """
        from psychollm.data.labels import listed

        known = {str(model): model for model in models}
        absent: dict[Hashable, str] = {}
        for name in self.leave_out:
            if name not in known:
                msg = (
                    f"--leave-out {name}: there is no such model; known are {listed(list(known))}"
                )
                raise LabelError(msg)
            absent[known[name]] = "as asked"
        for model, n, where in n_answers:
            if n < self.least_answers:
                absent.setdefault(model, f"{n} answers{where}")
        return absent

    def carry_out(
        self, read: Callable[[], T], judge: Callable[[T], "Output"], *, report: bool
    ) -> int:
        """Read, compute, write, and say where it is."""
        from psychollm.cli.notes import as_notes, busy, computing
        from psychollm.cli.outputs import prepared

        folder = prepared(self.folder, report=report)
        with as_notes(quiet=self.quiet):
            with busy("reading the tables", quiet=self.quiet):
                tables = read()
            with computing(quiet=self.quiet):
                output = judge(tables)
            with busy("writing the report", quiet=self.quiet):
                output.write(folder, report=report)
        output.tell(folder, report=report, json=self.json, quiet=self.quiet)
        return 0


@dataclass(frozen=True, slots=True)
class Tables(Generic[T]):
    """Confidence and correctness, and where they come from."""

    confidence: T
    correctness: T
    source: tuple[str, ...]  # names of the files, or of the example
    code: str  # lines of Python that make the tables
    left_out: str = ""  # what takes no part, "" where nothing was left out
    clusters: "pd.Series[Any] | None" = None


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a reader that can be made and be shown."""

    reader: str  # as a user writes it; one of `psychollm.data.readers`
    path: str
    options: Mapping[str, Any]

    def run(self) -> Any:
        """Make it."""
        from psychollm.data import readers

        name = self.reader.rpartition(".")[2]
        return getattr(readers, name)(self.path, **self.options)

    def __str__(self) -> str:
        given = [
            f"{name}={value!r}"
            for name, value in self.options.items()
            if value is not None and value != _DEFAULTS.get(name)
        ]
        return f"{self.reader}({', '.join([repr(self.path), *given])})"


def left_out_line(absent: Mapping[Hashable, str]) -> str:
    """Say which models take no part, and why."""
    return f"Left out: {', '.join(f'{m} ({why})' for m, why in absent.items())}."
