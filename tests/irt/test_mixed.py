"""Items with answers of their own, and of several models, in one fit."""

import numpy as np
import pytest
from scipy.special import expit, logsumexp

from psychollm import load
from psychollm._base.errors import CodeError, LabelError, OptionError, ShapeError
from psychollm.data.responses import Responses
from psychollm.estimates.reasons import Reason
from psychollm.irt.ability import ability
from psychollm.irt.adaptive import adaptive_test
from psychollm.irt.families import Dichotomous
from psychollm.irt.fit import fit_irt
from psychollm.irt.fit_statistics.item_fit import item_fit
from psychollm.irt.fit_statistics.local_dependence import local_dependence
from psychollm.irt.fit_statistics.model_fit import model_fit
from psychollm.irt.fit_statistics.person_fit import person_fit
from psychollm.irt.groups.differential import differential_items
from psychollm.irt.groups.fit import fit_irt_groups
from psychollm.irt.information import information
from psychollm.irt.linking import link_scales
from psychollm.irt.models import codes_of, family_of_items, models_of_items
from psychollm.irt.priors import Priors
from psychollm.irt.replicated.bootstrap import bootstrap_fit
from psychollm.irt.screen import item_screen
from psychollm.irt.short_form import short_form
from psychollm.irt.thresholds import thresholds
from tests.oracles import irt_slow

STEPS = ([1.0, -1.0], [0.5, -1.0], [1.5, 0.0, -1.5], [1.0, 0.0, -1.0], [0.3])
MIXED = ["graded", "gpcm", "nominal", "graded", "3pl"]
PRIORS = Priors(slope=(1.0, 1.0), intercept=(0.0, 2.0), guessing=(-1.4, 0.7))


def sample(n, seed, slopes=1.4, steps=STEPS):
    """Answers by the graded model to items of 3, 3, 4, 4 and 2 answers."""
    rng = np.random.default_rng(seed)
    z = slopes * rng.normal(size=n)
    return np.stack(
        [(z[:, None] + rng.logistic(size=(n, 1)) > -np.array(s)).sum(1) for s in steps], 1
    )


@pytest.fixture(scope="module")
def answers():
    return sample(500, 1)


NODES = np.linspace(-6.5, 6.5, 66)
LOG_WEIGHTS = -0.5 * NODES**2 - logsumexp(-0.5 * NODES**2)


def log_curves(model, codes, item, theta=NODES):
    """Log-probabilities of an item's answers (C, Q), in the order of its codes, by definition."""
    a, d = item[0], np.asarray(item[1:])[:, None]
    if model == "3pl":
        p = expit(item[2]) + (1 - expit(item[2])) * expit(a * theta + item[1])
        return np.log([1 - p, p])
    edge = np.zeros((1, theta.size))
    if model == "graded":
        above = np.concatenate([edge + 1.0, expit(a * theta + d), edge])
        return np.log(above[:-1] - above[1:])
    steps = len(codes) - 1
    slopes = item[:steps] if model == "nominal" else a * np.subtract(codes[1:], codes[0])
    eta = np.concatenate([edge, np.multiply.outer(slopes, theta) + d[-steps:]])
    return eta - logsumexp(eta, axis=0)


def log_likelihood(table, items, models, codes):
    """Marginal log-likelihood, one item at a time."""
    joint = np.tile(LOG_WEIGHTS, (len(table), 1))
    for column, *kind in zip(table.T, models, codes, items, strict=True):
        curves, seen = log_curves(*kind), ~np.isnan(column)
        joint[seen] += curves[[kind[1].index(x) for x in column[seen]]]
    return logsumexp(joint, axis=1).sum()


def own_parameters(fit):
    """Return the parameters that each item has, one vector after the other."""
    return [row[np.isfinite(row)] for row in fit.parameters]


@pytest.mark.parametrize("models", ["graded", "gpcm", "nominal", MIXED])
@pytest.mark.parametrize("gaps", [False, True])
def test_twin(models, gaps, answers):
    table = answers[:70].astype(float)
    table[:, 3] = np.where(table[:, 3] == 1, 2, table[:, 3])  # an answer between never given
    if gaps:
        table[np.random.default_rng(2).random(table.shape) < 0.2] = np.nan
    fit = fit_irt(table, model=models, priors=PRIORS)
    assert fit.convergence.converged
    named = [models] * 5 if isinstance(models, str) else models
    codes = [(0, 1, 2), (0, 1, 2), (0, 1, 2, 3), (0, 2, 3), (0, 1)]
    own = own_parameters(fit)
    ends = np.cumsum([row.size for row in own])[:-1]
    means, precisions = [], []
    for model, row in zip(named, own, strict=True):
        k = row.size // 2 if model == "nominal" else 1
        rest = [(-1.4, 0.7)] if model == "3pl" else []
        normal = [(1.0, 1.0)] * k + [(0.0, 2.0)] * (row.size - k - len(rest)) + rest
        means += [m for m, _ in normal]
        precisions += [s**-2 for _, s in normal]

    def objective(flat):
        value = log_likelihood(table, np.split(flat, ends), named, codes)
        return value - 0.5 * float(precisions @ (flat - means) ** 2)

    flat = np.concatenate(own)
    assert fit.n_parameters == flat.size
    np.testing.assert_allclose(fit.convergence.objective, objective(flat), atol=1e-6)
    assert np.abs(irt_slow.numeric_gradient(objective, flat)).max() < 1e-4
    if models == MIXED and not gaps:
        inverse = np.linalg.inv(irt_slow.numeric_information(objective, flat, 1e-3))
        variances = np.einsum("jpp->jp", fit.covariance)
        ours = variances[np.isfinite(fit.parameters)]
        np.testing.assert_allclose(ours, np.diagonal(inverse), rtol=4e-3)


def test_every_item_keeps_its_own_answers(answers):
    fit = fit_irt(answers, model="graded")
    assert fit.fitted.all()
    assert not any(fit.reasons)
    assert fit.n_parameters == 3 + 3 + 4 + 4 + 2
    assert np.isnan(fit.steps[[0, 1], 2]).all()
    assert np.isnan(fit.steps[4, 1:]).all()
    truth = np.array([s + [np.nan] * (3 - len(s)) for s in STEPS])
    known = np.isfinite(truth)
    assert (np.abs(fit.slope - 1.4) < 4 * fit.se_slope).all()
    assert (np.abs(fit.steps - truth)[known] < 4 * fit.se_steps[known]).all()
    assert fit.family.ordered


def test_codes_may_begin_above_zero(answers):
    """What codes are called does not matter to the order of answers."""
    for model in ("graded", "gpcm", "nominal"):
        zero, one = fit_irt(answers, model=model), fit_irt(answers + 1, model=model)
        np.testing.assert_allclose(one.parameters, zero.parameters, atol=1e-8)
        np.testing.assert_allclose(one.steps[:, 1:], zero.steps, atol=1e-8)
        assert np.isnan(one.steps[:, 0]).all()
        np.testing.assert_allclose(information(one).item, information(zero).item, atol=1e-8)
        np.testing.assert_allclose(
            information(one).probability, information(zero).probability, atol=1e-8
        )


def test_an_answer_between_that_nobody_gave(answers):
    table = answers.copy()
    table[:, 3] = np.where(table[:, 3] == 1, 2, table[:, 3])
    graded, gpcm = fit_irt(table, model="graded"), fit_irt(table, model="gpcm")
    assert graded.reasons[3] is gpcm.reasons[3] is Reason.UNUSED_ANSWER
    merged = table.copy()
    merged[:, 3] = np.where(table[:, 3] > 1, table[:, 3] - 1, 0)
    # steps between answers say the same whether or not one between them has a name
    closed = fit_irt(merged, model="graded")
    np.testing.assert_allclose(graded.log_likelihood, closed.log_likelihood, atol=1e-8)
    np.testing.assert_allclose(graded.steps[3], [np.nan, *closed.steps[3, :2]], atol=1e-7)
    # partial credit counts the distance that codes have
    assert abs(gpcm.log_likelihood - fit_irt(merged, model="gpcm").log_likelihood) > 1e-3


def test_one_model_for_each_item(answers):
    names = [f"q{j}" for j in range(5)]
    table = Responses(answers, questions=names)
    one = fit_irt(table, model=dict(zip(names, MIXED, strict=True)))
    two = fit_irt(table, model=MIXED)
    assert (one.model, one.item_models) == ("mixed", tuple(MIXED))
    np.testing.assert_array_equal(one.parameters, two.parameters)
    same = fit_irt(table, model=["graded"] * 5)
    assert same.model == "graded"
    assert list(one.to_frame()["model"]) == MIXED
    assert np.isfinite(one.to_frame()["guessing"]).all()
    assert "MIXED" in one.summary()


def test_yes_or_no_items_of_two_models(simulated):
    """Where the data are yes or no, items of two models stand beside each other too."""
    table = simulated(3000, np.full(6, 1.5), np.linspace(-1, 1, 6), 3, guessing=0.2)
    mixed = fit_irt(table, model=["3pl"] * 3 + ["2pl"] * 3)
    assert np.isfinite(mixed.se_guessing[:3]).all()
    assert (mixed.guessing[3:] == 0.0).all()
    assert mixed.n_parameters == 15
    small, large = fit_irt(table, priors=None), fit_irt(table, model="3pl")
    assert small.log_likelihood < mixed.log_likelihood < large.log_likelihood


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (["graded"] * 4, ShapeError, "4 entries for 5 items"),
        ({0: "graded"}, LabelError, "leaves out 1"),
        (dict.fromkeys(range(6), "graded"), LabelError, "names 5, which"),
        (["graded", "graded", "graded", "rasch", "2pl"], OptionError, "one slope for all items"),
        (["graded"] * 4 + ["5pl"], OptionError, "5pl"),
        (["2pl"] + ["graded"] * 4, CodeError, "0 has code 2, but model='2pl'"),
        (["gpcm"] * 5, OptionError, "log-linear"),
    ],
)
def test_models_that_do_not_fit_the_table(model, error, message, answers):
    with pytest.raises(error, match=message):
        fit_irt(answers, model=model, link="probit" if message == "log-linear" else "logit")


@pytest.fixture(scope="module", params=["graded", "gpcm", "nominal", MIXED], ids=str)
def fit(request, answers):
    return fit_irt(answers, model=request.param)


def test_abilities(fit, answers):
    codes = [(0, 1, 2), (0, 1, 2), (0, 1, 2, 3), (0, 1, 2, 3), (0, 1)]
    own = list(zip(fit.item_models, codes, own_parameters(fit), strict=True))
    logs = [log_curves(*item) for item in own]
    for row in (3, 77):
        joint = LOG_WEIGHTS + sum(curve[x] for curve, x in zip(logs, answers[row], strict=True))
        posterior = np.exp(joint - logsumexp(joint))
        mean = posterior @ NODES
        found = ability(fit, answers[row : row + 1])
        np.testing.assert_allclose(found.ability[0], mean, atol=1e-7)
        spread = np.sqrt(posterior @ (NODES - mean) ** 2)
        np.testing.assert_allclose(found.se[0], spread, atol=1e-7)
    fine = np.linspace(-5.0, 5.0, 20_001)
    total = sum(log_curves(*item, fine)[x] for item, x in zip(own, answers[5], strict=True))
    best = fine[np.argmax(total - 0.5 * fine**2)]
    np.testing.assert_allclose(ability(fit, answers[5:6], method="map").ability, best, atol=5e-4)
    warm = ability(fit, answers, method="wle")
    assert np.isfinite(warm.ability).all()


def test_information(fit):
    step, codes = 1e-5, [(0, 1, 2), (0, 1, 2), (0, 1, 2, 3), (0, 1, 2, 3), (0, 1)]
    at = np.array([-1.3, 0.2, 2.1])
    found = information(fit, abilities=at)
    for j, kind in enumerate(zip(fit.item_models, codes, own_parameters(fit), strict=True)):
        p = np.exp(log_curves(*kind, at))
        slope = (np.exp(log_curves(*kind, at + step)) - np.exp(log_curves(*kind, at - step))) / (
            2.0 * step
        )
        np.testing.assert_allclose(found.item[j], (slope**2 / p).sum(axis=0), rtol=1e-6)
        top = len(codes[j]) - 1
        np.testing.assert_allclose(found.probability[j], np.arange(top + 1) @ p / top, rtol=1e-9)


def test_fit_statistics(fit, answers):
    items = item_fit(fit, answers)
    assert np.isfinite([items.s_x2, items.p_value, items.infit, items.zh]).all()
    assert (items.p_value > 1e-4).all()
    assert np.abs(items.infit - 1.0).max() < 0.3
    assert np.isfinite(person_fit(fit, answers).zh).all()
    answered = np.array([2, 2, 3, 3, 1])  # answers but the lowest
    pairs = local_dependence(fit, answers)
    upper = np.triu_indices(5, 1)
    np.testing.assert_array_equal(pairs.df[upper], np.outer(answered, answered)[upper])
    assert np.abs(pairs.signed[upper]).max() < 0.3
    assert model_fit(fit, answers, statistic="m2").df == (
        answered.sum() + np.outer(answered, answered)[upper].sum() - fit.n_parameters
    )
    whole = model_fit(fit, answers, statistic="m2")
    assert whole.p_value > 1e-3
    assert whole.srmsr < 0.06
    assert whole.cfi > 0.95


def test_m2_of_answers_recoded(answers):
    """M2 compares shares of answers: what they are called, or which is first, changes nothing."""
    fit = fit_irt(answers, model="graded", priors=None)
    two = fit_irt(answers + 1, model="graded", priors=None)
    for statistic in ("m2", "c2"):
        one = model_fit(fit, answers, statistic=statistic)
        other = model_fit(two, answers + 1, statistic=statistic)
        np.testing.assert_allclose([other.m2, other.cfi], [one.m2, one.cfi], rtol=1e-7)
        assert other.df == one.df
    np.testing.assert_allclose(
        item_fit(two, answers + 1).s_x2, item_fit(fit, answers).s_x2, rtol=1e-7
    )


def test_thresholds_have_even_odds(fit):
    found = thresholds(fit)
    codes = [(0, 1, 2), (0, 1, 2), (0, 1, 2, 3), (0, 1, 2, 3), (0, 1)]
    for j, kind in enumerate(zip(fit.item_models, codes, own_parameters(fit), strict=True)):
        if kind[0] == "nominal":
            assert np.isnan(found.threshold[j]).all()
            assert found.reasons[j] is Reason.NO_EVEN_ODDS
            continue
        for c in codes[j][1:]:
            p = np.exp(log_curves(*kind, found.threshold[j, c - 1 : c]))
            np.testing.assert_allclose(p[c:].sum(), 0.5, atol=1e-8)
            assert found.se[j, c - 1] > 0.0


def test_saved_and_read_again(fit, answers, tmp_path):
    again = load(fit.save(tmp_path / "fit.psychollm"))
    np.testing.assert_array_equal(again.parameters, fit.parameters)
    np.testing.assert_array_equal(ability(again, answers).ability, ability(fit, answers).ability)


def test_linking_undoes_a_known_move(fit, answers):
    two = fit_irt(answers, model=fit.item_models)
    object.__setattr__(two, "parameters", fit.family.rescaled(fit.parameters, 0.4, 1.3))
    found = link_scales(fit, two, method="haebara")
    np.testing.assert_allclose([found.scale, found.shift], [1.3, 0.4], atol=1e-6)
    assert found.rmsd < 1e-6


def test_items_with_other_answers_do_not_link(answers):
    table = answers.copy()
    table[:, 2] = np.minimum(table[:, 2], 2)
    found = link_scales(fit_irt(answers, model="graded"), fit_irt(table, model="graded"))
    assert found.labels == (0, 1, 3, 4)


def test_screen_and_adaptive(fit, answers):
    found = item_screen(fit, answers)
    assert not (found.dead | found.miskeyed | found.empty).any()
    np.testing.assert_allclose(found.yes_rate, answers.mean(axis=0) / [2, 2, 3, 3, 1])
    run = adaptive_test(fit, max_items=5, n=400, rng=1)
    assert run.rmse < 0.75
    assert run.exposure.sum() == 5.0


def test_drawn_answers_are_those_of_the_item(answers):
    table = answers.copy()
    table[:, 3] = np.where(table[:, 3] == 1, 2, table[:, 3])
    fit = fit_irt(table, model="gpcm")
    null = bootstrap_fit(fit, table, statistic="s_x2", n_null=5, rng=1)
    assert np.isfinite(null.draws).all()

    def gaps(_, replicate):
        return float((replicate.codes[:, 3] == 1).sum() + (replicate.codes[:, 4] > 1).sum())

    assert (bootstrap_fit(fit, table, statistic=gaps, n_null=5, rng=1).draws == 0.0).all()


def test_short_form_of_items_with_different_answers():
    table = np.column_stack([sample(80, seed) for seed in range(4)])
    theta = np.random.default_rng(9).normal(size=(80, 1))
    noise = np.random.default_rng(8).logistic(size=(80, 20, 1))
    steps = np.array([(s + [-np.inf] * 3)[:3] for s in STEPS * 4])
    table = (1.4 * theta[:, :, None] + noise > -steps).sum(axis=2)
    found = short_form(table, 8, n_folds=4)
    np.testing.assert_allclose(found.full, (table / np.tile([2, 2, 3, 3, 1], 4)).mean(axis=1))
    assert found.rank_correlation > 0.8
    assert found.rmse < 0.1


@pytest.mark.parametrize("models", ["graded", "gpcm", MIXED])
def test_groups(models, answers):
    """With two groups from one population nothing but the split changes."""
    pooled = fit_irt(answers, model=models)
    both = fit_irt_groups(answers, np.arange(500) % 2, model=models)
    assert both.convergence.converged
    assert both.n_parameters == pooled.n_parameters + 2
    assert np.nanmax(np.abs(both.steps[0] - pooled.steps)) < 0.25
    assert abs(both.ability_mean[1]) < 4 * both.se_ability_mean[1]
    assert both.rmsd.max() < 0.12
    assert both.to_frame().shape[0] == 10


def test_group_gradient_is_that_of_the_likelihood(answers):
    """Steepness at the solution is zero, and no step of any parameter climbs."""
    from psychollm.irt.groups.population import height
    from psychollm.irt.groups.reading import read_groups

    options = {"link": "logit", "respondents": "models", "priors": PRIORS}
    read = read_groups(answers, np.arange(500) % 2, model=MIXED, **options)
    problem = read.model(np.array([True, False, False, False, True]))
    x = read.start(problem.places)
    x += np.random.default_rng(1).normal(scale=0.05, size=x.size)
    grids = problem.grids(x)
    ours = height(problem, x, grids).gradient
    numeric = irt_slow.numeric_gradient(lambda y: height(problem, y, grids).objective, x)
    free = np.ones(x.size, dtype=bool)
    free[np.unique(problem.places.items[:, problem.absent])] = False
    np.testing.assert_allclose(ours[free], numeric[free], atol=1e-5)
    assert (ours[~free] == 0.0).all()


def test_differential_items(answers):
    group = np.arange(500) % 2
    table = answers.copy()
    moved = (group == 1) & (np.random.default_rng(4).random(500) < 0.6)
    table[moved, 2] = np.minimum(table[moved, 2] + 1, 3)
    for method in ("lr", "wald"):
        found = differential_items(table, group, model="graded", method=method)
        np.testing.assert_array_equal(found.df, [3, 3, 4, 4, 2])
        assert found.flagged.tolist() == [False, False, True, False, False]


def test_wright_map_has_a_point_for_each_step(fit, answers):
    from matplotlib.figure import Figure

    from psychollm.plots.person_item_map import plot_wright_map

    ax = plot_wright_map(fit, ability(fit, answers), ax=Figure().subplots())
    words = [text.get_text() for text in ax.texts]
    assert ("3 >= 3" in words) == (fit.item_models[3] != "nominal")
    assert "0 >= 3" not in words
    assert "4" in words


def test_without_priors_slopes_of_several_models_are_positive_on_the_whole(answers):
    fit = fit_irt(answers, model=["graded", "gpcm", "graded", "graded", "2pl"], priors=None)
    assert fit.convergence.converged
    assert fit.slope.sum() > 0.0
    mirrored = np.column_stack([np.nanmax(answers, axis=0) - answers])
    turned = fit_irt(mirrored, model=["graded", "gpcm", "graded", "graded", "2pl"], priors=None)
    np.testing.assert_allclose(turned.slope, fit.slope, atol=1e-6)


def test_models_and_codes_of_items():
    assert models_of_items({"a": "2pl", "b": "graded"}, ("b", "a")) == ("graded", "2pl")
    assert codes_of(np.array([[True, False, True]])) == [(0, 2)]


def test_family_of_items():
    mixed = family_of_items(["2pl", "graded"], "logit", [(0, 1), (0, 1, 2)], 3)
    assert mixed.absent.tolist() == [[False, False, True], [False, False, False]]
    alike = family_of_items(["2pl", "2pl"], "logit", [(0, 1), (0, 1)], 2)
    assert alike == Dichotomous("2pl", "logit")
