"""``psychollm card``: summarise an evaluation from logs of scores."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psychollm._base.call import Call, Made
from psychollm.cli.carry_out import Found, records
from psychollm.cli.groups import UNITS, group_call, group_of_each
from psychollm.cli.import_logs import LOG_IS
from psychollm.cli.of_scores import Attempted, OfScores, WithLabels
from psychollm.cli.options import option
from psychollm.cli.two_tables import ANALYSIS

if TYPE_CHECKING:
    from psychollm.data.logs_result import ScoreLog

DESCRIPTION = """\
Summarise an evaluation on one page: each model's accuracy on these questions and on the question
population, with intervals; ranks and tiers; the variance due to models, questions, their
interaction and chance; the reliability of the ranking; the smallest detectable difference;
suspect questions; pass@k and pass^k of repeated attempts (--attempts); calibration, if
confidences are logged; and the gaps in the data.
"""
EPILOG = """\
examples:
  psychollm card logs/
  psychollm card scores.csv --domains domain --families vendor --out card
  psychollm card logs/ --attempts 1,3 --cost tokens
  psychollm card logs/ --task gsm8k --clusters templates.csv --markdown > card.md
"""


@dataclass(frozen=True, kw_only=True)
class Card(Attempted, OfScores, WithLabels):
    """Command `psychollm card`."""

    NAME = "card"
    HELP = "summarise an evaluation on one page"
    DESCRIPTION = DESCRIPTION + LOG_IS
    EPILOG = EPILOG

    domains: str | None = option(
        "domain of each question: a column of the table or logs, or a file with a question and "
        "its domain per line",
        "COLUMN|FILE",
        default=None,
        group=ANALYSIS,
    )
    families: str | None = option(
        "family of each model: a column, or a file with a model and its family per line",
        "COLUMN|FILE",
        default=None,
        group=ANALYSIS,
    )

    human_labels: Path | None = option(
        "human labels of some answers, if a judge gave the scores: a log or table like LOG",
        "LABELS",
        default=None,
        group=ANALYSIS,
    )

    def __post_init__(self) -> None:
        self.check_spent()

    def read(self) -> Callable[[], Found]:
        """Read the scores and the groups of questions and models."""
        log = self.scores_in(self.logs, self._kept())
        return partial(self._card, log, *self._call(log))

    def _kept(self) -> tuple[str, ...]:
        """Return the columns of the logs that the study needs."""
        named = (self.domains, self.families)
        columns = (one for one in named if one is not None and not Path(one).is_file())
        return (*columns, *self.spent.values())

    def _card(self, log: "ScoreLog", call: Call, made: Made) -> Found:
        card = call.run(made)
        mixed = card.mixed
        numbers = {
            "tiers": card.comparison.tiers(),
            "gaps": card.gaps,
            "n_questions": card.n_questions,
            "n_answers": card.n_answers,
            "missing": card.missing,
            "level": card.level,
            "power": self.power,
            "logs": log.counts(),
            "seed": self.seed,
            **(
                dict.fromkeys(("shares", "components", "reliability"))
                if mixed is None
                else {"reliability": records(mixed.reliability.to_frame())[0]}
            ),
        }
        found = self.of_study(card, call.script(), numbers, remark=log.summary())
        return replace(found, in_files=("questions",))

    def _call(self, log: "ScoreLog") -> tuple[Call, Made]:
        """Return the call of `evaluation_card`, and the inputs of the call, read and checked."""
        reading = self.reading_of(self.logs, self._kept())
        made: Made = {id(reading): log}
        options: dict[str, Any] = {}
        for name, unit in UNITS.items():
            value = getattr(self, name)
            if value is None:
                continue
            options[name] = group_call(name, value, unit, reading)
            made[id(options[name])] = group_of_each(f"--{name}", value, unit, log)
        if self.human_labels is not None:
            options["human_labels"] = self.labels_of(self.human_labels, made, name="human_labels")
        options |= {
            "attempts": self.attempts or None,
            **self.spent,
            "clusters": self.clusters_read,
            "power": self.power,
            "level": self.level,
            "rng": self.seed,
        }
        return Call("psy.evaluation_card", (reading,), options, name="card"), made


COMMAND = Card
