"""`polychoric`: printed values, tetrachoric, twins, covariance, invariances, degenerate input."""

import json
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import psychollm as psy
from psychollm._base.errors import CodeError, InputError, OptionError, ShapeError
from psychollm.correlation.polychoric import (
    ordered_codes,
    padded_cuts,
    polychoric,
    row_cuts,
    row_margins,
)
from psychollm.correlation.tetrachoric import PairStatus
from psychollm.data.responses import Responses
from tests.effort import examples
from tests.oracles import polychoric_slow as slow

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "psychometrics"


def latent(k, n, seed, loading=0.75):
    rng = np.random.default_rng(seed)
    rest = np.sqrt(1 - loading**2)
    return loading * rng.normal(size=n) + rest * rng.normal(size=(k, n))


def answers(k=4, n=300, seed=0, cuts=(-0.8, 0.1, 1.0)):
    return np.digitize(latent(k, n, seed), cuts).astype(float)


def test_golden_polycor():
    rows = json.loads((GOLDEN / "raw_matrices.json").read_text())["rows"]
    row = next(r for r in rows if r["id"] == "polycor_hetcor_synth_poly6")
    data = pd.read_csv(GOLDEN / "synth_poly6.csv").to_numpy()
    found = polychoric(data, of="questions")
    # polycor stops its one-dimensional search at 1.2e-4 and holds thresholds fixed in its errors.
    np.testing.assert_allclose(found.matrix, row["rho"], atol=1.5e-4)
    off = ~np.eye(6, dtype=bool)
    np.testing.assert_allclose(
        found.se_fixed_thresholds[off], np.array(row["se"], dtype=float)[off], rtol=5e-3
    )
    np.testing.assert_array_equal(found.n[off], np.array(row["n"], dtype=float)[off])


def test_golden_psych(shared):
    rows = json.loads((shared / "golden/psychometrics/raw_matrices.json").read_text())["rows"]
    row = next(r for r in rows if r["id"] == "psych_polychoric_bfi25")
    data = pd.read_csv(shared / "golden/psychometrics/data/bfi25.csv")
    found = polychoric(data.to_numpy(dtype=float), of="questions", missing="global")
    np.testing.assert_allclose(found.matrix, row["rho"], atol=2e-4)
    np.testing.assert_allclose(found.thresholds, row["tau"], atol=1e-6)


@pytest.mark.parametrize("missing", ["pairwise", "global"])
@pytest.mark.parametrize("rule", ["keep_margins", "add_half", "add_half_all", "none"])
def test_two_answers_are_tetrachoric(rule, missing):
    table = psy.load_example("shared_confidence").confidence
    expected = psy.tetrachoric(table, empty_cells=rule, missing=missing)
    found = polychoric(table, empty_cells=rule, missing=missing)
    np.testing.assert_allclose(found.matrix, expected.matrix, atol=1e-12)
    np.testing.assert_array_equal(found.status, expected.status)
    np.testing.assert_allclose(found.thresholds[:, 0], expected.thresholds, atol=1e-14)
    np.testing.assert_allclose(found.residual, expected.residual, atol=1e-14)
    if missing == "pairwise" and rule in ("none", "keep_margins"):
        np.testing.assert_allclose(found.se, expected.se, rtol=1e-7, equal_nan=True)
        np.testing.assert_allclose(
            found.se_fixed_thresholds, expected.se_fixed_thresholds, rtol=1e-7, equal_nan=True
        )


@pytest.mark.parametrize("seed", range(2))
def test_twin(seed):
    data = answers(3, 200, seed)
    data[0, :7] = np.nan
    found = polychoric(data)
    for i in range(3):
        for j in range(i):
            table = slow.table_of(data[i], data[j])
            assert found.matrix[i, j] == pytest.approx(slow.polychoric(table), abs=1e-5)
    assert np.abs(found.residual).max() < 1e-8
    assert found.n[0, 1] == 193
    assert found.n[0, 0] == 193


def test_standard_errors_are_derivatives_by_the_counts():
    data = answers(2, 400, 3, (-0.5, 0.6))
    table = slow.table_of(data[1], data[0])
    moved = slow.influences(table, h=0.02)
    expected = np.sqrt(np.sum(table * (moved - np.sum(table * moved) / table.sum()) ** 2))
    found = polychoric(data)
    assert found.se[0, 1] == pytest.approx(expected, rel=5e-3)
    assert found.se[0, 0] == 0
    assert found.se_fixed_thresholds[0, 1] == pytest.approx(found.se[0, 1], rel=0.15)


def jackknifed(data, **options):
    k, n = data.shape
    lower = np.tril_indices(k, -1)

    def estimates(table):
        fit = polychoric(table, **options)
        cuts = fit.thresholds[np.isfinite(fit.thresholds)]
        return np.concatenate([cuts, fit.matrix[lower]])

    left = np.array([estimates(np.delete(data, i, axis=1)) for i in range(n)])
    centred = left - left.mean(axis=0)
    return (n - 1) / n * centred.T @ centred


@pytest.mark.parametrize("missing", ["pairwise", "global"])
def test_covariance_is_that_of_the_jackknife(missing):
    data = answers(4, 400, 5, (-0.5, 0.6))
    data[1, :60] = np.nan
    found = polychoric(data, missing=missing)
    covariance = found.covariance(thresholds=True)
    expected = jackknifed(data, missing=missing)
    scale = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    np.testing.assert_allclose(covariance / scale, expected / scale, atol=0.03)
    np.testing.assert_allclose(found.covariance(), covariance[8:, 8:], atol=1e-16)
    lower = np.tril_indices(4, -1)
    np.testing.assert_allclose(np.sqrt(np.diag(found.covariance())), found.se[lower], rtol=1e-9)


def test_covariance_of_two_answers_is_that_of_the_errors():
    data = (latent(5, 2000, 1) > 0.3).astype(float)
    found = polychoric(data)
    lower = np.tril_indices(5, -1)
    np.testing.assert_allclose(np.sqrt(np.diag(found.covariance())), found.se[lower], rtol=1e-9)


def test_coverage():
    # 300 data sets, six pairs: 95 % intervals cover .5625 in 93 to 97 of 100.
    rng = np.random.default_rng(2)
    inside = []
    for seed in rng.integers(0, 2**31, 300):
        interval = polychoric(answers(3, 300, seed)).interval()
        low, high = interval[np.tril_indices(3, -1)].T
        inside.append((low < 0.5625) & (high > 0.5625))
    # pairs share rows: the standard error of this share is about 1 %
    assert 0.92 < np.mean(inside) < 0.98


@examples(25)
@given(seed=st.integers(0, 10_000))
def test_invariances(seed):
    data = answers(3, 150, seed, (-0.7, 0.2, 1.1))
    found = polychoric(data).matrix
    shuffled = data[:, np.random.default_rng(seed).permutation(150)]
    np.testing.assert_array_equal(polychoric(shuffled).matrix, found)
    np.testing.assert_allclose(polychoric(data[::-1]).matrix, found[::-1, ::-1], atol=1e-10)
    turned = data.copy()
    turned[0] = 3 - turned[0]
    other = polychoric(turned).matrix
    np.testing.assert_allclose(other[0, 1:], -found[0, 1:], atol=1e-10)
    np.testing.assert_allclose(polychoric(2 * data + 1).matrix, found, atol=0)
    doubled = polychoric(np.hstack([data, data]))
    np.testing.assert_allclose(doubled.matrix, found, atol=1e-10)


def test_weights_count_units():
    data = answers(3, 120, 4)
    w = np.ones(120)
    w[:30] = 2
    weighted = polychoric(data, weights=w)
    repeated = polychoric(np.hstack([data, data[:, :30]]))
    np.testing.assert_allclose(weighted.matrix, repeated.matrix, atol=1e-12)
    assert (weighted.se >= 0).all()
    assert weighted.covariance().shape == (3, 3)


def test_rows_may_differ_in_their_answers():
    z = latent(3, 500, 6)
    data = np.array([np.digitize(z[0], [0.0]), np.digitize(z[1], [-1, 1]), 7 * (z[2] > 0)])
    found = polychoric(data)
    assert found.answers == ((0, 1), (0, 1, 2), (0, 7))
    assert np.isnan(found.thresholds[0, 1])
    assert found.matrix[0, 2] == pytest.approx(
        psy.tetrachoric((z[[0, 2]] > 0).astype(int)).matrix[0, 1], abs=1e-12
    )
    assert found.covariance(thresholds=True).shape == (4 + 3, 4 + 3)


def test_some_rows_can_be_selected():
    found = polychoric(pd.DataFrame(answers(4, 200, 1), index=list("abcd")))
    part = found.select(["d", "b"])
    assert part.labels == ("d", "b")
    assert part.matrix[0, 1] == pytest.approx(found.matrix[3, 1], abs=1e-10)
    assert part.se[0, 1] == pytest.approx(found.se[3, 1], abs=1e-10)
    with pytest.raises(OptionError, match="at least two of"):
        found.select(["a", "z"])


def test_degenerate_rows_are_named_not_guessed():
    z = latent(2, 60, 0)
    same = np.digitize(z[0], [-0.5, 0.5])
    data = np.array([same, same, np.ones(60), np.digitize(z[1], [0.0, 1.0])], dtype=float)
    found = polychoric(data)
    assert found.matrix[0, 1] == 1.0
    assert found.status[0, 1] == PairStatus.AT_BOUND
    assert found.complement[0, 1] == 0.0
    assert np.isnan(found.matrix[2]).all()
    assert (found.status[2] == PairStatus.UNDEFINED).all()
    assert np.isnan(found.se[0, 1])
    assert "at bound 1, undefined 3" in repr(found)
    with pytest.raises(InputError, match="4 pairs have no standard error"):
        found.covariance()
    assert len(found.to_frame()) == 6
    apart = data[:2].copy()
    apart[0, :30], apart[1, 30:] = np.nan, np.nan
    assert polychoric(apart).status[0, 1] == PairStatus.UNDEFINED
    assert polychoric(apart).n[0, 1] == 0
    reverse = polychoric(np.array([same, 2 - same]))
    assert reverse.matrix[0, 1] == -1.0


def test_half_units_fill_empty_cells_if_asked():
    data = np.array([[0, 0, 1, 1, 2, 2, 2, 0], [0, 1, 1, 2, 2, 2, 1, 0]])
    plain = polychoric(data)
    half = polychoric(data, empty_cells="add_half")
    everywhere = polychoric(data, empty_cells="add_half_all")
    assert plain.status[0, 1] == PairStatus.INTERIOR
    assert half.status[0, 1] == everywhere.status[0, 1] == PairStatus.ADJUSTED
    assert max(everywhere.matrix[0, 1], half.matrix[0, 1]) < plain.matrix[0, 1]
    table = slow.table_of(data[0].astype(float), data[1].astype(float))
    assert half.matrix[0, 1] == pytest.approx(
        slow.polychoric(np.where(table == 0, 0.5, table)), abs=1e-5
    )


@pytest.mark.parametrize(
    ("data", "options", "error", "message"),
    [
        ([[1, 2, 3]], {}, ShapeError, "one model only"),
        ([[1, 2], [0, 16]], {}, CodeError, "16"),
        ([[1, 2], [0, 1.5]], {}, CodeError, "1.5"),
        ([[1, 2], [0, 1]], {"empty_cells": "magic"}, OptionError, "empty_cells='magic'"),
        ([[1, 2], [0, 1]], {"missing": "magic"}, OptionError, "missing='magic'"),
        ([[1, 2], [0, 1]], {"weights": [1, -1]}, OptionError, "weights"),
    ],
)
def test_bad_input(data, options, error, message):
    with pytest.raises(error, match=message):
        polychoric(data, **options)


def test_codes_are_ranks_within_their_row():
    codes, answers = ordered_codes(Responses([[1, 3, None], [0, 1, 0]]), "models")
    assert codes.tolist() == [[0, 1, -1], [0, 1, 0]]
    assert codes.dtype == np.int8
    assert answers == ((1, 3), (0, 1))


def test_margins_and_cuts():
    assert row_margins(np.array([[0, 1, 1, -1]]), np.empty(0), 2).tolist() == [[1.0, 2.0]]
    assert row_cuts(np.array([[1.0, 1.0]])).tolist() == [[-np.inf, 0.0, np.inf]]
    padded = padded_cuts(np.array([[0.5, np.nan]]))
    assert padded.tolist() == [[-np.inf, 0.5, np.inf, np.inf]]


def test_tables_that_do_not_fit_are_refused_before_they_are_made(monkeypatch):
    codes = np.random.default_rng(0).integers(0, 3, (4, 60))
    module = import_module("psychollm.correlation.polychoric")
    monkeypatch.setattr(module, "MAX_NUMBERS", 6 * 3**2)
    assert polychoric(codes).matrix.shape == (4, 4)
    monkeypatch.setattr(module, "MAX_NUMBERS", 6 * 3**2 - 1)
    with pytest.raises(ShapeError, match="6 tables of 3 x 3 answers do not fit"):
        polychoric(codes)
