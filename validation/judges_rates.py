"""Coverage of intervals for judged scores: docs/judges.md.

``python -m validation.judges_rates --write [VERDICTS.csv.gz]`` rewrites ``docs/judges_tables.md``.
With the verdicts on TriviaQA (5 exam takers x 400 questions, eleven automatic judges and people;
columns model, item, one per judge and HumanJudgement; github.com/UMass-Meta-LLM-Eval/llm_eval,
arXiv 2406.12624) human labels are sampled from the complete labels, whose mean is the true value.
Simulated answers need no data. Each cell of the tables has its own random stream. ``--only time``
measures the CPU time of a large table again. Takes forty minutes.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit, stdtrit

from psychollm.studies.judged_scores.study import judged_scores

OUT = Path(__file__).parents[1] / "docs" / "judges_tables.md"
LABELS = (30, 60, 120)
TIME = "### Time"
PEOPLE = "HumanJudgement"


def covers(bounds, truth):
    """Return where a true value is within its bounds."""
    return (bounds[..., 0] <= truth + 1e-12) & (truth <= bounds[..., 1] + 1e-12)


def tables_of(path):
    """Return people's labels and each judge's verdicts (models, questions)."""
    frame = pd.read_csv(path)
    judges = [name for name in frame if name not in {"model", "item", PEOPLE}]
    frame = frame.dropna(subset=judges).drop_duplicates(["model", "item"])

    def spread(name):
        return frame.set_index(["model", "item"])[name].unstack("item")  # noqa: PD010

    people = spread(PEOPLE)
    whole = people.columns[people.notna().all()]
    return people[whole].to_numpy(), {name: spread(name)[whole].to_numpy() for name in judges}


def labelled(rng, truth, n):
    """Return labels of n questions, the same for all models."""
    chosen = rng.permutation(truth.shape[1]) < n
    return np.where(chosen, truth, np.nan)


def alone(people):
    """Return widths of Student's t of labels alone, corrected for a finite population."""
    n = np.isfinite(people).sum(axis=1)
    se = np.sqrt(np.nanvar(people, axis=1, ddof=1) / n * (1.0 - n / people.shape[1]))
    return 2.0 * stdtrit(n - 1.0, 0.975) * se


def tried(rng, truth, verdicts, n, replicates, **options):
    """Return coverage of scores and of all differences at once, and the width of both."""
    means = truth.mean(axis=1)
    i, j = np.triu_indices(len(means), 1)
    single, together, width, plain = [], [], [], []
    for _ in range(replicates):
        people = labelled(rng, truth, n)
        found = judged_scores(verdicts, people, rng=rng, n_draws=1000, **options)
        single.append(covers(found.score.interval, means))
        together.append(covers(found.differences.interval, means[i] - means[j]).all())
        width.append(np.ptp(found.score.interval, axis=1).mean())
        plain.append(alone(people).mean())
    return (
        100 * np.mean(single), 100 * np.mean(single, axis=0).min(), 100 * np.mean(together),
        np.mean(width), np.mean(width) / np.mean(plain),
    )  # fmt: skip


def stream(row, n):
    """Return the random stream of one cell."""
    return np.random.default_rng([1, row, n])


def open_judges(path, replicates):
    """Return rows: each judge of the open data by numbers of labels."""
    truth, judges = tables_of(path)
    order = sorted(judges, key=lambda name: -(judges[name] == truth).mean())
    rows = []
    for row, name in enumerate(order):
        cells = [tried(stream(row, n), truth, judges[name], n, replicates) for n in LABELS]
        agree = 100 * (judges[name] == truth).mean()
        rows.append([name, agree, *(one[0] for one in cells), *(one[2] for one in cells),
                     *(one[4] for one in cells)])  # fmt: skip
        print(*rows[-1], flush=True)
    cells = [tried(stream(len(order), n), truth, judges, n, replicates) for n in LABELS]
    rows.append(["all together", "", *(one[0] for one in cells), *(one[2] for one in cells),
                 *(one[4] for one in cells)])  # fmt: skip
    return rows


def elsewhere(path, rng, replicates):
    """Return rows: how often other intervals cover, with 60 labels of each."""
    truth, judges = tables_of(path)
    means, n, size = truth.mean(axis=1), 60, truth.shape[1]
    rows = []
    for name in ("GPT-4", "JudgeLM", "EM"):
        verdict, normal, pooled = judges[name], [], []
        raw = verdict.mean(axis=1)
        for _ in range(replicates):
            chosen = rng.permutation(size) < n
            y, f = truth[:, chosen], verdict[:, chosen]
            x = f - f.mean(axis=1, keepdims=True)
            weight = (x * y).mean(axis=1) / np.maximum(f.var(axis=1), 1e-9)
            error = y - weight[:, None] * f
            value = weight * raw + error.mean(axis=1)
            se = np.sqrt(error.var(axis=1) / n * (1.0 - n / size))
            normal.append(np.abs(value - means) <= 1.96 * se)
            # This is the Rogan-Gladen estimator, with error rates pooled over models.
            hits, alarms = f[y == 1.0].mean(), f[y == 0.0].mean()
            gain = hits - alarms
            per = np.array([np.var(f[y == k], ddof=1) / (y == k).sum() for k in (1.0, 0.0)])
            theta = (raw - alarms) / gain
            spread = np.sqrt(theta**2 * per[0] + (1 - theta) ** 2 * per[1]) / abs(gain)
            pooled.append(np.abs(theta - means) <= 1.96 * spread)
        rows.append([name, 100 * np.mean(normal), 100 * np.mean(pooled)])
    return rows


def simulated(replicates):
    """Return rows: judges that are rarely wrong, never wrong, graded, or useless."""
    rows = []
    for row, (name, make) in enumerate(CASES.items()):
        cells = []
        for n in LABELS:
            rng = stream(100 + row, n)
            single, together, width, plain = [], [], [], []
            for _ in range(replicates):
                truth, verdicts, options = make(rng)
                means = truth.mean(axis=1)
                people, extra = options.pop("label", drawn_alike)(rng, truth, verdicts, n)
                found = judged_scores(verdicts, people, rng=rng, n_draws=1000, **options, **extra)
                i, j = np.triu_indices(len(means), 1)
                single.append(covers(found.score.interval, means))
                together.append(covers(found.differences.interval, means[i] - means[j]).all())
                width.append(np.ptp(found.score.interval, axis=1).mean())
                plain.append(alone(labelled(rng, truth, n)).mean())
            cells.append((100 * np.mean(single), 100 * np.mean(together),
                          np.mean(width) / np.mean(plain)))  # fmt: skip
        rows.append([name, *(one[k] for k in range(3) for one in cells)])
        print(*rows[-1], flush=True)
    return rows


def drawn_alike(rng, truth, verdicts, n):
    """Draw labels of the same questions with equal probability."""
    return labelled(rng, truth, n), {}


def drawn_apart(rng, truth, verdicts, n):
    """Draw labels of each model by itself."""
    return np.stack([labelled(rng, row[None], n)[0] for row in truth]), {}


def drawn_unequally(rng, truth, verdicts, n):
    """Draw labels more often where the judges' verdicts on the models differ."""
    spread = 0.3 + verdicts.std(axis=0)
    pi = np.minimum(n * spread / spread.sum(), 1.0)
    return np.where(rng.random(pi.size) < pi, truth, np.nan), {"probability": pi}


def drawn_in_clusters(rng, truth, verdicts, n):
    """Draw whole clusters of five questions."""
    cluster = np.arange(truth.shape[1]) // 5
    chosen = rng.permutation(cluster.max() + 1) < n // 5
    return np.where(chosen[cluster], truth, np.nan), {"clusters": cluster}


def answers(rng, levels=(1.5, 0.8, 0.0, -0.8), n=500, cluster=1):
    """Return right and wrong answers of some models to questions of some difficulty."""
    hard = np.repeat(rng.normal(size=n // cluster), cluster)
    own = rng.normal(scale=0.7, size=(len(levels), n))
    return (rng.random((len(levels), n)) < expit(np.array(levels)[:, None] - hard + own)) * 1.0


def flipped(rng, truth, wrong_yes, wrong_no):
    """Return verdicts of a judge with these probabilities of a wrong yes and a wrong no."""
    u = rng.random(truth.shape)
    return np.where(truth == 1.0, u >= wrong_no, u < wrong_yes) * 1.0


def judged(wrong_yes, wrong_no, **options):
    """Return what makes answers and a judge's verdicts."""

    def make(rng):
        truth = answers(rng, **{k: v for k, v in options.items() if k in {"levels", "cluster"}})
        rest = {k: v for k, v in options.items() if k == "label"}
        return truth, flipped(rng, truth, wrong_yes, wrong_no), rest

    return make


def graded(rng):
    """Return a judge whose verdicts are numbers from 0 to 1."""
    truth = answers(rng)
    return truth, expit(2.0 * truth - 1.0 + rng.normal(size=truth.shape)).round(2), {}


def ratings(rng):
    """Return people's and a judge's ratings from 1 to 5."""
    latent = np.array([0.8, 0.3, 0.0, -0.5])[:, None] + rng.normal(size=(4, 500))
    people = np.clip(np.round(3 + 1.2 * latent), 1, 5)
    judge = np.clip(np.round(3.4 + 1.0 * latent + 0.6 * rng.normal(size=latent.shape)), 1, 5)
    return people, judge, {}


CASES = {
    "never wrong": judged(0.0, 0.0),
    "wrong in 2 of 100": judged(0.02, 0.02),
    "wrong in 5 of 100, always lenient": judged(0.12, 0.0),
    "wrong in 15 of 100": judged(0.15, 0.15),
    "uninformative": judged(0.6, 0.4),
    "scores near 1": judged(0.1, 0.1, levels=(5.0, 4.0, 3.5, 3.0)),
    "graded verdicts": graded,
    "ratings from 1 to 5": ratings,
    "labels drawn separately for each model": judged(0.1, 0.1, label=drawn_apart),
    "unequal inclusion probabilities": judged(0.1, 0.1, label=drawn_unequally),
    "whole clusters of five labelled": judged(0.1, 0.1, label=drawn_in_clusters, cluster=5),
}


def timed(n_models=200, n_questions=12_000, n=300):
    """Return a section with the CPU time of a large table."""
    rng = np.random.default_rng(1)
    truth = (rng.random((n_models, n_questions)) < rng.beta(2.0, 2.0, (n_models, 1))) * 1.0
    verdicts, people = flipped(rng, truth, 0.12, 0.12), labelled(rng, truth, n)
    seconds = []
    for _ in range(3):
        start = time.process_time()
        judged_scores(verdicts, people, rng=1)
        seconds.append(time.process_time() - start)
    return [
        TIME,
        f"With {n_models} models, {n_questions:,} questions and {n} labels of each model, the "
        f"scores and all {n_models * (n_models - 1) // 2:,} differences with simultaneous "
        f"intervals take {min(seconds):.1f} s on one core.",
    ]


def markdown(head, rows, digits):
    """Return a table; `digits` is the number of decimals of each column."""
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for row in rows:
        cells = [
            one if isinstance(one, str) else f"{one:.{n}f}"
            for one, n in zip(row[1:], digits, strict=True)
        ]
        lines.append(f"| {' | '.join([str(row[0]), *cells])} |")
    return "\n".join(lines)


def main():
    """Simulate, print, and write the page of tables if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("verdicts", nargs="?", type=Path)
    parser.add_argument("--replicates", type=int, default=1000, help="of each judge on TriviaQA")
    parser.add_argument("--simulated", type=int, default=400, help="replicates of each simulation")
    parser.add_argument("--only", choices=["time"])
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if options.only:
        kept = OUT.read_text(encoding="utf-8").partition(TIME)[0].rstrip()
        text = "\n\n".join([kept, *timed()])
        print(text.splitlines()[-1])
        if options.write:
            OUT.write_text(text + "\n", encoding="utf-8")
        return
    rng = np.random.default_rng(1)
    heads = [
        *(f"scores, {n}" for n in LABELS), *(f"differences, {n}" for n in LABELS),
        *(f"width, {n}" for n in LABELS),
    ]  # fmt: skip
    parts = ["<!-- python -m validation.judges_rates --write VERDICTS.csv.gz -->"]
    if options.verdicts is not None:
        rows = open_judges(options.verdicts, options.replicates)
        others = elsewhere(options.verdicts, rng, options.replicates)
        parts += [
            "### Judges on TriviaQA",
            markdown(["judge", "agrees, %", *heads], rows, [0] + [1] * 6 + [2] * 3),
            "### Other intervals",
            markdown(
                ["judge, 60 labels", "tuned weight, normal intervals",
                 "one error rate for all models"],
                others, [1, 1],
            ),
        ]  # fmt: skip
    rows = simulated(options.simulated)
    parts += ["### Simulated judges", markdown(["judge", *heads], rows, [1] * 6 + [2] * 3)]
    parts += timed()
    text = "\n\n".join(parts)
    print(text)
    if options.write:
        OUT.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
