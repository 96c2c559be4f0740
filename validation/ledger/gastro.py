"""Board questions in gastroenterology: is stated confidence any good?"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from psychollm.calibration import auroc, brier, overconfidence
from psychollm.estimates import wilson
from validation.ledger.claim import Claim, shown, wide

TITLE = "Confidence on 300 board questions"
SOURCE = "Naderi and others (2025), arXiv:2503.18562"
BEST = ("o1-preview", "claude-3-5-sonnet-20240620", "gpt-4o-2024-05-13")
_LEAST = 100  # stated confidences


def claims(data: Path) -> Iterator[Claim]:
    """Score the confidences of every model that states enough of them."""
    path = data / "gastro_confidence_correct_long.csv.gz"
    said = wide(path, "confidence", columns="item") / 10.0
    said = said[said.notna().sum(axis=1) >= _LEAST]
    right = wide(path, "correct", columns="item").loc[said.index]
    best = list(BEST)
    rate = right.loc[best].where(said.loc[best].notna()).mean(axis=1)
    loss = brier(said.loc[best], right.loc[best], rng=0)
    yield Claim(
        headline="Brier scores of the three best models",
        published=".15 to .20",
        found=", ".join(shown(v, i, 3) for v, i in zip(loss.value, loss.interval, strict=True)),
        outcome="reproduced"
        if all(high >= 0.15 and low <= 0.20 for low, high in loss.interval)
        else "not reproduced",
        verdict=f"The models are {', '.join(best)}. If each stated "
        "confidence were the model's accuracy, the Brier scores would be "
        f"{', '.join(f'{v:.3f}' for v in rate * (1.0 - rate))}.",
    )
    ranks = auroc(said.loc[best], right.loc[best], rng=0)
    yield Claim(
        headline="Their confidence barely discriminates right from wrong answers",
        published="AUROC .6",
        found=", ".join(shown(v, i) for v, i in zip(ranks.value, ranks.interval, strict=True)),
        outcome="reproduced"
        if all(low <= 0.65 and high >= 0.55 for low, high in ranks.interval)
        else "not reproduced",
        verdict="The claim is reproduced if every interval overlaps .55 to .65, the range that "
        "rounds to .6.",
    )
    gap = overconfidence(said, right, rng=0).difference
    above = gap.interval[:, 0] > 0.0
    n, sure = above.size, int(above.sum())
    yield Claim(
        headline="All models are overconfident",
        published="all",
        found=f"{sure} of {n} significantly: {shown(100 * sure / n, 100 * wilson(sure, n), 0)} %",
        outcome="reproduced" if sure == n else "not reproduced",
        verdict=f"In {n} configurations with at least {_LEAST} stated confidences, mean "
        f"confidence exceeds accuracy by {np.nanmin(gap.value):.2f} to "
        f"{np.nanmax(gap.value):.2f}.",
    )
