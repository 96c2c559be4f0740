"""``psychollm calibrate``: measure calibration and metacognition, and write a report."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psychollm._base.call import Call, Made
from psychollm._base.errors import CodeError, LabelError, OptionError
from psychollm.cli.carry_out import Found
from psychollm.cli.groups import (
    ByGroups,
    column_of,
    column_of_table,
    found_by,
    groups_call,
    groups_of,
    question_column,
)
from psychollm.cli.options import option, words
from psychollm.cli.streamed import STREAMS, STREAMS_ARE, one_column
from psychollm.cli.two_tables import (
    ANALYSIS,
    OUTPUT,
    READING,
    Resampled,
    Tables,
    TwoTables,
    left_out_line,
)

if TYPE_CHECKING:
    import pandas as pd

    from psychollm.calibration.panels.panel import CalibrationPanel

DESCRIPTION = (
    """\
Measure how well the confidence that models state matches their correctness: metrics of calibration
and metacognition with intervals, reliability diagrams, risk-coverage and type-2 ROC curves.

CONFIDENCE holds each model's stated probability of being correct for each question (0 to 1, or up
to --scale; yes/no as 1 and 0). CORRECTNESS holds 1 for correct and 0. Both are CSV or Parquet
files, wide (a row per model, a column per question) or long (a row per answer, with columns
"model" and "question" or "item"). Empty cells are missing answers.

LOG is a log of an evaluation tool with confidences (see 'psychollm import --help'), a table
with the columns "model", "question", "score" and "confidence", or a folder of such files; or a
store of psychollm collect.
"""
    + STREAMS_ARE
    + """\
Default columns are "model", "question", "confidence" and "correct". For many models or answers,
only metrics without curves are computed.
"""
)
EPILOG = """\
examples:
  psychollm calibrate sure.csv right.csv --out results --seed 1
  psychollm calibrate logs/ --task gsm8k
  psychollm calibrate long.csv --confidence-column sure --correctness-column right --scale 100
  psychollm calibrate answers.csv --by domain
  psychollm calibrate sure.csv right.csv --clusters passages.csv --metrics brier,auroc,ece
  psychollm calibrate answers.duckdb --table runs --confidence-column sure --levels 101
"""
_COMMON_CODE = """\
rows = confidence.index.intersection(correctness.index, sort=False)
columns = confidence.columns.intersection(correctness.columns, sort=False)
confidence, correctness = confidence.loc[rows, columns], correctness.loc[rows, columns]"""


@dataclass(frozen=True, kw_only=True)
class OfStated(ByGroups, TwoTables):
    """Input of `calibrate` and `gate`: confidence, correctness, and groups of questions."""

    least_answers: int = option(
        "exclude models with fewer answers that have both confidence and correctness",
        default=0,
        group=READING,
    )
    scale: float | None = option(
        "maximum confidence, such as 10 or 100", "S", default=None, group=READING
    )
    clusters: str | None = option(
        "cluster of each question: a file with one question and its cluster per line, or a "
        "column of a long CONFIDENCE",
        "FILE|COLUMN",
        default=None,
        group=READING,
    )


@dataclass(frozen=True, kw_only=True)
class Calibrate(OfStated, Resampled):
    """Command `psychollm calibrate`."""

    NAME = "calibrate"
    EFFECTS = ("auroc", "share", "brier", "calibration_error")
    HELP = "measure how well stated confidence matches correctness"
    USAGE = "%(prog)s [options] CONFIDENCE [CORRECTNESS] | LOG ... | RUN.sqlite"
    DESCRIPTION = DESCRIPTION
    EPILOG = EPILOG
    FOLDER = "psychollm-report-calibration"

    out: Path | None = option(
        f"folder of the results (default: {FOLDER})", "DIR", default=None, group=OUTPUT
    )
    levels: int | None = option(
        "round confidences to this many levels between 0 and 1, such as 101",
        "N",
        default=None,
        group=STREAMS,
    )
    metrics: tuple[str, ...] | None = option(
        "metrics to compute, such as brier,auroc,ece (default: all)",
        "KEY,...",
        default=None,
        parse=words,
        group=ANALYSIS,
    )
    null: int | None = option(
        "number of data sets simulated under calibration (default: 1000, more for more than ten "
        "models)",
        default=None,
        group=ANALYSIS,
    )

    def __post_init__(self) -> None:
        self.check_inputs()
        if self.streams:
            self.check_stream("by")
            if self.clusters is not None and not Path(self.clusters).is_file():
                msg = (
                    f"--clusters {self.clusters} is not a file; for a streamed table pass a file "
                    "with one question and its cluster per line"
                )
                raise LabelError(msg)
        elif self.levels is not None:
            msg = "--levels applies to streamed tables only: round confidences in the table"
            raise OptionError(msg)

    def read(self) -> Callable[[], Found]:
        """Read the tables, or prepare a streamed scan."""
        return partial(self._judged, read_stream(self) if self.streams else read_stated(self))

    def _judged(self, tables: "Tables[Any]") -> Found:
        made: Made = {}
        values = {"confidence": tables.confidence, "correctness": tables.correctness}
        if self.streams:
            values = {"stated": tables.confidence}
        else:
            from psychollm.calibration.stated import note_order

            note_order(tables.confidence, tables.correctness)
        inputs = [Call.done(name, value, made) for name, value in values.items()]
        options = {
            "metrics": None if self.metrics is None else list(self.metrics),
            "clusters": None
            if tables.clusters is None
            else Call.done("clusters", tables.clusters, made),
            "bootstrap": self.bootstrap,
            "level": self.level,
            "rng": self.seed,
        }
        origin = {"source": list(tables.source), "left_out": tables.left_out, "seed": self.seed}
        if tables.groups is not None:
            of, groups = tables.groups
            inputs.append(Call.done("groups", groups, made))
            call = Call(
                "psy.calibration_by",
                tuple(inputs),
                {"of": of, **options},
                aside=self.replication,
            )
            result, script = call.run(made), call.script(tables.code)
            numbers = {"level": self.level, **origin}
            return found_by(self, result, script, numbers, remark=tables.left_out)
        call = Call(
            "psy.calibration_panel", tuple(inputs), options, name="panel", aside=self.replication
        )
        panel = call.run(made)
        numbers = {**_sizes(panel), **origin}
        if self.streams and not tables.confidence.is_small:
            return self._without_curves(panel, call.script(tables.code), numbers)
        return self._with_curves(call, made, tables, numbers)

    def _with_curves(
        self, call: Call, made: Made, tables: "Tables[Any]", numbers: dict[str, Any]
    ) -> Found:
        from psychollm.cli.notes import watched

        panel: CalibrationPanel = call.run(made)
        draws = {} if self.null is None else {"n_draws": self.null}
        drawing = Call(
            ".curves",
            (call,),
            {**draws, "rng": self.seed},
            name="curves",
            aside={"n_jobs": self.jobs, "progress": watched(quiet=self.quiet)},
        )
        curves, source = drawing.run(made), drawing.script(tables.code)
        evidence = panel.evidence(smallest=self.smallest, curves=curves)
        return Found(
            summary=panel.summary(smallest=self.smallest),
            findings=evidence.findings(),
            tables=lambda: panel.tables() | evidence.tables(),
            script=source,
            numbers=numbers,
            in_files=("reliability", "bins", "risk_coverage", "roc"),
            remark=tables.left_out,
            page=partial(panel.report, source=source, curves=curves, smallest=self.smallest),
        )

    def _without_curves(
        self, panel: "CalibrationPanel", source: str, numbers: dict[str, Any]
    ) -> Found:
        """Return only the metrics, because curves and comparisons require tables in memory."""
        from psychollm.calibration.panels.findings import verdict
        from psychollm.estimates.findings import Findings

        found = verdict(panel.estimates, self.smallest)
        return Found(
            summary=found.statement,
            findings=Findings(items=(found,)),
            tables=panel.tables,
            script=source,
            numbers={"findings": [], **numbers},
            remark=(
                f"{panel.answers!r}. Metrics only: curves, comparisons of models and the page "
                "require at most 100 models and 6 million cells."
            ),
        )


def _sizes(panel: "CalibrationPanel") -> dict[str, Any]:
    answers = panel.answers
    clusters = answers.clusters
    return {
        "n_models": len(panel.models),
        "n_questions": len(answers.questions),
        "n_clusters": None if clusters is None else int(clusters.max()) + 1,
        "n_bootstrap": panel.n_bootstrap,
        "level": panel.level,
    }


def read_stream(command: Calibrate) -> "Tables[Any]":
    """Scan confidence and correctness in one data pass, and read clusters if requested."""
    import pandas as pd

    from psychollm.cli.notes import watched

    options = command.chosen(
        {
            "model": command.model_column,
            "question": one_column(command),
            "confidence": command.confidence_column,
            "correct": command.correctness_column,
        }
    )
    if command.scale is not None:
        options["scale"] = command.scale
    if command.levels is not None:
        options["levels"] = command.levels
    aside = {"n_jobs": command.jobs, "progress": watched(quiet=command.quiet)}
    call = Call("psy.calibration.scan_stated", (command.confidence,), options, aside=aside)
    stated, code = call.run(), f"stated = {call.text()}"
    clusters = None
    if command.clusters is not None:
        # Compare labels of questions as text, because labels in files are text.
        questions = pd.Index(list(map(str, stated.questions)))
        found, line = _clusters(command, command.clusters, questions)
        clusters = found.set_axis(pd.Index(stated.questions, tupleize_cols=False))
        named = "list(map(str, stated.questions))"
        code += f"\n{line.replace('confidence.columns', named)}.to_numpy()"
    return Tables(stated, None, command.files, code, clusters=clusters)


def read_stated(command: OfStated) -> "Tables[pd.DataFrame]":
    """Read the tables, and clusters if requested."""
    remarks: list[str] = []
    if command.of_logs:
        confidence, right, code, log = command.stated_in_logs(command.kept)
        correctness = right.to_frame()
        remarks.append(log.summary())
        column: Callable[[str], pd.Series[Any]] = partial(column_of, log)
        if command.scale is not None:
            confidence = confidence / command.scale
            code.append(f"confidence = confidence / {command.scale:g}")
        code.append("correctness = correctness.to_frame()")
    else:
        first, second = command.calls(
            "psy.data.read_table", {"scale": command.scale}, {"codes": command.codes}
        )
        confidence, correctness = first.run(), second.run()
        column = partial(column_of_table, command)
        code = [f"{one.name} = {one.text()}" for one in (first, second)]
    _check_correctness(correctness)
    if command.common:
        confidence, correctness, remark = _shared(confidence, correctness)
        remarks += [remark] if remark else []
        code.append(_COMMON_CODE)
    both = confidence.notna() & correctness.reindex_like(confidence).notna()
    absent = command.absent(
        (*confidence.index, *correctness.index), {"": both.sum(axis=1).items()}
    )
    if absent:
        confidence, correctness = (
            table.drop(index=list(absent), errors="ignore") for table in (confidence, correctness)
        )
        code.append(f"absent = {list(absent)!r}")
        code += [
            f'{name} = {name}.drop(index=absent, errors="ignore")'
            for name in ("confidence", "correctness")
        ]
        remarks.append(left_out_line(absent))
    clusters = None
    if command.clusters is not None:
        clusters, line = _clusters(command, command.clusters, confidence.columns)
        code.append(line)
    groups = None
    if command.by is not None:
        groups = groups_of(command.by, confidence.index, confidence.columns, column)
        code.append(f"groups = {groups_call(command, command.by, groups[0]).text()}")
    return Tables(
        confidence,
        correctness,
        command.files,
        "\n".join(code),
        " ".join(remarks),
        clusters,
        groups,
    )


def _check_correctness(correctness: "pd.DataFrame") -> None:
    """Raise an error if a value is outside the range from 0 (wrong) to 1 (correct)."""
    import numpy as np

    values = correctness.to_numpy()
    with np.errstate(invalid="ignore"):
        bad = np.argwhere((values < 0.0) | (values > 1.0))
    if len(bad):
        row, column = (int(i) for i in bad[0])
        msg = (
            f"CORRECTNESS: model {correctness.index[row]!r}, question "
            f"{correctness.columns[column]!r} has {values[row, column]:g}, but values must be 1 "
            "(correct), 0 (wrong) or a probability between 0 and 1"
        )
        raise CodeError(msg)


def _shared(
    confidence: "pd.DataFrame", correctness: "pd.DataFrame"
) -> "tuple[pd.DataFrame, pd.DataFrame, str]":
    """Restrict both tables to common models and questions, and report the exclusions."""
    from psychollm.data.alignment import shared_labels

    rows = shared_labels("model", tuple(confidence.index), tuple(correctness.index))
    columns = shared_labels("question", tuple(confidence.columns), tuple(correctness.columns))
    left = [
        f"{gone} {kind} excluded"
        for kind, gone in (
            ("models", len(confidence.index.symmetric_difference(correctness.index))),
            ("questions", len(confidence.columns.symmetric_difference(correctness.columns))),
        )
        if gone
    ]
    both = f"{len(rows)} models and {len(columns)} questions in common"
    remark = f"{'; '.join([both, *left])}." if left else ""
    return confidence.loc[rows, columns], correctness.loc[rows, columns], remark


def _clusters(
    command: OfStated, named: str, questions: "pd.Index[Any]"
) -> "tuple[pd.Series[Any], str]":
    """Return the clusters of the questions, and the Python code that reads them."""
    from psychollm.data.labels import listed

    call = Call("psy.data.read_clusters", (Path(named),))
    file = Path(named)
    is_column = not (file.is_file() or file.suffix in {".csv", ".gz", ".parquet"})
    if is_column:
        call = Call(call.function, (command.confidence,), question_column(command, named))
    try:
        clusters = call.run().reindex(questions)
    except LabelError as error:
        what = " is neither a file nor a column of a long CONFIDENCE" if is_column else ""
        msg = f"--clusters {named}{what}: {error.text.marked}"
        raise LabelError(msg) from error
    missing = clusters.index[clusters.isna()]
    if len(missing):
        msg = (
            f"--clusters {named}: {len(missing)} questions have no cluster "
            f"({listed(missing.tolist())}): assign a cluster to each"
        )
        raise LabelError(msg)
    return clusters, f"clusters = {call.text()}.reindex(confidence.columns)"
