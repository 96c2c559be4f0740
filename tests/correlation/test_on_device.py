"""Counts and correlations by torch, on the processor, against those of the kernels."""

from typing import get_args

import numpy as np
import pytest

import psychollm as psy
from psychollm._base.errors import OptionError
from psychollm._base.types import EmptyCells
from psychollm.correlation import on_device
from psychollm.correlation.tetrachoric import PairStatus
from psychollm.data import pair_counts
from psychollm.kernels.correlate import empty_outputs

pytest.importorskip("torch", reason="device= needs torch")

COUNTS = ("joint", "yes", "n", "squares")


def table(missing, k=40, n=300):
    """Answers of every kind: to the bounds and beyond, constant, of models that never met."""
    rng = np.random.default_rng(5)
    loading = rng.uniform(-0.6, 0.99, (k, 1))
    x = loading * rng.normal(size=n) + np.sqrt(1 - loading**2) * rng.normal(size=(k, n))
    values = (x > rng.normal(0, 1, (k, 1))).astype(float)
    values[rng.random((k, n)) < missing] = np.nan
    values[0] = 1.0
    values[1] = 1.0 - values[2]
    values[3] = values[4]
    if missing:
        values[5, : n // 2], values[6, n // 2 :], values[7] = np.nan, np.nan, np.nan
    return psy.Responses(values)


def check_equal(found, expected):
    for name in COUNTS:
        mine, theirs = getattr(found, name), getattr(expected, name)
        assert mine.dtype == np.float64
        assert np.array_equal(mine, theirs)


@pytest.mark.parametrize("missing", [0.0, 0.4])
@pytest.mark.parametrize("of", ["models", "questions"])
@pytest.mark.parametrize("kept", [psy.Responses, psy.Responses.sparse])
@pytest.mark.parametrize("block", [pair_counts.EXACT, 70])
def test_counts_are_the_same(missing, of, kept, block, monkeypatch):
    answers = table(missing)
    expected = psy.PairCounts.count(answers, of=of)
    monkeypatch.setattr(pair_counts, "EXACT", block)
    check_equal(psy.PairCounts.count(kept(answers), of=of, device="cpu"), expected)


@pytest.mark.parametrize("kept", [psy.Responses, psy.Responses.sparse])
def test_weighted_answers(kept):
    """Weights are summed in one place: a cell is empty in the same tables."""
    answers = table(0.4)
    weights = np.random.default_rng(6).exponential(size=300)
    found = psy.tetrachoric(kept(answers), weights=weights, device="cpu")
    expected = psy.tetrachoric(kept(answers), weights=weights)
    check_equal(found.counts, expected.counts)
    assert np.array_equal(found.status, expected.status)
    np.testing.assert_allclose(found.matrix, expected.matrix, rtol=0, atol=1e-12)


@pytest.mark.parametrize("missing", [0.0, 0.4])
@pytest.mark.parametrize("rule", get_args(EmptyCells))
@pytest.mark.parametrize("piece", [on_device.PIECE, 100])
def test_correlations_are_those_of_the_kernels(missing, rule, piece, monkeypatch):
    monkeypatch.setattr(on_device, "PIECE", piece)
    answers = table(missing)
    found = psy.tetrachoric(answers, empty_cells=rule, device="cpu")
    expected = psy.tetrachoric(answers, empty_cells=rule)
    check_equal(found.counts, expected.counts)
    assert np.array_equal(found.status, expected.status)
    assert len(np.unique(found.status)) >= 3
    np.testing.assert_allclose(found.matrix, expected.matrix, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.complement, expected.complement, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(found.se, expected.se, rtol=1e-9, atol=1e-12)
    assert np.nanmax(np.abs(found.residual)) < 1e-15
    assert np.array_equal(found.matrix, found.matrix.T, equal_nan=True)


@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_what_is_left_to_the_kernels(missing):
    """Pairs with an empty cell, and what lies beyond 0.97."""
    expected = psy.tetrachoric(table(missing))
    out = empty_outputs(len(expected.labels), len(expected.labels))
    on_device.solve_pairs(expected.counts, "cpu", out)
    lower = np.tril_indices(len(expected.labels), -1)
    solved, status = np.isfinite(out[0][lower]), expected.status[lower]
    near = np.abs(expected.matrix[lower]) < 0.95
    assert np.array_equal(solved[near], (status == PairStatus.INTERIOR)[near])
    assert not solved[~near & (np.abs(expected.matrix[lower]) > 0.975)].any()
    assert solved.mean() > 0.5


def test_tables_that_try_the_accuracy():
    """Counts over nine orders of magnitude: little may be left of a cell but rounding."""
    rng = np.random.default_rng(7)
    cells = np.floor(rng.dirichlet(np.full(4, 0.15), 200) * 10 ** rng.uniform(1, 9, (200, 1)))
    for n11, n10, n01, n00 in cells[cells.sum(axis=1) > 0]:
        n = np.full((2, 2), n11 + n10 + n01 + n00)
        first, second = n11 + n10, n11 + n01
        counts = psy.PairCounts(
            joint=np.array([[first, n11], [n11, second]]),
            yes=np.array([[first, first], [second, second]]),
            n=n,
            squares=n,
            labels=("first", "second"),
            of="models",
        )
        found, expected = psy.tetrachoric(counts, device="cpu"), psy.tetrachoric(counts)
        np.testing.assert_allclose(found.matrix, expected.matrix, rtol=0, atol=1e-12)
        assert np.array_equal(found.status, expected.status)


def test_global_thresholds_are_for_the_kernels():
    answers = table(0.4)
    found, expected = (
        psy.tetrachoric(answers, missing="global", device=device) for device in ("cpu", None)
    )
    assert np.array_equal(found.matrix, expected.matrix, equal_nan=True)


@pytest.mark.parametrize("device", ["cuda:99", "meta", "nowhere"])
@pytest.mark.parametrize(
    ("function", "options"),
    [
        (psy.tetrachoric, {}),
        (psy.tetrachoric, {"missing": "global"}),
        (psy.PairCounts.count, {}),
        (psy.PairCounts.count, {"weights": np.ones(300)}),
    ],
)
def test_a_device_that_is_not_there(device, function, options):
    with pytest.raises(OptionError, match=rf"device='{device}' .*: use None, or one of cpu"):
        function(table(0.0), device=device, **options)
