"""Simulated studies: rates, self-knowledge, their design, bad parameters."""

import numpy as np
import pytest
from scipy.stats import norm

from psychollm._base.errors import OptionError
from psychollm.data.simulate_study import simulate_study
from tests.data.test_simulate import within


@pytest.fixture(scope="module")
def study():
    return simulate_study(n_questions=20_000, self_knowledge={3: 0.8}, rng=11)


def test_study_rates(study):
    truth = study.truth
    within(study.confidence.yes_rates, norm.sf(truth.thresholds), 20_000)
    within(study.correctness.yes_rates, norm.cdf(truth.abilities), 20_000)
    np.testing.assert_allclose(np.corrcoef(truth.scores, truth.easiness)[0, 1], 0.6, atol=0.02)


def test_only_self_knowing_models_say_more_than_the_shared_signal(study):
    """Given the shared factor, confidence tells of correctness only where k > 0.

    Residuals of both on a fine partition of the factor score are uncorrelated under k = 0; |z|
    above 4 in one of 18 models has a chance below .2 %; seeded.
    """
    bins = np.searchsorted(
        np.quantile(study.truth.scores, np.linspace(0, 1, 201)[1:-1]), study.truth.scores
    )
    size = np.bincount(bins)

    def residual(codes):
        mean = np.stack([np.bincount(bins, row) for row in codes.astype(float)]) / size
        return codes - mean[:, bins]

    said, right = residual(study.confidence.codes), residual(study.correctness.codes)
    r = (said * right).sum(axis=1) / np.sqrt((said**2).sum(axis=1) * (right**2).sum(axis=1))
    z = r * np.sqrt(20_000)
    assert z[3] > 10
    assert np.abs(np.delete(z, 3)).max() < 4


def test_study_design():
    truth = simulate_study(n_questions=10, rng=1).truth
    assert truth.models[0] == "sim-01"
    assert np.flatnonzero(truth.self_knowledge).tolist() == [5, 12]
    assert truth.loadings.min() == 0.6
    assert truth.loadings.max() == 0.95
    for other in (truth.thresholds, truth.thresholds**2, truth.abilities):
        assert abs(np.corrcoef(truth.loadings, other)[0, 1]) < 0.2
    assert simulate_study(n_models=4, n_questions=10, rng=1).truth.self_knowledge.max() == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"self_knowledge": {19: 0.5}}, "model indices are 0 to 18"),
        ({"self_knowledge": {0: 1.5}}, "weights between 0 and 1"),
        ({"easiness_loading": 1.0}, "easiness_loading=1.0"),
        ({"n_models": 1}, "n_models=1"),
    ],
)
def test_bad_study_parameters_are_named(change, message):
    with pytest.raises(OptionError, match=message):
        simulate_study(n_questions=10, **change)
