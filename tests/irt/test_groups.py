"""Models of several groups: twins, derivatives, bad input."""

import numpy as np
import pandas as pd
import pytest

from psychollm._base.errors import (
    ConvergenceWarning,
    LabelError,
    OptionError,
    ShapeError,
    ValidityWarning,
)
from psychollm.irt.answers import patterns_of
from psychollm.irt.climb import Steps
from psychollm.irt.groups.differential import differential_items
from psychollm.irt.groups.fit import fit_irt_groups, inverse_information
from psychollm.irt.groups.population import (
    Groups,
    SeveralGrids,
    height,
    information,
    maximise,
    places_of,
)
from psychollm.irt.likelihood import Problem
from psychollm.irt.models import family_of
from psychollm.irt.priors import Priors
from tests.oracles import irt_groups_slow as slow

ITEMS = list("abcdefgh")


def simulated(n=400, seed=0, dif=0.0, answers=2, groups="xy"):
    """Draw answers of n respondents a group; item d is harder by `dif` in all but the first."""
    rng = np.random.default_rng(seed)
    group = np.repeat(list(groups), n)
    place = np.repeat(np.arange(len(groups)), n)
    ability = rng.normal(size=group.size) * (1 + 0.2 * place) + 0.4 * place
    z = np.linspace(0.9, 1.6, 8) * (ability[:, None] - np.linspace(-1.2, 1.2, 8))
    z[:, 3] -= 1.2 * dif * (place > 0)
    latent = z + rng.logistic(size=z.shape)
    codes = np.digitize(latent, np.arange(answers - 1) * 1.2)
    return pd.DataFrame(codes, columns=ITEMS), group


@pytest.mark.parametrize(
    ("model", "answers"),
    [("2pl", 2), ("rasch", 2), ("3pl", 2), ("graded", 3), ("gpcm", 3), ("nominal", 3)],
)
def test_derivatives(model, answers):
    data, group = simulated(60, answers=answers)
    codes = data.to_numpy()[:, :4].astype(np.int64)
    family = family_of(model, "logit", answers)
    p = len(family.names)
    zero = np.zeros(p)
    problem = Groups(
        problems=tuple(
            Problem(family, patterns_of(codes[group == g], answers), zero, zero) for g in "xy"
        ),
        places=places_of(
            np.array([False, True, False, False]), np.ones((2, 4), bool), p, tied=family.tied
        ),
        prior_means=np.full(p, 0.2),
        prior_precisions=np.full(p, 0.5),
    )
    x = np.zeros(problem.places.size)
    x[problem.places.items] = family.start(np.full((4, answers), 1 / answers), np.ones(4))
    x += np.random.default_rng(1).uniform(-0.1, 0.1, x.size)
    grids = problem.grids(x)
    at = height(problem, x, grids)
    steps = [1e-5 * row for row in np.eye(x.size)]
    ends = [(height(problem, x + h, grids), height(problem, x - h, grids)) for h in steps]
    slopes = [(up.objective - down.objective) / 2e-5 for up, down in ends]
    bends = np.array([(down.gradient - up.gradient) / 2e-5 for up, down in ends])
    np.testing.assert_allclose(at.gradient, slopes, atol=1e-6)
    np.testing.assert_allclose(information(problem, at, grids), bends, atol=1e-6)


def test_the_climb_goes_up_where_the_information_is_not_positive_definite():
    data, group = simulated(300)
    codes = data.to_numpy()[:, :4].astype(np.int64)
    family, zero = family_of("2pl", "logit", 2), np.zeros(2)
    problem = Groups(
        problems=tuple(
            Problem(family, patterns_of(codes[group == g], 2), zero, zero) for g in "xy"
        ),
        places=places_of(np.zeros(4, bool), np.ones((2, 4), bool), 2, tied=False),
        prior_means=zero,
        prior_precisions=zero,
    )
    near, far = np.zeros((2, problem.places.size))
    near[problem.places.items] = [1.0, 0.0]
    far[problem.places.items] = [0.3, 3.0]
    on = SeveralGrids(problem, problem.grids(far))
    point = height(problem, far, on.grids)
    assert np.linalg.eigvalsh(information(problem, point, on.grids)).min() < 0.0
    assert on.newton(point, on.matrix(point)).objective > point.objective
    assert on.em(point, Steps(5)).objective > point.objective
    top, other = maximise(problem, near), maximise(problem, far)
    assert other.convergence.converged
    np.testing.assert_allclose(other.at.x, top.at.x, atol=1e-6)
    far[problem.places.items[:, :, 0]] = 25.0
    beyond = height(problem, far, on.grids)
    assert on.matrix(beyond) is on.em(beyond, Steps(5)) is None


@pytest.mark.parametrize(("model", "answers"), [("2pl", 2), ("graded", 3)])
def test_twin(model, answers):
    data, group = simulated(150, 1, answers=answers)
    gaps = np.random.default_rng(2).random(data.shape) < 0.1
    data = data.astype(float).mask(gaps)
    fit = fit_irt_groups(data, group, model=model, free=["d"], priors=None)
    assert fit.convergence.converged
    items = np.concatenate([fit.slope[:, :, None], fit.steps], axis=2)
    tables = [data[group == g].fillna(-1).to_numpy() for g in "xy"]

    def value(items, means, sds):
        return slow.log_likelihood(tables, items, means, sds, model)

    best = value(items, fit.ability_mean, fit.ability_sd)
    assert fit.log_likelihood == pytest.approx(best, abs=1e-7)
    for move in (0.02, -0.02):
        common = items.copy()
        common[:, 0, 0] += move
        own = items.copy()
        own[1, 3, 1] += move
        assert value(common, fit.ability_mean, fit.ability_sd) < best
        assert value(own, fit.ability_mean, fit.ability_sd) < best
        assert value(items, fit.ability_mean + np.array([0, move]), fit.ability_sd) < best
        assert value(items, fit.ability_mean, fit.ability_sd + np.array([0, move])) < best
    for g in range(2):
        found = slow.rmsd(tables[g], items[g], fit.ability_mean[g], fit.ability_sd[g], model)
        np.testing.assert_allclose([fit.rmsd[g], fit.md[g]], found, atol=1e-8)


def test_the_other_group_as_reference():
    data, group = simulated(300, 3)
    fit = fit_irt_groups(data, group, priors=None)
    other = fit_irt_groups(data[::-1], group[::-1], priors=None)
    assert other.groups == ("y", "x")
    assert other.log_likelihood == pytest.approx(fit.log_likelihood, abs=1e-8)
    sd = fit.ability_sd[1]
    assert other.ability_sd[1] == pytest.approx(1 / sd, rel=1e-6)
    assert other.ability_mean[1] == pytest.approx(-fit.ability_mean[1] / sd, rel=1e-5)
    np.testing.assert_allclose(other.slope[0], sd * fit.slope[0], rtol=1e-5)


def test_errors_of_estimates():
    """Standard errors match the spread of 60 data sets (false alarms below 1 in 1,000)."""
    found, errors = [], []
    for seed in range(60):
        data, group = simulated(150, 100 + seed)
        fit = fit_irt_groups(data, group, priors=None)
        found.append([fit.ability_mean[1], np.log(fit.ability_sd[1]), fit.difficulty[0, 4]])
        sd_error = fit.se_ability_sd[1] / fit.ability_sd[1]
        errors.append([fit.se_ability_mean[1], sd_error, fit.se_difficulty[0, 4]])
    ratio = np.std(found, axis=0) / np.mean(errors, axis=0)
    assert ((ratio > 0.72) & (ratio < 1.32)).all()


def test_rasch_scale():
    data, group = simulated(400, 4)
    fit = fit_irt_groups(data, group, model="rasch")
    one = fit_irt_groups(data, group, model="1pl")
    assert one.log_likelihood == pytest.approx(fit.log_likelihood, abs=1e-7)
    slope = one.slope[0, 0]
    np.testing.assert_allclose(fit.ability_mean, slope * one.ability_mean, atol=1e-7)
    np.testing.assert_allclose(fit.ability_sd, slope * one.ability_sd, atol=1e-7)
    assert np.isfinite(fit.se_ability_sd).all()
    assert fit.se_ability_sd[0] == pytest.approx(one.se_slope[0, 0], rel=1e-6)


def test_questions_as_respondents_and_priors():
    data, group = simulated(100, 10, dif=1.0)
    one = fit_irt_groups(data, group)
    turned = fit_irt_groups(data.T, group, respondents="questions")
    assert turned.log_likelihood == pytest.approx(one.log_likelihood, abs=1e-9)
    assert "slope ~" in str(one.priors)
    held = differential_items(data, group, priors=Priors(slope=(1.0, 0.3), intercept=(0.0, 1.0)))
    loose = differential_items(data, group)
    assert held.statistic[3] < loose.statistic[3]


@pytest.mark.parametrize(
    ("groups", "options", "error", "message"),
    [
        (["x"] * 40, {}, LabelError, "one label only"),
        (["x"] * 39, {}, ShapeError, "holds 39 labels for 40 models"),
        (["x"] * 39 + ["y"], {}, ShapeError, "'y' have fewer than 2 models"),
        (None, {"free": ["q"]}, LabelError, "free names 'q'"),
        (None, {"free": ITEMS}, ShapeError, "at least one must be common"),
        (None, {"model": "5pl"}, OptionError, "model='5pl'"),
    ],
)
def test_bad_fit(groups, options, error, message):
    data, own = simulated(20, 12)
    with pytest.raises(error, match=message):
        fit_irt_groups(data, own if groups is None else groups, **options)


def test_groups_without_common_items():
    data, group = simulated(60, 14)
    data = data.astype(float)
    data.loc[group == "x", ITEMS[:4]] = np.nan
    data.loc[group == "y", ITEMS[4:]] = np.nan
    with (
        pytest.raises(ShapeError, match="'y' share no item with 'x'"),
        pytest.warns(ValidityWarning, match="2 sets without a common question"),
    ):
        fit_irt_groups(data, group)


def test_a_limit_of_steps_is_kept_and_said(simulated):
    answers = simulated(200, np.linspace(0.8, 1.5, 6), np.linspace(-1, 1, 6), 3)
    group = np.repeat(["a", "b"], 100)
    with pytest.warns(ConvergenceWarning, match="max_iterations=2 was reached"):
        fit = fit_irt_groups(answers, group, max_iterations=2)
    assert fit.convergence.iterations == 2
    assert fit_irt_groups(answers, group).convergence.converged


def test_inverse_information():
    np.testing.assert_allclose(inverse_information(np.diag([4.0, 2.0])), np.diag([0.25, 0.5]))


def test_few_respondents_are_on_the_scale_of_the_first_group_at_hand():
    rng = np.random.default_rng(5)
    group = np.arange(40) >= 20
    ability = rng.normal(size=40)
    ability = np.where(group, 0.5 + 1.2 * ability, ability)
    slope, difficulty = rng.lognormal(0.0, 0.35, 150), rng.normal(size=150)
    z = slope * (ability[:, None] - difficulty)
    answers = (rng.random(z.shape) < 1.0 / (1.0 + np.exp(-z))).astype(float)
    fit = fit_irt_groups(answers, group)
    first, second = ability[:20], ability[20:]
    assert fit.scale == "respondents"
    assert fit.convergence.converged
    expected = (second.mean() - first.mean()) / first.std()
    assert fit.ability_mean[1] == pytest.approx(expected, abs=0.15)
    assert fit.ability_sd[1] == pytest.approx(second.std() / first.std(), rel=0.15)
    # two samples of 20: standard error of a difference of means of about a third
    assert 0.25 < fit.se_ability_mean[1] < 0.6
    true = slope * first.std()
    assert 0.85 < np.median(fit.slope[0] / true) < 1.15
    assert np.mean(np.abs(fit.slope[0] - true) < 1.96 * fit.se_slope[0]) > 0.86
    own = fit_irt_groups(answers, group, free=[3, 4])
    assert own.slope[0, 3] != own.slope[1, 3]
    assert own.slope[0, 5] == own.slope[1, 5]
    assert np.isfinite(own.se_slope).all()
    fixed = fit_irt_groups(answers, group, priors=Priors(slope=(1.0, 0.75)))
    assert fixed.scale == "population"


def test_both_steps_of_three_answers_stand_in_the_table():
    answers = np.random.default_rng(0).integers(0, 3, (80, 4))
    fit = fit_irt_groups(answers, np.arange(80) % 2, model="graded", respondents="models")
    assert [name for name in fit.to_frame() if name.startswith("step_")] == ["step_1", "step_2"]
