"""``psychollm horizon``: estimate time horizons from solved tasks and their lengths."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from psychollm._base.call import Call
from psychollm._base.errors import OptionError
from psychollm.cli.carry_out import Found
from psychollm.cli.groups import group_call
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
  psychollm horizon long.csv --minutes minutes --families template
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

    minutes: str = option(
        "how long tasks take people: a column of the table or logs, or a file with one task and "
        "its minutes per line",
        "COLUMN|FILE",
        group=ANALYSIS,
    )
    share: tuple[float, ...] = option(
        "probabilities of success", "P,P,...", default=(0.5, 0.8), parse=shares, group=ANALYSIS
    )
    families: str | None = option(
        "family of each task: a column, or a file with one task and its family per line",
        "COLUMN|FILE",
        default=None,
        group=ANALYSIS,
    )
    dates: str | None = option(
        "release dates of models, for a trend: a column, or a file with one model and its date "
        "per line",
        "COLUMN|FILE",
        default=None,
        group=ANALYSIS,
    )

    def __post_init__(self) -> None:
        for name, value in self._named.items():
            if Path(value) in self.logs:
                msg = (
                    f"--{name} {value} is the table of scores: name the column of {value} with "
                    f"the {name}, such as --{name} {name}"
                )
                raise OptionError(msg)

    @property
    def _named(self) -> dict[str, str]:
        """Columns or files, by option."""
        given = {"minutes": self.minutes, "families": self.families, "dates": self.dates}
        return {name: value for name, value in given.items() if value is not None}

    def read(self) -> Callable[[], Found]:
        """Read which tasks were solved."""
        kept = tuple(value for value in self._named.values() if not Path(value).is_file())
        return partial(self._horizons, self.scores_in(self.logs, kept), kept)

    def _horizons(self, log: "ScoreLog", kept: tuple[str, ...]) -> Found:
        reading = self.reading_of(self.logs, kept)
        calls = {
            name: group_call(name, value, "model" if name == "dates" else "question", reading)
            for name, value in self._named.items()
        }
        options = {
            "share": self.share,
            "families": calls.get("families"),
            "dates": calls.get("dates"),
            "level": self.level,
            "rng": self.seed,
        }
        call = Call("psy.time_horizon", (reading, calls["minutes"]), options)
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
