"""The example and a small study, each made once."""

import numpy as np
import pytest

import psychollm as psy
from psychollm.data.simulate_study import simulate_study
from psychollm.studies.shared_confidence.study import SharedConfidence, shared_confidence

FAST = {"n_null": 39, "bootstrap": 40}


@pytest.fixture(scope="package")
def example():
    return psy.load_example("shared_confidence")


@pytest.fixture(scope="package")
def result(example) -> SharedConfidence:
    return shared_confidence(example.confidence, example.correctness, rng=1, **FAST)


def small(seed=0, k=6, n=200):
    made = simulate_study(n_models=k, n_questions=n, rng=seed)
    return made.confidence, made.correctness


@pytest.fixture(scope="package")
def once() -> SharedConfidence:
    return shared_confidence(*small(), rng=np.random.default_rng(5), **FAST)
