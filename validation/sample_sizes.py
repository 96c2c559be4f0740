"""Are 80 of 100 studies of the stated size conclusive?

A pilot is simulated and analysed. A second study has as many questions (models, pairs) as the page
of the pilot recommends, and its verdict is recorded. The effect equals the smallest effect of
interest or the pilot's estimate, or it is zero and equivalence is to be shown.

    python -m validation.sample_sizes [--seed 1] [--share 1.0] [--only rule] [--write]

``--share`` scales how many studies are simulated; a row does not depend on the others, and its
first studies do not depend on their number. ``--write`` puts each row into
docs/sample_size_tables.md as soon as it is finished. Takes half an hour on one core.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from psychollm.data.sampled import SampledAnswers
from psychollm.estimates.verdict import Outcome, SmallestEffects, outcome, verdicts
from psychollm.studies.comparison.planning import needed_of
from psychollm.studies.comparison.study import compare
from psychollm.studies.inference_boundary import page as rule_world_page
from psychollm.studies.inference_boundary.monitoring_link import rank_link
from psychollm.studies.inference_boundary.study import inference_boundary
from psychollm.studies.self_efficacy.exhibits import _models_needed
from psychollm.studies.semantic_calibration import page as semantic_page
from psychollm.studies.semantic_calibration.study import semantic_calibration
from validation.semantic_calibration_rates import CLASSES, Arm, drawn

OUT = Path(__file__).resolve().parent.parent / "docs" / "sample_size_tables.md"
MOST = 20_000  # largest second study; recommendations above are counted and left out


@dataclass(frozen=True)
class Stated:
    """The number that a pilot recommends, and a naive number."""

    units: float  # number on the page
    naive: float  # number if standard errors were exact and absence were tested like an effect
    found: Any = None  # the pilot's estimate, if it is the true value of the second study


@dataclass(frozen=True)
class Case:
    """One row of the table."""

    name: str
    pilot: str
    goal: str  # "effect", "absence" or "as found"
    n: int
    state: Callable[[np.random.Generator], Stated]
    decides: Callable[[int, Stated, np.random.Generator], bool]


def naive(criterion: Any, row: int = 0) -> float:
    """Return the number by the former rule: 2.80 standard errors, of all units together."""
    estimate = criterion.estimate
    half = 0.5 * float(np.diff(estimate.interval[row])[0])
    return float(estimate.n[row] * (2.8015852 / 1.959964 * half / criterion.smallest) ** 2)


# Two models on the same questions ---------------------------------------------------------------


def pairs(
    n: int, chances: np.ndarray, rng: np.random.Generator, size: int = 1, tie: float = 0.0
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return scores (2, n) with these probabilities of the four patterns, in similar clusters."""
    n = max(size, size * round(n / size))
    pattern = rng.choice(4, size=n, p=chances)
    if size > 1:
        shared = np.repeat(rng.choice(4, size=n // size, p=chances), size)
        pattern = np.where(rng.random(n) < tie, shared, pattern)
    clusters = np.arange(n) // size if size > 1 else None
    return np.array([pattern >> 1, pattern & 1]), clusters


def comparison(goal: str, n: int, size: int, count: int) -> Case:
    """Return a comparison of two models whose difference is .05, or none."""
    gap = 0.0 if goal == "absence" else 0.05
    chances = np.array([0.25, 0.1, 0.1 + gap, 0.55 - gap])

    def study(units: int, truth: np.ndarray, rng: np.random.Generator) -> Any:
        scores, clusters = pairs(units, truth, rng, size, 0.5)
        return compare(scores, clusters=clusters, n_draws=100, rng=1), scores

    def state(rng: np.random.Generator) -> Stated:
        found, scores = study(n, chances, rng)
        one = found.differences
        before = float(n * (2.8015852 * one.se[0] / 0.05) ** 2)
        if goal == "absence":
            return Stated(float(found.to_exclude(0.05)[0]), before)
        if goal == "effect":
            # The page of a pilot reports it for each pair, by the smallest effect of interest.
            return Stated(float(needed_of(one, 0.05, 0.8)[0]), before)
        seen = np.bincount(2 * scores[0] + scores[1], minlength=4) / scores.shape[1]
        before = float(n * (2.8015852 * one.se[0] / one.value[0]) ** 2) if one.value[0] else np.inf
        return Stated(float(found.needed[0]), before, seen)

    def decides(units: int, stated: Stated, rng: np.random.Generator) -> bool:
        truth = chances if stated.found is None else stated.found
        found, _ = study(units, truth, rng)
        low, high = found.differences.interval[0]
        if goal == "absence":
            return found.outcomes().outcomes[0] is Outcome.SMALL
        return low > 0.0 or high < 0.0

    kind = f"{n} questions" if size == 1 else f"{n} questions in {n // size} clusters"
    return Case("two models, difference .05", kind, goal, count, state, decides)


# Rule world -------------------------------------------------------------------------------------


def rule_world(goal: str, n: int, rate: float, count: int) -> Case:
    """Return questions of two types whose rates differ by .05, or not at all."""
    least = SmallestEffects().share
    rates = {"A": rate, "C": rate + (0.0 if goal == "absence" else least)}

    def study(units: int, rng: np.random.Generator) -> Any:
        frames = [
            pd.DataFrame(
                {
                    "model": "m",
                    "type": kind,
                    "item": [f"{kind}{row}" for row in range(units)],
                    "run": 1,
                    "response": "",
                    "score": (rng.random(units) < own).astype(float),
                }
            )
            for kind, own in rates.items()
        ]
        return inference_boundary(pd.concat(frames, ignore_index=True), bootstrap=20, rng=1)

    def state(rng: np.random.Generator) -> Stated:
        (one,) = rule_world_page.LAYOUT.wanted(study(n, rng), SmallestEffects())
        return Stated(float(one.needed(least, absence=goal == "absence")[0]), naive(one))

    def decides(units: int, stated: Stated, rng: np.random.Generator) -> bool:
        judged = verdicts(study(units, rng).certainty_inversion, smallest=least).outcomes[0]
        return judged is (Outcome.SMALL if goal == "absence" else Outcome.ABOVE)

    name = f"rule world, inversion .05, rates of {rate:g}"
    return Case(name, f"{n} questions a type", goal, count, state, decides)


# Semantic calibration ---------------------------------------------------------------------------


def semantic(goal: str, n: int, arm: Arm, least: float, count: int) -> Case:
    """Return a calibrated arm, or one sharpened until its excess is `least`."""

    def study(units: int, rng: np.random.Generator) -> Any:
        gold = rng.integers(0, CLASSES, units)
        classes = drawn(arm, gold, 10, rng)[None]
        samples = SampledAnswers.from_array(classes, gold=gold.tolist(), models=["arm"])
        return semantic_calibration(samples, n_null=199, bootstrap=300, splits=1, rng=rng)

    def state(rng: np.random.Generator) -> Stated:
        effects = SmallestEffects(calibration_error=least)
        (one,) = semantic_page.LAYOUT.wanted(study(n, rng), effects)
        return Stated(float(one.needed(least, absence=goal == "absence")[0]), naive(one))

    def decides(units: int, stated: Stated, rng: np.random.Generator) -> bool:
        found = study(units, rng)
        rejected = [bool(p <= 0.05) for p in found.p_adjusted]
        judged = verdicts(found.excess, smallest=least, rejected=rejected).outcomes[0]
        return judged is Outcome.SMALL if goal == "absence" else judged.shown

    name = f"semantic calibration, diversity {arm.concentration:g}, excess error {least:g}"
    return Case(name, f"{n} questions", goal, count, state, decides)


# Self-efficacy ----------------------------------------------------------------------------------


def self_efficacy(goal: str, rho: float, count: int) -> Case:
    """Return ratings and another variable over models, correlated or not."""
    r = 0.0 if goal == "absence" else 2.0 * np.sin(np.pi * rho / 6.0)

    def state(rng: np.random.Generator) -> Stated:
        before = float(3.0 + (1.0 + 0.5 * rho**2) * (2.8015852 / np.arctanh(rho)) ** 2)
        return Stated(float(_models_needed(rho, absence=goal == "absence")), before)

    def decides(units: int, stated: Stated, rng: np.random.Generator) -> bool:
        x, noise = rng.normal(size=(2, units))
        y = r * x + np.sqrt(1.0 - r * r) * noise
        found = rank_link(x, y, tuple(range(units)), n_null=1, rng=1)
        judged = outcome(found.interval, smallest=rho)
        return judged is (Outcome.SMALL if goal == "absence" else Outcome.ABOVE)

    return Case(f"self-efficacy, rank correlation {rho:g}", "any", goal, count, state, decides)


BOTH = ("effect", "absence")
# Powers at which the excess error is .02 or .04 with a few hundred questions.
SHARP = {0.03: (0.02, Arm(0.03, 1.42)), 0.1: (0.04, Arm(0.1, 1.32))}


def cases(share: float) -> list[Case]:
    """Return all rows."""

    def times(n: int) -> int:
        return max(10, round(share * n))

    return [
        *(comparison(goal, 60, 1, times(300)) for goal in (*BOTH, "as found")),
        *(comparison(goal, 60, 5, times(300)) for goal in BOTH),
        *(rule_world(goal, 30, rate, times(400)) for rate in (0.6, 0.85) for goal in BOTH),
        *(
            semantic(
                goal,
                150,
                Arm(diversity) if goal == "absence" else arm,
                least,
                times(300),
            )
            for diversity, (least, arm) in SHARP.items()
            for goal in BOTH
        ),
        *(self_efficacy(goal, rho, times(1000)) for rho in (0.1, 0.3) for goal in BOTH),
    ]


def label(case: Case) -> str:
    """Return the first cells of a row."""
    return f"| {case.name} | {case.pilot} | {case.goal} |"


def row(case: Case, seed: int) -> str:
    """Return a row of the table, in Markdown."""
    began = time.process_time()
    streams = np.random.default_rng(seed).spawn(case.n)
    stated, now, before, decided_before, large = [], 0, [], 0, 0
    for stream in streams:
        one = case.state(stream)
        if not one.units <= MOST:
            large += 1
            continue
        stated.append(one.units)
        now += case.decides(int(one.units), one, stream)
        if one.naive <= MOST and len(before) < case.n // 4:
            before.append(one.naive)
            decided_before += case.decides(max(4, int(np.ceil(one.naive))), one, stream)
    rate, old = now / max(1, len(stated)), decided_before / max(1, len(before))
    error = np.sqrt(rate * (1.0 - rate) / max(1, len(stated)))
    left = f", {large} omitted" if large else ""
    text = (
        f"{label(case)} {np.median(before):,.0f} | "
        f"{100 * old:.0f} % | {np.median(stated):,.0f} | **{100 * rate:.0f} %** "
        f"(±{100 * error:.1f}; {len(stated)}{left}) |"
    )
    print(text, f"{time.process_time() - began:.0f} s", flush=True)
    return text


HEAD = [
    "| study and smallest effect | pilot | goal | stated before | conclusive | stated now | "
    "conclusive (standard error; studies) |",
    "|---|---|---|---:|---:|---:|---:|",
]


def write(rows: dict[str, str]) -> None:
    """Replace these rows of the table in docs; other rows are kept, in the order of `cases`."""
    names = [label(one) for one in cases(1.0)]
    held = OUT.read_text(encoding="utf-8").splitlines()[2:] if OUT.exists() else []
    known = {name: line for line in held for name in names if line.startswith(name)} | rows
    lines = [*HEAD, *(known[name] for name in names if name in known)]
    OUT.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    """Print the table, and write it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--only", default="")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    for one in cases(given.share):
        if given.only not in one.name:
            continue
        line = row(one, given.seed)
        if given.write:
            write({label(one): line})


if __name__ == "__main__":
    main()
