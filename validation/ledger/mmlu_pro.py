"""MMLU-Pro: the published accuracies, from the published answers."""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from psychollm.reliability import mean_score
from validation.ledger.claim import Claim, inside, shown

TITLE = "Accuracies on MMLU-Pro"
SOURCE = "Wang and others (2024), arXiv:2406.01574, and the table in the benchmark's repository"
PUBLISHED = {"Meta-Llama-3-70B": 0.5278, "Qwen1.5-72B-Chat": 0.5264}  # those of the table here


def claims(data: Path) -> Iterator[Claim]:
    """Score the published answers, unparsed ones as wrong."""
    right = pd.read_csv(data / "mmlu_pro_correct.csv.gz", index_col="model").loc[list(PUBLISHED)]
    score = mean_score(right, rng=0, bootstrap=0)
    for row, (model, published) in enumerate(PUBLISHED.items()):
        value, bounds = score.value[row], score.interval[row]
        outcome = inside(published, bounds)
        yield Claim(
            headline=f"{model}, five-shot, chain of thought",
            published=f"{100 * published:.2f} %",
            found=f"{shown(100 * value, 100 * bounds, 1)} %",
            outcome=outcome,
            verdict=f"Our value is {100 * (published - value):.1f} points below the "
            "published one. "
            + (
                "Sampling of questions explains this difference."
                if outcome == "reproduced"
                else "Unparsed answers count as wrong here. If they had been replaced by random "
                "options, at most a tenth of them would be right. Either the published figure is "
                "based on other answers, or these were parsed differently."
            ),
        )
