"""Covariances of the parameters of all items, against numerical derivatives."""

import numpy as np
import pytest

from psychollm._base.errors import OptionError, ShapeError
from psychollm.irt.answers import patterns_of
from psychollm.irt.climb import at
from psychollm.irt.fit import fit_irt
from psychollm.irt.joint import joint_covariance
from psychollm.irt.likelihood import Problem, grid_for
from psychollm.irt.priors import Priors


@pytest.mark.parametrize("priors", [None, Priors(slope=(1.0, 0.5))])
def test_it_is_the_inverse_of_numerical_second_derivatives(simulated, priors):
    answers = simulated(500, np.array([0.8, 1.2, 1.5, 1.0]), np.linspace(-1, 1, 4), 3)
    fit = fit_irt(answers, priors=priors)
    found = joint_covariance(fit, answers)
    family = fit.family
    problem = Problem(
        family, patterns_of(answers.astype(np.int64), 2), *family.prior_arrays(fit.priors)
    )
    grid, x, step = grid_for(family, fit.parameters), fit.parameters.ravel(), 1e-3

    def height(values):
        return at(problem, values.reshape(-1, 2), grid).state.objective

    def second(i, j):
        moves = np.eye(x.size)[[i, j]] * step
        return sum(
            one * other * height(x + one * moves[0] + other * moves[1])
            for one in (1, -1)
            for other in (1, -1)
        ) / (4 * step**2)

    hessian = np.array([[second(i, j) for j in range(x.size)] for i in range(x.size)])
    np.testing.assert_allclose(found.covariance, np.linalg.inv(-hessian), rtol=2e-3, atol=1e-6)
    np.testing.assert_allclose(found.se, np.sqrt(np.einsum("jpp->jp", fit.covariance)).ravel())
    np.testing.assert_allclose(found.estimate, x)
    assert found.parameters[:2] == ("slope", "intercept")
    assert list(found.items[:2]) == [fit.labels[0]] * 2


def test_a_shared_slope_stands_once(simulated):
    answers = simulated(300, np.ones(4), np.linspace(-1, 1, 4), 5)
    found = joint_covariance(fit_irt(answers, model="1pl"), answers)
    assert found.items[0] == "all items"
    assert found.parameters == ("slope", *["intercept"] * 4)
    assert np.linalg.eigvalsh(found.covariance)[0] > 0.0


def test_wald_of_one_parameter_is_its_squared_z(simulated):
    answers = simulated(300, np.ones(4), np.linspace(-1, 1, 4), 5)
    found = joint_covariance(fit_irt(answers, priors=None), answers)
    test = found.wald(np.eye(8)[2], 1.0)
    assert test.statistic == pytest.approx(((found.estimate[2] - 1.0) / found.se[2]) ** 2)
    assert test.df == 1
    with pytest.raises(ShapeError, match="a column for each of 8"):
        found.wald(np.eye(7))
    with pytest.raises(OptionError, match="linearly dependent"):
        found.wald([np.eye(8)[0], 2.0 * np.eye(8)[0]])


def test_an_estimated_distribution_has_no_joint_matrix(simulated):
    answers = simulated(40, np.ones(12), np.zeros(12), 7)
    with pytest.raises(OptionError, match="hierarchical prior"):
        joint_covariance(fit_irt(answers), answers)
