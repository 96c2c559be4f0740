"""Split halves and Guttman's lambdas: psych, slow twins, searches, what is undefined, coverage."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psychollm._base.errors import OptionError
from psychollm.estimates.reasons import Reason
from psychollm.reliability.scales.consistency import consistency
from psychollm.reliability.scales.guttman import guttman
from psychollm.reliability.scales.split_half import (
    coefficient,
    improved,
    mean_coefficient,
    n_splits_of,
    split_half,
    tried_splits,
)
from tests.oracles import consistency_slow as slow

MATRICES = st.tuples(st.integers(2, 8), st.integers(0, 10**6)).map(
    lambda size: np.cov(
        np.random.default_rng(size[1]).normal(size=(size[0] + 10, size[0]))
        + np.random.default_rng(size[1]).normal(size=(size[0] + 10, 1)),
        rowvar=False,
    )
)
# psych reverses items that load negatively before it splits; here that must be asked for.
REVERSED = {"dich_b": {"i4": -1}}


def one_factor(n, k=10, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 1)) + 1.2 * rng.normal(size=(n, k))


def check_lambdas(frame, known, tolerance, keys=None):
    found = guttman(frame, bootstrap=0)
    expected = [known["guttman"][f"l{number}"] for number in range(1, 7)]
    for place in (0, 1, 2, 4, 5):
        assert found.value[place] == pytest.approx(expected[place], abs=tolerance)
    assert known["lambda6"] == pytest.approx(found.value[5], abs=tolerance)
    fourth = guttman(frame, keys=keys, bootstrap=0).value[3]
    assert fourth == pytest.approx(expected[3], abs=tolerance)
    halves = split_half(frame, keys=keys, bootstrap=0)
    assert halves.exhaustive
    expected = [known["splithalf"][name] for name in ("max", "mean", "min")]
    assert halves.split_half.value == pytest.approx(expected, abs=tolerance)
    assert halves.coefficients.mean() == pytest.approx(expected[1], abs=tolerance)


@pytest.mark.parametrize("case", ["dich_a", "dich_b"])
def test_right_and_wrong_answers(golden, case):
    folder = golden / "metacognition"
    block = json.loads((folder / f"{case}.expected.json").read_text())["blocks"][0]
    frame = pd.read_csv(folder / f"{case}.csv")
    check_lambdas(frame, block["values"], block["tol"], REVERSED.get(case))


@pytest.mark.parametrize("case", ["gses_a", "gses_b"])
def test_scale_under_four_conditions(golden, case):
    folder = golden / "metacognition"
    block = json.loads((folder / f"{case}.expected.json").read_text())["blocks"][0]
    frame = pd.read_csv(folder / f"{case}.csv")
    for condition, rows in frame.groupby("condition"):
        check_lambdas(rows.filter(regex="^i"), block["values"][condition], block["tol"])


@given(MATRICES)
def test_splits_are_those_of_the_slow_twin(matrix):
    found = tried_splits(matrix, max_splits=10**6, n_splits=1, rng=np.random.default_rng(0))
    expected = slow.split_coefficients(matrix)
    assert found.coefficients.size == n_splits_of(len(matrix)) == len(expected)
    np.testing.assert_allclose(np.sort(found.coefficients), np.sort(expected), atol=1e-10)
    assert coefficient(matrix, found.highest) == pytest.approx(max(expected), abs=1e-10)
    assert coefficient(matrix, found.lowest) == pytest.approx(min(expected), abs=1e-10)
    assert mean_coefficient(matrix) == pytest.approx(np.mean(expected), abs=1e-10)


@given(MATRICES)
def test_a_search_finds_what_enumeration_finds(matrix):
    found = tried_splits(matrix, max_splits=0, n_splits=50, rng=np.random.default_rng(0))
    known = slow.split_coefficients(matrix)
    assert not found.exhaustive
    assert coefficient(matrix, found.highest) == pytest.approx(max(known), abs=1e-10)
    assert coefficient(matrix, found.lowest) == pytest.approx(min(known), abs=1e-10)


@given(MATRICES, st.booleans())
def test_no_exchange_improves_a_searched_split(matrix, highest):
    k = len(matrix)
    signs = improved(matrix, np.where(np.arange(k) < k // 2, 1.0, -1.0), highest=highest)
    assert signs.sum() == k % 2 * -1
    value = coefficient(matrix, signs)
    for i in np.flatnonzero(signs > 0):
        for j in np.flatnonzero(signs < 0):
            other = signs.copy()
            other[i], other[j] = -1.0, 1.0
            gain = coefficient(matrix, other) - value
            assert gain <= 1e-9 if highest else gain >= -1e-9


def test_odd_numbers_of_items():
    scores = one_factor(50, k=7)
    found = split_half(scores, bootstrap=0)
    assert found.n_splits == 35
    alpha = consistency(scores, bootstrap=0).standardised.value[0]
    assert found.split_half.value[1] == pytest.approx(alpha * (1 - 1 / 49), abs=1e-12)


def test_halves_are_named():
    rng = np.random.default_rng(0)
    pairs = rng.normal(size=(80, 2))
    scores = np.repeat(pairs, 2, axis=1) + 0.1 * rng.normal(size=(80, 4))
    frame = pd.DataFrame(scores, columns=["a", "b", "c", "d"])
    found = split_half(frame, bootstrap=0)
    assert set(map(frozenset, found.worst)) == {frozenset("ab"), frozenset("cd")}
    assert frozenset("ab") not in set(map(frozenset, found.best))
    assert found.to_frame()["split"].tolist() == ["maximum", "mean", "minimum"]


def test_above_the_stated_number_splits_are_random():
    scores = one_factor(80, k=12)
    every = split_half(scores, bootstrap=0)
    some = split_half(scores, max_splits=100, n_splits=60, bootstrap=0, rng=0)
    assert (some.n_splits, some.exhaustive) == (60, False)
    assert some.split_half.value == pytest.approx(every.split_half.value, abs=1e-12)
    assert some.split_half.flags == (Reason.SEARCHED, Reason.NONE, Reason.SEARCHED)
    again = split_half(scores, max_splits=100, n_splits=60, bootstrap=0, rng=0)
    np.testing.assert_array_equal(some.coefficients, again.coefficients)
    fourth = guttman(scores, max_splits=100, bootstrap=0, rng=0)
    assert fourth.value[3] == pytest.approx(every.split_half.value[0], abs=1e-12)
    assert fourth.flags[3] is Reason.SEARCHED
    big = split_half(one_factor(60, k=40), n_splits=100, bootstrap=0, rng=0)
    assert big.split_half.value[0] > big.coefficients.max()


def test_extremes_have_no_interval():
    found = split_half(one_factor(50), bootstrap=20, rng=0).split_half
    assert found.flags == (Reason.EXTREME, Reason.NONE, Reason.EXTREME)
    assert np.isnan(found.interval[[0, 2]]).all()
    assert np.isfinite(found.interval[1]).all()
    lambdas = guttman(one_factor(50), bootstrap=20, rng=0)
    assert lambdas.flags[3] is Reason.EXTREME
    assert np.isfinite(lambdas.interval).all(axis=1).tolist() == [True] * 3 + [False] + [True] * 2
    gap = lambdas.difference("lambda2", "lambda3")
    assert gap.value > 0
    assert gap.interval[0] > 0


def test_bootstrap_intervals():
    scores = one_factor(60)
    found = guttman(scores, interval="bootstrap", bootstrap=200, rng=0)
    assert found.method == "BCa bootstrap over respondents"
    inside = (found.interval[:, 0] < found.value) & (found.value < found.interval[:, 1])
    assert inside[[0, 1, 2, 4]].all()


def test_repeated_rows_are_not_respondents():
    scores = np.repeat(one_factor(15), 3, axis=0)
    who = np.repeat(np.arange(15), 3)
    naive, found = guttman(scores, bootstrap=0), guttman(scores, respondents=who, bootstrap=0)
    np.testing.assert_allclose(naive.value, found.value, atol=1e-12)
    assert np.ptp(found.interval[2]) > 1.5 * np.ptp(naive.interval[2])


def test_fewer_respondents_than_items():
    found = guttman(one_factor(8), bootstrap=0)
    assert found.flags[5] is Reason.SINGULAR
    assert np.isfinite(found.value).all()
    assert found.value[5] < 1.0


def test_items_that_do_not_vary():
    scores = one_factor(40, k=5)
    constant = np.column_stack([scores[:, :2], np.ones(40), scores[:, 2:]])
    plain, found = guttman(scores, bootstrap=0), guttman(constant, bootstrap=0)
    np.testing.assert_allclose(found.value, plain.value, atol=1e-12)
    assert found.flags[0] is Reason.CONSTANT_ITEMS
    assert 2 not in sum(split_half(constant, bootstrap=0).best, ())
    every = split_half(constant, of="covariances", bootstrap=0)
    assert 2 in sum(every.best, ())
    assert np.isfinite(guttman(constant, of="covariances", bootstrap=0).value).all()


@pytest.mark.parametrize(
    ("scores", "reason"),
    [
        ([[1], [2], [3]], Reason.ONE_QUESTION),
        ([[1, 2, 3]], Reason.FEW_RESPONDENTS),
        ([[1, 3], [2, 2], [3, 1]], Reason.NO_VARIANCE),
        ([[1, np.nan], [2, np.nan], [np.nan, 1], [np.nan, 3]], Reason.TOO_FEW),
    ],
)
def test_undefined(scores, reason):
    lambdas = guttman(scores, bootstrap=3, rng=0)
    assert np.isnan(lambdas.value).all()
    assert set(lambdas.flags) == {reason}
    halves = split_half(scores, bootstrap=3, rng=0)
    assert np.isnan(halves.split_half.value).all()
    assert set(halves.split_half.flags) == {reason}
    assert halves.best == ((), ())
    assert halves.n_splits == 0


def test_missing_scores_are_pairwise():
    scores = one_factor(40, k=4)
    scores[0, 0] = np.nan
    matrix = slow.correlation(slow.covariance(scores))
    np.testing.assert_allclose(guttman(scores, bootstrap=0).value, slow.lambdas(matrix))
    complete = guttman(scores, missing="listwise", bootstrap=0)
    np.testing.assert_allclose(complete.value, guttman(scores[1:], bootstrap=0).value)
    assert complete.flags[0] is Reason.INCOMPLETE


@pytest.mark.parametrize(
    "options",
    [
        {"of": "ranks"},
        {"interval": "feldt"},
        {"max_splits": -1},
        {"bootstrap": 1},
        {"rng": "seed"},
    ],
)
def test_options_that_cannot_be_used(options):
    for function in (guttman, split_half):
        with pytest.raises(OptionError, match=next(iter(options))):
            function(one_factor(10, k=3), **options)


def test_coverage():
    """Share of 200 data sets whose 95 % interval holds the lambdas of the population: below 0.89
    by chance with probability 0.001 each if coverage is 0.95.
    """
    k, n = 5, 60
    matrix = np.full((k, k), 0.4) + 0.6 * np.eye(k)
    truth = np.array(slow.lambdas(matrix))
    rng, hits = np.random.default_rng(4), np.zeros(6)
    root = np.linalg.cholesky(matrix)
    for _ in range(200):
        interval = guttman(rng.normal(size=(n, k)) @ root.T, bootstrap=0).interval
        hits += (interval[:, 0] <= truth) & (truth <= interval[:, 1])
    assert (hits[[0, 1, 2, 4, 5]] / 200 >= 0.89).all()
