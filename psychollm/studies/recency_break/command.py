"""``psychollm recency``: test for lower scores on questions published after a date."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psychollm._base.call import Call
from psychollm.cli.carry_out import Found
from psychollm.cli.groups import group_call
from psychollm.cli.import_logs import LOG_IS, Logs
from psychollm.cli.of_scores import Judged
from psychollm.cli.options import option
from psychollm.cli.two_tables import ANALYSIS

if TYPE_CHECKING:
    from psychollm.data.logs_result import ScoreLog

DESCRIPTION = """\
Test whether models score lower on questions published after a date than the difficulty of these
questions explains. A lower score is expected of a model trained on earlier questions. Difficulty
is estimated from other models. Models of one lineage count once.
"""
EPILOG = """\
examples:
  psychollm recency scores.csv --published dates.csv --cutoff 2023-09-01
  psychollm recency logs/ --published released --cutoff cutoffs.csv --families families.csv
"""


@dataclass(frozen=True, kw_only=True)
class Recency(Judged, Logs):
    """Command `psychollm recency`."""

    NAME = "recency"
    HELP = "test whether models may have seen the questions"
    DESCRIPTION = DESCRIPTION + LOG_IS
    EPILOG = EPILOG

    published: str = option(
        "when questions were published: a column of the table or logs, or a file with a question "
        "and its date per line",
        "COLUMN|FILE",
        group=ANALYSIS,
    )
    cutoff: str | None = option(
        "date after which models cannot have seen a question: one for all, or a file with one "
        "model and its date per line; by default the date is searched",
        "DATE|FILE",
        default=None,
        group=ANALYSIS,
    )
    families: str | None = option(
        "lineages of models, such as their base models: a column, or a file with a model and its "
        "lineage per line",
        "COLUMN|FILE",
        default=None,
        group=ANALYSIS,
    )
    null: int = option("number of permutations of the dates", "N", default=999, group=ANALYSIS)

    def read(self) -> Callable[[], Found]:
        """Read the scores, publication dates, cutoffs and lineages."""
        named = (self.published, self.families)
        kept = tuple(one for one in named if one is not None and not Path(one).is_file())
        return partial(self._breaks, self.scores_in(self.logs, kept), kept)

    def _breaks(self, log: "ScoreLog", kept: tuple[str, ...]) -> Found:
        reading = self.reading_of(self.logs, kept)
        cutoff: Any = self.cutoff
        if cutoff is not None and Path(cutoff).is_file():
            cutoff = Call("psy.data.read_clusters", (Path(cutoff),), name="cutoff")
        families = self.families and group_call("families", self.families, "model", reading)
        options = {
            "published": group_call("published", self.published, "question", reading),
            "cutoff": cutoff,
            "families": families,
            "level": self.level,
            "n_null": self.null,
            "rng": self.seed,
        }
        call = Call("psy.recency_break", (reading,), options)
        result = call.run({id(reading): log})
        numbers = {
            "alarms": list(result.alarms),
            "n_models": len(result.labels),
            "n_lineages": len(result.lineages),
            "logs": log.counts(),
            "level": self.level,
            "seed": self.seed,
        }
        return self.of_study(result, call.script(), numbers, remark=log.summary())


COMMAND = Recency
