"""Marginal maximum likelihood: exact optima, twins, properties, bad input."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri

from psychollm._base.errors import CodeError, ConvergenceWarning, OptionError, ShapeError
from psychollm.data.responses import Responses
from psychollm.estimates.reasons import Reason
from psychollm.irt.answers import patterns_of
from psychollm.irt.climb import Steps, accelerated_em, at, em_step, improved
from psychollm.irt.curvature import parts
from psychollm.irt.families import Dichotomous
from psychollm.irt.fit import fit_irt
from psychollm.irt.likelihood import Problem, expectation, grid_for, narrowest_posterior
from psychollm.irt.models import default_priors, family_of
from psychollm.irt.priors import NO_PRIORS, Priors
from tests.effort import examples
from tests.oracles import irt_slow

TRUTH = ["truth_lsat6_Rasch", "truth_lsat7_2PL", "truth_lsat7_Rasch", "truth_bin12_2PL"]
MIRT = ["mirt_lsat6_2PL", "mirt_lsat6_Rasch", "mirt_lsat7_Rasch", "mirt_bin12_2PL"]
MIRT += ["mirt_bin12_Rasch"]


def fitted(row, data_of, **options):
    answers = data_of(row["data"])
    return fit_irt(answers, model=row["itemtype"].lower(), priors=None, **options)


@pytest.mark.parametrize("name", TRUTH)
def test_exact_optima(name, truth, data_of):
    row = truth[name]
    fit = fitted(row, data_of)
    np.testing.assert_allclose(fit.slope, row["a"], atol=1e-7)
    np.testing.assert_allclose(fit.intercept, row["d"], atol=1e-7)
    np.testing.assert_allclose(fit.difficulty, row["b"], atol=5e-7)  # a quotient
    np.testing.assert_allclose(fit.log_likelihood, row["loglik"], atol=1e-7)
    np.testing.assert_allclose([fit.aic, fit.bic], [row["AIC"], row["BIC"]], atol=1e-6)
    assert fit.n_parameters == row["npar"]
    assert fit.gradient <= 1e-10
    assert fit.convergence.converged


@pytest.mark.parametrize("name", TRUTH)
@pytest.mark.parametrize(
    ("kind", "suffix"),
    [("observed", ""), ("cross_product", "_crossprod"), ("sandwich", "_sandwich")],
)
def test_exact_standard_errors(name, kind, suffix, truth, data_of):
    row = truth[name]
    fit = fitted(row, data_of, standard_errors=kind)
    for ours, theirs in (("se_slope", "se_a"), ("se_intercept", "se_d")):
        if theirs + suffix in row:
            np.testing.assert_allclose(getattr(fit, ours), row[theirs + suffix], atol=1e-6)
    if kind == "observed" and "latent_sd" in row:
        sd, se = fit.ability_sd, fit.se_ability_sd
        np.testing.assert_allclose(sd**2, row["latent_var"], atol=1e-7)
        np.testing.assert_allclose(sd, row["latent_sd"], atol=1e-7)
        np.testing.assert_allclose(se / sd, row["se_log_sd"], atol=1e-6)
        np.testing.assert_allclose(2 * sd * se, row["se_latent_var"], atol=1e-6)


@pytest.mark.parametrize("name", MIRT)
def test_mirt(name, mirt, data_of):
    row = mirt[name]
    fit = fitted(row, data_of)
    np.testing.assert_allclose(fit.slope, row["a"], atol=1e-5)
    np.testing.assert_allclose(fit.intercept, row["d"], atol=1e-5)
    np.testing.assert_allclose(fit.log_likelihood, row["loglik"], atol=1e-5)
    np.testing.assert_allclose(fit.se_intercept, row["se_d"], atol=1e-4)  # Oakes, tolerance 1e-9


@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize("model", ["1pl", "1plg", "2pl", "3pl", "4pl"])
@pytest.mark.parametrize("gaps", [False, True])
def test_twin(model, link, gaps, simulated):
    answers = simulated(60, [1.2, 0.8, 1.5, 1.0], [0.5, 0.0, -0.5, 0.2], 4).astype(float)
    if gaps:
        answers[np.random.default_rng(2).random(answers.shape) < 0.2] = np.nan
    priors = Priors(slope=(1.0, 0.5), intercept=(0.0, 1.0), guessing=(-1.4, 0.7), upper=(2.5, 0.7))
    fit = fit_irt(answers, model=model, link=link, priors=priors)
    rows = [[None if np.isnan(x) else int(x) for x in row] for row in answers]
    shape = fit.parameters.shape
    means, precisions = fit.family.prior_arrays(priors)
    tied = model in ("1pl", "1plg")

    def items(flat):
        if not tied:
            return flat.reshape(shape)
        return np.column_stack([np.full(shape[0], flat[0]), flat[1:].reshape(shape[0], -1)])

    def objective(flat):
        table = items(flat)
        penalty = (precisions * (table - means) ** 2).sum(axis=0)
        penalty[0] /= shape[0] if tied else 1
        return irt_slow.log_likelihood(rows, table, link) - 0.5 * penalty.sum()

    flat = (
        np.concatenate([fit.parameters[:1, 0], fit.parameters[:, 1:].ravel()])
        if tied
        else fit.parameters.ravel()
    )
    # 61 Gauss-Hermite nodes: good to 1e-8 here; differences to 1e-6
    np.testing.assert_allclose(fit.convergence.objective, objective(flat), atol=1e-6)
    assert np.abs(irt_slow.numeric_gradient(objective, flat)).max() < 1e-4
    if model != "4pl" and (link == "logit" or model == "2pl"):
        inverse = np.linalg.inv(irt_slow.numeric_information(objective, flat))
        se = np.sqrt(np.diagonal(inverse))
        ours = np.sqrt(np.einsum("jpp->jp", fit.covariance))
        theirs = items(se)
        np.testing.assert_allclose(ours, theirs, rtol=2e-3)


def test_large_form_agrees_with_dense(monkeypatch, simulated):
    answers = simulated(40, np.linspace(0.5, 2, 30), np.linspace(-1, 1, 30), 5)
    for model in ("2pl", "1pl", "1plg", "3pl"):
        for kind in ("observed", "sandwich"):
            options = {"standard_errors": kind, "priors": default_priors([model], "logit", 40)}
            dense = fit_irt(answers, model=model, **options)
            with monkeypatch.context() as patch:
                patch.setattr("psychollm.irt.curvature.DENSE", 10)
                large = fit_irt(answers, model=model, **options)
            np.testing.assert_allclose(large.parameters, dense.parameters, atol=1e-8)
            np.testing.assert_allclose(large.covariance, dense.covariance, atol=1e-7)


def test_long_form_of_missing_agrees_with_short_form(simulated):
    answers = simulated(400, [1.0, 1.5, 0.7, 1.2, 0.9], [0, 1, -1, 0.5, 0], 6).astype(float)
    extra = np.vstack([answers, np.full((1, 5), np.nan)])  # says nothing, forces the other path
    short, long = fit_irt(answers, priors=None), fit_irt(extra, priors=None)
    np.testing.assert_allclose(long.parameters, short.parameters, atol=1e-8)
    np.testing.assert_allclose(long.covariance, short.covariance, atol=1e-8)


@pytest.mark.parametrize("model", ["1pl", "1plg", "2pl", "3pl"])
@pytest.mark.parametrize("link", ["logit", "probit"])
def test_em_never_lowers_the_likelihood(model, link, simulated):
    answers = simulated(300, np.full(6, 1.2), np.linspace(-1, 1, 6), 7)
    family = Dichotomous(model, link)
    problem = Problem(family, patterns_of(answers, 2), *family.prior_arrays(NO_PRIORS))
    start = family.start(np.full((6, 2), 0.5), np.ones(6))
    grid = grid_for(family, start)
    point = at(problem, start, grid)
    for expand in (False, True):
        here = point
        for _ in range(20):
            moved = em_step(problem, here, grid, expand=expand)
            if not expand:  # a plain step; rescaled ones are shortened where they must be
                value = expectation(problem, moved, grid).log_likelihood
                assert value >= here.state.log_likelihood - 1e-9
            after = improved(problem, here, moved, grid)
            assert after is not None
            assert after.state.log_likelihood >= here.state.log_likelihood - 1e-9
            here = after
    _, path = accelerated_em(problem, point, grid, Steps(500), cycles=20, close=0.0)
    assert (np.diff(path) >= -1e-9).all()


@examples(8)
@given(item=st.integers(0, 5), seed=st.integers(0, 1000))
def test_flipping_an_item_flips_its_slope(item, seed):
    from tests.irt.conftest import simulate

    answers = simulate(500, np.full(6, 1.4), np.linspace(-1, 1, 6), seed)
    turned = answers.copy()
    turned[:, item] = 1 - turned[:, item]
    before = fit_irt(answers, priors=None)
    after = fit_irt(turned, priors=None)
    signs = np.ones(6)
    signs[item] = -1
    np.testing.assert_allclose(after.slope, signs * before.slope, atol=1e-7)
    np.testing.assert_allclose(after.intercept, signs * before.intercept, atol=1e-7)
    np.testing.assert_allclose(after.log_likelihood, before.log_likelihood, atol=1e-8)


def test_order_of_respondents_and_items_does_not_matter(simulated):
    answers = simulated(200, [1.0, 1.5, 0.7, 1.2], [0, 1, -1, 0.5], 8)
    order, rows = [2, 0, 3, 1], np.random.default_rng(1).permutation(200)
    one, two = fit_irt(answers), fit_irt(answers[rows][:, order])
    np.testing.assert_allclose(two.slope, one.slope[order], atol=1e-9)
    np.testing.assert_allclose(two.se_slope, one.se_slope[order], atol=1e-9)


def test_both_readings_are_one_table_turned(simulated):
    answers = simulated(60, np.full(8, 1.0), np.linspace(-1, 1, 8), 9)
    table = Responses(answers, questions=list("abcdefgh"))
    turned = Responses(answers.T, models=list("abcdefgh"))
    one, two = fit_irt(table), fit_irt(turned, respondents="questions")
    np.testing.assert_array_equal(one.parameters, two.parameters)
    assert one.labels == two.labels == tuple("abcdefgh")
    assert (one.respondents, two.respondents) == ("models", "questions")
    assert "60 questions as respondents" in two.summary()


def test_grid_fits_the_narrowest_posterior(simulated):
    answers = simulated(40, np.full(600, 1.2), np.linspace(-2, 2, 600), 10)
    fit = fit_irt(answers)
    spacing = 13.0 / (fit.n_nodes - 1)
    assert spacing <= 0.5 * narrowest_posterior(fit.family, fit.parameters)


def test_recovery(simulated):
    slopes, intercepts = np.linspace(0.6, 1.8, 10), np.linspace(-1.5, 1.5, 10)
    fit = fit_irt(simulated(20_000, slopes, intercepts, 12))
    # all within four standard errors: false alarm below 0.2 % over 20 estimates
    assert (np.abs(fit.slope - slopes) < 4 * fit.se_slope).all()
    assert (np.abs(fit.intercept - intercepts) < 4 * fit.se_intercept).all()


def test_constant_and_unanswered_items_have_no_numbers_without_priors(simulated):
    answers = simulated(600, np.full(6, 1.0), np.zeros(6), 13).astype(float)
    answers[:, 1], answers[:, 3], answers[:, 5] = 1.0, 0.0, np.nan
    fit = fit_irt(answers, priors=None)
    assert fit.reasons[1] is fit.reasons[3] is Reason.CONSTANT_ITEM
    assert fit.reasons[5] is Reason.UNANSWERED
    for name in ("slope", "intercept", "difficulty", "se_slope", "se_difficulty"):
        assert np.isnan(getattr(fit, name)).tolist() == [False, True, False, True, False, True]
    assert "3 have no estimates" in fit.summary()
    assert fit.to_frame()["reason"][1] == "the item does not vary"


def test_separation_without_priors_is_said(simulated):
    ladder = np.tril(np.ones((9, 8), dtype=int), -1)  # a perfect scale
    fit = fit_irt(ladder, priors=None)
    assert Reason.UNBOUNDED in fit.reasons
    assert np.isnan(fit.slope[[reason is Reason.UNBOUNDED for reason in fit.reasons]]).all()
    with_priors = fit_irt(ladder)
    assert np.isfinite(with_priors.slope).all()
    assert np.isfinite(with_priors.se_difficulty).all()


@pytest.mark.filterwarnings("ignore::psychollm._base.errors.ConvergenceWarning")
def test_3pl_without_priors_says_what_is_not_determined(simulated):
    answers = simulated(300, np.full(6, 1.0), np.linspace(0.5, 2.5, 6), 14)
    fit = fit_irt(answers, model="3pl", priors=None)
    assert Reason.UNIDENTIFIED in fit.reasons or not fit.convergence.converged


def test_3pl_with_its_prior(simulated):
    answers = simulated(3000, np.full(8, 1.5), np.linspace(-1.5, 1, 8), 15, guessing=0.25)
    fit = fit_irt(answers, model="3pl")
    assert str(fit.priors) == "slope ~ N(2, 4), logit guessing ~ N(-1.4, 0.7)"
    assert fit.convergence.converged
    assert np.abs(fit.guessing - 0.25).max() < 0.2
    assert list(fit.to_frame().columns)[7:9] == ["guessing", "se_guessing"]


def test_cross_products_of_few_respondents_are_singular(simulated):
    answers = simulated(10, np.full(12, 1.0), np.linspace(-1, 1, 12), 16)
    weak = default_priors(["2pl"], "logit", 10)
    fit = fit_irt(answers, standard_errors="cross_product", priors=weak)
    assert np.isnan(fit.se_slope).all()
    with pytest.raises(OptionError, match="'cross_product' needs a likelihood"):
        fit_irt(answers, standard_errors="cross_product")


def test_bad_input(simulated):
    answers = simulated(20, np.ones(3), np.zeros(3), 17)
    with pytest.raises(OptionError, match="model='5pl'"):
        fit_irt(answers, model="5pl")
    with pytest.raises(OptionError, match="priors='weak'"):
        fit_irt(answers, priors="weak")
    with pytest.raises(OptionError, match="sd above 0"):
        Priors(slope=(1.0, 0.0))
    with pytest.raises(ShapeError, match="one respondent"):
        fit_irt(answers[:1])
    with pytest.raises(ShapeError, match="no item varies"):
        fit_irt(np.ones((5, 3)))
    with pytest.raises(CodeError, match="code 2"):
        fit_irt([[0, 1, 2], [1, 0, 1]])


def test_not_converged_warns(simulated):
    answers = simulated(100, np.ones(12), np.zeros(12), 18)
    with pytest.warns(ConvergenceWarning, match="2pl fit.*the last iteration changed items"):
        fit = fit_irt(answers, max_iterations=4)
    assert fit.convergence.iterations == 4
    with pytest.warns(ConvergenceWarning, match="2pl fit.*max_iterations=4 was reached"):
        fit = fit_irt(answers, max_iterations=4, priors=None)
    assert not fit.convergence.converged
    assert 4 <= fit.convergence.iterations < 8  # a cycle of EM is not cut in two
    with pytest.raises(OptionError, match="max_iterations"):
        fit_irt(answers, max_iterations=0)


def test_progress_counts_the_steps(simulated, monkeypatch):
    taken = []

    class Bar:
        def update(self, n):
            taken.append(n)

        def close(self):
            taken.append("closed")

    monkeypatch.setattr("psychollm.irt.fit.progress_bar", lambda **_: Bar())
    fit = fit_irt(simulated(100, np.ones(4), np.zeros(4), 18), progress=True)
    assert taken.pop() == "closed"
    assert sum(taken) == fit.convergence.iterations


def test_3pl_without_priors_ends_though_guessing_vanishes():
    """Guessing next to nothing made Newton's matrix singular and held back all other steps."""
    rng = np.random.default_rng(1)
    n, items = 1500, 30
    slopes, places = np.exp(rng.normal(0.2, 0.5, items)), rng.normal(0.0, 1.3, items)
    slopes[:3] *= -0.4
    slopes[3:6] *= 3.0
    places[6:11] -= 3.0
    ability = rng.normal(size=n)
    ability = np.where(rng.random(n) < 0.15, 0.5 * ability - 2.2, ability)
    chance = 0.2 + 0.8 / (1.0 + np.exp(-slopes * (ability[:, None] - places)))
    fit = fit_irt(rng.random((n, items)) < chance, model="3pl", priors=None)
    assert fit.convergence.converged
    assert fit.convergence.iterations < 150
    assert fit.gradient < 1e-7


@pytest.mark.parametrize("share_missing", [0.0, 0.2])
def test_information_of_a_curve_steeper_than_posteriors_are_narrow(share_missing):
    rng = np.random.default_rng(21)
    codes = (rng.normal(size=(400, 1)) + rng.normal(size=(400, 6)) > 0.0).astype(np.int64)
    codes[rng.random(codes.shape) < share_missing] = -1
    parameters = np.tile([1.5, 0.0, -1.4], (6, 1))
    parameters[0] = 20.0, -48.0, -0.9
    problem = Problem(
        Dichotomous("3pl", "logit"), patterns_of(codes, 2), np.zeros(3), np.array([0, 0, 2.0])
    )
    grid = grid_for(problem.family, parameters)
    point = at(problem, parameters, grid)
    pieces = parts(problem, parameters, grid, point.state.counts, point.observed)
    information = -pieces.missing
    for j in range(6):
        own = slice(3 * j, 3 * j + 3)
        information[own, own] += point.observed[j]
    step = 1e-5 * np.eye(18).reshape(18, 6, 3)
    differences = [
        (at(problem, parameters - h, grid).gradient - at(problem, parameters + h, grid).gradient)
        / 2e-5
        for h in step
    ]
    expected = np.reshape(differences, (18, 18))
    np.testing.assert_allclose(information, expected, atol=2e-6, rtol=1e-6)


def test_guessing_without_priors_converges_where_answers_are_missing():
    rng = np.random.default_rng(7)
    slope, intercept = rng.lognormal(0.0, 0.5, 20), rng.normal(0.0, 1.7, 20)
    chance = 0.2 + 0.8 / (1 + np.exp(-slope * rng.normal(size=(400, 1)) - intercept))
    answers = (rng.random(chance.shape) < chance).astype(float)
    answers[rng.random(chance.shape) < 0.2] = np.nan
    fit = fit_irt(answers, model="3pl", priors=None)
    assert fit.convergence.converged
    assert Reason.UNIDENTIFIED in fit.reasons


def lapsing(questions, seed, lapse=0.0):
    """Return answers of 19 models with yes rates from 1 to 99 % and one shared factor."""
    rng = np.random.default_rng(seed)
    signal, own = rng.normal(size=questions), rng.normal(size=(19, questions))
    yes = 0.9 * signal + np.sqrt(1 - 0.81) * own > -ndtri(np.linspace(0.01, 0.99, 19))[:, None]
    coin = rng.random(yes.shape) < 0.5
    return np.where(rng.random(yes.shape) < lapse, coin, yes)


@pytest.mark.parametrize("model", ["2pl", "3pl", "graded"])
def test_moments_where_squared_probabilities_underflow(model):
    family = family_of(model, "probit", 2)
    parameters = np.tile([25.0, 60.0, -5.0][: len(family.names)], (2, 1))
    parameters[1, :2] *= -1.0
    nodes = np.linspace(-6.5, 6.5, 101)
    counts = np.exp(family.log_probabilities(parameters, nodes))
    gradient, observed, expected = family.moments(parameters, nodes, counts)
    np.testing.assert_allclose(gradient, 0.0, atol=1e-9)
    np.testing.assert_allclose(observed, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("questions", "seed"), [(500, 0), (500, 1), (2000, 2)])
def test_normal_ogives_with_lapses_where_yes_is_rare(questions, seed):
    answers = lapsing(questions, seed, lapse=0.01)
    priors = Priors(slope=(2.0, 1.5), guessing=(-5.0, 1.5), upper=(5.0, 1.5))
    fit = fit_irt(answers, model="4pl", link="probit", respondents="questions", priors=priors)
    assert fit.convergence.converged
    assert np.isfinite([fit.slope, fit.se_slope, fit.guessing, fit.se_upper]).all()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("model", ["2pl", "4pl"])
def test_rare_answers_leave_no_slope_without_an_estimate(model, seed):
    answers = lapsing(500, seed)
    fit = fit_irt(answers, model=model, link="probit", respondents="questions")
    varies = answers.any(axis=1) & ~answers.all(axis=1)
    assert fit.convergence.converged
    assert np.isfinite([fit.slope, fit.intercept, fit.se_slope, fit.se_intercept])[:, varies].all()


def test_a_wide_prior_is_for_items_with_rare_answers_alone():
    often = lapsing(500, 0)[4:15]
    assert fit_irt(often, link="probit", respondents="questions").priors == NO_PRIORS
    rare = np.vstack([often, np.arange(500) < 5])
    one = fit_irt(rare, link="probit", respondents="questions", priors=None)
    other = fit_irt(rare, link="probit", respondents="questions")
    assert "slope" in str(other.priors)
    gap = (other.slope - one.slope) / one.se_slope
    assert np.abs(gap[:-1]).max() < 0.1


@pytest.mark.parametrize("seed", [1, 8, 11, 12])
def test_a_climb_ends_where_a_slope_has_no_finite_maximum(seed):
    answers = lapsing(500, seed)
    fit = fit_irt(answers, link="probit", respondents="questions", priors=None)
    assert fit.convergence.converged
    for slope, reason in zip(fit.slope, fit.reasons, strict=True):
        assert np.isfinite(slope) == (reason is Reason.NONE)
