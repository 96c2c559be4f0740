"""Logistic factors with informative missing data, ignored and modelled.

Models skip questions at random, or skip questions that they would fail, or report right answers
more often than wrong ones. In the second case the probability of being asked depends on the same
factors as the answer ("roughly": also on other effects of models and questions). ``python -m
validation.factor_gaps`` prints the table of docs/factor.md. Takes half a minute, extrapolated from
one table in five.
"""

import argparse
import warnings

import numpy as np

from psychollm.irt.factors.fit import fit_factors

MODELS, QUESTIONS, FACTORS, TABLES = 200, 1_000, 2, 5


def logistic(x: np.ndarray) -> np.ndarray:
    """Return the inverse logit."""
    return 1.0 / (1.0 + np.exp(-x))


def simulated(gaps: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return answers with about one in five observed, and their probabilities."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(MODELS, FACTORS))
    loadings = rng.normal(size=(QUESTIONS, FACTORS)) * [0.6, 0.6] + [0.8, 0.0]
    logits = scores @ loadings.T + 1.2 * rng.normal(size=QUESTIONS)
    answers = (rng.random(logits.shape) < logistic(logits)).astype(float)
    tastes = 0.7 * (rng.normal(size=(MODELS, 1)) + rng.normal(size=QUESTIONS))
    asked = {
        "at random": np.full_like(logits, -1.4),
        "would fail": -1.9 + 1.2 * logits,
        "would fail, roughly": -1.8 + 0.8 * logits + tastes,
        "was wrong": -2.5 + 2.0 * answers,
    }[gaps]
    answers[rng.random(logits.shape) >= logistic(asked)] = np.nan
    return answers, logistic(logits)


def row(gaps: str, handling: str) -> list[float]:
    """Return the proportion filled, and bias and RMS error of the probabilities of empty cells."""
    found = []
    for seed in range(TABLES):
        answers, truth = simulated(gaps, seed)
        if handling == "means":
            predicted = np.broadcast_to(np.nanmean(answers, axis=0), answers.shape)
        else:
            predicted = fit_factors(answers, FACTORS, gaps=handling).predict()  # type: ignore[arg-type]
        error = (predicted - truth)[np.isnan(answers) & np.isfinite(predicted)]
        found.append((np.isfinite(answers).mean(), error.mean(), np.sqrt(np.mean(error**2))))
    return [float(x) for x in np.mean(found, axis=0)]


def main() -> None:
    """Print the table."""
    argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0]).parse_args()
    warnings.filterwarnings("ignore", "Mean of empty slice")
    print("| cells are empty | filled | predicted by | bias | RMS error |")
    print("|---|---:|---|---:|---:|")
    for gaps in ("at random", "would fail", "would fail, roughly", "was wrong"):
        for handling in ("means", "ignored", "modelled"):
            share, bias, error = row(gaps, handling)
            print(f"| {gaps} | {share:.0%} | {handling} | {bias:+.3f} | {error:.3f} |")


if __name__ == "__main__":
    main()
