"""``psychollm study``: analyse two tables, logs or stores, and write a report."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from psychollm._base.call import Call, Made
from psychollm._base.errors import CodeError, InputError, OptionError
from psychollm._base.types import EmptyCells, Missing
from psychollm.cli.carry_out import Found
from psychollm.cli.groups import (
    GROUPS,
    ByGroups,
    column_of,
    column_of_table,
    groups_call,
    groups_of,
)
from psychollm.cli.options import option
from psychollm.cli.streamed import STREAMS_ARE, scan_of
from psychollm.cli.two_tables import ANALYSIS, OUTPUT, READING, Resampled, Tables, left_out_line

if TYPE_CHECKING:
    import pandas as pd

    from psychollm.data.responses import Responses
    from psychollm.data.scan import Scan
    from psychollm.estimates.findings import Study as Findable
    from psychollm.instruments.prompt import Prompt

DESCRIPTION = (
    """\
Test whether the confidence of models follows one common factor or several, with a threshold for
each model, and whether a model's own confidence predicts its correctness beyond the factor.

CONFIDENCE contains each model's report whether it can answer each question (1 = yes, 0 = no, or a
reported confidence with --threshold); CORRECTNESS whether it then answered correctly (1, 0). Both
are CSV or Parquet files, wide (a row per model, a column per question) or long (a row per answer,
with columns "model" and "question" or "item"). Empty cells are missing answers.

LOG is a log of an evaluation tool with confidences (see 'psychollm import --help'), a table with
the columns "model", "question", "score" and "confidence", or a folder of such files.

A store of psychollm collect may replace both. The study for its instrument is then run: this one
for self-prediction, and others for rule-world, self-efficacy, semantic-sampling, abstention,
revision, scaffold and coding. For plans with arms, or several stores, each arm is studied. Then
arms are compared: differences are paired by question and model, and pooled over models.
"""
    + STREAMS_ARE
    + """\
The number of common factors is tested for the column --confidence-column (default: "value").
Analyses that need all answers in memory are omitted.
"""
)
EPILOG = """\
examples:
  psychollm study --example
  psychollm study said.csv right.csv --out results --seed 1
  psychollm study long.csv --confidence-column sure --correctness-column right --threshold 0.5
  psychollm study logs/ --threshold 0.5
  psychollm study run.sqlite --out results
  psychollm study said.csv right.csv --by domains.csv
  psychollm study base.sqlite instruct.sqlite --baseline base --out results
  psychollm study answers.duckdb --table runs --confidence-column sure --threshold 0.5 --null 99
"""

_EXAMPLE_CODE = """\
example = psy.load_example("shared_confidence")
confidence, correctness = example.confidence, example.correctness"""
_COMMON_CODE = """\
shared = psy.data.align(confidence, correctness)
confidence, correctness = shared.first, shared.second"""
_SELECT_CODE = "{0} = {0}.select(models=[m for m in {0}.models if m not in absent])"


def number_or_rule(text: str) -> str | float:
    """Convert text to a number if possible; names of rules are checked later."""
    try:
        return float(text)
    except ValueError:
        return text


@dataclass(frozen=True, kw_only=True)
class OfTables(ByGroups, Resampled):
    """Options for tables, logs and stores, and the study of tables and logs."""

    NAME = "study"
    EFFECTS = ("auroc", "share", "calibration_error", "correlation", "second_share")
    HELP = "test whether one common factor explains confidence, or run the study of a store"
    USAGE = "%(prog)s [options] CONFIDENCE CORRECTNESS | LOG ... | RUN.sqlite ... | --example"
    DESCRIPTION = DESCRIPTION
    EPILOG = EPILOG
    FOLDER = "psychollm-report"
    # The second half of what a study compiles, in the order of its use
    AHEAD = (
        "correlation.tetrachoric",
        "nulls.permutation_null",
        "calibration.individuation",
        "studies.private_signal",
    )
    OTHERWISE = ", or logs, or a store, or --example"
    ARMS = True

    out: Path | None = option(
        f"folder of the results (default: {FOLDER})", "DIR", default=None, group=OUTPUT
    )
    example: bool = option("use the embedded example (simulated data)", default=False)
    instrument: str | None = option(
        "the instrument, if the store holds several", "NAME", default=None
    )
    arm: str | None = option("analyse one arm of a store with several", "NAME", default=None)
    baseline: str | None = option(
        "the arm that others are compared with (default: the first)", "NAME", default=None
    )
    threshold: str | float | None = option(
        "dichotomise reported confidence (yes above T): a number or model_median, model_mean, "
        "model_balanced",
        "T",
        default=None,
        parse=number_or_rule,
        group=READING,
    )
    at_least: bool = option(
        "count confidence equal to the threshold as yes", default=False, group=READING
    )
    empty_cells: EmptyCells = option(
        "continuity correction of 2 x 2 tables with an empty cell",
        default="keep_margins",
        group=ANALYSIS,
    )
    thresholds: Missing = option(
        "estimate the thresholds of a pair from its own table or from all answers",
        default="pairwise",
        group=ANALYSIS,
    )
    drop_unusable: bool = option(
        "exclude models that fail the validity screen (default: name them)",
        default=False,
        group=ANALYSIS,
    )
    people: Path | None = option(
        "answers of people: a file saved by the form (psychollm form), or a table of scores",
        "FILE.csv",
        default=None,
        group=ANALYSIS,
    )
    by: str | None = option(
        "repeat the study for each group of questions and test for one factor across groups: a "
        "column of a long table or of logs, or a file with a question and its group per line",
        "COLUMN|FILE",
        default=None,
        group=GROUPS,
    )
    null: int = option("number of replicates of each null", default=499, group=ANALYSIS)
    simulated: bool = option("label the report as simulated", default=False, group=OUTPUT)
    # settings of the analysis from the plan of `psychollm.cli.run`, and people's answers
    analysis: Mapping[str, Any] = field(default_factory=dict, metadata={"typed": False})

    @property
    def replication(self) -> dict[str, Any]:
        """Return the arguments for resampling, together with the settings of the plan."""
        return super().replication | dict(self.analysis)

    @property
    def arm_code(self) -> str:
        """Python code of the argument that selects the arm; empty if there is no arm."""
        return "" if self.arm is None else f", arm={self.arm!r}"

    def with_people(self, prompts: "Iterable[Prompt] | None" = None) -> Self:
        """Return the command with people's answers to the prompts, if the user gave a file."""
        if self.people is None:
            return self
        of_people = import_module("psychollm.studies.people.table")
        frame = of_people.read_people(self.people, prompts=prompts)
        return replace(self, analysis={**self.analysis, "people": frame})

    def people_code(self, asked: str = "") -> str:
        """Return the Python code that reads people's answers, or "" if there is no file."""
        if self.people is None:
            return ""
        given = f", prompts={asked}" if asked else ""
        return f"people = psy.studies.read_people({str(self.people)!r}{given})"

    def __post_init__(self) -> None:
        if not self.example:
            self.check_inputs()
        elif self.inputs:
            msg = "--example has its own tables: omit CONFIDENCE and CORRECTNESS"
            raise OptionError(msg)
        if self.streams:
            self.check_stream("correctness_column", "drop_unusable", "bootstrap", "people", "by")
            if isinstance(self.threshold, str):
                msg = f"--threshold {self.threshold}: streamed tables need a number"
                raise OptionError(msg)
        if self.stores:
            self._check_store()
        elif self.arm or self.baseline:
            msg = "--arm and --baseline apply to stores only: tables have no arms"
            raise OptionError(msg)

    def _check_store(self) -> None:
        """Raise an error for options that do not apply to stores."""
        for name in ("threshold", "codes", "confidence_column", "correctness_column", "by"):
            if getattr(self, name) is not None:
                msg = f"--{name.replace('_', '-')} applies to tables only, not to stores"
                raise OptionError(msg)

    @property
    def with_page(self) -> bool:
        """Whether to write a report page."""
        return self.report and not self.streams

    def read(self) -> Callable[[], Found]:
        """Read the tables."""
        if not self.streams:
            return partial(self.with_people().judge, self._read())
        value, threshold = self.confidence_column, self.threshold
        call = scan_of(self, self.confidence, value=value, threshold=threshold)
        return partial(self._judge_scan, call, call.run())

    def _judge_scan(self, scan: Call, answers: "Scan") -> Found:
        """Return the dimensionality result for confidence values that a scan has read."""
        from psychollm.cli.notes import watched

        call = Call(
            "psy.studies.shared_signals",
            (scan,),
            {"n_null": self.null, "alpha": round(1.0 - self.level, 12), "rng": self.seed},
            name="found",
            aside={"n_jobs": self.jobs, "progress": watched(quiet=self.quiet)},
        )
        found = call.run({id(scan): answers})
        numbers = {
            "n_factors": found.n_factors,
            "n_models": answers.n_models,
            "n_questions": answers.n_questions,
            "n_answers": answers.n_answers,
            "level": self.level,
            "source": list(self.files),
            "seed": self.seed,
        }
        remark = (
            "The answers were read in one pass, so only the number of factors is tested; the "
            "test uses pairwise counts."
        )
        return self.of_study(found, call.script(), numbers, remark=remark)

    def _read(self) -> "Tables[Responses]":
        if self.example:
            from psychollm.data.examples import load_example

            example = load_example("shared_confidence")
            tables = (example.confidence, example.correctness)
            return self._grouped(Tables(*tables, ("the embedded example",), _EXAMPLE_CODE))
        if self.of_logs:
            return self._from_logs()
        split = {"threshold": self.threshold, "strict": not self.at_least}
        codes = self.codes if self.threshold is None else None
        first, second = self.calls(
            "psy.read_responses", {"codes": self.codes, **split}, {"codes": codes}
        )
        code = "\n".join(f"{one.name} = {one.text()}" for one in (first, second))
        said = first.run()
        try:
            right = second.run()
        except CodeError:
            self._check_order()
            raise
        both = self.reduced(Tables(said, right, self.files, code))
        return self._grouped(both, partial(column_of_table, self))

    def _check_order(self) -> None:
        """Raise an error if the two tables seem to be swapped."""
        from psychollm.calibration.stated import check_order

        tables: list[Any] = []
        with suppress(InputError):
            tables = [one.run() for one in self.calls("psy.data.read_table", {}, {})]
        if tables:
            columns = (self.confidence_column, self.correctness_column)
            first, second = columns if all(columns) else self.inputs
            check_order(tables[0], tables[1], (str(first), str(second)))

    def _from_logs(self) -> "Tables[Responses]":
        """Return confidence and correctness from logs."""
        made: Made = {}
        stated, right, code, log = self.stated_in_logs(self.kept)
        options: dict[str, Any] = {"codes": self.codes}
        if self.threshold is not None:
            options = {"threshold": self.threshold, "strict": not self.at_least}
        call = Call("psy.Responses", (Call.done("confidence", stated, made),), options)
        code.append(f"confidence = {call.text()}")
        text = "\n".join(code)
        tables = self.reduced(Tables(call.run(made), right, self.files, text, log.summary()))
        return self._grouped(tables, partial(column_of, log))

    def _grouped(
        self, tables: "Tables[Responses]", column: "Callable[[str], pd.Series[Any]] | None" = None
    ) -> "Tables[Responses]":
        """Add the group of each question to the tables; `column` reads a column by name."""
        if self.by is None:
            return tables
        if self.people is not None:
            msg = "--people and --by cannot be combined: people are compared over all questions"
            raise OptionError(msg)
        if column is None and not Path(self.by).is_file():
            msg = f"--by {self.by} is not a file: pass one with a question and its group per line"
            raise OptionError(msg)
        said, reading = tables.confidence, column or partial(column_of_table, self)
        of, groups = groups_of(self.by, said.models, said.questions, reading)
        if of != "questions":
            msg = f"--by {self.by} groups models: pass the group of each question"
            raise OptionError(msg)
        code = f"{tables.code}\ngroups = {groups_call(self, self.by, of).text()}"
        return replace(tables, code=code, groups=(of, groups))

    def reduced(self, tables: "Tables[Responses]") -> "Tables[Responses]":
        """Return the tables without excluded models and questions."""
        both = [tables.confidence, tables.correctness]
        code, remarks = [tables.code], [tables.left_out] if tables.left_out else []
        if self.common:
            from psychollm.data.alignment import align

            shared = align(*both)
            both = [shared.first, shared.second]
            code.append(_COMMON_CODE)
            if any(map(len, (*shared.models_left_out, *shared.questions_left_out))):
                remarks.append(shared.summary())
        absent = self.absent(
            (model for table in both for model in table.models),
            {
                f" in {what}": zip(table.models, table.answered, strict=True)
                for what, table in zip(("confidence", "correctness"), both, strict=True)
            },
        )
        if absent:
            both = [
                table.select(models=[model for model in table.models if model not in absent])
                for table in both
            ]
            code.append(f"absent = {list(absent)!r}")
            code += [_SELECT_CODE.format(name) for name in ("confidence", "correctness")]
            remarks.append(left_out_line(absent))
        return Tables(both[0], both[1], tables.source, "\n".join(code), " ".join(remarks))

    def judge(self, tables: "Tables[Responses]") -> Found:
        """Return the study of two tables."""
        of_tables = import_module("psychollm.studies.shared_confidence.command")
        found: Found = of_tables.judged(self, tables)
        return found

    def page_of(
        self, study: "Findable", source: str, options: str = "rng=1"
    ) -> Callable[[Path], object]:
        """Return a function that writes the report of a study."""
        from psychollm.reports.study import write_report

        return partial(
            write_report,
            study,
            source=source,
            options=options,
            smallest=self.smallest,
            simulated=self.simulated,
        )
