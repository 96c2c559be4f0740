"""Cells held out and empty cells drawn: the slow twin, shares, and independence of who reads."""

import numpy as np
import pytest

from psychollm.kernels.cell_draws import draw_empty, hold_out
from tests.oracles import cell_draws_slow

N_COLUMNS = 40


def _cells(rng, rows, fill=0.4):
    filled = rng.random((rows, N_COLUMNS)) < fill
    start = np.concatenate([[0], np.cumsum(filled.sum(axis=1))])
    return start, np.nonzero(filled)[1].astype(np.uint16)


def _drawn(cells, first, seed, share):
    begin = np.empty_like(cells[0])
    where, filled = np.empty(0, dtype=np.int64), np.empty(0)
    for _ in range(2):
        draw_empty(cells, N_COLUMNS, first, np.uint64(seed), share, begin, (where, filled))
        where, filled = np.empty(begin[-1], dtype=np.int64), np.empty(begin[-1])
    draw_empty(cells, N_COLUMNS, first, np.uint64(seed), share, begin, (where, filled))
    return begin, where, filled


def test_held_out_cells_are_those_of_the_slow_twin():
    start, columns = _cells(np.random.default_rng(1), 30)
    held = np.empty(columns.size, dtype=bool)
    hold_out(start, columns, 5, np.uint64(2**62 + 3), 0.3, held)
    rows = np.repeat(np.arange(30), np.diff(start)) + 5
    expected = [
        cell_draws_slow.held_out(int(row), int(column), 2**62 + 3, 0.3)
        for row, column in zip(rows, columns, strict=True)
    ]
    assert held.tolist() == expected
    assert 0.2 < held.mean() < 0.4


@pytest.mark.parametrize("share", [0.05, 0.4, 1.0])
def test_empty_cells_are_those_of_the_slow_twin(share):
    start, columns = cells = _cells(np.random.default_rng(2), 12)
    begin, where, filled = _drawn(cells, 7, 11, share)
    for row in range(12):
        own = columns[start[row] : start[row + 1]].tolist()
        empty = cell_draws_slow.empty(7 + row, own, N_COLUMNS, 11, share)
        assert where[begin[row] : begin[row + 1]].tolist() == own + empty
        assert filled[begin[row] : begin[row + 1]].tolist() == [1.0] * len(own) + [0.0] * len(
            empty
        )


def test_each_empty_cell_is_drawn_as_often_as_the_others():
    # Chances of 0.25 in 4,000 draws have standard errors of 0.007; 24 cells within four of them.
    filled = np.arange(0, 40, 3)[:16].astype(np.uint16)
    start = np.arange(4_001) * filled.size
    _, where, there = _drawn((start, np.tile(filled, 4_000)), 0, 5, 0.25)
    counts = np.bincount(where[there == 0.0], minlength=N_COLUMNS) / 4_000
    assert (counts[filled] == 0.0).all()
    np.testing.assert_allclose(np.delete(counts, filled), 0.25, atol=0.028)


def test_rows_do_not_depend_on_where_reading_begins():
    start, columns = cells = _cells(np.random.default_rng(3), 10)
    whole = _drawn(cells, 0, 9, 0.3)
    part = _drawn((start[4:] - start[4], columns[start[4] :]), 4, 9, 0.3)
    np.testing.assert_array_equal(whole[1][whole[0][4] :], part[1])
