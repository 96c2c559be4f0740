"""The one-factor null: false alarms at the stated rate, loadings, reproducibility."""

import numpy as np
import pytest

from psychollm._base.errors import InputError
from psychollm.data.responses import Responses
from psychollm.nulls.design import make_design
from psychollm.nulls.one_factor import fit_loadings, one_factor_null


def table(loadings, thresholds, n, seed, missing=0.0):
    rng = np.random.default_rng(seed)
    loading = np.asarray(loadings)[:, None]
    x = loading * rng.normal(size=n) + np.sqrt(1 - loading**2) * rng.normal(size=(len(loading), n))
    values = (x > np.asarray(thresholds)[:, None]).astype(float)
    values[rng.random(values.shape) < missing] = np.nan
    return Responses(values)


LOADINGS = np.array([0.5, 0.6, 0.7, 0.8, 0.85, 0.9])
THRESHOLDS = np.linspace(-1, 1, 6)


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_loadings_are_recovered(missing):
    """Standard errors at n = 20,000 are about .01: five of them."""
    data = table(LOADINGS, THRESHOLDS, 20_000, 1, missing)
    design = make_design(data, empty_cells="keep_margins", missing="pairwise")
    np.testing.assert_allclose(fit_loadings(design), LOADINGS, atol=0.05)


def test_same_bits_for_any_jobs(capsys):
    data = table(LOADINGS, THRESHOLDS, 300, 1)
    one = one_factor_null(data, n_null=50, rng=2, n_jobs=1)
    assert np.array_equal(one.draws, one_factor_null(data, n_null=50, rng=2, n_jobs=2).draws)
    assert capsys.readouterr().err == ""  # progress only where it is asked for


def test_false_alarms_of_the_second_eigenvalue():
    """120 one-factor tables at nominal 10 %: 12 alarms expected, more than 24 has p < .0005."""
    alarms = sum(
        one_factor_null(table(LOADINGS, THRESHOLDS, 300, seed), n_null=39, rng=seed).p_value[1]
        <= 0.1
        for seed in range(120)
    )
    assert alarms <= 24


def test_two_factors_are_seen():
    rng = np.random.default_rng(3)
    f = rng.normal(size=(2, 1000))
    x = 0.8 * np.repeat(f, 4, axis=0) + 0.6 * rng.normal(size=(8, 1000))
    null = one_factor_null((x > 0.2).astype(int), n_null=99, rng=1)
    assert null.p_value[1] == 0.01


def test_mean_of_replicates_is_near_the_data_where_the_model_holds():
    data = table(LOADINGS, THRESHOLDS, 5000, 1)
    null = one_factor_null(data, n_null=100, rng=1)
    assert abs(null.observed[0] - null.mean[0]) < 4 * null.sd[0]


def test_own_loadings():
    data = table(LOADINGS, THRESHOLDS, 2000, 1)
    weak = one_factor_null(data, loadings=np.full(6, 0.1), n_null=50, rng=1)
    assert weak.p_value[0] == pytest.approx(1 / 51)
    for bad, message in ((np.full(6, 1.0), "model 0 has 1"), (np.full(5, 0.5), "each of the 6")):
        with pytest.raises(InputError, match=message):
            one_factor_null(data, loadings=bad, n_null=5)
