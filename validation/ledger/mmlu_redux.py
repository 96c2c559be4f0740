"""MMLU-Redux: bad questions, and what they do to ranks."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

import psychollm as psy
from psychollm.reliability import mean_score
from validation.ledger.claim import Claim, inside, shown

TITLE = "Bad questions in MMLU"
SOURCE = "MMLU-Redux, Gema and others (2025), arXiv:2406.04127"
_DRAWS = 200


def claims(data: Path) -> Iterator[Claim]:
    """Count faults; rank models on all questions, on good ones, and after chance removals."""
    frame = pd.read_csv(data / "mmlu_redux_options.csv.gz", index_col="question")
    judged = frame[frame["label"] != "expert"]  # undecided
    faulty = (judged["label"] != "ok").to_numpy()
    chosen = judged.drop(columns=["subject", "key", "label"])
    right = chosen.eq(judged["key"], axis=0).where(chosen.notna()).astype(float).T
    share = mean_score([faulty.astype(float)], clusters=judged["subject"].to_numpy(), rng=0)
    yield Claim(
        headline="MMLU questions with errors (57 subjects published, 29 used here)",
        published="6.49 %",
        found=f"{shown(100 * share.value[0], 100 * share.interval[0], 1)} %",
        outcome=inside(0.0649, share.interval[0]),
        verdict=f"{int(faulty.sum())} of {len(judged)} decided questions have errors. Half of the "
        "subjects are used here; the worst one, virology, is not among them.",
    )
    every, good = psy.compare(right, rng=0), psy.compare(right.loc[:, ~faulty], rng=0)
    before, after = (pd.Series(one.rank, index=list(one.labels)) for one in (every, good))
    moved = int((before != after.reindex(before.index)).sum())
    rng, ranks = np.random.default_rng(0), before.sort_index()
    chance = []
    for _ in range(_DRAWS):
        kept = rng.permutation(right.shape[1])[: int((~faulty).sum())]
        now = right.iloc[:, kept].mean(axis=1).rank(ascending=False, method="min").sort_index()
        chance.append(int((now != ranks).sum()))
    low, high = np.percentile(chance, [2.5, 97.5])
    order = {
        (a, b) for a, b in zip(every.differences.first, every.differences.second, strict=True)
    }
    shown_before, shown_after = _ordered(every), _ordered(good)
    reversed_ = len({(b, a) for a, b in shown_after} & shown_before)
    yield Claim(
        headline="Models change ranks when bad questions are removed",
        published="ranks change",
        found=f"{moved} of {len(before)} models change rank",
        held_out=f"{np.mean(chance):.1f} [{low:.0f}, {high:.0f}] when as many random questions "
        "are removed",
        outcome="reproduced" if moved > high else "inconclusive" if moved else "not reproduced",
        verdict=f"Of {len(order)} pairs, {len(shown_before)} differ significantly before and "
        f"{len(shown_after)} after, {reversed_} of them in the opposite direction. The "
        "ranks of such similar models change whenever questions are removed.",
    )


def _ordered(found: psy.studies.Comparison) -> set[tuple[str, str]]:
    """Return the pairs of models of which the first is shown to be better."""
    pairs = found.differences
    return {
        (a, b) if low > 0.0 else (b, a)
        for a, b, (low, high) in zip(pairs.first, pairs.second, pairs.interval, strict=True)
        if low > 0.0 or high < 0.0
    }
