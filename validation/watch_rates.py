"""False alarms of a watch, and the number of answers until a true one: docs/watch.md.

    python -m validation.watch_rates [--sets 100] [--write]

Probabilities of a correct answer by question are those of a model that is sampled at a temperature
(beta(.5, .3); two runs differ on a fifth of the questions), or of one that nearly always gives the
same answer (.02 or .98). A drop shifts all log odds by the same amount or, if answers are always
the same, changes single questions. ``--write`` makes docs/watch_tables.md. Takes ten minutes.
"""

import argparse
from pathlib import Path

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit

from psychollm.bank import item_bank
from psychollm.bank.evidence import Counted, Evidence
from validation.attempts_rates import markdown

OUT = Path(__file__).parents[1] / "docs" / "watch_tables.md"
BOUND = np.log(20.0)
MODELS = {
    "at a temperature": lambda rng, n: rng.beta(0.5, 0.3, n),
    "nearly the same": lambda rng, n: np.where(rng.random(n) < 0.7, 0.98, 0.02),
}


def answered(rng, chance, times=1, asked=None):
    """Return this number of answers to each question, or to those asked."""
    n = np.full(chance.size, float(times))
    if asked is not None:
        n = n * asked
    right = rng.binomial(n.astype(int), chance).astype(float)
    return Counted(np.stack([n, right, right]))


def dropped(chance, drop):
    """Return the probabilities of a model whose accuracy is lower by `drop`."""
    odds = logit(np.clip(chance, 1e-4, 1.0 - 1e-4))
    target = expit(odds).mean() - drop
    return expit(odds - brentq(lambda move: expit(odds - move).mean() - target, -20.0, 20.0))


def part(rng, n, size):
    """Yield which questions are asked, all before any is asked again."""
    while True:
        order = rng.permutation(n)
        for first in range(0, n, size):
            asked = np.zeros(n)
            asked[order[first : first + size]] = 1.0
            yield asked


def false_alarms(rng, n_sets, looks):
    """Return rows: the proportion of watches that ever alarm without a change."""
    rows = []
    cases = {
        "all 100 questions each day": (1, 100, 100),
        "20 of 100 each day": (1, 100, 20),
        "20 of 100, a baseline of 30": (1, 30, 20),
        "all 100, four answers in the baseline": (4, 100, 100),
    }
    for name, (times, known, size) in cases.items():
        cells = []
        for make in MODELS.values():
            alarms, half = 0, 0
            for _ in range(n_sets):
                chance = make(rng, 100)
                first = np.arange(100) < known
                evidence = Evidence({0: answered(rng, chance, times, first)})
                top = 0.0
                for _, asked in zip(range(looks), part(rng, 100, size), strict=False):
                    evidence.add(answered(rng, chance, 1, asked))
                    top = max(top, evidence.log)
                alarms, half = alarms + (top >= BOUND), half + (top >= np.log(2.0))
            cells += [100.0 * alarms / n_sets, 100.0 * half / n_sets]
        rows.append([name, *cells])
        print(rows[-1], flush=True)
    return rows


def answers_needed(rng, make, n, times, size, drop, *, before=0, passes=10):
    """Return the number of answers from the change to the alarm; infinite if undetected."""
    chance = make(rng, n)
    evidence = Evidence({0: answered(rng, chance, times)})
    after = dropped(chance, drop)
    looks = part(rng, n, size)
    for _ in range(before):
        evidence.add(answered(rng, chance, 1, next(looks)))
    for k in range(passes * n // size):
        evidence.add(answered(rng, after, 1, next(looks)))
        if evidence.log >= BOUND:
            return (k + 1) * size
    return np.inf


def power(rng, n_sets):
    """Return rows: median and upper quantile of the answers until the alarm."""
    rows = []
    for name, make in MODELS.items():
        for n, times, before in ((1000, 1, 0), (1000, 5, 0), (3000, 1, 0), (1000, 1, 100)):
            cells = []
            for drop in (0.03, 0.05):
                found = [
                    answers_needed(rng, make, n, times, 100, drop, before=before)
                    for _ in range(n_sets)
                ]
                for share in (0.5, 0.8):
                    one = float(np.quantile(found, share, method="higher"))
                    cells.append(f"{one:,.0f}" if np.isfinite(one) else "–")
            since = f", after {before} looks" if before else ""
            rows.append(
                [f"{name}: {n:,} questions, {times} answer{'s' * (times > 1)}{since}", *cells]
            )
            print(rows[-1], flush=True)
    return rows


def picture(folder):
    """Draw a watch of 300 questions whose model is right less often after sixty days."""
    rng = np.random.default_rng(3)
    chance = MODELS["at a temperature"](rng, 300)
    watch = item_bank(rng.integers(0, 2, (8, 300)), rng=1).watch(
        dict(enumerate(rng.binomial(1, chance).tolist()))
    )
    after = dropped(chance, 0.08)
    for day in range(80):
        now = chance if day < 60 else after
        watch.update(dict(enumerate(rng.binomial(1, now).tolist())), look=day + 1)
    folder.mkdir(exist_ok=True)
    watch.plot().figure.savefig(folder / "watch.png", dpi=110)


def main():
    """Simulate, print, and write the page of tables if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=100)
    parser.add_argument("--looks", type=int, default=1000)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    rng = np.random.default_rng(1)
    rows = power(rng, options.sets)
    text = "\n\n".join(
        [
            "<!-- alarms -->",
            markdown(
                ["answers", "at a temperature, %", "evidence of 2, %", "nearly the same, %",
                 "evidence of 2, nearly the same, %"],
                false_alarms(rng, options.sets, options.looks), 1,
            ),
            "<!-- power -->",
            markdown(
                ["model and baseline", "3 points, one half", "3 points, four of five",
                 "5 points, one half", "5 points, four of five"],
                rows, 0,
            ),
            "<!-- end -->",
        ]
    )  # fmt: skip
    print(text)
    if options.write:
        picture(OUT.parent / "_static" / "watch")
        OUT.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
