"""``psychollm calibrate``: stated confidences and correctness in, a panel and a report out."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psychollm.cli.options import option, words
from psychollm.cli.two_tables import ANALYSIS, OUTPUT, READING, TwoTables

if TYPE_CHECKING:
    import pandas as pd

    from psychollm.calibration.panels.findings import Evidence
    from psychollm.calibration.panels.panel import CalibrationPanel
    from psychollm.cli.calibrate_tables import StatedTables
    from psychollm.cli.outputs import Findings

DESCRIPTION = """\
Judge whether what models state about their answers can be believed: every metric of calibration
and metacognition with intervals, reliability diagrams, risk-coverage and type-2 ROC curves.

CONFIDENCE holds the probability of being correct that each model stated for each question (0 to
1, or up to --scale; yes/no as 1 and 0); CORRECTNESS whether it was (1, 0). Both are CSV or Parquet
files, wide (a row per model, a column per question) or long (a row per answer, with columns
"model" and "question" or "item"). Empty cells are missing answers.
"""
EPILOG = """\
examples:
  psychollm calibrate sure.csv right.csv --out results --seed 1
  psychollm calibrate long.csv --confidence-column sure --correctness-column right --scale 100
  psychollm calibrate sure.csv right.csv --clusters passages.csv --metrics brier,auroc,ece
"""


@dataclass(frozen=True, kw_only=True)
class Calibrate(TwoTables):
    """The command."""

    NAME = "calibrate"
    HELP = "from stated confidences and correctness to metrics, curves and a report"
    USAGE = "%(prog)s [options] CONFIDENCE [CORRECTNESS]"
    DESCRIPTION = DESCRIPTION
    EPILOG = EPILOG
    FOLDER = "psychollm-report-calibration"

    least_answers: int = option(
        "leave out models with fewer answers that have both confidence and correctness",
        default=0,
        group=READING,
    )
    out: Path | None = option(
        f"where the results go (default: {FOLDER})", "DIR", default=None, group=OUTPUT
    )
    scale: float | None = option(
        "confidence is out of S, such as 10 or 100", "S", default=None, group=READING
    )
    clusters: str | None = option(
        "what questions belong to: a file with a question and its cluster per line, or a column "
        "of a long CONFIDENCE",
        "FILE|COLUMN",
        default=None,
        group=READING,
    )
    metrics: tuple[str, ...] | None = option(
        "metrics to compute, such as brier,auroc,ece; otherwise all",
        "KEY,...",
        default=None,
        parse=words,
        group=ANALYSIS,
    )
    null: int = option("data sets simulated under calibration", default=1000, group=ANALYSIS)

    def __post_init__(self) -> None:
        self.check_tables()

    def run(self) -> int:
        """Read, compute, write, and say where it is."""
        from psychollm.cli.calibrate_tables import read_stated

        return self.carry_out(lambda: read_stated(self), self._judge, report=self.report)

    def _judge(self, tables: "StatedTables") -> "Findings":
        from psychollm.calibration.panels.panel import calibration_panel
        from psychollm.cli.notes import watched
        from psychollm.cli.outputs import Findings

        panel = calibration_panel(
            tables.confidence,
            tables.correctness,
            metrics=self.metrics,
            clusters=tables.clusters,
            **self.replication,
        )
        curves = panel.curves(
            n_draws=self.null,
            rng=self.seed,
            n_jobs=self.jobs,
            progress=watched(quiet=self.quiet),
        )
        evidence = panel.evidence(smallest=self.smallest, curves=curves)
        source = source_code(tables, self)

        def report(path: Path) -> None:
            panel.report(path, source=source, curves=curves, smallest=self.smallest)

        return Findings(
            summary=panel.summary(smallest=self.smallest),
            results=results(panel, evidence, tables, self),
            tables={"metrics": panel.to_frame(), **_comparisons(evidence), **curves.frames()},
            remark=tables.left_out,
            write_report=report,
        )


def _comparisons(evidence: "Evidence") -> "Mapping[str, pd.DataFrame]":
    return {f"compare_{key}": found.to_frame() for key, found in evidence.comparisons.items()}


def results(
    panel: "CalibrationPanel", evidence: "Evidence", tables: "StatedTables", command: Calibrate
) -> dict[str, Any]:
    """Return what was found as plain data: the verdict first, then numbers by model."""
    from psychollm.cli.outputs import records
    from psychollm.studies.provenance import versions

    curves, answers, found = evidence.curves, panel.answers, evidence.findings()
    clusters = answers.clusters
    return {
        "verdict": found.verdict,
        "findings": found.to_dict()["items"],
        "n_models": len(panel.models),
        "n_questions": len(answers.questions),
        "n_clusters": None if clusters is None else int(clusters.max()) + 1,
        "n_bootstrap": panel.n_bootstrap,
        "level": panel.level,
        "metrics": records(panel.to_frame()),
        "calibration_error": records(curves.error.to_frame()),
        "corp": records(curves.reliability.to_frame()),
        **{name: records(frame) for name, frame in _comparisons(evidence).items()},
        "source": list(tables.source),
        "left_out": tables.left_out,
        "seed": command.seed,
        "call": source_code(tables, command),
        "versions": versions(),
    }


def source_code(tables: "StatedTables", command: Calibrate) -> str:
    """Return the lines of Python that read the tables and make the panel."""
    from psychollm.studies.provenance import call_text

    options: dict[str, object] = {
        "bootstrap": command.bootstrap,
        "level": command.level,
        "rng": command.seed,
    }
    inputs = ["confidence", "correctness"]
    if command.metrics is not None:
        options = {"metrics": list(command.metrics), **options}
    if tables.clusters is not None:
        inputs.append("clusters=clusters")
    call = call_text("psy.calibration_panel", tuple(inputs), options)
    call = call.replace("(", "(\n    ", 1).removesuffix(")") + ",\n)"
    return f"{tables.code}\npanel = {call}"
