"""Make tables and figures of the calibration of real language models.

    python examples/calibration_findings.py --data DIR --out docs/calibration_tables.md \
        --pictures docs/_static/calibration

``DIR`` contains three public data sets, which are not part of this package:

* ``cacioli_battery20_keep.csv.gz``, ``cacioli_battery20_correct.csv.gz``: 20 frontier models x 524
  questions; after answering, each model kept (1) or withdrew (0) its answer. From
  https://github.com/synthiumjp/metacognitive-monitoring-battery (MIT), arXiv 2604.15702.
* ``moore_lab_confidence_correct_long.parquet``: 11 models x 6,706 questions of five sets with a
  stated confidence between 0 and 1. From
  https://github.com/NoamMichael/Comparing-Confidence-in-LLMs (MIT).
* ``gastro_confidence_correct_long.csv.gz``: 48 model configurations x 300 gastroenterology board
  questions with stated confidence 0-10. From https://github.com/narimannr2x/confidence_scoring
  (Apache-2.0).
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from psychollm import plots
from psychollm.calibration import CalibrationPanel, calibration_panel
from psychollm.estimates.resampling import Bootstrap

SEED = 20261121
LEAST_STATED = 265  # stated confidences a configuration needs to take part

GRADED = {
    "accuracy": "accuracy",
    "overconfidence": "confidence − accuracy",
    "auroc": "AUROC",
    "meta_information": "meta-I, bits",
    "brier_skill": "Brier skill",
    "smooth_ece": "smECE",
    "corp_mcb": "MCB",
    "corp_dsc": "DSC",
    "cox_slope": "Cox slope",
    "aurc": "AURC",
    "aurc_normalised": "AURC, normalised",
}
YES_NO = {
    "accuracy": "accuracy",
    "yes_rate": "keeps",
    "precision": "correct if kept",
    "recall": "kept if correct",
    "specificity": "withdrawn if wrong",
    "phi": "phi",
    "auroc": "AUROC",
    "type2_d_prime": "type-2 d'",
    "type2_criterion": "type-2 c",
    "meta_information": "meta-I, bits",
    "aurc_normalised": "AURC, normalised",
}


@dataclass(frozen=True)
class Source:
    """One data set: confidence and correctness (models, questions), and its presentation."""

    name: str
    title: str
    text: str
    confidence: pd.DataFrame
    correct: pd.DataFrame
    columns: dict[str, str]
    clusters: pd.Series | None = None


def wide(long: pd.DataFrame, model: str, question: str, value: str) -> pd.DataFrame:
    """Return models x questions; a duplicate answer is an error."""
    return long.set_index([model, question])[value].unstack()  # noqa: PD010


def battery(data: Path) -> Source:
    """Return decisions to keep an answer, and correctness."""
    keep = pd.read_csv(data / "cacioli_battery20_keep.csv.gz", index_col=0)
    correct = pd.read_csv(data / "cacioli_battery20_correct.csv.gz", index_col=0)
    return Source(
        "battery",
        "Keep or withdraw: 20 models, 524 questions",
        "After answering, a model keeps its answer or withdraws it.",
        keep,
        correct,
        YES_NO,
    )


def moore_lab(data: Path) -> Source:
    """Return stated confidence between 0 and 1 on five sets of questions."""
    long = pd.read_parquet(data / "moore_lab_confidence_correct_long.parquet")
    long["question"] = long["qset"].astype(str) + "/" + long["question_id"].astype(str)
    tables = [
        wide(long, "llm", "question", value).astype(float)
        for value in ("stated_confidence", "correct")
    ]
    return Source(
        "moore_lab",
        "Stated confidence: 11 models, 6,706 questions of five sets",
        "Confidence is stated as a probability. All questions have the same weight, regardless "
        "of their set.",
        *tables,
        GRADED,
    )


def gastroenterology(data: Path) -> Source:
    """Return stated confidence 0 to 10 of configurations that stated it often enough."""
    long = pd.read_csv(data / "gastro_confidence_correct_long.csv.gz")
    stated = long.groupby("model")["confidence"].count()
    long = long[long["model"].isin(stated.index[stated >= LEAST_STATED])]
    confidence = wide(long, "model", "item", "confidence") / 10
    correct = wide(long, "model", "item", "correct")
    return Source(
        "gastroenterology",
        f"Stated confidence 0 to 10: {len(confidence)} configurations, 300 questions",
        f"Each configuration has at least {LEAST_STATED} stated confidences, which are divided "
        "by ten.",
        confidence,
        correct,
        GRADED,
    )


def panels(data: Path, *, jobs: int) -> Iterator[tuple[Source, CalibrationPanel]]:
    """Return every data set with its panel."""
    for source in (battery(data), moore_lab(data), gastroenterology(data)):
        panel = calibration_panel(
            source.confidence,
            source.correct,
            metrics=list(source.columns),
            clusters=source.clusters,
            rng=SEED,
            bootstrap=Bootstrap(n_jobs=jobs),
        )
        yield source, panel


def by_ranking(panel: CalibrationPanel) -> np.ndarray:
    """Return models in order of decreasing AUROC, undefined last."""
    return np.argsort(-np.nan_to_num(panel["auroc"].value, nan=-1.0), kind="stable")


def lines(source: Source, panel: CalibrationPanel) -> Iterator[str]:
    """Return the table of one data set in Markdown, highest AUROC first."""
    table = panel.table(digits=2)
    yield f"## {source.title}\n"
    yield f"{source.text} Models in order of their AUROC; 95 % intervals in brackets.\n"
    yield f"| model | questions | {' | '.join(source.columns.values())} |"
    yield f"| :--- | ---: | {' | '.join('---:' for _ in source.columns)} |"
    for row in by_ranking(panel):
        cells = table.iloc[row][list(source.columns)]
        yield f"| {panel.models[row]} | {panel.n[row]:.0f} | {' | '.join(cells)} |"
    yield ""
    yield from _flags(panel)


def _flags(panel: CalibrationPanel) -> Iterator[str]:
    flagged: dict[str, list[str]] = {}
    for key in panel:
        for model, flag in zip(panel.models, panel[key].flags, strict=True):
            if flag:
                flagged.setdefault(f"{key}: {flag}", []).append(str(model))
    if flagged:
        yield "Undefined or qualified values:\n"
        for text, models in flagged.items():
            shown = ", ".join(models[:6]) + (f" and {len(models) - 6} more" * (len(models) > 6))
            yield f"* {text} ({shown})"
        yield ""


def draw(source: Source, panel: CalibrationPanel, folder: Path, *, jobs: int) -> None:
    """Draw reliability diagrams of all models (graded confidence only), and risk over coverage."""
    folder.mkdir(parents=True, exist_ok=True)
    curves = panel.curves(rng=SEED, n_jobs=jobs)
    if source.columns is GRADED:
        order = [panel.models[row] for row in by_ranking(panel)]
        figure = plots.plot_reliability_grid(curves.reliability, models=order, error=curves.error)
        figure.savefig(folder / f"{source.name}_reliability.png", dpi=90)
    if curves.risk_coverage is not None:
        ax = plots.plot_risk_coverage(curves.risk_coverage)
        ax.figure.savefig(folder / f"{source.name}_risk_coverage.png", dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--pictures", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    text = ["<!-- Made by examples/calibration_findings.py. -->\n"]
    for source, panel in panels(options.data, jobs=options.jobs):
        text += lines(source, panel)
        if options.pictures:
            draw(source, panel, options.pictures, jobs=options.jobs)
    options.out.write_text("\n".join(text), encoding="utf-8")


if __name__ == "__main__":
    main()
