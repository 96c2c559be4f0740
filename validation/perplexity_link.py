"""Coverage of the interval for the link within models, and its false positive rate.

``python -m validation.perplexity_link`` writes docs/perplexity_link_tables.md. Takes one
minute of CPU.

Models have means of log perplexity and of ratings, which are correlated or not, and so do
conditions. The residuals of a model and a condition have the correlation of the first column. The
true value is the coefficient of 20,000 models. The table also shows how often a plain correlation
over all models and conditions is significant; it mistakes differences between models or conditions
for a link.
"""

import argparse
from pathlib import Path

import numpy as np

from psychollm.studies.self_efficacy.links import _apart, _within

OUT = Path(__file__).resolve().parent.parent / "docs" / "perplexity_link_tables.md"
TABLES = 300
# Link within models and over models (both correlations), SD of models, and whether perplexities
# are raw instead of logarithms and ratings are cut to the scale.
DESIGNS = {
    "none": (0.0, 0.0, 1.0, False),
    "none; over models -.8": (0.0, -0.8, 3.0, False),
    "-.5": (-0.5, 0.0, 1.0, False),
    "-.5; models differ thrice as much": (-0.5, 0.0, 3.0, False),
    "-.5; no logarithms, ratings cut at 1 and 4": (-0.5, 0.0, 1.0, True),
    "-.8": (-0.8, 0.0, 1.0, False),
}


def drawn(rng, models, cells, within, over, size, raw):
    """Return perplexities and ratings (models, cells)."""

    def pair(shape, r):
        x, noise = rng.standard_normal((2, *shape))
        return x, r * x + np.sqrt(1.0 - r * r) * noise

    x, y = pair((models, cells), within)
    of_model, of_cell = pair((models, 1), over), pair((1, cells), -0.7)
    x, y = (one + size * of_model[k] + of_cell[k] for k, one in enumerate((x, y)))
    if raw:  # a scale of ten statements, with floor and ceiling effects
        x, y = np.exp(0.5 * x), np.clip(np.rint(10 * (2.5 + 0.6 * y)), 10, 40)
    return x, y


def row(name, models, cells, tables):
    """Return a row of the table."""
    design = DESIGNS[name]
    truths = [
        _apart(*drawn(np.random.default_rng((9, k)), 20_000, cells, *design)) for k in range(8)
    ]
    truth = float(np.mean(truths))
    held, shown, plain, width = 0, 0, 0, []
    for k in range(tables):
        x, y = drawn(np.random.default_rng((k, models, cells)), models, cells, *design)
        low, high = _within("", x, y, 0.95).interval[0]
        held += low <= truth <= high
        shown += low > 0.0 or high < 0.0
        width.append(high - low)
        r = np.corrcoef(x.ravel(), y.ravel())[0, 1]
        plain += abs(np.arctanh(r)) > 1.96 / np.sqrt(models * cells - 3.0)
    return (
        f"| {name} | {models} | {cells} | {truth:+.2f} | {100 * held / tables:.1f} | "
        f"{np.mean(width):.2f} | {100 * shown / tables:.1f} | {100 * plain / tables:.1f} |"
    )


def main():
    """Simulate, print, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=TABLES)
    tables = parser.parse_args().tables
    lines = [
        f"Each row is based on {tables} tables; intervals are 95 % intervals.",
        "",
        "| link within models | models | conditions | truth | covers, % | width | link "
        "significant, % | significant in one correlation of all, % |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    print("\n".join(lines))
    for name in DESIGNS:
        for models, cells in ((8, 4), (10, 9), (19, 4), (40, 4)):
            lines.append(row(name, models, cells, tables))
            print(lines[-1], flush=True)
    OUT.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
