"""``psychollm items``: logs of scores in, which questions are of use out."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psychollm._base.call import Call, Made
from psychollm.cli.groups import group_call, group_of_each
from psychollm.cli.import_logs import LOG_IS, Logs
from psychollm.cli.options import option
from psychollm.cli.two_tables import ANALYSIS, OUTPUT

if TYPE_CHECKING:
    from psychollm.cli.outputs import Output
    from psychollm.data.logs_result import ScoreLog
    from psychollm.studies.question_screen.study import QuestionScreen

DESCRIPTION = """\
Say which questions are of use, from right and wrong answers alone: which are dead (every model
gets them right, or wrong), hard, against the rest (the better a model, the more it fails: look at
the key), or redundant (models answer two of them alike, more than ability explains).
"""
EPILOG = """\
examples:
  psychollm items logs/
  psychollm items logs/ --task gsm8k --out questions
  psychollm items scores.csv --threshold 7 --families vendor
"""


@dataclass(frozen=True, kw_only=True)
class Items(Logs):
    """The command."""

    NAME = "items"
    HELP = "from logs or tables of scores to the questions that are hard, dead or redundant"
    DESCRIPTION = DESCRIPTION + LOG_IS
    EPILOG = EPILOG

    families: str | None = option(
        "what models are made from: a column, or a file with a model and its family per line",
        "COLUMN|FILE",
        default=None,
        group=ANALYSIS,
    )
    threshold: float | None = option(
        "scores above it are right; needed where scores are not between 0 and 1",
        "CUT",
        default=None,
        group=ANALYSIS,
    )
    hard: float = option(
        "a question is hard if models score this or less on average",
        "SHARE",
        default=0.2,
        group=ANALYSIS,
    )
    alpha: float = option(
        "the chance of naming any sound question, or pair, by luck",
        "A",
        default=0.05,
        group=ANALYSIS,
    )
    out: Path | None = option("where the tables go", "DIR", default=None, group=OUTPUT)
    json: bool = option("print the results as JSON and nothing else", default=False, group=OUTPUT)

    def run(self) -> int:
        """Read, judge, write, and say what was found."""
        from psychollm.cli.notes import as_notes, busy
        from psychollm.cli.outputs import prepared

        folder = prepared(self.out, report=False)
        with (
            as_notes(self.arguments(), quiet=self.quiet),
            busy("reading the logs", quiet=self.quiet),
        ):
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
            call = Call("psy.question_screen", (log,), options)
            output = self._output(log.run(made), call.run(made), call.script())
            output.write(folder, report=False)
        output.tell(folder, report=False, json=self.json, quiet=self.quiet)
        return 0

    def _output(self, log: "ScoreLog", result: "QuestionScreen", script: str) -> "Output":
        from psychollm.cli.outputs import Output, records
        from psychollm.studies.provenance import versions

        found, questions, pairs = result.findings(), result.to_frame(), result.redundant()
        return Output(
            summary=found.text(),
            results={
                "verdict": found.verdict,
                "findings": found.to_dict()["items"],
                "questions": records(questions),
                "redundant": records(pairs),
                "n_models": result.n_models,
                "alpha": result.alpha,
                "hard": result.hard_share,
                "logs": log.counts(),
                "call": script,
                "versions": dict(versions()),
            },
            tables={"questions": questions, "redundant": pairs},
            remark=log.summary(),
        )
