"""``psychollm gate``: find confidence thresholds above which answers need no review."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psychollm._base.call import Call, Made
from psychollm._base.errors import LabelError, OptionError
from psychollm.cli.calibrate import OfStated, read_stated
from psychollm.cli.carry_out import Found
from psychollm.cli.groups import GROUPS
from psychollm.cli.options import option
from psychollm.cli.two_tables import ANALYSIS, OUTPUT

if TYPE_CHECKING:
    from psychollm.cli.two_tables import Tables

DESCRIPTION = """\
Find the lowest confidence above which a model may answer without review: with a
probability of 90 %, at most 10 % of these answers are wrong. Each group of questions (--by) has
its own threshold; for other kinds of questions there is no guarantee.

CONFIDENCE, CORRECTNESS and LOG are described in 'psychollm calibrate --help'.
"""
EPILOG = """\
examples:
  psychollm gate sure.csv right.csv --out gates
  psychollm gate answers.csv --by domain --at-most 0.05 --certainty 0.95
  psychollm gate long.csv --confidence-column sure --correctness-column right --clusters passage
"""


@dataclass(frozen=True, kw_only=True)
class MakeGate(OfStated):
    """Command `psychollm gate`."""

    NAME = "gate"
    HELP = "find the confidence above which a model may answer without review"
    USAGE = "%(prog)s [options] CONFIDENCE [CORRECTNESS] | LOG ... | RUN.sqlite"
    DESCRIPTION = DESCRIPTION
    EPILOG = EPILOG
    FOLDER = "psychollm-report-gate"

    out: Path | None = option(
        f"folder of the results (default: {FOLDER})", "DIR", default=None, group=OUTPUT
    )
    at_most: float = option(
        "the largest tolerated proportion of wrong answers", "SHARE", default=0.1, group=ANALYSIS
    )
    certainty: float = option(
        "probability that each guarantee holds", "C", default=0.9, group=ANALYSIS
    )
    by: str | None = option(
        "a threshold for each group of questions: a column of the table or logs, or a file with a "
        "question and its group per line",
        "COLUMN|FILE",
        default=None,
        group=GROUPS,
    )

    def __post_init__(self) -> None:
        self.check_inputs()
        if self.streams:
            msg = (
                f"{self.confidence} is streamed, but gates need all answers of a model in memory: "
                "write them to a CSV or Parquet file, and pass its columns"
            )
            raise OptionError(msg)

    def read(self) -> Callable[[], Found]:
        """Read the tables."""
        return partial(self._gates, read_stated(self))

    def _gates(self, tables: "Tables[Any]") -> Found:
        made: Made = {}
        inputs = tuple(
            Call.done(name, value, made)
            for name, value in (
                ("confidence", tables.confidence),
                ("correctness", tables.correctness),
            )
        )
        options: dict[str, Any] = {"at_most": self.at_most, "certainty": self.certainty}
        if tables.groups is not None:
            of, groups = tables.groups
            if of != "questions":
                msg = f"--by {self.by} groups models: pass a column or file that groups questions"
                raise LabelError(msg)
            options["groups"] = Call.done("groups", groups, made)
        if tables.clusters is not None:
            options["clusters"] = Call.done("clusters", tables.clusters, made)
        call = Call("psy.calibration.confidence_gate", inputs, options, name="gate")
        gate = call.run(made)
        numbers = {
            "n_models": len(gate.labels),
            "at_most": self.at_most,
            "certainty": self.certainty,
            "fewest": gate.fewest,
            "source": list(tables.source),
            "left_out": tables.left_out,
        }
        return self.of_study(gate, call.script(tables.code), numbers, remark=tables.left_out)
