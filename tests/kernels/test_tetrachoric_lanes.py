"""Tables solved together against tables solved one at a time, and against 30-digit roots."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from psychollm.kernels.tetrachoric import (
    ADJUSTED,
    AT_BOUND,
    INTERIOR,
    MAX_STEPS,
    UNDEFINED,
    correlate_table,
    thresholds_of,
)
from psychollm.kernels.tetrachoric_lanes import LANES, ROWS, correlate_lanes
from tests.oracles import tetrachoric_slow as slow

CELLS = ["n11", "n10", "n01", "n00"]


def with_thresholds(cells):
    """Append thresholds to tables (m, 4)."""
    n11, n10, n01, _ = cells.T
    yes, n = np.concatenate([n11 + n10, n11 + n01]), np.tile(cells.sum(axis=1), 2)
    return np.column_stack([cells, thresholds_of(yes, n).reshape(2, -1).T])


def together(tables, rule, *, fixed=False):
    """Estimate all tables (m, 6) in lanes; (m, 5)."""
    blocks = [tables[start : start + LANES] for start in range(0, len(tables), LANES)]
    found = []
    for block in blocks:
        given, out = np.full((LANES, 6), np.nan), np.full((LANES, 5), np.nan)
        given[: len(block)] = block
        correlate_lanes(len(block), given, rule, fixed, out, np.full((ROWS, LANES), np.nan))
        found.append(out[: len(block)])
    return np.concatenate(found)


def apart(tables, rule, *, fixed=False):
    """Estimate the same tables one at a time."""
    return np.array(
        [correlate_table(*row[:4], (row[4], row[5]), rule, fixed) for row in tables.tolist()]
    )


def drawn(kind):
    """Tables of every kind, some with empty cells and constant margins."""
    rng = np.random.default_rng(3)
    if kind == "few":
        return rng.integers(0, 5, (400, 4)).astype(float)
    if kind == "skewed":
        return np.floor(np.exp(rng.uniform(0, 14, (400, 4))))
    chances = rng.dirichlet([0.5, 0.5, 0.5, 0.5], 400)
    return np.array([rng.multinomial(2_000, p) for p in chances]).astype(float)


@pytest.mark.parametrize("kind", ["few", "skewed", "many"])
@pytest.mark.parametrize("rule", [0, 1, 2, 3])
def test_tables_do_not_depend_on_their_company(kind, rule):
    tables = with_thresholds(drawn(kind))
    found, known = together(tables, rule), apart(tables, rule)
    np.testing.assert_allclose(found[:, 0], known[:, 0], rtol=0, atol=3e-14)
    np.testing.assert_allclose(found[:, 1], known[:, 1], rtol=1e-10, atol=0)
    np.testing.assert_array_equal(found[:, 4], known[:, 4])
    defined = known[:, 4] != UNDEFINED
    assert np.abs(found[defined, 3]).max() <= 1e-14
    assert found[defined, 2].max() < MAX_STEPS
    assert {INTERIOR, AT_BOUND, ADJUSTED, UNDEFINED} >= set(found[:, 4])


def test_given_thresholds_are_solved_one_at_a_time():
    tables = with_thresholds(drawn("many")[:40])
    tables[:, 4:] += 0.1
    np.testing.assert_array_equal(
        together(tables, 0, fixed=True), apart(tables, 0, fixed=True).astype(float)
    )


def test_golden_roots(golden):
    frame = pd.read_csv(golden / "psychometrics" / "tetrachoric_2x2.csv", dtype=str)
    known = frame["rho"].notna().to_numpy()
    tables = with_thresholds(frame[CELLS].to_numpy(dtype=float)[known])
    for rho, digits in zip(together(tables, 0)[:, 0], frame["rho"][known], strict=True):
        assert abs(float(Decimal(rho) - Decimal(digits))) <= 1e-12


def test_slow_twin():
    cells = np.array([(40, 10, 12, 38), (5, 30, 2, 60), (300, 3, 40, 1), (9, 9, 9, 9)], float)
    for row, table in zip(together(with_thresholds(cells), 0), cells, strict=True):
        assert row[0] == pytest.approx(slow.tetrachoric(*table), abs=1e-9)
