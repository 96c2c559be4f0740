"""Semantic entropy: published values, its limits, tokens."""

from pathlib import Path

import numpy as np
import pytest

from psychollm.calibration.sampled.semantic_entropy import semantic_entropy
from psychollm.data.sampled import SampledAnswers
from tests.calibration.test_semantic_confidence import CASES, read


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(
    ("estimator", "column"),
    [
        ("discrete", "discrete_se_nats"),
        ("likelihood", "se_rao"),
        ("predictive", "regular_entropy"),
    ],
)
def test_entropy_per_question(golden: Path, case: str, estimator: str, column: str) -> None:
    _, samples, expected = read(golden, case)
    found = semantic_entropy(samples, estimator=estimator, bootstrap=2, rng=0).entropy[0]
    assert found == pytest.approx(expected[column].to_numpy(), abs=1e-9)


def test_two_equal_classes_have_ln_2_whatever_their_size() -> None:
    samples = SampledAnswers.from_array([["a"] * 5 + ["b"] * 5], loglik=[[-2.0] * 10])
    for estimator in ("discrete", "likelihood", "monte_carlo"):
        entropy = semantic_entropy(samples, estimator=estimator, bootstrap=2, rng=0)
        assert entropy.entropy[0, 0] == pytest.approx(np.log(2))
    share = semantic_entropy(samples, normalise=True, bootstrap=2, rng=0).entropy[0, 0]
    assert share == pytest.approx(np.log(2) / np.log(10))


def test_length_normalised_likelihoods_divide_by_tokens() -> None:
    options = {"loglik": [[-8.0, -2.0]], "n_tokens": [[4.0, 1.0]]}
    samples = SampledAnswers.from_array([["a", "b"]], **options)
    entropy = semantic_entropy(
        samples, estimator="likelihood", length_normalise=True, bootstrap=2, rng=0
    )
    assert entropy.entropy[0, 0] == pytest.approx(np.log(2))
    assert entropy.length_normalised
