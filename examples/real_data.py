"""Run the shared-confidence study on real answers of language models.

    python examples/real_data.py --data DIR --out reports --tables docs/findings_tables.md

``DIR`` contains two public data sets, which are not part of this package:

* ``cacioli_battery20_keep.csv.gz``, ``cacioli_battery20_correct.csv.gz``: 20 frontier models x 524
  questions; after answering, each model kept (1) or withdrew (0) its answer. From
  https://github.com/synthiumjp/metacognitive-monitoring-battery (MIT), arXiv 2604.15702.
* ``gastro_confidence_correct_long.csv.gz``: 48 model configurations x 300 gastroenterology board
  questions with stated confidence 0-10. From https://github.com/narimannr2x/confidence_scoring
  (Apache-2.0).
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

import psychollm as psy
from psychollm._base.numbers import extent, p_equals, percent, signed
from psychollm.estimates.resampling import Bootstrap
from psychollm.studies.shared_confidence.result import SharedConfidence

SEED = 20261121
LEAST_STATED = 265  # stated confidences a configuration needs to take part


def battery(data: Path) -> tuple[psy.Responses, psy.Responses]:
    """Return decisions to keep an answer, and correctness."""
    keep = psy.read_responses(data / "cacioli_battery20_keep.csv.gz")
    return keep, psy.read_responses(data / "cacioli_battery20_correct.csv.gz")


def gastroenterology(data: Path, *, threshold: float | str) -> tuple[psy.Responses, psy.Responses]:
    """Return split confidence and correctness of configurations with enough stated confidences."""
    table = pd.read_csv(data / "gastro_confidence_correct_long.csv.gz")
    stated = table.groupby("model")["confidence"].count()
    table = table[table["model"].isin(stated.index[stated >= LEAST_STATED])]
    names = {"model": "model", "question": "item"}
    confidence = psy.Responses(table, value="confidence", threshold=threshold, **names)
    return confidence, psy.Responses(table, value="correct", **names)


def studies(data: Path, *, jobs: int) -> Iterator[tuple[str, str, SharedConfidence]]:
    """Yield file name, title and result of every study."""
    plan = (
        ("battery_all", "Battery, all 20 models", battery(data), "flag"),
        ("battery_screened", "Battery, unusable models dropped", battery(data), "drop"),
        (
            "gastro_balanced",
            "Gastroenterology, each model split nearest its median",
            gastroenterology(data, threshold="model_balanced"),
            "flag",
        ),
        (
            "gastro_above_8",
            "Gastroenterology, yes = above 8",
            gastroenterology(data, threshold=8.5),
            "flag",
        ),
    )
    for name, title, (confidence, correctness), screen in plan:
        result = psy.shared_confidence(
            confidence,
            correctness,
            screen=screen,
            rng=SEED,
            bootstrap=Bootstrap(n_jobs=jobs, progress=False),
        )
        yield name, title, result


def rows(study: SharedConfidence) -> list[tuple[str, str]]:
    """Return the numbers of the verdict, by name."""
    shape = study.dimensionality
    one, share, rules = shape.one_factor_test, shape.second_share, shape.spectrum.sensitivity
    rates = study.confusion.yes_rate.value
    by_rule = [
        f"{rule} {percent(row[1], 1)}" for rule, row in zip(rules.rules, rules.shares, strict=True)
    ]
    pairs = [
        f"{pair.first} and {pair.second} ({signed(pair.standardised, 1)})"
        for pair in shape.residuals.to_frame().head(3).itertuples()
    ]
    k = len(shape.labels)
    chance = float(np.quantile(share.draws, 0.95))
    return [
        ("models x questions", f"{len(study.labels)} x {study.n_questions}"),
        ("yes rates", extent(rates)),
        ("pairs with an empty cell", f"{shape.spectrum.n_empty} of {k * (k - 1) // 2}"),
        ("first eigenvalue share", percent(shape.spectrum.shares[0], 1)),
        ("second, by continuity correction", "; ".join(by_rule)),
        ("one factor, rule-free test", p_equals(float(one.p_value))),
        (
            "second factor's share, rule-free",
            f"{percent(float(share.observed), 1)} (one factor: 95 % below {percent(chance, 1)})",
        ),
        ("largest residual pairs", "; ".join(pairs)),
    ]


def findings(title: str, study: SharedConfidence) -> str:
    """Return one study as a section of Markdown."""
    table = "\n".join(f"| {name} | {value} |" for name, value in rows(study))
    return (
        f"## {title}\n\n> {study.dimensionality.verdict}\n\n| | |\n|---|---|\n{table}\n\n"
        f"```text\n{study.summary().strip()}\n```\n"
    )


def main() -> None:
    """Run the studies, write the reports and the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("reports"))
    parser.add_argument("--tables", type=Path)
    parser.add_argument("--jobs", type=int, default=-1)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    sections = []
    for name, title, study in studies(options.data, jobs=options.jobs):
        print(f"{title}: {study.report(options.out / f'{name}.html')}")
        sections.append(findings(title, study))
    if options.tables:
        head = f"<!-- Made by examples/real_data.py, seed {SEED}. -->\n\n"
        options.tables.write_text(head + "\n".join(sections), encoding="utf-8")


if __name__ == "__main__":
    main()
