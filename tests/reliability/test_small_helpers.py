"""Helpers that coefficients of reliability are made of, tried by what they return."""

import numpy as np
import pytest

from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import Resampling
from psychollm.kernels.ordinal_covariance import score_covariances
from psychollm.reliability.components.crossed_design import (
    FACETS,
    CrossedDesign,
    completed,
    corrected_for_resampling,
    effect_name,
    effective_freedom,
    effects_of,
    pivotal_draws,
)
from psychollm.reliability.components.two_way import mean_squares, residual_freedom
from psychollm.reliability.contrasts.condition_scores import check_known, condition_scores
from psychollm.reliability.means.answer_variance import QuestionAnswers
from psychollm.reliability.means.clustered import cluster_sums, mean_estimate, row_products
from psychollm.reliability.means.repeated_scores import repeated_scores
from psychollm.reliability.omegas.latent_response import (
    count_pairs,
    fit_one_factor,
    latent_correlations,
    observed_covariances,
    reliability_numbers,
)
from psychollm.reliability.omegas.omega_fit import fit_omega, no_fit, omega_numbers
from psychollm.reliability.raters.agreement import estimate_agreement
from psychollm.reliability.raters.chance_corrected import (
    FLEISS,
    Summation,
    category_shares,
    ratio_distances,
    unit_tables,
)
from psychollm.reliability.raters.rate_contrast import stratified_counts
from psychollm.reliability.raters.ratings import (
    Ratings,
    as_ratings,
    category_values,
    encode_categories,
    unit_scores,
)
from psychollm.reliability.raters.unit_bootstrap import (
    Panel,
    Panelist,
    UnitShare,
    estimate_panel,
    independent_units,
    mean_of_shares,
)
from psychollm.reliability.scales.alpha_intervals import (
    alpha_se,
    chosen_interval,
    f_quantile,
    mean_correlation_scale,
    normal_theory_se,
    squared_norm,
)
from psychollm.reliability.scales.consistency import consistency_of, covariance_matrix
from psychollm.reliability.scales.item_statistics import ResampledMatrix, is_singular
from psychollm.reliability.scales.moments import (
    centred_covariance,
    centred_items,
    complete_rows,
    constant_items,
    item_moments,
)
from psychollm.reliability.scales.score_table import (
    item_keys,
    row_groups,
    scale_scores,
    score_table,
)
from psychollm.reliability.scales.split_half import best_coefficient, splits_of, tried_splits

# Variance components


def test_effects_of_a_design() -> None:
    names = ["model", "item", "run", "model:item", "model:run", "item:run", "residual"]
    assert [effect_name(effect, 3) for effect in effects_of(FACETS)] == names
    assert effect_name(frozenset({"run", "model"}), 3) == "model:run"


def test_cells_that_are_there() -> None:
    counts = CrossedDesign((2, 3)).counted(np.array([[1, 1, 1], [1, 1, 0]], dtype=bool))
    assert counts.levels.tolist() == [2.0, 3.0, 5.0]
    np.testing.assert_allclose(counts.cells, [2.4, 1.5, 1.0], rtol=1e-12)
    assert counts.degrees_of_freedom.tolist() == [1.0, 2.0, 1.0]


def test_draws_of_components() -> None:
    rng, design = np.random.default_rng(0), CrossedDesign((9, 9))
    squares, df = np.array([8.0, 5.0, 1.0]), design.degrees_of_freedom
    draws = pivotal_draws(design.expectation, squares, df, 5000, rng)
    assert draws.mean(axis=0).round(1).tolist() == [1.1, 0.6, 1.0]
    scores = np.random.default_rng(0).normal(size=(10, 12))
    assert effective_freedom(scores, CrossedDesign((10, 12)).degrees_of_freedom).shape == (3,)


def test_components_of_resampled_models() -> None:
    found = corrected_for_resampling(CrossedDesign((5, 8)), np.array([0.8, 0.5, 0.8]), 5)
    np.testing.assert_allclose(found, [1.0, 0.3, 1.0], rtol=1e-12)


def test_two_way_tables() -> None:
    filled = completed(np.array([[1.0, 2.0], [3.0, np.nan]]))
    np.testing.assert_allclose(filled, [[1.0, 2.0], [3.0, 4.0]], rtol=1e-12)
    assert mean_squares(np.array([[1.0, 2.0], [3.0, 4.0]])).targets == 4.0
    assert residual_freedom(np.array([[1.0, 2.0], [3.0, np.nan], [6.0, 6.0]])) == 1


# Conditions and means


def test_scores_in_conditions() -> None:
    table = condition_scores([3, 5, None, 4], ["a", "b", "a", "b"], ["x", "x", "y", "y"])
    assert table.scores.tolist() == [3.0, 5.0, 4.0]
    assert table.condition.tolist() == [0, 1, 1]
    assert table.model.tolist() == [0, 0, 1]
    assert check_known("condition", "b", ("a", "b")) == 1


def test_parts_of_answer_variance() -> None:
    parts = QuestionAnswers.of(repeated_scores([[[1, 0], [1, 1]]]))
    assert parts.mean.tolist() == [[0.5, 1.0]]
    assert parts.variance.tolist() == [[0.5, 0.0]]


def test_means_over_clusters() -> None:
    scores, options = np.array([[1.0, 0.0, 1.0]]), Resampling(n=10, rng=0)
    found = mean_estimate(scores, np.ones((1, 3)), None, options, "cr1", ("m",))
    assert found.n.tolist() == [3.0]
    sums = cluster_sums(np.array([[1.0, 2.0, 4.0]]), np.array([0, 1, 0]))
    assert sums.tolist() == [[5.0, 2.0]]
    products = row_products(np.array([[1.0, 2.0]]), np.array([[1.0, 1.0], [0.5, 0.0]]))
    assert products.tolist() == [[3.0, 0.5]]


# Omegas


def test_counts_of_pairs() -> None:
    joint, yes, n = count_pairs(np.array([[1.0, 1.0], [1.0, 0.0]]), np.ones(2))
    assert joint.tolist() == [[2.0, 1.0], [1.0, 1.0]]
    assert yes[0].tolist() == [2.0, 2.0]
    assert n[0].tolist() == [2.0, 2.0]
    covariances = observed_covariances(count_pairs(np.array([[1.0, 1.0], [0.0, 0.0]]), np.ones(2)))
    assert covariances.tolist() == [[0.25, 0.25], [0.25, 0.25]]


def test_latent_responses() -> None:
    values = np.array([[1.0, 1.0], [1.0, 1.0], [0.0, 0.0], [0.0, 1.0]])
    assert latent_correlations(count_pairs(values, np.ones(4))).shape == (2, 2)
    rng = np.random.default_rng(0)
    answers = rng.normal(size=(5000, 1)) + rng.normal(size=(5000, 4)) > 0.0
    fit = fit_one_factor(count_pairs(answers.astype(float), np.ones(5000)))
    assert fit.loadings.round(1).tolist() == [0.7, 0.7, 0.7, 0.7]


def test_reliability_of_categories() -> None:
    common = np.full((4, 4), 0.5)
    latent = common + 0.5 * np.eye(4)
    cuts = np.zeros((4, 1))
    scores = np.empty((4, 4))
    score_covariances(cuts, latent, scores)
    numbers = reliability_numbers(common, cuts, latent, scores)
    assert numbers.round(4).tolist() == [0.6667, 0.6667, 0.8, 0.8, 0.5]


def test_fits_of_omega() -> None:
    matrix = np.kron(np.full((3, 3), 0.3) + np.diag([0.3, 0.2, 0.1]), np.ones((3, 3)))
    np.fill_diagonal(matrix, 1.0)
    fit = fit_omega(matrix, 3, "minres", 1e-12)
    assert fit.member.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    numbers = omega_numbers(fit.refit(matrix[None]), matrix[None], fit.member)
    assert numbers[0, :2].round(4).tolist() == [0.7105, 0.8684]
    assert np.isnan(no_fit(3, 1, "minres", 1e-12).hierarchy.general).tolist() == [True] * 3


# Raters


def test_ratings() -> None:
    found = encode_categories(np.array(["b", "a", None], dtype=object), None, str)
    assert found.codes.tolist() == [1, 0, -1]
    assert (found.categories, found.ordered) == (("a", "b"), False)
    assert category_values(Ratings.from_table([[1, 3]])).tolist() == [1.0, 3.0]
    assert unit_scores(Ratings.from_table([[1, 0.5]])).tolist() == [[[1.0, 0.5]]]


def test_tables_of_units() -> None:
    table = unit_tables(Ratings.from_table([[1, 1, 2], [1, None, None]]))[0]
    assert table.agreement.round(3).tolist() == [0.333, 0.0]
    assert table.paired.tolist() == [True, False]
    table = unit_tables(Ratings.from_table([[1, 1], [1, 2]]))[0]
    sums = Summation(table).of(np.array([[1.0, 3.0]]))
    assert sums.paired.tolist() == [4.0]
    assert sums.agreement.tolist() == [1.0]
    assert sums.totals.tolist() == [[5.0, 3.0]]
    table = unit_tables(Ratings.from_table([[1, 1, 1], [1, 2, None]]))[0]
    shares = category_shares(Summation(table).of(np.ones((1, 2))))
    np.testing.assert_allclose(shares, [[0.75, 0.25]], rtol=1e-12)


def test_distances_of_ratios() -> None:
    distances = ratio_distances(np.array([0.0, 1.0, 3.0])).round(2)
    assert distances.tolist() == [[0.0, 1.0, 1.0], [1.0, 0.0, 0.25], [1.0, 0.25, 0.0]]


def test_agreement_by_name() -> None:
    ratings = as_ratings([[1, 2, 1], [1, 2, 2]])
    options = Resampling(n=9, rng=0, interval="bca")
    found = estimate_agreement({"Fleiss' kappa": FLEISS}, ratings, None, options)
    assert found[0].value.round(3).tolist() == [0.333]


def test_coefficients_of_a_panel() -> None:
    member = Panelist(
        compute=lambda counts: counts[:, :1] / counts.sum(axis=1)[:, None],
        paired=np.ones(4, dtype=bool),
        flags=(Reason.NONE,),
        expected=np.ones(1),
        pairs=1.0,
        shares=(None,),
    )
    panel = Panel(
        names=("x",),
        members=[member],
        labels=("m",),
        clusters=None,
        options=Resampling(n=50, rng=0),
    )
    assert estimate_panel(panel)[0].value.tolist() == [0.25]


def test_units_that_are_resampled() -> None:
    share = UnitShare(np.array([2.0, 0.0]), np.array([2.0, 2.0]), 4.0)
    means = mean_of_shares([share])(np.array([[1.0, 1.0], [2.0, 0.0]]))
    assert means.tolist() == [[0.5], [1.0]]
    assert independent_units(np.array([True, True, False]), np.array([0, 0, 1])) == 1
    counts = stratified_counts(np.array([[1, 2]], dtype=np.uint64), np.array([0, 0, 1, -1]))
    assert counts[0, :2].sum() == 2.0
    assert counts[0, 2:].tolist() == [1.0, 0.0]


# Scales


def test_score_tables() -> None:
    table = score_table([[1, 2], [2, 3], [4, 4]], respondents=["a", "a", "b"])
    assert (table.respondents, table.has_repeats) == (("a", "b"), True)
    assert table.respondent.tolist() == [0, 0, 1]
    groups, labels = row_groups(["b", "a", "b"], (0, 1, 2), argument="respondents")
    assert (groups.tolist(), labels) == ([0, 1, 0], ("b", "a"))
    assert item_keys({"b": -1}, ("a", "b")).tolist() == [1.0, -1.0]
    assert complete_rows(np.array([[1.0, 2.0], [1.0, np.nan]])).tolist() == [True, False]
    scale = scale_scores(score_table([[1, 1], [2, 2], [2, None]]), 0)
    assert (scale.n, scale.reason) == (3, Reason.PAIRWISE)


def test_moments_of_items() -> None:
    found = item_moments(np.array([[0.0, 1.0], [2.0, 2.0], [4.0, 6.0]]), np.ones((1, 3)))
    assert found.variance.tolist() == [[4.0, 7.0]]
    assert found.with_total.tolist() == [[9.0, 12.0]]
    items = np.array([[1.0, 0.1], [2.0, 0.1]])
    assert constant_items(items).tolist() == [False, True]
    assert centred_items(items).tolist() == [[-0.5, 0.0], [0.5, 0.0]]
    centred = np.array([[-1.0], [0.0], [1.0]])
    assert centred_covariance(centred, np.array([1.0, 0.0, 1.0])).tolist() == [[2.0]]


def test_matrices_of_items() -> None:
    table = score_table([[1.0, 2.0], [2.0, 3.0], [4.0, 4.0]])
    resampled = ResampledMatrix(scale_scores(table, 0), "correlations").at(np.ones(3))
    assert resampled.round(3).tolist() == [[1.0, 0.982], [0.982, 1.0]]
    assert is_singular(np.ones((2, 2)))
    assert not is_singular(np.eye(2))
    assert covariance_matrix([[4, 1], [1, 1]]).tolist() == [[4.0, 1.0], [1.0, 1.0]]


def test_intervals_of_alpha() -> None:
    repeated = score_table([[1, 2], [2, 2]], respondents=["a", "a"])
    assert chosen_interval(repeated, None) == "jackknife"
    table = score_table([[1, 2], [2, 3], [3, 3]])
    assert round(normal_theory_se(scale_scores(table, 0)), 3) == 0.108
    assert consistency_of(table, Resampling(n=0)).alpha.value.round(3).tolist() == [0.857]
    scale = mean_correlation_scale(5)
    assert scale.back(scale.forward(np.array([0.3]))).round(6).tolist() == [0.3]
    assert f_quantile([0.05, 0.95], 5, 18).round(3).tolist() == [0.218, 2.773]
    assert round(alpha_se(2.0, np.array([1.5, 1.5]), 2.5, 2, 100), 4) == 0.0667
    centred = np.array([[-1.0, 0.0], [0.0, 0.0], [1.0, 0.0]])
    assert squared_norm(centred) == pytest.approx(1.0, rel=1e-12)


def test_splits_of_a_matrix() -> None:
    matrix = np.kron(np.eye(2), np.array([[1.0, 0.8], [0.8, 1.0]]))
    splits = tried_splits(matrix, max_splits=10, n_splits=5, rng=np.random.default_rng(0))
    assert splits.coefficients.round(3).tolist() == [0.0, 0.889, 0.889]
    assert splits.lowest.tolist() == [1.0, 1.0, -1.0, -1.0]
    pair = np.array([[1.0, 0.5], [0.5, 1.0]])
    halves = splits_of(pair, 1, 1, np.random.default_rng(0))
    assert round(best_coefficient(pair, halves), 3) == 0.667
    opposed = np.array([[1.0, -1.0], [-1.0, 1.0]])
    assert splits_of(opposed, 10, 10, np.random.default_rng(0)) is None
