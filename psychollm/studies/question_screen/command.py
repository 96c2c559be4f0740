"""``psychollm items``: screen questions from logs of scores."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from psychollm._base.call import Call, Made
from psychollm.cli.carry_out import Analysis, Found
from psychollm.cli.groups import group_call, group_of_each
from psychollm.cli.import_logs import LOG_IS, Logs
from psychollm.cli.options import option
from psychollm.cli.two_tables import ANALYSIS, OUTPUT

DESCRIPTION = """\
Screen questions from scores alone. Questions may have zero variance (all models have the same
score), be hard, correlate negatively with the rest (better models fail more often: check the key),
or be duplicates (models answer two questions alike more often than ability explains).
"""
EPILOG = """\
examples:
  psychollm items logs/
  psychollm items logs/ --task gsm8k --out questions
  psychollm items scores.csv --threshold 7 --families vendor
"""


@dataclass(frozen=True, kw_only=True)
class Items(Analysis, Logs):
    """Command `psychollm items`."""

    NAME = "items"
    HELP = "find hard, zero-variance and duplicate questions"
    DESCRIPTION = DESCRIPTION + LOG_IS
    EPILOG = EPILOG

    families: str | None = option(
        "family of each model: a column, or a file with a model and its family per line",
        "COLUMN|FILE",
        default=None,
        group=ANALYSIS,
    )
    threshold: float | None = option(
        "scores above it count as right; needed if scores are not between 0 and 1",
        "CUT",
        default=None,
        group=ANALYSIS,
    )
    hard: float = option(
        "a question is hard if its mean score is at most this",
        "SHARE",
        default=0.2,
        group=ANALYSIS,
    )
    alpha: float = option(
        "probability of flagging any sound question, or any sound pair",
        "A",
        default=0.05,
        group=ANALYSIS,
    )
    out: Path | None = option("folder for the tables", "DIR", default=None, group=OUTPUT)
    json: bool = option("print only the results as JSON", default=False, group=OUTPUT)

    def read(self) -> Callable[[], Found]:
        """Read the scores, and the families of the models."""
        named = self.families
        keep = () if named is None or Path(named).is_file() else (named,)
        log = self.reading_of(self.logs, keep)
        made: Made = {id(log): self.scores_in(self.logs, keep)}
        options: dict[str, Any] = {}
        if named is not None:
            options["families"] = group_call("families", named, "model", log)
            made[id(options["families"])] = group_of_each(
                "--families", named, "model", log.run(made)
            )
        options |= {"threshold": self.threshold, "hard": self.hard, "alpha": self.alpha}
        return partial(self._screened, Call("psy.question_screen", (log,), options), made)

    def _screened(self, call: Call, made: Made) -> Found:
        result, log = call.run(made), call.inputs[0].run(made)
        numbers = {
            "n_models": result.n_models,
            "alpha": result.alpha,
            "hard": result.hard_share,
            "logs": log.counts(),
        }
        return self.of_study(result, call.script(), numbers, remark=log.summary())


COMMAND = Items
