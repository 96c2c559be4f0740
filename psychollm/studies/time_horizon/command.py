"""``psychollm horizon``: estimate time horizons from solved tasks and their lengths."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from psychollm._base.call import Call
from psychollm.cli.carry_out import Found
from psychollm.cli.import_logs import LOG_IS, Logs
from psychollm.cli.of_scores import Estimated
from psychollm.cli.options import option
from psychollm.cli.two_tables import ANALYSIS

if TYPE_CHECKING:
    from psychollm.data.logs_result import ScoreLog

DESCRIPTION = """\
Estimate the length of the tasks that models solve with a given probability, in minutes that people
need: over all tasks, and for a task of typical difficulty, with intervals for the task population.
With release dates, the time in which horizons double is estimated, too.
"""
EPILOG = """\
examples:
  psychollm horizon solved.csv --minutes minutes.csv
  psychollm horizon logs/ --minutes minutes.csv --families families.csv --out horizons
  psychollm horizon solved.csv --minutes minutes.csv --dates released.csv --share 0.5,0.8
"""


def shares(text: str) -> tuple[float, ...]:
    """Read probabilities such as ``0.5,0.8``."""
    return tuple(float(one) for one in text.split(","))


@dataclass(frozen=True, kw_only=True)
class Horizon(Estimated, Logs):
    """Command `psychollm horizon`."""

    NAME = "horizon"
    HELP = "estimate time horizons from solved tasks and their lengths"
    DESCRIPTION = DESCRIPTION + LOG_IS
    EPILOG = EPILOG

    minutes: Path = option(
        "how long tasks take people: a file with one task and its minutes per line", "FILE.csv",
        group=ANALYSIS,
    )  # fmt: skip
    share: tuple[float, ...] = option(
        "probabilities of success", "P,P,...", default=(0.5, 0.8), parse=shares, group=ANALYSIS
    )
    families: Path | None = option(
        "family of each task: a file with one task and its family per line", "FILE.csv",
        default=None, group=ANALYSIS,
    )  # fmt: skip
    dates: Path | None = option(
        "release dates of models, for a trend: a file with one model and its date per line",
        "FILE.csv", default=None, group=ANALYSIS,
    )  # fmt: skip

    def read(self) -> Callable[[], Found]:
        """Read which tasks were solved."""
        return partial(self._horizons, self.scores_in(self.logs))

    def _horizons(self, log: "ScoreLog") -> Found:
        reading = self.reading_of(self.logs)
        minutes, families, dates = (
            None
            if path is None
            else Call("psy.data.read_clusters", (path,), name=name)
            for name, path in (
                ("minutes", self.minutes), ("families", self.families), ("dates", self.dates)
            )
        )  # fmt: skip
        options = {
            "share": self.share,
            "families": families,
            "dates": dates,
            "level": self.level,
            "rng": self.seed,
        }
        call = Call("psy.time_horizon", (reading, minutes), options)
        result = call.run({id(reading): log})
        numbers = {
            "n_models": len(result.labels),
            "n_tasks": len(result.tasks),
            "logs": log.counts(),
            "level": self.level,
            "seed": self.seed,
        }
        return self.of_study(result, call.script(), numbers, remark=log.summary())


COMMAND = Horizon
