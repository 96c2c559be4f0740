"""`tetrachoric_table` against the golden tables."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from psychollm._base.errors import CodeError, ShapeError
from psychollm.correlation.table import tetrachoric_table
from tests.oracles import tetrachoric_slow as slow

CELLS = ["n11", "n10", "n01", "n00"]


@pytest.fixture(scope="module")
def frame(golden):
    return pd.read_csv(golden / "psychometrics" / "tetrachoric_2x2.csv")


def test_golden_standard_errors(frame):
    inside = frame[frame["zero_cells"] == 0]
    ours = tetrachoric_table(*(inside[c] for c in CELLS))
    np.testing.assert_allclose(ours.se, inside["se_rho_ml"], rtol=1e-9)
    np.testing.assert_allclose(ours.se_fixed_thresholds, inside["se_rho_cond"], rtol=1e-9)
    np.testing.assert_allclose(ours.thresholds[:, 0], inside["tau1"], atol=1e-14)
    np.testing.assert_allclose(ours.rho, inside["rho"], atol=1e-12)


@pytest.mark.parametrize(
    ("rule", "column"),
    [
        ("keep_margins", "rho_keepmargin_half"),
        ("add_half", "rho_addhalf_zero_remargin"),
        ("add_half_all", "rho_addhalf_all"),
    ],
)
def test_golden_empty_cell_rules(frame, rule, column):
    rows = frame[frame[column].notna()]
    ours = tetrachoric_table(*(rows[c] for c in CELLS), empty_cells=rule)
    np.testing.assert_allclose(ours.rho, rows[column], atol=1e-12)


def test_shapes_broadcast():
    table = tetrachoric_table([[10, 20], [30, 40]], 5, [6, 7], 30)
    assert table.rho.shape == (2, 2)
    assert table.thresholds.shape == (2, 2, 2)
    assert len(table.to_frame()) == 4


def test_median_split_is_the_sine_of_the_angle():
    """With both thresholds zero, rho = sin(pi (2 p - 1/2)), p the share of the diagonal."""
    table = tetrachoric_table(40, 10, 10, 40)
    assert float(table.rho) == pytest.approx(np.sin(np.pi * (0.8 - 0.5)), abs=1e-15)


@pytest.mark.parametrize(
    "counts",
    [
        (11, 1_868_198, 2_548_115, 3_311_879),
        (355_992, 1_065_159, 5, 1_398_992),
        (1_442_849, 2_593_131, 348_086, 5),
        (99_341_564, 1_001, 147_287_272, 101_316_548),
    ],
)
def test_a_start_where_the_integrand_vanishes(counts):
    """Large tables with one small cell: the start lies far beyond the root, towards the bound."""
    table = tetrachoric_table(*counts)
    assert abs(table.residual) < 1e-15
    # The oracle integrates to 1e-10 of the probability, which is steep in rho.
    assert float(table.rho) == pytest.approx(slow.tetrachoric(*counts), abs=1e-6)


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
def test_bad_counts(bad):
    with pytest.raises(CodeError, match="n10 holds"):
        tetrachoric_table(1, bad, 2, 3)


def test_shapes_that_do_not_fit():
    with pytest.raises(ShapeError, match="broadcast"):
        tetrachoric_table([1, 2], [1, 2, 3], 1, 1)


def test_twin():
    tables = np.array([[40, 10, 12, 38], [5, 30, 25, 40], [80, 3, 6, 11], [20, 20, 21, 19]])
    ours = tetrachoric_table(*tables.T)
    for row, (rho, se) in zip(tables, zip(ours.rho, ours.se, strict=True), strict=True):
        assert rho == pytest.approx(slow.tetrachoric(*row), abs=1e-9)
        n = row.sum()
        tau1, tau2 = stats.norm.isf([(row[0] + row[1]) / n, (row[0] + row[2]) / n])
        assert se == pytest.approx(slow.standard_error(tau1, tau2, rho, n), rel=1e-4)
