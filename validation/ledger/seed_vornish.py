"""Vornish: rates that must be possible, and differences that thirty items show or not."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from psychollm.reliability import grim, rate_contrast
from validation.ledger.claim import Claim, beyond, shown

TITLE = "Vornish, a benchmark of inference boundaries"
SOURCE = "Wong (2026), benwong.xyz"
ITEMS, RUNS = 30, 3
RATES = (87.8, 67.8, 54.4, 44.4, 73.3, 40.0)  # of type C that are published


def claims(data: Path) -> Iterator[Claim]:
    """Check the published rates; put intervals on the published differences."""
    del data  # all of it is in the text
    pooled, alike = (grim(RATES, n, digits=1, scale=100.0) for n in (ITEMS * RUNS, ITEMS))
    broken = int((pooled.consistent & ~alike.consistent).sum())
    yield Claim(
        headline="Six of nine models score identically in all three runs",
        published="6 of 9",
        found=f"at most {9 - broken} of 9",
        outcome="reproduced" if 9 - broken >= 6 else "not reproduced",
        verdict=f"A model with the same score in three runs of {ITEMS} items has a rate of "
        f"k/{ITEMS}. {broken} of {len(RATES)} published rates are k/{ITEMS * RUNS} but not "
        f"k/{ITEMS}, unless answers were dropped.",
    )
    for headline, first, second in (
        ("Certainty inversion: DeepSeek V3.2, type C over type A", 87.8, 60.0),
        ("Thinking inversion: Qwen3-235b over the thinking Qwen3-next-80b", 67.8, 44.4),
        ("Thinking inversion: DeepSeek V3.2 over R1", 87.8, 54.4),
    ):
        scores = np.vstack([_runs(first), _runs(second)])
        kinds = np.repeat(["first", "second"], ITEMS)
        gap = rate_contrast(scores, kinds, {"first": 1.0, "second": -1.0}, rng=0)
        yield Claim(
            headline=headline,
            published=f"{first} over {second} %",
            found=f"{shown(100 * gap.value[0], 100 * gap.interval[0], 0)} points",
            outcome=beyond(gap.interval[0]),
            verdict=f"The units are {ITEMS} items, not {ITEMS * RUNS} answers. Runs are assumed "
            "to be as similar as the rates allow."
            + (
                ""
                if "Certainty" in headline
                else " The calculation does not use the fact that both models had the same items."
            ),
        )


def _runs(rate: float) -> np.ndarray:
    """Return answers (items, runs) with this rate, runs as alike as can be."""
    hits = round(rate / 100.0 * ITEMS * RUNS)
    return (np.arange(ITEMS * RUNS) < hits).astype(float).reshape(ITEMS, RUNS)
