"""Error rates and power of the verdicts of ``steering_match``.

Simulated targets answer yes if a common score of the question plus their own noise exceeds their
threshold. The log odds of the steered model rise with the strength, at a rate that differs between
questions. Conditions differ in the correlation of these log odds with the common score, and in
whether steering reorders the questions towards it:

* "nothing": the log odds are independent of the score. Claims of a link are false positives.
* "order": the unsteered log odds are correlated with the score, and steering adds nothing. Claims
  that the direction is better than a threshold on the unsteered log odds are false positives.
* "order, short": the same, but strengths only reach yes rates between a quarter and three
  quarters.
* "any": as "order", with a control direction that is as good. Claims that the direction is
  specific are false positives.
* "reorders": steering adds information that the unsteered order lacks. Claims show power.

    python -m validation.steering_match_rates [--n 100] [--seed 1] [--only order]

The output has one line per condition, with the proportion of data sets with each verdict and the
mean R squared. Takes five minutes of CPU, extrapolated from three data sets of each condition.
"""

import argparse
from collections import Counter
from dataclasses import dataclass

import numpy as np

from psychollm.studies import SteeredAnswers, SteeringMatch, steering_match
from psychollm.studies.steering_match.result import finding

LOADING = 0.75
STRENGTHS = np.linspace(-1.0, 1.0, 21)


@dataclass(frozen=True)
class Condition:
    """Information of the steered model about the score."""

    name: str
    known: float  # correlation of its unsteered log odds with the shared score
    gained: float = 0.0  # dependence of the questions' response to steering on the score
    control: float | None = None  # `gained` of a control direction
    reach: float = 1.0  # of the strengths
    questions: int = 200
    targets: int = 12


CONDITIONS = (
    Condition("nothing", 0.0),
    Condition("nothing, few questions", 0.0, questions=60),
    Condition("order", 0.8),
    Condition("order, few questions", 0.8, questions=60),
    Condition("order, short", 0.8, reach=0.3),
    Condition("any", 0.4, gained=2.5, control=2.5),
    Condition("reorders", 0.4, gained=2.5, control=0.0),
    Condition("reorders, many questions", 0.4, gained=2.5, control=0.0, questions=400),
)


def steered(
    condition: Condition,
    score: np.ndarray,
    base: np.ndarray,
    gained: float,
    rng: np.random.Generator,
) -> SteeredAnswers:
    """Make a sweep: log odds that rise with strength, and with the score at either end."""
    gain = 4.0 + rng.normal(size=score.size)
    # The magnitude of the deviation from zero carries the information about the score.
    strengths = condition.reach * STRENGTHS
    brought = gained * np.abs(strengths)[:, None] * score
    odds = 2.0 * base + strengths[:, None] * gain + 2.0 * brought
    return SteeredAnswers.from_array(odds, strengths=strengths, scale="log_odds")


def study(condition: Condition, rng: np.random.Generator) -> SteeringMatch:
    """Simulate and study one data set."""
    n = condition.questions
    score = rng.normal(size=n)
    tau = np.linspace(-1.4, 1.4, condition.targets)[:, None]
    noise = rng.normal(size=(condition.targets, n))
    targets = (LOADING * score + np.sqrt(1 - LOADING**2) * noise > tau).astype(int)
    base = condition.known * score + np.sqrt(1 - condition.known**2) * rng.normal(size=n)
    controls = {}
    if condition.control is not None:
        controls["other"] = steered(condition, score, base, condition.control, rng)
    return steering_match(
        steered(condition, score, base, condition.gained, rng),
        targets,
        controls=controls,
        steps=2,
        n_null=99,
        bootstrap=199,
        rng=rng,
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--n", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    for place, condition in enumerate(CONDITIONS):
        if not condition.name.startswith(options.only):
            continue
        rng = np.random.default_rng([options.seed, place])
        studies = [study(condition, rng) for _ in range(options.n)]
        found = Counter(finding(one) for one in studies)
        squares = np.mean([one.headlines["r_squared"] for one in studies])
        shares = ", ".join(f"{name} {found[name] / options.n:.3f}" for name in sorted(found))
        print(f"{condition.name}: {shares}; mean R2 {squares:.2f}", flush=True)


if __name__ == "__main__":
    main()
