"""Words and bounds of a verdict on dimensionality."""

import numpy as np
import pytest

import psychollm as psy
from psychollm.factor.one_factor.residuals import pair_residuals
from psychollm.studies.dimensionality.result import (
    Evidence,
    share_interval,
    shared_interval,
    verdict,
)
from psychollm.studies.dimensionality.study import n_factors

EVIDENCE = {
    "p_shared": 0.002,
    "p_one": 0.41,
    "shared_interval": (0.0, 0.4),
    "share": 0.008,
    "share_interval": (0.0, 0.012),
    "p_share": 0.4,
    "p_second": 0.41,
    "counted": True,
    "empty_cells": "keep_margins",
    "alpha": 0.05,
}


LARGE = {"share": 0.051, "share_interval": (0.02, 0.06), "p_share": 0.01}


SKEWED = {"share": 0.02, "share_interval": (0.005, 0.03), "p_share": 0.01}


@pytest.mark.parametrize(
    ("change", "count", "words"),
    [
        ({}, 1, "one factor; the second eigenvalue is an artefact"),
        ({"counted": False}, 1, "one factor; the second eigenvalue is what one factor with these"),
        ({"p_second": 0.01}, 1, "need no rule"),
        (
            {"share_interval": (0.0, 0.08)},
            1,
            "one factor, and too few questions to rule out that a second takes 2.5 % .* artefact",
        ),
        ({"p_one": 0.0004} | LARGE, 2, "at least two factors: .* (p < .001), and a second takes"),
        ({"p_one": 0.002, "share": 0.011}, 2, "not quite one normal .* takes only 1.1 %"),
        (
            {"p_one": 0.01} | LARGE | {"p_share": 0.2},
            2,
            "not quite one factor: .* by chance (p = .200)",
        ),
        (
            {"p_one": 0.01} | SKEWED,
            2,
            "not quite one factor: .* heavy-tailed factor may leave",
        ),
        ({"p_shared": 0.3}, 0, "no shared factor is shown: .* rule out one with correlations"),
        (
            {"p_shared": 0.3, "shared_interval": (0.0, 0.08)},
            0,
            "no shared factor that matters: .* is below 0.1",
        ),
    ],
)
def test_sentences(change, count, words):
    numbers = EVIDENCE | change
    found = n_factors(numbers["p_shared"], numbers["p_one"], numbers["alpha"])
    evidence = Evidence(n_factors=found, **numbers)
    start, _, end = words.partition(" .* ")
    assert found == count
    assert start in verdict(evidence)
    assert end in verdict(evidence)


def test_a_correlation_of_all_pairs_is_bounded_by_their_residuals():
    thresholds = np.linspace(-0.8, 0.8, 10)
    upper = []
    for seed in range(20):
        made = psy.simulate_factor(
            loadings=[np.sqrt(0.1)] * 10, thresholds=thresholds, n_questions=500, rng=seed
        )
        left = pair_residuals(made.responses, loadings=np.zeros(10))
        upper.append(shared_interval(left.largest_eigenvalue, thresholds, left.n, 0.05)[1])
    assert min(upper) > 0.1
    independent = (np.random.default_rng(1).random((10, 4000)) < 0.5).astype(int)
    left = pair_residuals(independent, loadings=np.zeros(10))
    assert shared_interval(left.largest_eigenvalue, np.zeros(10), left.n, 0.05)[1] < 0.05
    assert shared_interval(1e6, np.zeros(10), left.n, 0.05) == (0.0, 1.0)


def test_a_share_of_a_second_factor_is_bounded_by_those_of_one_factor():
    draws = np.linspace(0.01, 0.03, 201)
    low, high = share_interval(0.05, draws, 0.05)
    assert low == pytest.approx(0.05 - 0.0295)
    assert high == pytest.approx(0.05 + 0.0295 - 0.02)
    assert share_interval(0.02, draws, 0.05)[0] == 0.0
