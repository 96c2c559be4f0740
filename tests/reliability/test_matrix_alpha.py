"""Alpha of a matrix: ordinal alpha, flags, matrices that cannot be used."""

import numpy as np
import pytest

from psychollm._base.errors import InputError, OptionError, ShapeError
from psychollm.estimates.reasons import Reason
from psychollm.reliability.scales.consistency import alpha_of_matrix
from psychollm.reliability.scales.guttman import guttman_of_matrix
from tests.reliability.golden_cases import quick, repeated, rows_of


def check_matrix(row):
    matrix = np.array(row["R"])
    found = alpha_of_matrix(matrix)
    expected = [row["std_alpha"], row["std_alpha"], row["average_r"]]
    np.testing.assert_allclose(found.value, expected, rtol=0, atol=1e-12)
    assert guttman_of_matrix(matrix).value[5] == pytest.approx(row["G6"], abs=1e-12)


def test_ordinal_alpha(golden):
    check_matrix(rows_of(golden / "psychometrics" / "alpha.json")["ordinal_alpha_lsat7"])


def test_ordinal_alpha_on_data_not_redistributed(shared):
    folder = shared / "golden" / "psychometrics"
    check_matrix(rows_of(folder / "alpha.json")["ordinal_alpha_ability"])


@pytest.mark.parametrize(
    ("matrix", "error", "message"),
    [
        ([[1.0, 0.5]], ShapeError, "shape"),
        ([[1.0, 0.5], [0.4, 1.0]], InputError, "not symmetric"),
        ([[1.0, np.nan], [np.nan, 1.0]], InputError, "undefined at"),
        ([[-1.0, 0.5], [0.5, 1.0]], InputError, "negative variance"),
    ],
)
def test_matrices_that_cannot_be_used(matrix, error, message):
    with pytest.raises(error, match=message):
        alpha_of_matrix(matrix)


def test_alpha_of_a_covariance_matrix():
    scores, _ = repeated(n_models=30, n_runs=1)
    found, known = alpha_of_matrix(np.cov(scores.T), n=30), quick(scores)
    assert found.value == pytest.approx(
        [
            known.alpha.value[0],
            known.standardised.value[0],
            known.mean_correlation.value[0],
        ],
        abs=1e-12,
    )
    assert found.interval[0] == pytest.approx(known.alpha.interval[0], abs=1e-12)
    assert found.se[0] == pytest.approx(known.alpha.se[0], abs=1e-12)
    by_se = alpha_of_matrix(np.cov(scores.T), n=30, interval="duhachek")
    expected = quick(scores, interval="duhachek").alpha.interval[0]
    assert by_se.interval[0] == pytest.approx(expected, abs=1e-12)
    with pytest.raises(OptionError, match="n=1"):
        alpha_of_matrix(np.eye(2), n=1)


@pytest.mark.parametrize(
    ("matrix", "reason"),
    [
        ([[1.0]], Reason.ONE_QUESTION),
        ([[1.0, -1.0], [-1.0, 1.0]], Reason.NO_VARIANCE),
        ([[1.0, -0.2], [-0.2, 1.0]], Reason.NEGATIVE_ITEMS),
        ([[1.0, 0.2, 0.0], [0.2, 1.0, 0.0], [0.0, 0.0, 0.0]], Reason.CONSTANT_ITEMS),
    ],
)
def test_flags_of_matrices(matrix, reason):
    assert alpha_of_matrix(matrix, n=10).flags[0] is reason
