"""``psychollm card``: logs of scores in, one page on what the evaluation shows out."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psychollm.cli.import_logs import LOG_IS
from psychollm.cli.of_scores import OfScores
from psychollm.cli.options import option
from psychollm.cli.two_tables import ANALYSIS

if TYPE_CHECKING:
    import pandas as pd

    from psychollm.cli.outputs import Output
    from psychollm.data.logs_result import ScoreLog
    from psychollm.studies.evaluation_card.study import EvaluationCard

DESCRIPTION = """\
Sum an evaluation up on one page: the accuracy of each model on these questions and on questions
like these, each with the interval that belongs to it; ranks and tiers; how much of the answers'
variance is models, questions, their interaction and chance; how reliable the ranking is; the
smallest difference that can be shown; suspect questions; calibration, where confidences are
logged; and what all this cannot show.
"""
EPILOG = """\
examples:
  psychollm card logs/
  psychollm card scores.csv --domains domain --families vendor --out card
  psychollm card logs/ --task gsm8k --clusters templates.csv --markdown > card.md
"""


@dataclass(frozen=True, kw_only=True)
class Card(OfScores):
    """The command."""

    NAME = "card"
    HELP = "from logs or tables of scores to one page on what the evaluation shows"
    DESCRIPTION = DESCRIPTION + LOG_IS
    EPILOG = EPILOG

    domains: str | None = option(
        "what questions are about: a column of the table or logs, or a file with a question and "
        "its domain per line",
        "COLUMN|FILE",
        default=None,
        group=ANALYSIS,
    )
    families: str | None = option(
        "what models are made from: a column, or a file with a model and its family per line",
        "COLUMN|FILE",
        default=None,
        group=ANALYSIS,
    )

    def run(self) -> int:
        """Read, sum up, write, and say what was found."""
        from psychollm.cli.notes import as_notes, busy, computing
        from psychollm.cli.outputs import prepared
        from psychollm.studies.evaluation_card.study import evaluation_card

        folder = prepared(self.out, report=self.report)
        quiet = self.quiet or self.markdown
        with as_notes(quiet=quiet):
            with busy("reading the logs", quiet=quiet):
                log = self.scores_in(self.logs, self._kept())
            with computing(quiet=quiet):
                card = evaluation_card(log, **self._options(log))
            output = self._output(log, card)
            output.write(folder, report=self.report)
        if self.markdown:
            print(card.findings(smallest=self.smallest).to_markdown())
        else:
            output.tell(folder, report=self.report, json=self.json, quiet=self.quiet)
        return 0

    def _kept(self) -> tuple[str, ...]:
        """Return the columns of logs that are to be kept."""
        named = (self.domains, self.families)
        return tuple(one for one in named if one is not None and not Path(one).is_file())

    def _options(self, log: "ScoreLog") -> dict[str, Any]:
        from psychollm.data.readers import read_clusters

        return {
            "domains": _groups("--domains", self.domains, "question", log),
            "families": _groups("--families", self.families, "model", log),
            "clusters": None if self.clusters is None else read_clusters(self.clusters),
            "power": self.power,
            "level": self.level,
            "rng": self.seed,
        }

    def _output(self, log: "ScoreLog", card: "EvaluationCard") -> "Output":
        from psychollm.cli.outputs import Output, records
        from psychollm.studies.provenance import versions

        found, pairs = card.findings(smallest=self.smallest), card.comparison.pairs()
        mixed = card.mixed
        tables = {"models": card.to_frame(), "pairs": pairs}
        if mixed is not None:
            tables |= {"shares": mixed.share.to_frame(), "components": mixed.components.to_frame()}
        if card.screen is not None:
            tables["questions"] = card.screen.to_frame()
        return Output(
            summary=found.text(),
            results={
                "verdict": found.verdict,
                "findings": found.to_dict()["items"],
                "models": records(card.to_frame()),
                "tiers": card.comparison.tiers(),
                "shares": None if mixed is None else records(mixed.share.to_frame()),
                "components": None if mixed is None else records(mixed.components.to_frame()),
                "reliability": None if mixed is None else records(mixed.reliability.to_frame())[0],
                "pairs": records(pairs),
                "gaps": card.gaps,
                "n_questions": card.n_questions,
                "n_answers": card.n_answers,
                "missing": card.missing,
                "level": card.level,
                "power": self.power,
                "logs": log.counts(),
                "seed": self.seed,
                "versions": dict(versions()),
            },
            tables=tables,
            remark=log.summary(),
            write_report=lambda path: card.report(
                path, source=self._code(), smallest=self.smallest
            ),
        )

    def _code(self) -> str:
        """Return the lines of Python that do the same."""
        lines = [f"log = {self.read_code(self.logs, self._kept())}"]
        given = []
        for name, unit in (("domains", "question"), ("families", "model")):
            value = getattr(self, name)
            if value is None:
                continue
            if Path(value).is_file():
                lines.append(f"{name} = psy.data.readers.read_clusters({value!r})")
            else:
                lines.append(
                    f"{name} = log.frame.drop_duplicates({unit!r}).set_index({unit!r})[{value!r}]"
                )
            given.append(f"{name}={name}")
        if self.clusters is not None:
            lines.append(f"clusters = psy.data.readers.read_clusters({str(self.clusters)!r})")
            given.append("clusters=clusters")
        given += [f"power={self.power}", f"level={self.level}", f"rng={self.seed}"]
        lines.append(f"card = psy.evaluation_card(log, {', '.join(given)})")
        return "\n".join(lines)


def _groups(named: str, by: str | None, unit: str, log: "ScoreLog") -> "pd.Series[Any] | None":
    """Return the group of each question or model, from a file or a column."""
    from psychollm.cli.groups import group_of_each

    return None if by is None else group_of_each(named, by, unit, log)
