"""Stated confidence of eleven models on five tests: overconfidence, and where."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from psychollm.reliability import mean_score
from validation.ledger.claim import Claim, beyond, shown

TITLE = "Overconfidence, largest on hard tests"
SOURCE = "Michael and others (2026), arXiv:2605.23909; their test LifeEval is not included"


def claims(data: Path) -> Iterator[Claim]:
    """Take the mean of confidence less correctness on each test, questions as units."""
    frame = pd.read_parquet(data / "moore_lab_confidence_correct_long.parquet")
    frame["gap"] = frame["stated_confidence"] - frame["correct"]
    frame["key"] = frame["qset"].astype(str) + "/" + frame["question_id"].astype(str)
    # One row for each test: the mean gap of its models on each question.
    tests = frame.pivot_table(index="qset", columns="key", values="gap", observed=True)
    right = frame.groupby("qset", observed=True)["correct"].mean().sort_values()
    gap = mean_score(tests, rng=0, bootstrap=0)
    per_test = {
        name: (value, bounds)
        for name, value, bounds in zip(gap.labels, gap.value, gap.interval, strict=True)
    }
    value = float(gap.value.mean())
    half = 1.96 * float(np.sqrt((gap.se**2).sum())) / len(gap.se)
    yield Claim(
        headline="Confidence exceeds accuracy on average",
        published="overconfident",
        found=f"{shown(value, (value - half, value + half), 3)}, mean of {len(right)} tests",
        outcome=beyond((value - half, value + half)),
        verdict="The interval generalises to other questions of these tests. The mean over other "
        "tests depends on their difficulty.",
    )
    (hard, easy), line = (
        (right.index[0], right.index[-1]),
        np.corrcoef(right, [per_test[one][0] for one in right.index])[0, 1],
    )
    for name, which, above in ((hard, "hardest", True), (easy, "easiest", False)):
        point, bounds = per_test[name]
        yield Claim(
            headline=f"{'Over' if above else 'Under'}confidence on the {which} test",
            published="overconfident" if above else "underconfident",
            found=f"{shown(point, bounds, 3)} ({name}, {100 * right[name]:.0f} % correct)",
            outcome=beyond(bounds, above=above),
            verdict=f"Over the {len(right)} tests, accuracy and overconfidence correlate "
            f"{line:.2f}. This is partly arithmetic: a constant confidence of .9 also produces "
            "it.",
        )
