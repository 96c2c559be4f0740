"""Coverage of intervals for repeated attempts: docs/attempts.md.

``python -m validation.attempts_rates --write [TRIALS.csv.gz]`` rewrites
``docs/attempts_tables.md``. Success probabilities of tasks follow beta distributions like those
fitted to the agents of Terminal-Bench 2 (means of .07 to .63); in families of four tasks, half of
the variance of the logit is between families. With the trials of Terminal-Bench 2 (59 agents, 88
tasks, five trials each; columns agent, task, successes, trials;
github.com/dariakryvosheieva/agent-psychometrics, MIT), three of the five trials are drawn to
predict the results of all five. Takes four minutes.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import betaln, expit

from psychollm.studies.attempts.study import attempts

OUT = Path(__file__).parents[1] / "docs" / "attempts_tables.md"
AGENTS = {"mean .07": (0.13, 1.76), "mean .27": (0.17, 0.47), "mean .43": (0.25, 0.35),
          "mean .63": (0.49, 0.31)}  # fmt: skip
TASKS, KS, TRIALS = (10, 30, 88), (1, 3, 5), 5
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(41)


def expected(a, b, k):
    """Return pass@k and pass^k of all tasks."""
    return 1 - np.exp(betaln(a, b + k) - betaln(a, b)), np.exp(betaln(a + k, b) - betaln(a, b))


def counts(successes):
    """Return a long table of counts."""
    m, n = successes.shape
    return pd.DataFrame(
        {
            "model": np.repeat(np.arange(m), n),
            "task": np.tile(np.arange(n), m),
            "successes": successes.ravel(),
            "trials": TRIALS,
        }
    )


def studied(successes, **options):
    """Return the study of a table of successes."""
    return attempts(
        counts(successes), question="task", successes="successes", trials="trials", k=KS, rng=1,
        **options,
    )  # fmt: skip


def covers(bounds, truth):
    """Return where a true value is within its bounds."""
    return (bounds[..., 0] <= truth) & (truth <= bounds[..., 1])


def single(rng, n_tables):
    """Return rows of coverage of each quantity, and of all differences at once."""
    a, b = np.array(list(AGENTS.values())).T
    rows = []
    for n in TASKS:
        hits = {(quantity, k): [] for quantity in ("pass@k", "pass^k") for k in KS}
        together = {"pass@1": [], "pass^3": []}
        for _ in range(n_tables):
            found = studied(rng.binomial(TRIALS, rng.beta(a[:, None], b[:, None], (a.size, n))))
            for quantity, k, estimate in found.estimates():
                truth = expected(a, b, k)[quantity.name == "pass^k"]
                hits[quantity.name, k].append(covers(estimate.interval, truth))
            for name, held in together.items():
                truth = expected(a, b, int(name[-1]))["^" in name]
                pairs = found.differences[name]
                gap = truth[list(pairs.first)] - truth[list(pairs.second)]
                known = np.isfinite(pairs.interval[:, 0])
                held.append(covers(pairs.interval, gap)[known].all())
        cells = [100 * np.mean(hits[key]) for key in hits if key != ("pass^k", 1)]
        rows.append([n, *cells, *(100 * np.mean(held) for held in together.values())])
    return rows


def families(rng, n_tables):
    """Return rows of coverage with families of four tasks, by clusters and without."""
    rows = []
    levels, spread = np.array([-2.5, -1.0, 0.0, 1.0]), 2.5
    chance = expit(levels[:, None] + spread * NODES)
    weight = WEIGHTS / WEIGHTS.sum()
    for n in (12, 32, 88):
        family = np.arange(n) // 4
        hits = {(name, k): [] for name in ("clusters", "tasks") for k in (1, 3)}
        for _ in range(n_tables):
            shared = rng.standard_normal(family.max() + 1)[family]
            own = rng.standard_normal((levels.size, n))
            p = expit(levels[:, None] + spread * (shared + own) / np.sqrt(2.0))
            tried = rng.binomial(TRIALS, p)
            for name, given in (("clusters", family), ("tasks", None)):
                found = studied(tried, clusters=given)
                for k in (1, 3):
                    truth = (chance**k) @ weight
                    bounds = (found.pass_at_k if k == 1 else found.pass_hat_k)[k].interval
                    hits[name, k].append(covers(bounds, truth))
        rows.append([n, *(100 * np.mean(held) for held in hits.values())])
    return rows


def foretold(frame, rng, n_splits):
    """Return the coverage of predictions from three trials for the results of all five."""
    table = frame.loc[frame["trials"] == TRIALS].pivot_table(
        index="agent", columns="task", values="successes"
    )
    hits = {"pass@k": [], "pass^k": []}
    width = {"pass@k": [], "pass^k": []}
    for _ in range(n_splits):
        for _, row in table.iterrows():
            all_five = row.dropna().to_numpy(dtype=np.int64)
            three = rng.hypergeometric(all_five, TRIALS - all_five, 3)
            tried = pd.DataFrame(
                {"model": 0, "task": np.arange(three.size), "successes": three, "trials": 3}
            )
            said = attempts(
                tried, question="task", successes="successes", trials="trials", k=1, rng=1
            ).foretell(TRIALS, n_draws=1000, rng=rng)
            shown = {"pass@k": (all_five > 0).mean(), "pass^k": (all_five == TRIALS).mean()}
            for quantity, bounds in zip(said.quantity, said.interval, strict=True):
                hits[quantity].append(covers(bounds, shown[quantity]))
                width[quantity].append(bounds[1] - bounds[0])
    return [[name, 100 * np.mean(hits[name]), np.mean(width[name])] for name in hits]


def markdown(head, rows, digits):
    """Return a table."""
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for row in rows:
        cells = [one if isinstance(one, str) else f"{one:.{digits}f}" for one in row[1:]]
        lines.append(f"| {' | '.join([str(row[0]), *cells])} |")
    return "\n".join(lines)


def main():
    """Simulate, print, and write the page of tables if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trials", nargs="?", type=Path)
    parser.add_argument("--tables", type=int, default=400)
    parser.add_argument("--splits", type=int, default=6)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    rng = np.random.default_rng(1)
    parts = [
        "<!-- simulated -->",
        markdown(
            ["tasks", "pass@1", "pass@3", "pass@5", "pass^3", "pass^5", "all differences, pass@1",
             "all differences, pass^3"],
            single(rng, options.tables), 1,
        ),
        "<!-- families -->",
        markdown(
            ["tasks", "pass@1, by family", "pass^3, by family", "pass@1, by task",
             "pass^3, by task"],
            families(rng, options.tables), 1,
        ),
        "<!-- end -->",
    ]  # fmt: skip
    if options.trials is not None:
        rows = foretold(pd.read_csv(options.trials), rng, options.splits)
        parts += [
            "<!-- foretold -->",
            markdown(["five trials, from three", "covered, %", "width"], rows, 3),
            "<!-- end of foretold -->",
        ]
    text = "\n\n".join(parts) + "\n"
    print(text)
    if options.write:
        OUT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
