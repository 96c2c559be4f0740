"""Error rates and power of the verdicts of ``semantic_calibration``.

Simulated models give each of eight classes with probabilities drawn per question from a Dirichlet
distribution. The right answer is drawn from the same probabilities, so that the model is
calibrated in meaning. Small concentrations make answers uniform, large ones diverse. A tuned model
samples from these probabilities raised to a power and normalised, so that it is overconfident.

    python -m validation.semantic_calibration_rates [--n 200] [--seed 1] [--only sharpened]

The output has one line per condition, with the rejection rate of each test at the 5 % level.
Rejections in calibrated pairs are false positives; those in sharpened pairs show power. Takes a
quarter of an hour of CPU, extrapolated from three data sets of each condition.
"""

import argparse
from dataclasses import dataclass

import numpy as np

from psychollm.data.sampled import SampledAnswers
from psychollm.studies.semantic_calibration.study import SemanticCalibration, semantic_calibration

CLASSES = 8


@dataclass(frozen=True)
class Arm:
    """A simulated model: diversity of its answers, and sharpening."""

    concentration: float
    power: float = 1.0


@dataclass(frozen=True)
class Condition:
    """Two models with the same questions."""

    name: str
    base: Arm
    other: Arm
    questions: int
    samples: int


DIVERSE, UNIFORM = Arm(0.3), Arm(0.1)
CONDITIONS = (
    *(
        Condition(f"both calibrated, {name}", base, other, questions, samples)
        for name, base, other in (
            ("equally diverse", DIVERSE, DIVERSE),
            ("one more diverse", DIVERSE, UNIFORM),
        )
        for questions, samples in ((100, 10), (300, 5), (300, 10), (300, 20))
    ),
    *(
        Condition(f"sharpened to the power {power:g}", DIVERSE, Arm(0.3, power), questions, 10)
        for power in (1.5, 2.0)
        for questions in (100, 300)
    ),
)


def drawn(arm: Arm, gold: np.ndarray, samples: int, rng: np.random.Generator) -> np.ndarray:
    """Return sampled classes (questions, samples) of a model, the right answers given.

    Since the right answer is drawn from the probabilities, their distribution given the right
    answer is Dirichlet with one added to its class.
    """
    weights = np.full((gold.size, CLASSES), arm.concentration)
    weights[np.arange(gold.size), gold] += 1.0
    chances = rng.standard_gamma(weights)
    chances = chances**arm.power
    chances /= chances.sum(axis=1, keepdims=True)
    draws = rng.random((gold.size, samples, 1))
    return (chances.cumsum(axis=1)[:, None, :-1] < draws).sum(axis=2)


def study_of(condition: Condition, rng: np.random.Generator) -> SemanticCalibration:
    """Return the study of one simulated data set."""
    gold = rng.integers(0, CLASSES, condition.questions)
    classes = np.stack(
        [drawn(arm, gold, condition.samples, rng) for arm in (condition.base, condition.other)]
    )
    samples = SampledAnswers.from_array(classes, gold=gold.tolist(), models=["base", "other"])
    return semantic_calibration(samples, n_null=199, bootstrap=400, rng=rng)


def found(study: SemanticCalibration) -> list[float]:
    """Return which tests reject in one data set."""
    (contrast,) = study.contrasts
    low, high = study.smooth.corrected.difference("other", "base").interval
    return [
        study.p_value.value[0] <= 0.05,
        study.smooth.p_value.value[0] <= 0.05,
        study.p_value.value[1] <= 0.05,
        study.p_adjusted.min() <= 0.05,
        contrast.excess.p_value <= 0.05,
        contrast.smooth.p_value <= 0.05,
        low > 0.0 or high < 0.0,
        contrast.overconfidence.p_value <= 0.05,
        contrast.excess.value,
        contrast.overconfidence.value,
    ]


COLUMNS = (
    "base",
    "as stated",
    "other",
    "either",
    "excess",
    "raw",
    "corrected",
    "overconf.",
    "d excess",
    "d overconf.",
)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=200, help="data sets per condition")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="conditions whose name holds this")
    given = parser.parse_args()
    print("condition, questions, samples: " + ", ".join(COLUMNS), flush=True)
    for condition in CONDITIONS:
        if given.only not in condition.name:
            continue
        streams = np.random.default_rng(given.seed).spawn(given.n)
        rates = np.mean([found(study_of(condition, stream)) for stream in streams], axis=0)
        numbers = " ".join(f"{rate:.3f}" for rate in rates)
        print(
            f"{condition.name}, {condition.questions}, {condition.samples}: {numbers}", flush=True
        )


if __name__ == "__main__":
    main()
