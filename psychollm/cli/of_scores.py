"""What `compare` and `card` share: logs of scores in, one page out."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from psychollm.cli.import_logs import Logs
from psychollm.cli.options import option
from psychollm.cli.two_tables import ANALYSIS, OUTPUT, no_smallest, smallest_of

if TYPE_CHECKING:
    from psychollm.estimates.verdict import SmallestEffects


@dataclass(frozen=True, kw_only=True)
class OfScores(Logs):
    """How scores of models are compared, and where the results go."""

    clusters: Path | None = option(
        "what questions belong to: a file with a question and its cluster per line",
        default=None,
        group=ANALYSIS,
    )
    power: float = option(
        "the chance with which a difference is to be shown, to say what it takes",
        "P",
        default=0.8,
        group=ANALYSIS,
    )
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
