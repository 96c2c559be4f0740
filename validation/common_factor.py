"""Rejection rates of one factor over all groups of questions, with one and with several factors.

Eight models answer questions of two or three groups. With one factor, loadings are the same in all
groups; thresholds of models differ by group, questions of later groups are harder, and their
factor has another SD. With one factor each, every group has its own loadings.

    python -m validation.common_factor [--n 60] [--seed 1] [--write]

``--write`` makes docs/common_factor_tables.md. Takes 3 minutes on one core.
"""

import argparse
from pathlib import Path

import numpy as np

from psychollm.estimates.verdict import Outcome
from psychollm.factor.one_factor.common_loadings import common_loadings

OUT = Path(__file__).resolve().parent.parent / "docs" / "common_factor_tables.md"
MODELS, NULL = 8, 99
CASES = tuple(
    (kind, groups, questions)
    for kind in ("one", "one each")
    for groups, questions in ((2, 150), (2, 300), (3, 300), (2, 2000))
)


def groups_of(kind: str, groups: int, n: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return the answers (models, questions) of each group."""
    common, cuts = rng.uniform(0.4, 0.85, MODELS), rng.normal(0.0, 0.6, MODELS)
    tables = {}
    for place in range(groups):
        own = common if kind == "one" else rng.uniform(0.4, 0.85, MODELS)
        slope = own / np.sqrt(1.0 - own**2)
        factor = -0.3 * place + (1.0 + 0.2 * place) * rng.normal(size=n)
        latent = slope[:, None] * factor + rng.normal(size=(MODELS, n))
        bold = cuts + rng.normal(0.0, 0.3, MODELS)
        tables[f"group {place}"] = (latent > bold[:, None]).astype(int)
    return tables


def main() -> None:
    """Print the table, and write it if requested."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=60, help="tables per row")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    lines = [
        "| factors | groups | questions each | rejected at 5 % | one factor supported "
        "| inconclusive |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for kind, groups, n in CASES:
        streams = np.random.default_rng(given.seed).spawn(given.n)
        found = [
            common_loadings(groups_of(kind, groups, n, rng), n_null=NULL, rng=rng).outcome()
            for rng in streams
        ]
        rates = [
            found.count(one) / given.n for one in (Outcome.ABOVE, Outcome.SMALL, Outcome.OPEN)
        ]
        shares = " | ".join(f"{100 * rate:.0f} %" for rate in rates)
        lines.append(f"| {kind} | {groups} | {n:,} | {shares} |")
        print(lines[-1], flush=True)
    if given.write:
        OUT.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
