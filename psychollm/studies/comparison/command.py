"""``psychollm compare``: ranks, tiers and differences of models from their scores."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from psychollm._base.call import Call
from psychollm._base.errors import InputError, LabelError, OptionError
from psychollm.cli.carry_out import Found
from psychollm.cli.groups import ByGroups, column_of, found_by, group_call, groups_of
from psychollm.cli.import_logs import LOG_IS
from psychollm.cli.of_scores import Attempted, OfScores
from psychollm.cli.options import option
from psychollm.cli.two_tables import ANALYSIS, OUTPUT

if TYPE_CHECKING:
    from psychollm.data.logs_result import ScoreLog
    from psychollm.studies.comparison.study import Comparison

DESCRIPTION = """\
Compare models by their scores on the same questions. The result has scores with intervals, the
difference of each pair of models, ranks with simultaneous bounds, and tiers of models that are
indistinguishable from the best of the tier, and the number of questions that would decide each
pair. Files of votes on pairs of models (columns such as model_a, model_b, winner) are also
accepted; name other columns with --columns left=...,right=...,winner=...
"""
EPILOG = """\
examples:
  psychollm compare --example
  psychollm compare logs/
  psychollm compare gpt.csv claude.csv llama.csv --out comparison
  psychollm compare scores.csv --by domain
  psychollm compare logs/ --task gsm8k --clusters templates.csv --markdown > comment.md
  psychollm compare before=main/ after=pr/ --fail-below before
  psychollm compare logs/ --attempts 1,3,5
  psychollm compare logs/ --attempts 1,3 --cost tokens --seconds seconds
  psychollm compare votes.csv --out votes
  psychollm compare votes.csv --columns left=first,right=second,winner=preferred
"""

_EXAMPLE: Final = "smollm2"  # 22 respondents, 480 questions
_VOTED = ("winner", "preference", "preferred", "vote")  # columns of tables that may hold votes


@dataclass(frozen=True, kw_only=True)
class Compare(ByGroups, Attempted, OfScores):
    """Command `psychollm compare`."""

    NAME = "compare"
    HELP = "compare models: scores, ranks, tiers and differences, from logs or tables"
    DESCRIPTION = DESCRIPTION + LOG_IS
    EPILOG = EPILOG
    USAGE = "%(prog)s [options] LOG [LOG ...] | --example"

    logs: tuple[Path, ...] = option("logs, or folders of logs", "LOG", default=(), positional=True)
    example: bool = option("use the embedded example (real answers)", default=False)

    equal_tasks: bool = option(
        "give every task equal weight",
        default=False,
        group=ANALYSIS,
    )

    people: Path | None = option(
        "scores of people on the same questions, one row per person or per answer",
        "FILE.csv",
        default=None,
        group=ANALYSIS,
    )
    fail_below: str | None = option(
        "exit with code 1 if a model scores significantly lower than MODEL, for jobs that must "
        "stop on a regression",
        "MODEL",
        default=None,
        group=OUTPUT,
    )

    def __post_init__(self) -> None:
        if self.example:
            self._check_example()
        elif not self.logs:
            msg = "no LOG: pass a log, a table of scores or a file of votes, or --example"
            raise OptionError(msg)
        self.check_spent()
        if self.attempts and (self.by or self.equal_tasks or self.people is not None):
            msg = "--attempts cannot be combined with --by, --equal-tasks or --people"
            raise OptionError(msg)
        if self.attempts and self.power != OfScores.power:
            msg = "--power has no effect with --attempts: omit it"
            raise OptionError(msg)
        if self.people is not None and self.by:
            msg = "--people and --by cannot be combined: omit one"
            raise OptionError(msg)
        if self.fail_below is not None and (self.attempts or self.by):
            msg = "--fail-below cannot be combined with --attempts or --by"
            raise OptionError(msg)
        if self.equal_tasks and self.by:
            msg = "--equal-tasks and --by cannot be combined: omit one"
            raise OptionError(msg)

    def _check_example(self) -> None:
        """Raise `OptionError` if an option does not apply to the built-in example."""
        if self.logs:
            msg = "--example has its own scores: omit LOG"
            raise OptionError(msg)
        for name in ("by", "equal_tasks", "people", "attempts", "clusters"):
            if getattr(self, name):
                msg = f"--{name.replace('_', '-')}: the example has no such information"
                raise OptionError(msg)

    @property
    def reads(self) -> str:
        """Name of the command's input."""
        return "the example" if self.example else super().reads

    def read(self) -> Callable[[], Found]:
        """Read the scores or the votes."""
        if self.example:
            return self._of_example
        from psychollm.data.readers.votes_file import header_of_rows
        from psychollm.data.votes import COLUMNS_OF_VOTES, are_votes

        named = set(self.columns or {}) & {*COLUMNS_OF_VOTES}
        if len(self.logs) == 1 and (named or are_votes(header_of_rows(self.logs[0]))):
            return partial(self._voted, self.logs[0])
        try:
            log = self.scores_in(self.logs, (*self.kept, *self.spent.values()))
        except InputError as error:
            raise self._with_votes(error) from error
        if self.attempts:
            return partial(self._attempted, log)
        return partial(self._grouped if self.by else self._whole, log)

    def _with_votes(self, error: InputError) -> InputError:
        """Return the error about columns, naming the option for votes if the rows may be votes."""
        from psychollm._base.frames import is_called
        from psychollm.data.readers.votes_file import header_of_rows

        header = header_of_rows(self.logs[0]) if len(self.logs) == 1 and not self.columns else []
        if not any(is_called(name, _VOTED) for name in header):
            return error
        option = "--columns left=COLUMN,right=COLUMN,winner=COLUMN"
        return type(error)(f"{error.text.marked}; if rows are votes on two models, pass {option}")

    def _voted(self, path: Path) -> Found:
        other = (
            self.by, self.equal_tasks, self.people, self.attempts, self.clusters, self.fail_below
        )  # fmt: skip
        if any(other) or self.power != OfScores.power:
            msg = (
                f"{path} contains votes on pairs of models: --by, --equal-tasks, --people, "
                "--attempts, --clusters, --power and --fail-below require scores"
            )
            raise OptionError(msg)
        columns = self._columns_of_votes(path)
        call = Call(
            "psy.bradley_terry", (path,), {**columns, "level": self.level, "rng": self.seed}
        )
        result = call.run()
        numbers = {
            "tiers": result.tiers,
            "fit": result.fit.to_dict(),
            "level": self.level,
            "seed": self.seed,
        }
        found = self.of_study(result, call.script(), numbers)
        return replace(found, markdown=result.comment(smallest=self.smallest))

    def _columns_of_votes(self, path: Path) -> dict[str, str]:
        """Return the columns of votes, by argument name."""
        from psychollm.data.readers.votes_file import header_of_rows
        from psychollm.data.votes import COLUMNS_OF_VOTES

        columns, header = self.columns or {}, header_of_rows(path)
        unknown = [name for name in columns if name not in COLUMNS_OF_VOTES]
        absent = [name for name in columns.values() if header and name not in header]
        if unknown or absent:
            what = f"a key {unknown[0]!r}" if unknown else f"no column {absent[0]!r}"
            where = f"--columns has {what}" if unknown else f"{path} has {what}"
            msg = (
                f"{where}: keys for votes are {', '.join(COLUMNS_OF_VOTES)}, columns of {path} "
                f"{', '.join(header[:12])}"
            )
            raise LabelError(msg)
        return columns

    def _attempted(self, log: "ScoreLog") -> Found:
        reading = self.reading_of(self.logs, tuple(self.spent.values()))
        options = {name: self._options()[name] for name in ("clusters", "level", "rng")}
        call = Call("psy.attempts", (reading,), {"k": self.attempts, **self.spent, **options})
        result = call.run({id(reading): log})
        numbers = {"logs": log.counts(), "level": self.level, "seed": self.seed}
        return self.of_study(result, call.script(), numbers, remark=log.summary())

    def _whole(self, log: "ScoreLog") -> Found:
        reading = self.reading_of(self.logs)
        tasks = Call(".labels", (reading, "task"), name="tasks") if self.equal_tasks else None
        people = None
        if self.people is not None:
            people = Call("psy.studies.read_people", (self.people,), name="people")
        call = Call(
            "psy.compare", (reading,), {"tasks": tasks, "people": people, **self._options()}
        )
        result = call.run({id(reading): log})
        return self._compared(result, call.script(), {"logs": log.counts()}, log.summary())

    def _of_example(self) -> Found:
        from psychollm.data.examples import load_example

        made: dict[int, Any] = {}
        scores = Call.done("example.correctness", load_example(_EXAMPLE).correctness, made)
        call = Call("psy.compare", (scores,), self._options())
        script = call.script(f'example = psy.load_example("{_EXAMPLE}")')
        return self._compared(call.run(made), script, {"source": ["the embedded example"]}, "")

    def _compared(
        self, result: "Comparison", script: str, source: Mapping[str, Any], remark: str
    ) -> Found:
        numbers = {
            "tiers": result.tiers(),
            "n_questions": result.n_questions,
            "n_answers": result.n_answers,
            "level": result.level,
            "power": result.power,
            **source,
            "seed": self.seed,
        }
        found = self.of_study(result, script, numbers, remark=remark)
        comment = result.comment(smallest=self.smallest)
        return replace(found, markdown=comment, failure=self._regression(result))

    def _regression(self, result: "Comparison") -> str:
        """Describe which models score significantly lower than the model of `--fail-below`."""
        if self.fail_below is None:
            return ""
        from psychollm.data.labels import listed

        by_name = {str(label): label for label in result.labels}
        if self.fail_below not in by_name:
            msg = (
                f"--fail-below: no model {self.fail_below!r}: pass one of {listed(tuple(by_name))}"
            )
            raise LabelError(msg)
        below = result.significantly_below(by_name[self.fail_below])
        if not below:
            return ""
        verb = "scores" if len(below) == 1 else "score"
        return f"{listed(below)} {verb} significantly lower than {self.fail_below!r}"

    def _grouped(self, log: "ScoreLog") -> Found:
        assert self.by is not None  # noqa: S101 -- for the type checker
        models, questions = log.frame["model"].unique(), log.frame["question"].unique()
        of, groups = groups_of(self.by, models, questions, partial(column_of, log))
        reading = self.reading_of(self.logs, self.kept)
        by = group_call("groups", self.by, "question" if of == "questions" else "model", reading)
        call = Call("psy.compare_by", (reading, by), {"of": of, **self._options()})
        result = call.run({id(reading): log, id(by): groups})
        numbers = {"logs": log.counts(), "level": self.level, "seed": self.seed}
        return found_by(self, result, call.script(), numbers, remark=log.summary())

    def _options(self) -> "dict[str, Any]":
        return {
            "clusters": self.clusters_read,
            "power": self.power,
            "level": self.level,
            "rng": self.seed,
        }


COMMAND = Compare
