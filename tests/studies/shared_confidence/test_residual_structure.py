"""Residuals of confidence beside residuals of correctness."""

import numpy as np
import pytest

from psychollm.data.responses import Responses
from psychollm.estimates.reasons import Reason
from psychollm.factor.one_factor.residuals import pair_residuals
from psychollm.studies.shared_confidence.residual_structure import residual_structure


def groups(seed, n=1500, k=8, own=0.0):
    """One signal in confidence, one in correctness; `own` links groups of models in both."""
    rng = np.random.default_rng(seed)
    shared, hard = rng.normal(size=(2, n))
    team = rng.normal(size=(2, n))[np.arange(k) % 2]
    said = shared + own * team + rng.normal(size=(k, n)) > 0
    right = hard + own * team + rng.normal(size=(k, n)) > 0
    return Responses(said), Responses(right)


def test_structure_that_both_share_is_found():
    said, right = groups(1, own=1.0)
    found = residual_structure(pair_residuals(said), right, n_null=999, rng=0)
    assert found.correlation > 0.8
    assert found.p_value < 0.05


def test_false_alarms():
    # Two unrelated factors: nominal 5 %, 100 tables, Monte Carlo error 2.2 %.
    p = [
        residual_structure(pair_residuals(said), right, n_null=99, rng=seed).p_value
        for seed in range(100)
        for said, right in [groups(seed, n=200, k=6)]
    ]
    assert 0.0 <= np.mean(np.array(p) <= 0.05) < 0.12
    assert 0.35 < np.mean(p) < 0.65


def test_correlation_is_over_pairs():
    said, right = groups(2)
    found = residual_structure(pair_residuals(said), right, n_null=9, rng=0)
    rows = found.to_frame()
    assert len(rows) == found.n_pairs == 28
    wanted = np.corrcoef(rows["confidence"], rows["correctness"])[0, 1]
    assert found.correlation == pytest.approx(wanted, abs=1e-12)


def test_models_whose_correctness_does_not_vary_are_left_out():
    said, right = groups(3, k=6)
    known = right.values
    known[0] = 1.0
    found = residual_structure(pair_residuals(said), Responses(known), rng=0)
    assert found.labels == (1, 2, 3, 4, 5)
    known[1:3] = 0.0
    found = residual_structure(pair_residuals(said), Responses(known), rng=0)
    assert found.reason is Reason.TOO_FEW
    assert np.isnan([found.correlation, found.p_value]).all()
