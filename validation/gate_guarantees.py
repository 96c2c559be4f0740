"""How often a gate breaks its guarantee: docs/gate.md.

    python -m validation.gate_guarantees [MOORE.parquet GASTRO.csv.gz] [--write]

The first tables use simulated data sets. The next use real answers of each model to each question
set (stated confidence of 11 models on five sets, NoamMichael/Comparing-Confidence-in-LLMs, MIT; 48
configurations on board examinations, narimannr2x/confidence_scoring, Apache-2.0): a gate is made
from a random half and tested on the other. Then gates are made from four sets and tested on the
fifth. ``--write`` makes docs/gate_guarantees_tables.md. Takes two minutes.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri

from psychollm.calibration import confidence_gate
from validation.attempts_rates import markdown

OUT = Path(__file__).parents[1] / "docs" / "gate_guarantees_tables.md"
AT_MOST = 0.1
LEVELS = np.array([0.5, 0.7, 0.8, 0.9, 0.95, 1.0])
USUAL = np.array([0.05, 0.1, 0.2, 0.3, 0.25, 0.1])  # probability of each level
SMOOTH = np.linspace(0.0, 1.0, 2001)[1:]  # nearly continuous


def worlds():
    """Return by name: confidences, their probabilities, error rates, numbers of answers."""
    even = np.full(SMOOTH.size, 1.0 / SMOOTH.size)
    rising = np.array([0.5, 0.35, 0.25, 0.12, 0.11, 0.09])
    bad_top = np.where(SMOOTH > 0.9, 0.25, np.where(SMOOTH > 0.5, 0.05, 0.3))
    short = np.where(SMOOTH > 0.98, 0.6, np.where(SMOOTH > 0.6, 0.06, 0.3))
    return {
        "increasing accuracy, 30": (LEVELS, USUAL, rising, 30),
        "increasing accuracy, 100": (LEVELS, USUAL, rising, 100),
        "increasing accuracy, 1,000": (LEVELS, USUAL, rising, 1000),
        "error rate just too high, 100": (LEVELS, USUAL, np.full(6, 0.101), 100),
        "error rate just too high, 1,000": (LEVELS, USUAL, np.full(6, 0.101), 1000),
        "single confidence, 200": (np.array([0.9]), np.ones(1), np.array([0.101]), 200),
        "high accuracy, 200": (LEVELS, USUAL, np.full(6, 0.01), 200),
        "low accuracy, 200": (LEVELS, USUAL, np.full(6, 0.95), 200),
        "reversed, 300": (LEVELS, USUAL, np.array([0.02, 0.04, 0.06, 0.1, 0.2, 0.3]), 300),
        "continuous, 200": (SMOOTH, even, 0.4 * (1.0 - SMOOTH), 200),
        "continuous, 1,000": (SMOOTH, even, 0.4 * (1.0 - SMOOTH), 1000),
        "inaccurate at the top, 250": (SMOOTH, even, bad_top, 250),
        "short inaccurate range, 1,000": (SMOOTH, even, short, 1000),
    }


def true_error(levels, weights, wrong):
    """Return the proportion of wrong answers at or above each level."""
    return np.cumsum((weights * wrong)[::-1])[::-1] / np.cumsum(weights[::-1])[::-1]


def observed(gate, which):
    """Return the lowest threshold whose observed error rate is tolerated, without a bound."""
    here = (gate.step_gate == which) & (gate.step_error <= gate.at_most)
    return gate.step_threshold[here].min(initial=np.inf)


def simulated(rng, n_sets):
    """Return rows: guaranteed and failed gates of `n_sets` data sets, and coverage."""
    rows = []
    for name, (levels, weights, wrong, n) in worlds().items():
        place = rng.choice(levels.size, (n_sets, n), p=weights / weights.sum())
        right = (rng.random(place.shape) >= wrong[place]).astype(int)
        gate = confidence_gate(levels[place], right, AT_MOST, 0.9)
        error = true_error(levels, weights, wrong)
        good = gate.promised[:, 0]
        at = np.searchsorted(levels, gate.threshold[good, 0])
        share = np.cumsum(weights[::-1])[::-1] / weights.sum()
        answered = np.zeros(n_sets)
        answered[good] = share[at]
        broken = float((error[at] > AT_MOST).sum())
        naive = np.searchsorted(levels, [observed(gate, k) for k in range(n_sets)])
        lucky = float((np.append(error, 0.0)[naive] > AT_MOST).mean())
        kept = error <= AT_MOST
        best = share[kept].max() if kept.any() else 0.0
        rows.append(
            [
                name,
                *(100.0 * np.array([good.mean(), broken / n_sets, lucky, answered.mean(), best])),
            ]
        )
    return rows


def clustered(rng, n_sets):
    """Return rows: failed gates for passages of several questions, with and without clusters."""
    rows = []
    sizes = {"five each": np.full(60, 5), "one to twenty": np.tile([1, 2, 4, 8, 20], 12)}
    for name, size in sizes.items():
        member = np.repeat(np.arange(size.size), size)
        for shared in (0.0, 0.3, 0.9):
            cells = []
            place = rng.choice(6, (n_sets, member.size), p=USUAL)
            common = rng.standard_normal((n_sets, size.size))[:, member]
            luck = np.sqrt(shared) * common + np.sqrt(1.0 - shared) * rng.standard_normal(
                place.shape
            )
            right = (ndtr(luck) >= 0.101).astype(int)
            fine = (luck >= ndtri(0.03)).astype(int)
            for clusters in (member, None):
                gate = confidence_gate(LEVELS[place], right, AT_MOST, 0.9, clusters=clusters)
                cells.append(100.0 * gate.promised.mean())
                gate = confidence_gate(LEVELS[place], fine, AT_MOST, 0.9, clusters=clusters)
                cells.append(100.0 * gate.coverage.mean())
            rows.append([f"{name}, {shared:g}", *cells])
    return rows


def answers(moore, gastro):
    """Return a long table: source, model, set, confidence, correct."""
    first = pd.read_parquet(moore)
    parts = [
        first.assign(source="stated", model=first["llm"], confidence=first["stated_confidence"]),
        first.assign(
            source="token", model=first["llm"], confidence=first["chosen_token_confidence"]
        ),
        pd.read_csv(gastro).assign(source="board", qset="board"),
    ]
    kept = ["source", "model", "qset", "confidence", "correct"]
    table = pd.concat([part[kept] for part in parts], ignore_index=True).dropna()
    return table.astype({"model": str, "qset": str})


def tried(rng, table, n_splits):
    """Return rows: gates from random halves, tested on the other halves."""
    rows = []
    for source, at_most in (
        ("stated", 0.05), ("stated", 0.1), ("stated", 0.2), ("token", 0.1),
        ("board", 0.1), ("board", 0.2),
    ):  # fmt: skip
        made, broken, share, total, lucky = 0, 0, 0.0, 0, 0
        for _, one in table[table["source"] == source].groupby(["model", "qset"]):
            confidence, right = one["confidence"].to_numpy(), one["correct"].to_numpy()
            for _ in range(n_splits):
                order = rng.permutation(right.size)
                own, other = np.array_split(order, 2)
                gate = confidence_gate(confidence[own], right[own].astype(int), at_most, 0.9)
                alone = gate.decide(confidence[other])
                made, total = made + int(gate.promised[0, 0]), total + 1
                share += alone.mean()
                broken += bool(alone.any() and 1.0 - right[other][alone].mean() > at_most)
                alone = confidence[other] >= observed(gate, 0)
                lucky += bool(alone.any() and 1.0 - right[other][alone].mean() > at_most)
        rows.append(
            [
                f"{source}, at most {100 * at_most:g} %",
                total,
                made,
                broken,
                lucky,
                100.0 * share / total,
            ]
        )
    return rows


def elsewhere(table):
    """Return rows: gates from all other question sets, tested on the omitted set."""
    rows = []
    stated = table[table["source"] == "stated"]
    for name in sorted(stated["qset"].unique()):
        made, broken, worst = 0, 0, 0.0
        for _, one in stated.groupby("model"):
            here = (one["qset"] == name).to_numpy()
            confidence, right = one["confidence"].to_numpy(), one["correct"].to_numpy().astype(int)
            gate = confidence_gate(confidence[~here], right[~here], AT_MOST, 0.9)
            alone = gate.decide(confidence[here])
            made += int(gate.promised[0, 0])
            wrong = 1.0 - right[here][alone].mean() if alone.any() else 0.0
            broken, worst = broken + (wrong > AT_MOST), max(worst, wrong)
        rows.append([name, made, broken, 100.0 * worst])
    return rows


def picture(table, folder):
    """Draw the gates of one model on each question set."""
    one = table[(table["source"] == "stated") & (table["model"] == "o3-2025-04-16")]
    gate = confidence_gate(
        one["confidence"].to_numpy(), one["correct"].to_numpy().astype(int), groups=one["qset"]
    )
    folder.mkdir(exist_ok=True)
    gate.plot().figure.savefig(folder / "gate.png", dpi=110)


def main():
    """Simulate, print, and write the page of tables if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("moore", nargs="?", type=Path)
    parser.add_argument("gastro", nargs="?", type=Path)
    parser.add_argument("--sets", type=int, default=1000)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    rng = np.random.default_rng(1)
    parts = [
        "<!-- simulated -->",
        markdown(
            ["confidence", "guaranteed, %", "failed, %", "failed without a bound, %",
             "answered alone, %", "best possible, %"],
            simulated(rng, options.sets), 1,
        ),
        "<!-- clusters -->",
        markdown(
            ["questions of a passage, correlation", "failed, by passage, %",
             "answered alone, by passage, %", "failed, by question, %",
             "answered alone, by question, %"],
            clustered(rng, options.sets), 1,
        ),
    ]  # fmt: skip
    if options.gastro is not None:
        table = answers(options.moore, options.gastro)
        parts += [
            "<!-- halves -->",
            markdown(
                ["confidence", "splits", "guaranteed", "failed", "failed without a bound",
                 "answered alone, %"],
                tried(rng, table, options.splits), 0,
            ),
            "<!-- elsewhere -->",
            markdown(
                ["omitted question set", "gates from the others", "failed on it",
                 "worst, % wrong"],
                elsewhere(table), 0,
            ),
        ]  # fmt: skip
        if options.write:
            picture(table, OUT.parent / "_static" / "gate")
    text = "\n\n".join([*parts, "<!-- end -->"]) + "\n"
    print(text)
    if options.write:
        OUT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
