"""`schmid_leiman`: goldens, twins, exact structures, bad input."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psychollm._base.errors import InputError, OptionError
from psychollm.factor.exploratory.extract import extract
from psychollm.factor.exploratory.rotate import rotate
from psychollm.factor.exploratory.schmid_leiman import schmid_leiman, second_order, transformed
from tests.effort import examples
from tests.oracles import factor_slow as slow

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "psychometrics"
SHARED = Path(__file__).resolve().parents[4] / "shared" / "golden" / "psychometrics"


def cases(folder, inputs):
    if not (folder / "omega.json").is_file():
        return []
    matrices = {row["id"]: row["R"] for row in json.loads(inputs.read_text())["rows"]}
    rows = json.loads((folder / "omega.json").read_text())["rows"]
    return [(row["id"], row, np.array(matrices[row["R"]])) for row in rows]


SHIPPED = cases(GOLDEN, GOLDEN / "fa_inputs.json")
NAMES = {name for name, _, _ in SHIPPED}
ELSEWHERE = [c for c in cases(SHARED, SHARED / "data" / "fa_inputs.json") if c[0] not in NAMES]
ROWS = [pytest.param(row, R, id=name) for name, row, R in SHIPPED + ELSEWHERE]


@pytest.mark.parametrize(("row", "R"), ROWS)
def test_golden(row, R):
    m = row["nfactors"]
    options = {"method": {"pa": "principal_axis"}.get(row["fm"], row["fm"]), "tolerance": 1e-3}
    # psych starts once.
    found = schmid_leiman(rotate(extract(R, n_factors=m, n_starts=1, **options)), **options)
    # Columns: general, groups, communality, uniqueness, share of the general factor; items that
    # load negatively were turned round.
    table = np.array(row["sl"])
    np.testing.assert_allclose(np.abs(found.general), table[:, 0], atol=5e-5)
    expected = table[:, 1 : m + 1]
    groups = np.abs(slow.aligned(np.abs(found.groups), np.abs(expected))[0])
    np.testing.assert_allclose(groups, np.abs(expected), atol=5e-5)
    np.testing.assert_allclose(found.communalities, table[:, m + 1], atol=5e-5)
    np.testing.assert_allclose(found.uniquenesses, table[:, m + 2], atol=5e-5)
    if m > 1:
        np.testing.assert_allclose(found.general_shares, table[:, m + 3], atol=5e-4)
    assert found.explained_common_variance == pytest.approx(row["ECV"], abs=1e-5)
    assert found.identified == (m > 2)


@examples(30)
@given(seed=st.integers(0, 10_000))
def test_three_factors_have_one_in_common(seed):
    rng = np.random.default_rng(seed)
    gamma = rng.uniform(0.3, 0.9, 3)
    phi = np.outer(gamma, gamma)
    np.fill_diagonal(phi, 1.0)
    L = rng.uniform(-0.2, 0.9, (9, 3))
    for method in ("minres", "ml", "principal_axis"):
        found = schmid_leiman(L, factor_correlation=phi, method=method)
        sign = np.sign(found.second_order.sum())
        np.testing.assert_allclose(sign * found.second_order, gamma, atol=1e-6)
        np.testing.assert_allclose(gamma, slow.three_factor_triad(phi), atol=1e-12)
        np.testing.assert_allclose(sign * found.general, L @ gamma, atol=1e-6)
        np.testing.assert_allclose(found.groups, L * np.sqrt(1 - gamma**2), atol=1e-6)
        # The covariances that the factors explain are the same in either form.
        G = np.column_stack([found.general, found.groups])
        np.testing.assert_allclose(G @ G.T, L @ phi @ L.T, atol=1e-6)


@given(seed=st.integers(0, 10_000))
def test_reversing_factors_changes_nothing(seed):
    rng = np.random.default_rng(seed)
    gamma = rng.uniform(0.3, 0.9, 4)
    phi = np.outer(gamma, gamma)
    np.fill_diagonal(phi, 1.0)
    L, signs = rng.uniform(0.0, 0.9, (8, 4)), rng.choice([-1.0, 1.0], 4)
    first = schmid_leiman(L, factor_correlation=phi)
    second = schmid_leiman(L * signs, factor_correlation=phi * np.outer(signs, signs))
    np.testing.assert_allclose(second.general, first.general, atol=1e-9)
    np.testing.assert_allclose(np.abs(second.groups), np.abs(first.groups), atol=1e-9)


def test_general_loadings_are_mostly_positive():
    L = -np.kron(np.eye(3), np.full((3, 1), 0.8))
    found = schmid_leiman(L, factor_correlation=0.3 + 0.7 * np.eye(3))
    assert (found.general > 0).all()


def test_two_factors_share_alike():
    found = schmid_leiman(np.eye(4)[:, :2], factor_correlation=[[1, -0.36], [-0.36, 1]])
    np.testing.assert_allclose(found.second_order, [0.6, -0.6])
    assert not found.identified
    assert not found.heywood


def test_one_factor_is_the_general_one():
    found = schmid_leiman([0.5, 0.6, 0.7], factor_correlation=[[1.0]])
    np.testing.assert_allclose(found.general, [0.5, 0.6, 0.7])
    assert not found.groups.any()
    assert found.explained_common_variance == 1.0


def test_a_factor_without_variance_of_its_own():
    phi = np.array([[1.0, 0.8, 0.8], [0.8, 1.0, 0.4], [0.8, 0.4, 1.0]])
    found = schmid_leiman(np.kron(np.eye(3), np.full((3, 1), 0.7)), factor_correlation=phi)
    assert found.heywood
    assert found.second_order.max() > np.sqrt(0.995)
    assert not found.groups[:3, 0].any()  # nothing is left of the first factor
    two = schmid_leiman(np.eye(4)[:, :2], factor_correlation=[[1, 0.999], [0.999, 1]])
    assert two.heywood


def test_takes_a_rotation():
    R = np.kron(np.full((3, 3), 0.3) + 0.3 * np.eye(3), np.ones((3, 3)))
    np.fill_diagonal(R, 1.0)
    frame = pd.DataFrame(R, list("abcdefghi"), list("abcdefghi"))
    rotation = rotate(extract(frame, n_factors=3))
    found = schmid_leiman(rotation)
    assert found.labels == tuple("abcdefghi")
    np.testing.assert_allclose(found.general, np.sqrt(0.3), atol=1e-7)
    np.testing.assert_allclose(found.general_shares, 0.5, atol=1e-7)
    table = found.to_frame()
    assert list(table.columns)[:3] == ["model", "general", "factor_1"]
    assert table.shape == (9, 8)


def test_stacks_of_factor_correlations():
    phis = np.array([a + (1 - a) * np.eye(3) for a in (0.2, 0.5, 0.7)])
    for method in ("minres", "ml", "principal_axis"):
        found = second_order(phis, method=method)
        expected = np.repeat(np.sqrt([[0.2], [0.5], [0.7]]), 3, axis=1)
        np.testing.assert_allclose(np.abs(found.loadings), expected, atol=1e-9)
        assert not found.heywood.any()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, InputError, "factor_correlation is missing"),
        ({"factor_correlation": np.eye(3)}, InputError, r"symmetric \(2, 2\)"),
        ({"factor_correlation": [[1, 0.2], [0.3, 1]]}, InputError, "symmetric"),
        ({"factor_correlation": 2 * np.eye(2)}, InputError, "ones on its diagonal"),
        ({"factor_correlation": np.eye(2), "method": "pca"}, OptionError, "method='pca'"),
    ],
)
def test_bad_input(options, error, message):
    with pytest.raises(error, match=message):
        schmid_leiman(np.eye(4)[:, :2], **options)


def test_a_loading_splits_into_general_and_group():
    general, group = transformed(np.array([[0.5, 0.0]]), np.array([0.6, 0.8]))
    np.testing.assert_allclose(general, [0.3])
    np.testing.assert_allclose(group, [[0.4, 0.0]])


def test_two_factors_leave_nothing_of_their_own_where_they_are_nearly_one():
    phi = np.array([[[1.0, r], [r, 1.0]] for r in (0.993, 0.996)])
    assert second_order(phi).heywood.tolist() == [False, True]
