"""LiveBench: how hard it is, and how many of its ranks are ties."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

import psychollm as psy
from validation.ledger.claim import Claim, resampled, shown, wide

TITLE = "Ranks on LiveBench"
SOURCE = "LiveBench, White and others (2025), arXiv:2406.19314; scores of January 2025"
FULL = 900  # questions; some models answered one task only


def claims(data: Path) -> Iterator[Claim]:
    """Compare the models with full answers on the questions they share."""
    path = data / "livebench_scores.parquet"
    scores = wide(path, "score")
    scores = scores[scores.notna().sum(axis=1) >= FULL]
    found = psy.compare(scores, rng=0)
    tasks = pd.read_parquet(path).drop_duplicates("question").set_index("question")
    category = tasks.loc[list(scores.columns), "category"].astype(str).to_numpy()
    best = scores.loc[found.labels[0]].to_numpy()
    there = np.isfinite(best)

    def by_category(weights: np.ndarray) -> float:
        parts = [(category == one) & there & (weights > 0) for one in np.unique(category)]
        return float(np.mean([np.average(best[one], weights=weights[one]) for one in parts]))

    top = resampled("score", by_category, best.size)
    yield Claim(
        headline="The best model stays below 70 %, mean of categories",
        published="below 70 %",
        found=f"{shown(100 * top.value[0], 100 * top.interval[0], 1)} % ({found.labels[0]})",
        outcome="reproduced" if top.interval[0, 1] < 0.7 else "inconclusive",
        verdict="This value is for the questions and models used here; 31 other models are "
        "missing.",
    )
    n = len(found.labels)
    alone = int((found.rank_interval[:, 0] == found.rank_interval[:, 1]).sum())
    width = (found.rank_interval[:, 1] - found.rank_interval[:, 0]).mean()
    apart = float(
        np.mean((found.differences.interval > 0).all(1) | (found.differences.interval < 0).all(1))
    )
    rng = np.random.default_rng(0)
    halves = []
    for _ in range(100):
        half = rng.permutation(scores.shape[1]) % 2 == 0
        one, two = (scores.loc[:, part].mean(axis=1).rank() for part in (half, ~half))
        halves.append((one - two).abs().mean())
    yield Claim(
        headline="Each model on the leaderboard has its own rank",
        published=f"{n} ranks",
        found=f"{alone} of {n} ranks are certain; rank intervals span {width:.1f} places",
        held_out=f"ranks from two halves of the questions differ by {np.mean(halves):.1f} places",
        outcome="reproduced" if alone == n else "not reproduced",
        verdict=f"{100 * apart:.0f} % of all pairs differ significantly, with simultaneous "
        "intervals; neighbours in the ranking rarely do.",
    )
