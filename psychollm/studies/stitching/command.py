"""``psychollm stitch``: put scores in many benchmarks on one scale."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from psychollm._base.call import Call
from psychollm.cli.carry_out import Analysis, Found
from psychollm.cli.options import option
from psychollm.cli.two_tables import ANALYSIS, OUTPUT

DESCRIPTION = """\
Put scores in many benchmarks on one scale: estimate an ability per model, a difficulty and slope
per benchmark, and predict missing scores.

SCORES is a CSV file with one row per score (columns model, benchmark, score), or one row per model
and one column per benchmark. Scores must be between 0 and 1; pass --out-of 100 for percentages.
"""
EPILOG = """\
examples:
  psychollm stitch scores.csv
  psychollm stitch scores.csv --score performance --date released --out scale
"""
COLUMNS = "columns"


@dataclass(frozen=True, kw_only=True)
class Stitch(Analysis):
    """Command `psychollm stitch`."""

    NAME = "stitch"
    HELP = "place models and benchmarks on one scale"
    DESCRIPTION = DESCRIPTION
    EPILOG = EPILOG

    scores: Path = option("scores of models in benchmarks, a CSV file", positional=True)
    model: str | None = option("column of models", "NAME", default=None, group=COLUMNS)
    benchmark: str | None = option("column of benchmarks", "NAME", default=None, group=COLUMNS)
    score: str | None = option("column of scores", "NAME", default=None, group=COLUMNS)
    n: str | None = option("column with the number of items", "NAME", default=None, group=COLUMNS)
    optimized: str | None = option(
        "column that marks the best of several reports", "NAME", default=None, group=COLUMNS
    )
    date: str | None = option("column of dates of release", "NAME", default=None, group=COLUMNS)
    out_of: float = option("highest possible score", "X", default=1.0, group=ANALYSIS)
    level: float = option("coverage of intervals", "L", default=0.9, group=ANALYSIS)
    seed: int = option("random seed", "S", default=1, group=ANALYSIS)
    out: Path | None = option(
        "folder for the page and the tables", "DIR", default=None, group=OUTPUT
    )
    report: bool = option("also write a page with a figure", default=True, group=OUTPUT)
    markdown: bool = option(
        "print only Markdown, e.g. for a pull request", default=False, group=OUTPUT
    )
    json: bool = option("print only the results as JSON", default=False, group=OUTPUT)

    def read(self) -> Callable[[], Found]:
        """Return the function that reads the scores and fits the scale."""
        names = ("model", "benchmark", "score", "n", "optimized", "date", "out_of", "level")
        options = {name: getattr(self, name) for name in names}
        call = Call("psy.stitch_benchmarks", (self.scores,), {**options, "rng": self.seed})
        return partial(self._stitched, call)

    def _stitched(self, call: Call) -> Found:
        result = call.run()
        numbers = {
            "n_models": len(result.labels),
            "n_benchmarks": len(result.data.benchmarks),
            "n_abilities": result.n_abilities,
            "rmse": result.rmse,
            "left_out": result.data.left_out,
            "level": self.level,
            "seed": self.seed,
        }
        return self.of_study(result, call.script(), numbers)


COMMAND = Stitch
