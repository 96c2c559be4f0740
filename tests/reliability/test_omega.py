"""`omega`: what psych prints, slow twins, invariances, intervals, degenerate and bad input."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psychollm._base.errors import CodeError, InputError, OptionError, ShapeError
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import Bootstrap
from psychollm.reliability.omegas.omega import omega
from psychollm.reliability.omegas.omega_fit import (
    COEFFICIENTS,
    SUBSCALES,
    fit_omega,
    refit_in_blocks,
)
from tests.effort import examples
from tests.oracles import factor_slow, omega_slow

TESTS = Path(__file__).resolve().parents[1]
GOLDEN = TESTS / "golden" / "psychometrics"
SHARED = TESTS.parents[1] / "shared" / "golden" / "psychometrics"
KEYS = {
    "omega_h": "hierarchical",
    "omega_tot": "total",
    "omega_lim": "asymptotic",
    "ECV": "explained_common_variance",
    "alpha": "alpha",
    "G6": "lambda6",
}


def cases(folder, inputs):
    if not (folder / "omega.json").is_file():
        return []
    matrices = {row["id"]: row["R"] for row in json.loads(inputs.read_text())["rows"]}
    rows = json.loads((folder / "omega.json").read_text())["rows"]
    return [(row["id"], row, np.array(matrices[row["R"]])) for row in rows]


SHIPPED = cases(GOLDEN, GOLDEN / "fa_inputs.json")
NAMES = {name for name, _, _ in SHIPPED}
# Matrices from data whose licence forbids redistribution.
ELSEWHERE = [c for c in cases(SHARED, SHARED / "data" / "fa_inputs.json") if c[0] not in NAMES]
# psych starts once and ends in a local minimum of this likelihood (see `test_extract`).
ROWS = [
    pytest.param(row, R, id=name)
    for name, row, R in SHIPPED + ELSEWHERE
    if name != "bin12_tet_f3_ml"
]


@pytest.mark.parametrize(("row", "R"), ROWS)
def test_golden(row, R):
    m = row["nfactors"]
    method = {"pa": "principal_axis"}.get(row["fm"], row["fm"])
    found = omega(R, n_factors=m, method=method, tolerance=1e-3)
    for key, name in KEYS.items():
        # psych stops its optimiser early: 1e-5 is its error, alpha and G6 have none.
        assert getattr(found, name).value[0] == pytest.approx(row[key], abs=2e-5), key
    groups = np.array(row["omega.group"])
    assert found.specific.value[0] == pytest.approx(groups[0, 2], abs=2e-5)
    subscales = np.stack([getattr(found, name).value for name in SUBSCALES], axis=1)
    for expected in groups[1:]:
        assert np.abs(subscales - expected).max(axis=1).min() < 5e-5
    table = np.array(row["sl"])
    np.testing.assert_allclose(np.abs(found.general), table[:, 0], atol=5e-5)
    loadings = factor_slow.aligned(found.groups, table[:, 1 : m + 1])[0]
    np.testing.assert_allclose(loadings, table[:, 1 : m + 1], atol=5e-5)
    np.testing.assert_allclose(found.uniquenesses, table[:, m + 2], atol=5e-5)
    notes = " ".join(row["notes"]) if isinstance(row["notes"], list) else row["notes"]
    assert ("not meaningful" in notes or "Three factors" in notes) == (not found.identified)
    assert (found.hierarchical.flags[0] is Reason.NOT_IDENTIFIED) == (m < 3)


def conditions():
    """Yield each data set with one factor: name, scores, omega total."""
    folder = TESTS / "golden" / "metacognition"
    for case in ("dich_a", "dich_b"):
        (block,) = (b for b in blocks(folder, case) if "omega_total_1f" in b["values"])
        scores = pd.read_csv(folder / f"{case}.csv")
        yield pytest.param(scores, block["values"]["omega_total_1f"], id=case)
    for case in ("gses_a", "gses_b"):
        table = pd.read_csv(folder / f"{case}.csv")
        for block in blocks(folder, case):
            for condition, values in block["values"].items():
                if isinstance(values, dict) and "omega_total_1f" in values:
                    scores = table[table.condition == condition].filter(regex="^i")
                    yield pytest.param(
                        scores.reset_index(drop=True),
                        values["omega_total_1f"],
                        id=f"{case}_{condition}",
                    )


def blocks(folder, case):
    return json.loads((folder / f"{case}.expected.json").read_text())["blocks"]


@pytest.mark.parametrize(("scores", "expected"), list(conditions()))
def test_golden_of_scores(scores, expected):
    found = omega(scores, n_factors=1, bootstrap=0)
    # Stated tolerance 1e-3; what is left is the early stop of psych's optimiser.
    assert found.total.value[0] == pytest.approx(expected, abs=1e-7)
    low, high = found.total.interval[0]
    assert low < expected < high


def hierarchical_scores(n, seed, *, gamma=(0.8, 0.7, 0.6), per_factor=4):
    rng = np.random.default_rng(seed)
    gamma = np.array(gamma)
    general = rng.normal(size=(n, 1))
    factors = general * gamma + np.sqrt(1 - gamma**2) * rng.normal(size=(n, len(gamma)))
    own = np.repeat(factors, per_factor, axis=1)
    loading = np.tile([0.8, 0.7, 0.6, 0.75][:per_factor], len(gamma))
    return own * loading + np.sqrt(1 - loading**2) * rng.normal(size=own.shape)


@pytest.mark.parametrize("m", [1, 2, 3])
def test_twin(m):
    R = np.corrcoef(hierarchical_scores(400, 3), rowvar=False)
    found = omega(R, n_factors=m)
    turned = np.where(found.reversed, -1.0, 1.0)
    expected = omega_slow.omega(
        R * np.outer(turned, turned), found.general, found.groups, found.uniquenesses
    )
    values = [getattr(found, name).value[0] for name in COEFFICIENTS]
    np.testing.assert_allclose(values, expected, atol=1e-9)
    for j in range(m):
        subscale = [getattr(found, name).value[j] for name in SUBSCALES]
        own = omega_slow.subscale(R, found.general, found.groups, j)
        np.testing.assert_allclose(subscale, own, atol=1e-9)


def test_a_known_structure_is_found():
    # In the population every number is known: loadings .8, general share gamma^2.
    gamma = np.array([0.8, 0.7, 0.6])
    phi = np.outer(gamma, gamma)
    np.fill_diagonal(phi, 1.0)
    pattern = np.kron(np.eye(3), np.array([[0.8], [0.7], [0.6]]))
    R = pattern @ phi @ pattern.T
    unique = 1 - np.diagonal(R).copy()
    np.fill_diagonal(R, 1.0)
    g = pattern @ gamma
    for method in ("minres", "ml", "principal_axis"):
        found = omega(R, method=method)
        np.testing.assert_allclose(found.general, g, atol=1e-6)
        assert found.hierarchical.value[0] == pytest.approx(g.sum() ** 2 / R.sum(), abs=1e-6)
        assert found.total.value[0] == pytest.approx(1 - unique.sum() / R.sum(), abs=1e-6)
        assert found.total.flags == (Reason.NONE,)
        np.testing.assert_allclose(np.sort(found.second_order), np.sort(gamma), atol=1e-5)


def test_parallel_items_have_omega_equal_to_alpha():
    R = np.full((6, 6), 0.4) + 0.6 * np.eye(6)
    found = omega(R, n_factors=1)
    assert found.total.value[0] == pytest.approx(found.alpha.value[0], abs=1e-9)
    assert found.alpha.value[0] == pytest.approx(6 * 0.4 / (1 + 5 * 0.4))


@examples(8)
@given(seed=st.integers(0, 10_000))
def test_order_of_items_and_respondents_does_not_matter(seed):
    scores = hierarchical_scores(120, seed)
    rng = np.random.default_rng(seed)
    first = omega(scores, bootstrap=0)
    again = omega(scores[rng.permutation(120)][:, rng.permutation(12)], bootstrap=0)
    for name in COEFFICIENTS:
        assert getattr(again, name).value[0] == pytest.approx(
            getattr(first, name).value[0], abs=1e-5
        )


@examples(8)
@given(seed=st.integers(0, 10_000))
def test_bounds_and_duplicated_data(seed):
    scores = hierarchical_scores(60, seed)
    found = omega(scores, bootstrap=0)
    assert 0.0 <= found.hierarchical.value[0] <= found.asymptotic.value[0] <= 1.0 + 1e-9
    assert found.hierarchical.value[0] <= found.total.value[0] + 1e-9
    twice = omega(np.concatenate([scores, scores]), bootstrap=0)
    assert twice.total.value[0] == pytest.approx(found.total.value[0], abs=1e-9)
    scaled = omega(scores * np.arange(1, 13) + 5.0, bootstrap=0)
    assert scaled.total.value[0] == pytest.approx(found.total.value[0], abs=1e-9)


def test_reversed_items_are_turned_round_and_named():
    scores = hierarchical_scores(400, 1)
    plain = omega(scores, bootstrap=20, rng=0)
    turned = scores.copy()
    turned[:, [2, 7]] *= -1
    found = omega(turned, bootstrap=20, rng=0)
    np.testing.assert_array_equal(np.flatnonzero(found.reversed), [2, 7])
    assert found.total.flags == (Reason.NEGATIVE_ITEMS,)
    assert "Reversed items: 2, 7." in found.summary()
    for name in COEFFICIENTS:
        np.testing.assert_allclose(getattr(found, name).value, getattr(plain, name).value, 1e-7)
        np.testing.assert_allclose(
            getattr(found, name).interval, getattr(plain, name).interval, atol=1e-6
        )
    kept = omega(turned, flip=False, bootstrap=0)
    assert kept.total.value[0] < found.total.value[0]
    assert not kept.reversed.any()
    keyed = omega(turned, keys={2: -1, 7: -1}, bootstrap=0)
    assert keyed.total.value[0] == pytest.approx(plain.total.value[0])
    assert keyed.total.flags == (Reason.NONE,)


def test_matrices_of_any_kind():
    R = np.corrcoef(hierarchical_scores(300, 2), rowvar=False)
    names = [f"q{i}" for i in range(12)]
    found = omega(pd.DataFrame(R, names, names))
    assert found.items == tuple(names)
    assert np.isnan(found.n)
    assert np.isnan(found.total.interval).all()
    assert found.total.method == "none: n is unknown"
    with pytest.raises(OptionError, match="without resamples"):
        _ = found.total.draws
    table = found.to_frame()
    assert len(table) == len(COEFFICIENTS) + 3 * len(SUBSCALES)
    assert list(table.columns)[:3] == ["coefficient", "of", "value"]
    loadings = found.loadings()
    assert list(loadings.columns) == [
        "item", "general", "factor_1", "factor_2", "factor_3", "uniqueness", "subscale", "reversed"
    ]  # fmt: skip
    assert set(loadings["subscale"]) == {"factor_1", "factor_2", "factor_3"}
    assert found.to_dict()["identified"] is True


def test_a_heywood_case_is_flagged():
    R = next(R for _, row, R in SHIPPED if row["R"] == "harman8")
    found = omega(R)
    assert found.heywood
    assert found.total.flags == (Reason.HEYWOOD,)
    assert found.hierarchical.flags == (Reason.HEYWOOD,)
    assert found.alpha.flags == (Reason.NONE,)


def test_two_factors_are_said_not_to_identify_the_general_one():
    found = omega(hierarchical_scores(200, 0, gamma=(0.8, 0.7)), n_factors=2, bootstrap=0)
    assert not found.identified
    assert found.hierarchical.flags == (Reason.NOT_IDENTIFIED,)
    assert set(found.group_general.flags) == {Reason.NOT_IDENTIFIED}
    assert found.total.flags == (Reason.NONE,)
    np.testing.assert_allclose(found.second_order[0], found.second_order[1])


def test_one_factor_has_no_intervals_of_what_says_nothing():
    found = omega(hierarchical_scores(200, 0), n_factors=1, bootstrap=20, rng=0)
    assert np.isfinite(found.total.interval).all()
    assert found.explained_common_variance.value[0] == pytest.approx(1.0)
    assert np.isnan(found.explained_common_variance.interval).all()
    assert np.isnan(found.asymptotic.interval).all()


def test_resamples_are_reproducible_and_shared():
    scores = hierarchical_scores(150, 4)
    options = {"bootstrap": 60, "interval": "bootstrap"}
    first = omega(scores, rng=1, **options)
    second = omega(scores, rng=1, bootstrap=Bootstrap(60, n_jobs=2), interval="bootstrap")
    np.testing.assert_allclose(first.total.draws, second.total.draws, atol=1e-12)
    assert first.total.draws.shape == (60, 1)
    assert first.total.method == "bias-corrected bootstrap over respondents, clipped to [0, 1]"
    assert first.alpha.method == "BCa bootstrap over respondents"
    assert np.isfinite(first.hierarchical.interval).all()
    jackknife = omega(scores, rng=1, bootstrap=60)
    assert jackknife.alpha.method == "jackknife over respondents, log(1 - x)"
    assert jackknife.total.value[0] == first.total.value[0]
    gap = first.group_general.difference("factor_1", "factor_2")
    assert gap.n_resamples == 60


def test_resamples_give_what_fits_from_nothing_give():
    scores = hierarchical_scores(300, 8)
    R = np.corrcoef(scores, rowvar=False)
    fit = fit_omega(R, 3, "minres", 1e-12)
    rng = np.random.default_rng(0)
    drawn = [scores[rng.integers(300, size=300)] for _ in range(15)]
    stack = np.array([np.corrcoef(sample, rowvar=False) for sample in drawn])
    near, proper = refit_in_blocks(fit, stack, np.ones((15, 12), dtype=bool), flip=True)
    assert proper.all()
    for row, sample in zip(near, stack, strict=True):
        alone = omega(sample)
        assert row[0] == pytest.approx(alone.hierarchical.value[0], abs=1e-5)
        assert row[1] == pytest.approx(alone.total.value[0], abs=1e-8)


def test_repeated_rows_of_respondents():
    scores = hierarchical_scores(40, 5)
    rng = np.random.default_rng(0)
    repeated = np.repeat(scores, 3, axis=0) + 0.1 * rng.normal(size=(120, 12))
    who = np.repeat(np.arange(40), 3)
    rows = omega(repeated, n_factors=1, bootstrap=0)
    owned = omega(repeated, n_factors=1, respondents=who, bootstrap=0)
    assert owned.total.value[0] == pytest.approx(rows.total.value[0])
    assert owned.total.se[0] > 1.3 * rows.total.se[0]


def test_coverage_of_omega_total():
    # 60 data sets at 95 %: fewer than 51 hits happen by chance less than once in 1,000 times.
    rng = np.random.default_rng(0)
    L = np.array([0.8, 0.7, 0.6, 0.7, 0.5, 0.6])
    truth = L.sum() ** 2 / (L.sum() ** 2 + (1 - L**2).sum())
    hits = 0
    for _ in range(60):
        scores = rng.normal(size=(60, 1)) * L + np.sqrt(1 - L**2) * rng.normal(size=(60, 6))
        low, high = omega(scores, n_factors=1, bootstrap=0).total.interval[0]
        hits += low <= truth <= high
    assert hits >= 51


def test_missing_scores():
    scores = hierarchical_scores(200, 6)
    scores[np.random.default_rng(0).random(scores.shape) < 0.05] = np.nan
    pairwise = omega(scores, bootstrap=20, rng=0)
    assert pairwise.total.flags == (Reason.PAIRWISE,)
    assert np.isfinite(pairwise.total.interval).all()
    complete = omega(scores, missing="listwise", bootstrap=0)
    assert complete.total.flags == (Reason.INCOMPLETE,)
    assert complete.n < pairwise.n


def test_an_item_that_does_not_vary_is_left_out():
    scores = hierarchical_scores(200, 6)
    constant = np.column_stack([scores, np.ones(200)])
    found, plain = omega(constant, bootstrap=20, rng=0), omega(scores, bootstrap=20, rng=0)
    for name in COEFFICIENTS:
        np.testing.assert_allclose(
            getattr(found, name).value, getattr(plain, name).value, atol=1e-9
        )
    assert found.total.flags == (Reason.CONSTANT_ITEMS,)
    assert np.isnan(found.general[-1])
    assert np.isnan(found.groups[-1]).all()
    np.testing.assert_allclose(found.total.interval, plain.total.interval, atol=1e-6)


@pytest.mark.parametrize(
    ("scores", "options", "reason"),
    [
        (np.ones((20, 9)), {}, Reason.NO_VARIANCE),
        (np.random.default_rng(0).normal(size=(2, 9)), {}, Reason.FEW_RESPONDENTS),
        (
            np.column_stack([np.random.default_rng(0).normal(size=(30, 4)), np.ones((30, 5))]),
            {},
            Reason.CONSTANT_ITEMS,
        ),
        (np.random.default_rng(0).normal(size=(6, 9)), {"method": "ml"}, Reason.SINGULAR),
        (np.repeat(np.arange(30.0)[:, None], 9, axis=1), {}, Reason.FEWER_FACTORS),
    ],
)
def test_undefined_with_a_reason(scores, options, reason):
    found = omega(scores, bootstrap=20, rng=0, **options)
    for name in (*COEFFICIENTS, *SUBSCALES):
        estimate = getattr(found, name)
        assert np.isnan(estimate.value).all()
        assert np.isnan(estimate.interval).all()
        assert set(estimate.flags) == {reason}
    assert str(reason) in found.summary()
    assert set(found.member) == {""}


def test_undefined_where_no_rows_share_a_pair_of_items():
    scores = np.random.default_rng(0).normal(size=(30, 9))
    scores[:15, 0] = np.nan
    scores[15:, 1] = np.nan
    found = omega(scores, bootstrap=0)
    assert found.total.flags == (Reason.TOO_FEW,)


def test_lambda6_of_a_singular_matrix_is_undefined():
    scores = np.random.default_rng(1).normal(size=(8, 10)) + np.arange(8.0)[:, None]
    found = omega(scores, n_factors=1, bootstrap=0)
    assert np.isnan(found.lambda6.value[0])
    assert found.lambda6.flags == (Reason.SINGULAR,)
    assert np.isfinite(found.total.value[0])


@pytest.mark.parametrize(
    ("data", "options", "error", "message"),
    [
        (np.random.default_rng(0).normal(size=(20, 5)), {}, ShapeError, "use at most 2"),
        (np.eye(5), {}, ShapeError, "5 items can identify"),
        (np.ones((6, 6)), {"n_factors": 2}, InputError, "is too many for the items of the matrix"),
        (np.eye(9), {"n_factors": 0}, OptionError, "n_factors=0"),
        (np.eye(9), {"method": "pca"}, OptionError, "method='pca'"),
        (np.eye(9), {"interval": "wald"}, OptionError, "interval='wald'"),
        (np.eye(9), {"level": 1.0}, OptionError, "level=1.0"),
        ([["a"] * 9] * 5, {}, CodeError, "holds 'a'"),
    ],
)
def test_bad_input(data, options, error, message):
    with pytest.raises(error, match=message):
        omega(data, **options)


def one_factor_scores(n, seed, k=8):
    rng = np.random.default_rng(seed)
    loading = np.linspace(0.4, 0.8, k)
    return rng.normal(size=(n, 1)) * loading + np.sqrt(1 - loading**2) * rng.normal(size=(n, k))


@pytest.mark.parametrize("seed", range(5))
def test_group_factors_that_are_not_there_have_no_intervals(seed):
    found = omega(one_factor_scores(200, seed), bootstrap=20, rng=0)
    for name in (*COEFFICIENTS, *SUBSCALES):
        estimate = getattr(found, name)
        if name in {"alpha", "lambda6"}:
            assert np.isfinite(estimate.interval).all()
            continue
        assert np.isnan(estimate.interval).all(), name
        assert set(estimate.flags) <= {Reason.HEYWOOD, Reason.IMPROPER, Reason.EMPTY_SUBSCALE}
    text = found.summary()
    assert "n_factors=1" in text
    assert text.count(str(found.total.flags[0])[1:]) == 1
    alone = omega(one_factor_scores(200, seed), n_factors=1, bootstrap=0).total
    assert alone.interval[0, 0] < alone.value[0] < alone.interval[0, 1]


@pytest.mark.parametrize("n", [60, 200, 1000])
def test_intervals_of_shares_hold_them_inside_zero_and_one(n):
    found = omega(hierarchical_scores(n, n), bootstrap=80, rng=0)
    for name in (*COEFFICIENTS, *SUBSCALES):
        estimate = getattr(found, name)
        low, high = estimate.interval.T
        known = np.isfinite(low)
        assert (low[known] <= estimate.value[known]).all()
        assert (high[known] >= estimate.value[known]).all()
        assert (high[known] <= 1.0).all()
        if name not in {"alpha", "lambda6"}:
            assert (low[known] >= 0.0).all()
    assert np.isfinite(found.hierarchical.interval).all() == (n > 60)


def test_an_empty_subscale_says_so():
    tables = (omega(one_factor_scores(100, seed), bootstrap=0) for seed in range(20))
    found = next(one for one in tables if np.isnan(one.group_total.value).any())
    empty = np.flatnonzero(np.isnan(found.group_total.value))
    assert {found.group_total.flags[i] for i in empty} == {Reason.EMPTY_SUBSCALE}


def test_without_resamples_shares_of_several_factors_have_no_intervals():
    found = omega(hierarchical_scores(200, 0), bootstrap=0)
    assert found.total.method == "none: no resamples"
    assert np.isnan(found.total.interval).all()
    assert found.total.flags == (Reason.NONE,)
    assert np.isfinite(found.alpha.interval).all()


@pytest.mark.parametrize("n_factors", [1, 3])
@pytest.mark.parametrize("n", [40, 300])  # fewer and more respondents than pairs of items
def test_blocks_of_resamples_change_nothing(monkeypatch, n, n_factors):
    scores = hierarchical_scores(n, 8)
    whole = omega(scores, n_factors=n_factors, rng=1, bootstrap=30)
    monkeypatch.setattr("psychollm.reliability.omegas.omega._STACK_BYTES", 8 * 12 * 12 * 7)
    parts = omega(scores, n_factors=n_factors, rng=1, bootstrap=30)
    for name in ("total", "hierarchical", "alpha", "lambda6"):
        one, other = getattr(whole, name), getattr(parts, name)
        assert other.interval == pytest.approx(one.interval, rel=1e-9, nan_ok=True)
