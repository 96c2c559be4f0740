"""The figure of the front page: scores and possible ranks of the first models of LiveBench.

``python -m validation.livebench_ranks --data DIR --out docs/_static/front/livebench.png``. All
models with answers to 900 questions are compared; the figure shows the first rows. Takes 20 s.
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt

import psychollm as psy
from validation.ledger.claim import wide
from validation.ledger.livebench import FULL

SHOWN = 20


def main() -> None:
    """Draw the comparison and keep its first rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--data", type=Path, required=True, help="folder of livebench_scores.parquet"
    )
    parser.add_argument("--out", type=Path, required=True, help="picture to write")
    options = parser.parse_args()
    scores = wide(options.data / "livebench_scores.parquet", "score")
    found = psy.compare(scores[scores.notna().sum(axis=1) >= FULL], rng=0)
    print(found)
    figure, ax = plt.subplots(figsize=(6.4, 5.0), layout="constrained")
    found.plot(ax=ax)
    ax.set_ylim(SHOWN - 0.5, -1.2)
    ax.set_xlim(0.38, 0.73)
    for text in list(ax.texts):
        if text.get_position()[1] >= SHOWN:
            text.remove()
    ax.set_title(f"The first {SHOWN} of {len(found.labels)} models", loc="left", fontsize=10)
    figure.savefig(options.out, dpi=160, metadata={"Software": None})


if __name__ == "__main__":
    main()
