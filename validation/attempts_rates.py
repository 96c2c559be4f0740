"""Coverage of intervals for repeated attempts: docs/attempts.md.

``python -m validation.attempts_rates --write [TRIALS.csv.gz]`` rewrites
``docs/attempts_tables.md``. Success probabilities of tasks follow beta distributions like those
fitted to the agents of Terminal-Bench 2 (means of .07 to .63); in families of four tasks, half of
the variance of the logit is between families. With the trials of Terminal-Bench 2 (59 agents, 88
tasks, five trials each; columns agent, task, successes, trials;
github.com/dariakryvosheieva/agent-psychometrics, MIT), three of the five trials are drawn to
predict the results of all five. Costs of simulated agents are log-normal, higher for tasks that
the agent fails more often. ``--only`` makes one part of the page again. Takes ten minutes.
"""

import argparse
import itertools
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import betaln, expit

from psychollm.estimates.resampling import Bootstrap
from psychollm.studies.attempts.study import attempts

OUT = Path(__file__).parents[1] / "docs" / "attempts_tables.md"
AGENTS = {"mean .07": (0.13, 1.76), "mean .27": (0.17, 0.47), "mean .43": (0.25, 0.35),
          "mean .63": (0.49, 0.31)}  # fmt: skip
COST_TASK, COST_OWN = 0.6, 0.5  # SDs of log costs: of a task for all agents, and for each
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


def simulated(rng, n_tables):
    """Return the first table, with its mark."""
    return [
        "<!-- simulated -->",
        markdown(
            ["tasks", "pass@1", "pass@3", "pass@5", "pass^3", "pass^5", "all differences, pass@1",
             "all differences, pass^3"],
            single(rng, n_tables), 1,
        ),
    ]  # fmt: skip


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


def priced(rng, a, b, price, n):
    """Return the frontier of a simulated study: successes, and mean costs per attempt."""
    chance = rng.beta(a[:, None], b[:, None], (a.size, n))
    shared = rng.standard_normal(n)
    noise = COST_TASK * shared + COST_OWN * rng.standard_normal((a.size, n))
    cost = price[:, None] * (1.5 - chance) * np.exp(noise)
    table = counts(rng.binomial(TRIALS, chance)).assign(cost=cost.ravel())
    found = attempts(
        table, question="task", successes="successes", trials="trials", cost="cost", k=1, rng=1
    ).frontier(bootstrap=Bootstrap(500), rng=1)
    mean = price * (1.5 - a / (a + b)) * np.exp((COST_TASK**2 + COST_OWN**2) / 2.0)
    return found, a / (a + b), mean


def claims(rng, n_tables):
    """Return rows: coverage of costs, false and true claims that another agent is better."""
    means = np.array(list(AGENTS.values()))
    alike = np.tile(means[2], (4, 1))
    # Equal costs: the price makes up for failures, which cost more.
    level = 1.5 - means[:, 0] / means.sum(axis=1)
    cases = {
        "equal success, costs 1 to 8": (alike, np.array([1.0, 2.0, 4.0, 8.0])),
        "equal costs, success .07 to .63": (means, 1.0 / level),
        "best agent cheapest": (means, np.array([2.0, 1.5, 1.2, 0.5]) / level),
    }
    rows = []
    for name, (shape, price) in cases.items():
        a, b = shape.T
        for n in TASKS:
            cover, false, true = [], [], []
            for _ in range(n_tables):
                found, success, mean = priced(rng, a, b, price, n)
                cover.append(covers(found.spent.interval, mean))
                wrong = right = 0
                for row, other in enumerate(found.beaten_by):
                    if other != "–":
                        rival = found.labels.index(other)
                        holds = success[rival] > success[row] + 1e-9
                        holds &= mean[rival] < mean[row] * (1.0 - 1e-9)
                        wrong, right = wrong + (not holds), right + holds
                false.append(wrong > 0)
                true.append(right / 3.0)
            rows.append([name, f"{n}", 100 * np.mean(cover), 100 * np.mean(false),
                         100 * np.mean(true) if name.startswith("best") else "–"])  # fmt: skip
            print(*rows[-1], flush=True)
    return rows


def shares_on_frontier(rng, n_tables):
    """Return rows: of agents with some share of resamples, how many are on the true frontier."""
    means = np.array(list(AGENTS.values()))
    rows = []
    for n in TASKS:
        shares, truth = [], []
        for _ in range(n_tables):
            a, b = (means[rng.integers(4, size=6)] * np.exp(0.5 * rng.standard_normal((6, 2)))).T
            found, success, mean = priced(rng, a, b, np.exp(rng.uniform(0.0, 2.0, 6)), n)
            beaten = (success > success[:, None]) & (mean < mean[:, None])
            shares.append(found.share)
            truth.append(~beaten.any(axis=1))
        share, on = np.concatenate(shares), np.concatenate(truth)
        cells = []
        for low, high in itertools.pairwise((-0.01, 0.05, 0.5, 0.95, 1.0)):
            own = (share > low) & (share <= high)
            cells.append(f"{100 * on[own].mean():.0f} (of {own.sum()})")
        rows.append([n, *cells])
        print(*rows[-1], flush=True)
    return rows


def frontiers(n_tables):
    """Return the tables of the frontier, which have random streams of their own."""
    return [
        "<!-- frontier -->",
        markdown(
            ["agents", "tasks", "cost covered", "some false claim", "true claims found"],
            claims(np.random.default_rng(2), n_tables), 1,
        ),
        "<!-- shares -->",
        markdown(
            ["tasks", "up to 5 % of resamples", "5 to 50 %", "50 to 95 %", "above 95 %"],
            shares_on_frontier(np.random.default_rng(3), n_tables), 0,
        ),
        "<!-- end of frontier -->",
    ]  # fmt: skip


def foretold(frame, rng, n_splits):
    """Return the coverage of predictions from three trials for the results of all five."""
    # The standard error treats agents as independent, because their splits share trials.
    table = frame.loc[frame["trials"] == TRIALS].pivot_table(
        index="agent", columns="task", values="successes"
    )
    hits = {"pass@k": [], "pass^k": []}
    width = {"pass@k": [], "pass^k": []}
    for _, row in table.iterrows():
        all_five = row.dropna().to_numpy(dtype=np.int64)
        for _ in range(n_splits):
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
    rows = []
    for name, held in hits.items():
        by_agent = 100 * np.reshape(held, (len(table), n_splits)).mean(axis=1)
        error = by_agent.std(ddof=1) / np.sqrt(len(table))
        rows.append([name, by_agent.mean(), error, np.mean(width[name])])
    return rows


def foretold_part(trials, rng, n_splits):
    """Return the part of the page with the predictions for the agents in a file."""
    rows = foretold(pd.read_csv(trials), rng, n_splits)
    head = ["five trials, from three", "covered, %", "standard error", "width"]
    table = markdown(head, rows, 3)
    return f"<!-- foretold -->\n\n{table}\n\n<!-- end of foretold -->"


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
    parser.add_argument("--splits", type=int, default=60)
    parser.add_argument("--only", choices=["foretold", "frontier", "simulated"])
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    rng = np.random.default_rng(1)
    kept = OUT.read_text(encoding="utf-8") if options.only else ""
    if options.only == "simulated":
        rest = kept.partition("<!-- families -->")
        text = "\n\n".join([*simulated(rng, options.tables), "".join(rest[1:])])
    elif options.only == "foretold":
        before, _, rest = kept.partition("<!-- foretold -->")
        part = foretold_part(options.trials, rng, options.splits)
        text = before + part + rest.partition("<!-- end of foretold -->")[2]
    elif options.only == "frontier":
        rest = kept.partition("<!-- frontier -->")[0].rstrip()
        text = "\n\n".join([rest, *frontiers(options.tables)]) + "\n"
    else:
        parts = [
            *simulated(rng, options.tables),
            "<!-- families -->",
            markdown(
                ["tasks", "pass@1, by family", "pass^3, by family", "pass@1, by task",
                 "pass^3, by task"],
                families(rng, options.tables), 1,
            ),
            "<!-- end -->",
        ]  # fmt: skip
        if options.trials is not None:
            parts.append(foretold_part(options.trials, rng, options.splits))
        text = "\n\n".join([*parts, *frontiers(options.tables)]) + "\n"
    print(text)
    if options.write:
        OUT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
