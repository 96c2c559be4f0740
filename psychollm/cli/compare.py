"""``psychollm compare``: logs of scores in, who is better and who cannot be told apart out."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psychollm._base.call import Call, Made
from psychollm._base.errors import OptionError
from psychollm.cli.groups import ByGroups
from psychollm.cli.import_logs import LOG_IS, Logs
from psychollm.cli.options import option
from psychollm.cli.two_tables import ANALYSIS, OUTPUT, no_smallest, smallest_of

if TYPE_CHECKING:
    from psychollm.cli.outputs import Output
    from psychollm.data.logs_result import ScoreLog
    from psychollm.estimates.verdict import SmallestEffects
    from psychollm.studies.comparison.study import Comparison

DESCRIPTION = """\
Say which of several models is better on the questions that all of them answered: scores with
intervals, the difference of every two models, ranks with bounds that hold for all models at once,
tiers of models that cannot be told apart, and how many questions it would take to tell them.
"""
EPILOG = """\
examples:
  psychollm compare logs/
  psychollm compare gpt.csv claude.csv llama.csv --out comparison
  psychollm compare scores.csv --by domain
  psychollm compare logs/ --task gsm8k --clusters templates.csv --markdown > comment.md
"""


@dataclass(frozen=True, kw_only=True)
class OfScores(Logs):
    """What `compare` and `card` share: how scores are compared, and where the results go."""

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


@dataclass(frozen=True, kw_only=True)
class Compare(ByGroups, OfScores):
    """The command."""

    NAME = "compare"
    HELP = "from logs or tables of scores to ranks, tiers and differences of models"
    DESCRIPTION = DESCRIPTION + LOG_IS
    EPILOG = EPILOG

    equal_tasks: bool = option(
        "every task counts alike, however many questions it has", default=False, group=ANALYSIS
    )

    def run(self) -> int:
        """Read, compare, write, and say what was found."""
        from psychollm.cli.notes import as_notes, busy, computing
        from psychollm.cli.outputs import prepared, writing

        if self.equal_tasks and self.by:
            msg = "--equal-tasks and --by exclude each other: a group is one result"
            raise OptionError(msg)
        folder = prepared(self.out, report=self.report)
        quiet = self.quiet or self.markdown
        with as_notes(self.arguments(), quiet=quiet):
            with busy("reading the logs", quiet=quiet):
                log = self.scores_in(self.logs, self.kept)
            with computing(quiet=quiet):
                output, comment = self._grouped(log) if self.by else self._whole(log)
            output.write(folder, report=self.report)
            if folder is not None:
                with writing(f"--out {folder}"):
                    (folder / "comment.md").write_text(comment, encoding="utf-8")
        if self.markdown:
            print(comment)
        else:
            output.tell(folder, report=self.report, json=self.json, quiet=self.quiet)
        return 0

    def _whole(self, log: "ScoreLog") -> "tuple[Output, str]":
        call, made = self._call(log)
        result = call.run(made)
        script = call.script()
        return self._output(log, result, script), result.comment(smallest=self.smallest)

    def _call(self, log: "ScoreLog") -> tuple[Call, Made]:
        """Return the call of `compare`, and the log that was read for it."""
        reading = self.reading_of(self.logs)
        tasks = Call(".labels", (reading, "task"), name="tasks") if self.equal_tasks else None
        options = {"tasks": tasks, **self._options()}
        return Call("psy.compare", (reading,), options), {id(reading): log}

    def _grouped(self, log: "ScoreLog") -> "tuple[Output, str]":
        from psychollm.cli.groups import column_of, group_call, grouped_output, groups_of
        from psychollm.studies.provenance import versions

        assert self.by is not None  # noqa: S101 -- for the type checker
        models, questions = log.frame["model"].unique(), log.frame["question"].unique()
        of, groups = groups_of(self.by, models, questions, partial(column_of, log))
        reading = self.reading_of(self.logs, self.kept)
        by = group_call("groups", self.by, "question" if of == "questions" else "model", reading)
        call = Call("psy.compare_by", (reading, by), {"of": of, **self._options()})
        result = call.run({id(reading): log, id(by): groups})
        extra = {
            "logs": log.counts(),
            "level": self.level,
            "seed": self.seed,
            "call": call.script(),
            "versions": dict(versions()),
        }
        output = grouped_output(result, self.smallest, extra, remark=log.summary())
        return output, result.findings(smallest=self.smallest).to_markdown()

    def _options(self) -> "dict[str, Any]":
        clusters = None
        if self.clusters is not None:
            clusters = Call("psy.data.readers.read_clusters", (self.clusters,), name="clusters")
        return {
            "clusters": clusters,
            "power": self.power,
            "level": self.level,
            "rng": self.seed,
        }

    def _output(self, log: "ScoreLog", result: "Comparison", script: str) -> "Output":
        from psychollm.cli.outputs import Output, records
        from psychollm.studies.provenance import versions

        found, pairs = result.findings(smallest=self.smallest), result.pairs()
        return Output(
            summary=found.text(),
            results={
                "verdict": found.verdict,
                "findings": found.to_dict()["items"],
                "models": records(result.to_frame()),
                "tiers": result.tiers(),
                "pairs": records(pairs),
                "n_questions": result.n_questions,
                "n_answers": result.n_answers,
                "level": result.level,
                "power": result.power,
                "logs": log.counts(),
                "seed": self.seed,
                "versions": dict(versions()),
            },
            tables={"models": result.to_frame(), "pairs": pairs},
            remark=log.summary(),
            write_report=lambda path: result.report(path, source=script, smallest=self.smallest),
        )
