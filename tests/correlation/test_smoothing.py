"""`smooth`: golden matrices, slow twins, certificates, invariances, errors."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import psychollm as psy
from psychollm._base.convergence import Convergence
from psychollm._base.errors import (
    ConvergenceWarning,
    InputError,
    LabelError,
    OptionError,
    ShapeError,
)
from psychollm.correlation import smoothing
from psychollm.correlation.smoothers.minimum_trace import minimum_trace_communalities
from psychollm.correlation.smoothing import smooth
from psychollm.correlation.spectrum import spectrum
from tests.effort import examples
from tests.oracles import smoothing_slow as slow

METHODS = ["nearest", "weighted", "clip", "shrink", "minimum_trace"]
A3 = np.array([[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]])


def indefinite(k, seed, noise=0.4):
    """One factor, disturbed pair by pair until the matrix is no correlation matrix."""
    rng = np.random.default_rng(seed)
    while True:
        loadings = rng.uniform(0.4, 0.95, k)
        matrix = np.outer(loadings, loadings) + symmetric(rng.normal(0, noise, (k, k)))
        matrix = np.clip(matrix, -1, 1)
        np.fill_diagonal(matrix, 1.0)
        if np.linalg.eigvalsh(matrix)[0] < -0.01:
            return matrix


def symmetric(array):
    return np.tril(array, -1) + np.tril(array, -1).T


def random_weights(k, seed, spread):
    weights = spread ** -np.random.default_rng(seed).random((k, k))
    return symmetric(weights) + np.eye(k)


def run(matrix, method, seed=0):
    weights = random_weights(len(matrix), seed, 100.0) if method == "weighted" else None
    return smooth(matrix, method=method, weights=weights)


def cases(folder):
    rows = json.loads((folder / "psychometrics" / "cor_smooth.json").read_text())["rows"]
    return [(row["id"], {key: row[key] for key in row}) for row in rows]


class TestGolden:
    def test_clip_is_cor_smooth(self, golden):
        for name, row in cases(golden):
            found = smooth(np.array(row["input"], dtype=float), method="clip")
            # 1e-8 is asked for; the same arithmetic gives 1e-13.
            assert np.abs(found.matrix - row["cor_smooth"]).max() < 1e-13, name

    def test_nearest_is_near_pd(self, golden):
        for name, row in cases(golden):
            matrix = np.array(row["input"], dtype=float)
            found = smooth(matrix)
            # nearPD itself stops at 1e-7 and lifts eigenvalues to 1e-8.
            assert np.abs(found.matrix - row["nearPD_corr"]).max() < 1e-6, name
            np.testing.assert_allclose(found.eigenvalues_before, row["eigenvalues"], atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("k", [3, 4, 8])
class TestTwins:
    def test_nearest(self, k, seed):
        matrix = indefinite(k, seed)
        # The projections stop where a round moves less than 1e-13; they converge linearly.
        np.testing.assert_allclose(smooth(matrix).matrix, slow.nearest(matrix), atol=1e-9)

    def test_weighted(self, k, seed):
        matrix, weights = indefinite(k, seed), random_weights(k, seed, 1e3)
        found = smooth(matrix, method="weighted", weights=weights)
        expected, value = slow.weighted_nearest(matrix, weights)
        # BFGS finds the value to its square-root precision in the matrix.
        assert found.convergence.objective == pytest.approx(value, rel=1e-8)
        np.testing.assert_allclose(found.matrix, expected, atol=1e-4)

    def test_minimum_trace(self, k, seed):
        matrix = indefinite(k, seed)
        found, ending = minimum_trace_communalities(matrix)
        expected = slow.minimum_trace_communalities(matrix)
        assert ending.converged
        assert found.sum() == pytest.approx(expected.sum(), abs=1e-8)
        np.testing.assert_allclose(found, expected, atol=1e-5)

    def test_shrink(self, k, seed):
        matrix = indefinite(k, seed)
        rng = np.random.default_rng(seed)
        target = np.corrcoef(rng.normal(size=(k, 3 * k)))
        found = smooth(matrix, method="shrink", target=target)
        assert found.shrinkage == pytest.approx(slow.least_shrinkage(matrix, target), abs=1e-11)
        mixed = found.shrinkage * target + (1 - found.shrinkage) * matrix
        np.testing.assert_allclose(found.matrix, mixed, atol=1e-12)


@pytest.mark.parametrize("k", [19, 40])
class TestOptimality:
    def test_nearest_meets_its_conditions(self, k):
        matrix = indefinite(k, 1)
        self.check(matrix, np.ones((k, k)), smooth(matrix).matrix, 1e-9)

    @pytest.mark.parametrize("spread", [1.0, 1e2, 1e4])
    def test_weighted_meets_its_conditions(self, k, spread):
        matrix, weights = indefinite(k, 2), random_weights(k, 3, spread)
        found = smooth(matrix, method="weighted", weights=weights)
        assert found.convergence.converged
        self.check(matrix, weights, found.matrix, 1e-7)

    @staticmethod
    def check(matrix, weights, x, tolerance):
        """Z = W o (X - G) + diag(y) is a multiplier: positive semidefinite, ZX = 0."""
        slope = weights * (x - matrix)
        y = -np.sum(slope * x, axis=1)  # the diagonal of ZX is zero
        z = slope + np.diag(y)
        scale = np.abs(z).max()
        assert np.linalg.eigvalsh(z)[0] > -tolerance * scale
        assert np.abs(z @ x).max() < tolerance * scale

    def test_communalities_meet_their_conditions(self, k):
        matrix = indefinite(k, 1)
        communalities, ending = minimum_trace_communalities(matrix)
        reduced = matrix - np.eye(k) + np.diag(communalities)
        assert ending.converged
        assert np.linalg.eigvalsh(reduced)[0] > -1e-12
        # The dual matrix lives in the null space and has unit diagonal: a convex mixture exists.
        values, vectors = np.linalg.eigh(reduced)
        null = vectors[:, values < 1e-6]
        gram = (null[:, :, None] * null[:, None, :]).reshape(k, -1)
        solution, *_ = np.linalg.lstsq(gram, np.ones(k), rcond=None)
        assert np.abs(gram @ solution - 1).max() < 1e-6


class TestMeaning:
    def test_equal_weights_are_nearest(self):
        matrix = indefinite(12, 5)
        found = smooth(matrix, method="weighted", weights=np.full((12, 12), 7.0))
        np.testing.assert_allclose(found.matrix, smooth(matrix).matrix, atol=1e-8)
        assert found.convergence.objective == pytest.approx(
            7 * smooth(matrix).convergence.objective, rel=1e-9
        )

    def test_precise_pairs_move_less(self):
        weights = np.ones((3, 3))
        weights[0, 1] = weights[1, 0] = 100.0
        found = smooth(A3, method="weighted", weights=weights)
        moved = np.abs(found.moved)
        assert moved[0, 1] < 0.05 < moved[0, 2]

    def test_weights_default_to_the_standard_errors(self):
        answers = psy.simulate_factor(
            loadings=np.full(12, 0.9),
            thresholds=np.linspace(-2.2, 2.2, 12),
            n_questions=300,
            rng=2,
        ).responses
        correlation = psy.tetrachoric(answers)
        assert np.linalg.eigvalsh(correlation.matrix)[0] < 0
        found = smooth(correlation, method="weighted")
        errors = correlation.se + np.eye(12)
        expected = smooth(correlation.matrix, method="weighted", weights=1 / errors**2)
        np.testing.assert_array_equal(found.matrix, expected.matrix)
        assert found.labels == correlation.labels

        def distance(result):
            return np.sum(np.tril(result.moved / errors, -1) ** 2)

        assert distance(found) < distance(smooth(correlation))

    def test_shrinkage_towards_nothing(self):
        smallest = np.linalg.eigvalsh(A3)[0]
        found = smooth(A3, method="shrink")
        assert found.shrinkage == pytest.approx(-smallest / (1 - smallest))
        assert found.eigenvalues_after[-1] == pytest.approx(0, abs=1e-14)

    def test_shrinkage_asked_for(self):
        found = smooth(A3, method="shrink", shrinkage=0.6)
        assert found.matrix[0, 1] == pytest.approx(0.36)
        assert found.shrinkage == 0.6
        with pytest.raises(OptionError, match=r"at least 0\.444444"):
            smooth(A3, method="shrink", shrinkage=0.4)

    def test_equal_target_keeps_the_mean(self):
        matrix = indefinite(10, 3)
        found = smooth(matrix, method="shrink", target="equal")
        assert found.moved.sum() == pytest.approx(0, abs=1e-12)
        assert found.rms_moved < smooth(matrix, method="shrink").rms_moved

    def test_singular_target(self):
        matrix = A3.copy()
        matrix[0, 1] = matrix[1, 0] = 1.0  # the target shares the null vector (1, -1, 0)
        matrix[0, 2] = matrix[2, 0] = matrix[1, 2]
        matrix[1, 2] = matrix[2, 1] = 0.5
        target = np.ones((3, 3))
        found = smooth(matrix, method="shrink", target=target)
        assert found.eigenvalues_after[-1] > -1e-12
        assert found.convergence.reason == "bisection"

    def test_minimum_trace_touches_heywood_rows_only(self):
        matrix = np.eye(5)
        matrix[:3, :3] = [[1, 0.8, 0.3], [0.8, 1, 0.8], [0.3, 0.8, 1]]
        matrix[1, 0] = matrix[0, 1] = matrix[1, 2] = matrix[2, 1] = 0.85
        matrix[3, 4] = matrix[4, 3] = 0.4
        found = smooth(matrix, method="minimum_trace", scaling=1.0)
        np.testing.assert_array_equal(found.scale != 1, [False, True, False, False, False])
        rest = [0, 2, 3, 4]
        assert not found.moved[np.ix_(rest, rest)].any()

    def test_minimum_trace_is_definite_below_one(self):
        found = smooth(A3, method="minimum_trace")
        assert found.eigenvalues_after[-1] == pytest.approx(0.02, abs=1e-10)
        # All three communalities are 1.8, by symmetry.
        np.testing.assert_allclose(found.scale, np.sqrt(0.98 / 1.8), atol=1e-10)

    def test_clones_do_not_hang_on_rounding(self):
        matrix = np.eye(4)
        matrix[:3, :3] = A3
        matrix = matrix[[0, 1, 2, 0, 3]][:, [0, 1, 2, 0, 3]]
        for method in METHODS:
            found = run(matrix, method)
            assert found.eigenvalues_after[-1] > -1e-12
            if method != "weighted":
                np.testing.assert_allclose(found.matrix[0, 1:3], found.matrix[3, 1:3], atol=1e-7)

    def test_report(self):
        found = smooth(pd.DataFrame(A3, index=list("abc"), columns=list("abc")))
        np.testing.assert_array_equal(found.moved, found.matrix - A3)
        assert found.deficit == pytest.approx(0.8)
        assert found.rms_moved == pytest.approx(0.4)
        assert abs(found.largest_move) == pytest.approx(0.4)
        assert set(found.largest_pair) <= set("abc")
        frame = found.to_frame()
        assert list(frame.columns) == ["first", "second", "before", "after", "moved"]
        np.testing.assert_allclose(frame["after"] - frame["before"], frame["moved"])
        assert "deficit 0.8" in found.summary()
        assert "nearest" in repr(found)
        assert found.to_dict()["convergence"]["converged"] is True
        assert not found.matrix.flags.writeable


@pytest.mark.parametrize("method", METHODS)
class TestProperties:
    @given(k=st.integers(3, 9), seed=st.integers(0, 10_000))
    @examples(25)
    def test_is_a_correlation_matrix(self, method, k, seed):
        rng = np.random.default_rng(seed)
        matrix = symmetric(rng.uniform(-1, 1, (k, k))) + np.eye(k)
        found = run(matrix, method, seed)
        assert np.linalg.eigvalsh(found.matrix)[0] >= -1e-12
        np.testing.assert_array_equal(np.diagonal(found.matrix), 1.0)
        np.testing.assert_array_equal(found.matrix, found.matrix.T)
        assert np.abs(found.matrix).max() <= 1.0
        assert found.convergence.converged

    @given(k=st.integers(3, 8), seed=st.integers(0, 10_000))
    @examples(15)
    def test_once_is_enough(self, method, k, seed):
        once = run(indefinite(k, seed), method)
        twice = run(once.matrix, method)
        np.testing.assert_array_equal(twice.matrix, once.matrix)
        assert "unchanged" in twice.note
        assert twice.largest_pair == ()

    @given(k=st.integers(3, 8), seed=st.integers(0, 10_000))
    @examples(15)
    def test_order_and_coding_do_not_matter(self, method, k, seed):
        matrix, weights = indefinite(k, seed), random_weights(k, seed, 100.0)
        rng = np.random.default_rng(seed + 1)
        order, flip = rng.permutation(k), rng.choice([-1.0, 1.0], k)
        signs = np.outer(flip, flip)
        options = {"weights": weights} if method == "weighted" else {}
        turned = {"weights": weights[np.ix_(order, order)]} if method == "weighted" else {}
        plain = smooth(matrix, method=method, **options).matrix
        other = smooth((matrix * signs)[np.ix_(order, order)], method=method, **turned).matrix
        # Iterations stop at 1e-10 or better; entries inherit the root of that at worst.
        expected = (plain * signs)[np.ix_(order, order)]
        np.testing.assert_allclose(other, expected, atol=1e-6)

    def test_leaves_a_correlation_matrix_alone(self, method):
        matrix = np.corrcoef(np.random.default_rng(0).normal(size=(6, 50)))
        matrix = np.tril(matrix, -1) + np.tril(matrix, -1).T + np.eye(6)
        found = run(matrix, method)
        assert found.matrix.tobytes() == matrix.tobytes()
        assert found.method == method
        assert "already positive semidefinite" in found.note
        assert "unchanged" in found.summary()
        assert found.deficit == 0
        assert matrix.flags.writeable, "the caller's array is not frozen"

    def test_two_rows(self, method):
        found = run(np.array([[1.0, -1.0], [-1.0, 1.0]]), method)
        assert found.matrix[0, 1] == pytest.approx(-1, abs=1e-9)


class TestErrors:
    def test_undefined_pairs_are_named_with_a_remedy(self):
        matrix = np.eye(4)
        matrix[0, 1:] = matrix[1:, 0] = np.nan
        labels = ["gpt", "b", "c", "d"]
        frame = pd.DataFrame(matrix, index=labels, columns=labels)
        for function in (smooth, spectrum):
            with pytest.raises(InputError, match=r"\('gpt', 'b'\).*drop 'gpt' and correlate"):
                function(frame)

    def test_undefined_correlation_of_a_constant_model(self):
        correlation = psy.tetrachoric([[1, 1, 1, 1], [1, 0, 1, 0], [0, 1, 1, 0]])
        with pytest.raises(InputError, match="drop 0"):
            smooth(correlation)

    @pytest.mark.parametrize(
        ("matrix", "error", "message"),
        [
            ([[1.0]], ShapeError, r"got \(1, 1\)"),
            (np.ones((2, 3)), ShapeError, r"got \(2, 3\)"),
            (np.ones(4), ShapeError, r"got \(4,\)"),
            ([[1, 0.5], [0.4, 1]], InputError, "not symmetric"),
            ([[2, 0.5], [0.5, 1]], InputError, "2 on the diagonal at 0"),
            ([[1, 1.5], [1.5, 1]], InputError, r"outside \[-1, 1\]: \(0, 1\)"),
            ([[1, np.inf], [np.inf, 1]], InputError, "undefined"),
            ([[np.nan, 0.5], [0.5, 1]], InputError, "0 with itself"),
        ],
    )
    def test_no_matrix_of_correlations(self, matrix, error, message):
        with pytest.raises(error, match=message):
            smooth(matrix)

    def test_index_differs_from_columns(self):
        with pytest.raises(LabelError, match="reindex"):
            smooth(pd.DataFrame(np.eye(2), index=["a", "b"], columns=["b", "a"]))

    def test_rounding_error_is_removed(self):
        matrix = A3 + 1e-13 * np.random.default_rng(0).normal(size=(3, 3))
        found = smooth(matrix)
        np.testing.assert_array_equal(np.diagonal(found.matrix), 1.0)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"method": "higham"}, "method='higham' is not an option"),
            ({"weights": np.ones((3, 3))}, "weights= is for method='weighted'"),
            ({"scaling": 0.9}, "scaling= is for method='minimum_trace'"),
            ({"method": "clip", "target": "equal"}, "target= is for method='shrink'"),
            ({"method": "shrink", "target": "zero"}, "target='zero'"),
            ({"method": "shrink", "shrinkage": 1.5}, r"shrinkage=1.5 must lie in \[0, 1\]"),
            ({"method": "minimum_trace", "scaling": 0.0}, "scaling=0.0"),
            ({"method": "weighted"}, "needs standard errors"),
        ],
    )
    def test_options(self, options, message):
        with pytest.raises(OptionError, match=message):
            smooth(A3, **options)

    @pytest.mark.parametrize("wrong", [0.0, -1.0, np.nan, np.inf])
    def test_weights(self, wrong):
        weights = np.ones((3, 3))
        weights[0, 2] = weights[2, 0] = wrong
        with pytest.raises(InputError, match=r"weights of pairs must be .* \(0, 2\)"):
            smooth(A3, method="weighted", weights=weights)
        with pytest.raises(ShapeError, match=r"weights must have shape \(3, 3\)"):
            smooth(A3, method="weighted", weights=np.ones(3))
        with pytest.raises(ShapeError, match="weights must be symmetric"):
            smooth(A3, method="weighted", weights=np.arange(9).reshape(3, 3) + 1)

    def test_target_is_no_correlation_matrix(self):
        with pytest.raises(InputError, match="target has a negative eigenvalue"):
            smooth(A3, method="shrink", target=A3)

    def test_standard_errors_at_the_bound(self):
        counts = psy.PairCounts.count([[1, 1, 1, 0, 0, 0], [1, 1, 0, 0, 0, 0], [1, 0, 1, 0, 1, 0]])
        correlation = psy.tetrachoric(counts, empty_cells="none")
        with pytest.raises(InputError, match="continuity correction other than 'none'"):
            smooth(correlation, method="weighted")

    def test_early_stop_is_said(self, monkeypatch):
        def stuck(matrix):
            repair = smoothing.clip(matrix)
            ending = Convergence(converged=False, iterations=3, reason="stuck", objective=0.0)
            return repair._replace(convergence=ending)

        monkeypatch.setattr(smoothing, "nearest", stuck)
        with pytest.warns(ConvergenceWarning, match="3 iterations: stuck"):
            found = smooth(A3)
        assert not found.convergence.converged
        assert found.eigenvalues_after[-1] > -1e-12
