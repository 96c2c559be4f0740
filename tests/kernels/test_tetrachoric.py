"""The solver against 30-digit roots of every golden table, and against bracketing."""

import json
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from psychollm.kernels.tetrachoric import (
    ADJUSTED,
    AT_BOUND,
    INTERIOR,
    MAX_STEPS,
    UNDEFINED,
    adjust_table,
    correlate_table,
    thresholds_of,
)
from tests.oracles import tetrachoric_slow as slow

RULE_OF_COLUMN = {
    "rho": 0,
    "rho_pairwise": 0,
    "rho_keepmargin_half": 1,
    "rho_addhalf_zero_remargin": 2,
    "rho_addhalf_all": 3,
}
COUNT = st.integers(0, 400).map(float)


def thresholds(n11, n10, n01, n00):
    yes, n = np.array([n11 + n10, n11 + n01]), np.full(2, n11 + n10 + n01 + n00)
    return thresholds_of(yes, n)


def estimate(table, rule, *, fixed=False, tau=None):
    table = tuple(float(n) for n in table)
    tau1, tau2 = thresholds(*table) if tau is None else tau
    return correlate_table(*table, (tau1, tau2), rule, fixed)


def read(path):
    frame = pd.read_csv(path, dtype=str)
    cells = frame[["n11", "n10", "n01", "n00"]].to_numpy(dtype=float)
    return frame, cells


def far_from(value: float, digits: str) -> float:
    """Distance in more than double precision."""
    return abs(float(Decimal(value) - Decimal(digits)))


@pytest.mark.parametrize(
    ("file", "column"),
    [
        ("tetrachoric_2x2.csv", "rho"),
        ("tetrachoric_2x2.csv", "rho_keepmargin_half"),
        ("tetrachoric_2x2.csv", "rho_addhalf_zero_remargin"),
        ("tetrachoric_2x2.csv", "rho_addhalf_all"),
        ("tetrachoric_raw_pairs.csv", "rho_pairwise"),
        ("tetrachoric_raw_pairs.csv", "rho_keepmargin_half"),
        ("tetrachoric_raw_pairs.csv", "rho_addhalf_zero_remargin"),
        ("tetrachoric_raw_pairs.csv", "rho_addhalf_all"),
    ],
)
def test_golden_roots(golden, file, column):
    frame, cells = read(golden / "psychometrics" / file)
    checked = 0
    for table, digits in zip(cells, frame[column], strict=True):
        if isinstance(digits, str):
            rho, _, steps, _, _ = estimate(table, RULE_OF_COLUMN[column])
            assert far_from(rho, digits) <= 1e-12, table
            assert steps < MAX_STEPS
            checked += 1
    assert checked >= 20


def test_golden_complements_keep_their_digits_near_the_bounds(golden):
    frame, cells = read(golden / "psychometrics" / "tetrachoric_2x2.csv")
    for table, digits in zip(cells, frame["one_minus_abs_rho"], strict=True):
        truth = float(digits)
        if truth > 0:
            assert abs(estimate(table, 0)[1] / truth - 1) <= 1e-10


def test_golden_thresholds(golden):
    frame, cells = read(golden / "psychometrics" / "tetrachoric_2x2.csv")
    for table, first, second in zip(cells, frame["tau1"], frame["tau2"], strict=True):
        if isinstance(first, str):
            tau = thresholds(*table)
            assert far_from(tau[0], first) <= 1e-14
            assert far_from(tau[1], second) <= 1e-14


def test_golden_fixed_thresholds(golden):
    folder = golden / "psychometrics"
    frame, cells = read(folder / "tetrachoric_2x2.csv")
    for table, digits in zip(cells, frame["rho_addhalf_zero_fixedtau"], strict=True):
        if isinstance(digits, str):
            assert far_from(estimate(table, 2, fixed=True)[0], digits) <= 1e-12
    known = {
        (entry["data"], item): float(tau)
        for entry in json.loads((folder / "tetrachoric_raw_thresholds.json").read_text())
        for item, tau in zip(entry["items"], entry["tau"], strict=True)
    }
    frame, cells = read(folder / "tetrachoric_raw_pairs.csv")
    for table, row in zip(cells, frame.itertuples(), strict=True):
        if isinstance(row.rho_global_tau, str):
            tau = known[row.data, row.item_i], known[row.data, row.item_j]
            assert (
                far_from(estimate(table, 0, fixed=True, tau=tau)[0], row.rho_global_tau) <= 1e-12
            )


@pytest.mark.parametrize(
    "table", [(40, 10, 12, 38), (5, 30, 2, 60), (300, 3, 40, 1), (9, 9, 9, 9)]
)
def test_slow_twin(table):
    assert estimate(table, 0)[0] == pytest.approx(slow.tetrachoric(*table), abs=1e-9)


@given(COUNT, COUNT, COUNT, COUNT)
def test_certificate_and_symmetries(n11, n10, n01, n00):
    assume(min(n11 + n10, n11 + n01, n01 + n00, n10 + n00) > 0)
    rho, rest, steps, residual, status = estimate((n11, n10, n01, n00), 0)
    assert -1 <= rho <= 1
    assert abs(residual) <= 1e-14
    assert steps < MAX_STEPS
    assert rest == pytest.approx(1 - abs(rho), abs=1e-15)
    swapped = estimate((n11, n01, n10, n00), 0)[0]
    flipped = estimate((n01, n00, n11, n10), 0)[0]
    assert swapped == pytest.approx(rho, abs=1e-13)
    assert flipped == pytest.approx(-rho, abs=1e-13)
    assert status == (AT_BOUND if min(n11, n10, n01, n00) == 0 else INTERIOR)


@given(*(st.integers(1, 60),) * 4)
def test_independence_gives_zero(a, b, c, d):
    assert estimate((a * c, a * d, b * c, b * d), 0)[0] == 0


@pytest.mark.parametrize("rule", [1, 2, 3])
def test_status_says_what_was_done(rule):
    assert estimate((0, 4, 5, 6), rule)[4] == ADJUSTED
    assert estimate((3, 4, 5, 6), rule)[4] == INTERIOR
    assert estimate((0, 0, 5, 6), rule)[4] == UNDEFINED


def test_keep_margins_keeps_margins_and_leaves_two_empty_cells_at_the_bound():
    n11, n10, n01, n00, changed = adjust_table(0.0, 4.0, 5.0, 6.0, 1)
    assert changed
    assert (n11 + n10, n11 + n01, n01 + n00) == (4.0, 5.0, 11.0)
    assert estimate((10, 0, 0, 10), 1)[0] == 1
    assert estimate((0, 10, 10, 0), 1)[0] == -1


def test_undefined_tables_are_not_a_number():
    for table in [(0, 0, 0, 0), (5, 0, 0, 0), (5, 5, 0, 0), (5, 0, 5, 0)]:
        assert np.isnan(estimate(table, 0)[0])


def test_empty_cell_outside_the_reach_of_fixed_thresholds():
    rho, rest, _, _, status = estimate((30, 0, 20, 50), 0, fixed=True, tau=(0.1, -0.2))
    assert (rho, rest, status) == (1.0, 0.0, AT_BOUND)
