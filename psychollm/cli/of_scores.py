"""Options that commands on scores share: clusters, coverage, smallest effects and output."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from psychollm._base.call import Call, Made
from psychollm._base.errors import InputError, LabelError, OptionError
from psychollm.cli.carry_out import Analysis
from psychollm.cli.import_logs import LOGS, Choices, Logs, split_name
from psychollm.cli.options import option, pairs, whole_numbers
from psychollm.cli.two_tables import ANALYSIS, OUTPUT, no_smallest, smallest_of

if TYPE_CHECKING:
    from psychollm.estimates.verdict import SmallestEffects

MAY_BE_LOGS = frozenset({"", ".eval", ".json", ".jsonl"})  # suffixes of folders and logs


@dataclass(frozen=True, kw_only=True)
class Clustered:
    """Option that names the clusters of questions."""

    clusters: Path | None = option(
        "the cluster of each question: a file with a question and its cluster per line",
        default=None,
        group=ANALYSIS,
    )

    @property
    def clusters_read(self) -> Call | None:
        """Python call that reads the file of clusters."""
        if self.clusters is None:
            return None
        return Call("psy.data.read_clusters", (self.clusters,), name="clusters")


@dataclass(frozen=True, kw_only=True)
class Attempted:
    """Options for several attempts per question and their costs."""

    attempts: tuple[int, ...] = option(
        "report pass@k and pass^k for these k, from several attempts at each question (epochs "
        "in logs)",
        "K,K,...",
        default=(),
        parse=whole_numbers,
        group=ANALYSIS,
    )
    cost: str | None = option(
        "with --attempts: the column, or field of logs, with the cost of each attempt, such as "
        "cost or tokens",
        "COLUMN",
        default=None,
        group=ANALYSIS,
    )
    seconds: str | None = option(
        "with --attempts: the column, or field of logs, with the duration of each attempt, such "
        "as seconds",
        "COLUMN",
        default=None,
        group=ANALYSIS,
    )

    @property
    def spent(self) -> dict[str, str]:
        """Columns of costs and times, by argument name."""
        named = {"cost": self.cost, "seconds": self.seconds}
        return {name: column for name, column in named.items() if column is not None}

    def check_spent(self) -> None:
        """Raise an error if costs or times are given without attempts."""
        if self.spent and not self.attempts:
            msg = f"--{next(iter(self.spent))} needs --attempts, such as --attempts 1,3"
            raise OptionError(msg)


@dataclass(frozen=True, kw_only=True)
class WithLabels(Choices):
    """Options for reading human labels, in addition to the options for scores."""

    label_scorer: str | None = option(
        "the scorer in LABELS with the human labels, if there are several",
        "NAME",
        default=None,
        group=LOGS,
    )
    label_columns: dict[str, str] | None = option(
        "columns of LABELS: model=...,question=...,score=...; by default those of --columns "
        "that LABELS has",
        "PAIRS",
        default=None,
        parse=pairs(str, "name=value,name=value"),
        group=LOGS,
    )

    def labels_of(self, path: Path, made: Made, *, name: str) -> Call:
        """Read human labels, and return the Python call that reads them."""
        # A table of labels does not contain a task or a filter.
        file = split_name(path)[1]
        table = not file.is_dir() and file.suffix not in MAY_BE_LOGS
        task, chosen = (None, None) if table else (self.task, self.filter)
        own = replace(
            self, scorer=self.label_scorer, task=task, filter=chosen,
            columns=self._columns_of_labels(file),
        )  # fmt: skip
        call = replace(own.reading_of((path,)), name=name)
        try:
            call.run(made)
        except (InputError, LabelError) as error:
            text = error.told({"columns": "--label-columns"}).marked
            if self.columns is not None and self.label_columns is None:
                text += " (--label-columns names the columns of LABELS)"
            raise type(error)(text) from error
        return call

    def _columns_of_labels(self, path: Path) -> dict[str, str] | None:
        if self.label_columns is not None or self.columns is None:
            return self.label_columns
        from psychollm.data.readers.votes_file import header_of_rows

        header = header_of_rows(path)
        return {role: name for role, name in self.columns.items() if name in header} or None


@dataclass(frozen=True, kw_only=True)
class Powered(Clustered):
    """Option for power."""

    power: float = option(
        "power at which to compute the number of questions needed",
        "P",
        default=0.8,
        group=ANALYSIS,
    )


@dataclass(frozen=True, kw_only=True)
class Estimated(Analysis):
    """Options for coverage and output."""

    level: float = option("coverage of intervals", "L", default=0.95, group=ANALYSIS)
    seed: int = option("random seed", "S", default=1, group=ANALYSIS)
    out: Path | None = option(
        "folder of the page and the tables", "DIR", default=None, group=OUTPUT
    )
    report: bool = option("also write a page with a figure", default=True, group=OUTPUT)
    markdown: bool = option(
        "print only Markdown, for example for a pull request", default=False, group=OUTPUT
    )
    json: bool = option("print only the results as JSON", default=False, group=OUTPUT)


@dataclass(frozen=True, kw_only=True)
class Judged(Estimated):
    """Options for the smallest difference of interest, coverage and output."""

    smallest: "SmallestEffects" = option(
        "smallest difference of interest, such as share=0.02",
        "share=X",
        default=no_smallest,
        parse=smallest_of,
        group=ANALYSIS,
    )


@dataclass(frozen=True, kw_only=True)
class OfScores(Judged, Powered, Logs):
    """Options that `compare` and `card` share."""
