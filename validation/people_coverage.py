"""Coverage of intervals for people, and for models compared with people.

``python -m validation.people_coverage --write`` rewrites ``docs/people_tables.md``. Each table has
new people, new questions and a new model, which is .5 logits better than people on average and has
its own easiness of each question (standard deviation .8). The true value is the mean over people
and questions, from 20 million draws. The true rank is the mean, over sets of as many questions, of
the proportion of people who score lower. Two other intervals are shown: one treats people as runs
of one model, so that only questions vary, and one treats the questions as fixed. Takes four
minutes of CPU.
"""

import argparse
from pathlib import Path

import numpy as np
from scipy.special import expit, stdtrit

from psychollm.studies.people.score import score_of

OUT = Path(__file__).parents[1] / "docs" / "people_tables.md"
# Mean, people, questions, clusters of five questions (standard deviations in logits), whether
# people are skewed (exponential, towards low scores), and the proportion of missing answers.
DESIGNS = {
    "yes or no": {},
    "skewed people": {"mean": 0.5, "people": 1.0, "skew": True},
    "clusters of 5 questions": {"questions": 0.8, "clusters": 1.0},
    "30 % missing": {"missing": 0.3},
    "rate .91": {"mean": 3.0},
    "rate .04": {"mean": -4.0},
    "rate .90, skewed people": {"mean": 3.0, "people": 1.0, "skew": True},
    "scores of any size": {"size": True},
}
PEOPLE, QUESTIONS = (8, 15, 40), (30, 150)
BETTER, OWN = 0.5, 0.8


def drawn(
    rng, n_tables, n_people, n_questions, *, mean=0.0, people=0.8, questions=1.2, clusters=0.0,
    skew=False, missing=0.0, size=False,
):  # fmt: skip
    """Return answers of people and of a model, by table, and the cluster of each question."""
    shape = (n_tables, n_people, 1)
    ability = -rng.exponential(1.0, shape) + 1.0 if skew else rng.standard_normal(shape)
    codes = np.arange(n_questions) // 5 if clusters else np.arange(n_questions)
    ease = questions * rng.standard_normal((n_tables, n_questions))
    own = OWN * rng.standard_normal((n_tables, n_questions))
    if clusters:
        ease += clusters * rng.standard_normal((n_tables, codes.max() + 1))[:, codes]
        own += 0.5 * rng.standard_normal((n_tables, codes.max() + 1))[:, codes]
    theirs = mean + people * ability + ease[:, None]
    its = mean + BETTER + ease + own
    if size:
        answers = theirs + rng.standard_normal(theirs.shape), its + rng.standard_normal(its.shape)
    else:
        answers = tuple(
            (rng.random(one.shape) < expit(one)).astype(np.float64) for one in (theirs, its)
        )
    answers[0][rng.random(answers[0].shape) < missing] = np.nan
    return (*answers, codes)


def truth(design):
    """Return the mean of people and that of models."""
    people, model = [], []
    for seed in range(20):
        theirs, its, _ = drawn(np.random.default_rng((7, seed)), 400, 50, 50, **design)
        people.append(np.nanmean(theirs))
        model.append(its.mean())
    # The answers themselves are averaged; their Monte Carlo error is below .001.
    return float(np.mean(people)), float(np.mean(model))


def true_place(n_questions, design):
    """Return the proportion of people below a model, over sets of questions."""
    places = []
    for seed in range(10):
        theirs, its, _ = drawn(np.random.default_rng((8, seed)), 200, 60, n_questions, **design)
        apart = its[:, None] - theirs
        apart = np.nanmean(apart, axis=2)
        places.append((apart > 1e-9).mean() + 0.5 * (np.abs(apart) <= 1e-9).mean())
    return float(np.mean(places))


def trivial(values, axis):
    """Return the interval of Student's t over one side of a table."""
    means = np.nanmean(values, axis=1 - axis)
    margin = stdtrit(means.size - 1, 0.975) * means.std(ddof=1) / np.sqrt(means.size)
    return np.array([np.nanmean(values) - margin, np.nanmean(values) + margin])


def covered(seed, n_people, n_questions, n_tables, design, truths):
    """Return how often each interval covers."""
    rng = np.random.default_rng((seed, n_people, n_questions))
    people, model = truths
    place = true_place(n_questions, design)
    theirs, its, codes = drawn(rng, n_tables, n_people, n_questions, **design)
    clusters = codes if design.get("clusters") else None
    hits = []
    for answers, own in zip(theirs, its, strict=True):
        found = score_of(own[None], ("m",), answers, clusters=clusters, level=0.95)
        asked = np.isfinite(answers).any(axis=0)
        answers, own = answers[:, asked], own[asked]
        gap = np.nanmean(answers, axis=0)
        claims = (
            (found.baseline.interval[0], people),
            (found.difference.interval[0], model - people),
            (found.place.interval[0], place),
            (trivial(answers, 1), people),
            (trivial(answers, 0), people),
            (trivial((own - gap)[None], 1), model - people),
        )
        hits.append([low <= true <= high for (low, high), true in claims])
    return np.mean(hits, axis=0)


HEAD = """\
| answers | people | questions | people’s score | difference | place | people as runs | \
people alone | difference, people as runs |
|---|---:|---:|---:|---:|---:|---:|---:|---:|"""


def lines(n_tables, designs):
    """Yield the table as Markdown, line by line."""
    error = 100.0 * np.sqrt(0.0475 / n_tables)
    yield (
        f"Coverage of 95 % intervals in percent, from {n_tables} tables per row (seed 1). The "
        f"Monte Carlo standard error is {error:.1f} points."
    )
    yield ""
    yield HEAD
    for name, design in designs.items():
        truths = truth(design)
        for n_people in PEOPLE:
            for n_questions in QUESTIONS:
                rates = covered(1, n_people, n_questions, n_tables, design, truths)
                cells = " | ".join(f"{100.0 * one:.1f}" for one in rates)
                yield f"| {name} | {n_people} | {n_questions} | {cells} |"


def main():
    """Simulate, print, and write with ``--write``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=600)
    parser.add_argument("--design", choices=DESIGNS, default=None)
    parser.add_argument("--write", action="store_true")
    typed = parser.parse_args()
    designs = {name: one for name, one in DESIGNS.items() if typed.design in (None, name)}
    written = []
    for line in lines(typed.tables, designs):
        print(line, flush=True)
        written.append(line)
    if typed.write:
        OUT.write_text("\n".join(written) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
