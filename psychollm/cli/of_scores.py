"""What commands share that judge scores: clusters, coverage, what matters, where results go."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from psychollm._base.call import Call
from psychollm.cli.carry_out import Analysis
from psychollm.cli.import_logs import Logs
from psychollm.cli.options import option
from psychollm.cli.two_tables import ANALYSIS, OUTPUT, no_smallest, smallest_of

if TYPE_CHECKING:
    from psychollm.estimates.verdict import SmallestEffects


@dataclass(frozen=True, kw_only=True)
class Clustered:
    """What questions belong to."""

    clusters: Path | None = option(
        "what questions belong to: a file with a question and its cluster per line",
        default=None,
        group=ANALYSIS,
    )

    @property
    def clusters_read(self) -> Call | None:
        """The call that reads the file."""
        if self.clusters is None:
            return None
        return Call("psy.data.readers.read_clusters", (self.clusters,), name="clusters")


@dataclass(frozen=True, kw_only=True)
class Powered(Clustered):
    """What is to be shown."""

    power: float = option(
        "the chance with which a difference is to be shown, to say what it takes",
        "P",
        default=0.8,
        group=ANALYSIS,
    )


@dataclass(frozen=True, kw_only=True)
class Judged(Analysis):
    """How sure what is said is to be, and where it goes."""

    level: float = option("coverage of intervals", "L", default=0.95, group=ANALYSIS)
    smallest: "SmallestEffects" = option(
        "the smallest difference that matters, such as share=0.02",
        "share=X",
        default=no_smallest,
        parse=smallest_of,
        group=ANALYSIS,
    )
    seed: int = option("seed of all randomness", "S", default=1, group=ANALYSIS)
    out: Path | None = option(
        "where the page, the tables and the rest go", "DIR", default=None, group=OUTPUT
    )
    report: bool = option("a page with a figure beside the tables", default=True, group=OUTPUT)
    markdown: bool = option(
        "print Markdown and nothing else, as for a pull request", default=False, group=OUTPUT
    )
    json: bool = option("print the results as JSON and nothing else", default=False, group=OUTPUT)


@dataclass(frozen=True, kw_only=True)
class OfScores(Judged, Powered, Logs):
    """What `compare` and `card` share."""
