"""Options that commands on scores share: clusters, coverage, smallest effects and output."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from psychollm._base.call import Call
from psychollm._base.errors import OptionError
from psychollm.cli.carry_out import Analysis
from psychollm.cli.import_logs import Logs
from psychollm.cli.options import option, whole_numbers
from psychollm.cli.two_tables import ANALYSIS, OUTPUT, no_smallest, smallest_of

if TYPE_CHECKING:
    from psychollm.estimates.verdict import SmallestEffects


@dataclass(frozen=True, kw_only=True)
class Clustered:
    """Option for clusters of questions."""

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
        """Columns of costs and times by the name of the argument."""
        named = {"cost": self.cost, "seconds": self.seconds}
        return {name: column for name, column in named.items() if column is not None}

    def check_spent(self) -> None:
        """Raise an error if costs or times are given without attempts."""
        if self.spent and not self.attempts:
            msg = f"--{next(iter(self.spent))} needs --attempts, such as --attempts 1,3"
            raise OptionError(msg)


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
class Judged(Analysis):
    """Options for coverage and output."""

    level: float = option("coverage of intervals", "L", default=0.95, group=ANALYSIS)
    smallest: "SmallestEffects" = option(
        "smallest difference of interest, such as share=0.02",
        "share=X",
        default=no_smallest,
        parse=smallest_of,
        group=ANALYSIS,
    )
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
class OfScores(Judged, Powered, Logs):
    """Options that `compare` and `card` share."""
