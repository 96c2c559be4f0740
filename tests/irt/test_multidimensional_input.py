"""Several abilities: what cannot be fitted, what is said about it, what is refused."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from psychollm._base.errors import (
    CodeError,
    ConvergenceWarning,
    LabelError,
    OptionError,
    ShapeError,
)
from psychollm.data.responses import Responses
from psychollm.estimates.reasons import Reason
from psychollm.factor.exploratory.rotate import rotate
from psychollm.irt.multidimensional import (
    fit_multidimensional,
    item_slopes,
    multidimensional_ability,
    multidimensional_information,
)
from psychollm.irt.multidimensional.form import correlation_exponent, priors_of, shape_of
from psychollm.irt.priors import Priors

LOADS = np.arange(8)[:, None] % 2 == np.arange(2)


@pytest.fixture(scope="module")
def answers():
    rng = np.random.default_rng(4)
    z = rng.normal(size=(500, 2)) @ (1.4 * LOADS.T)
    return (rng.random(z.shape) < expit(z)).astype(int)


@pytest.fixture(scope="module")
def fit(answers):
    return fit_multidimensional(answers, LOADS)


def test_constant_items_get_no_number(answers, fit):
    more = np.column_stack([answers[:, :3], np.ones(500, dtype=int), answers[:, 3:]])
    loads = np.vstack([LOADS[:3], [True, False], LOADS[3:]])
    found = fit_multidimensional(more, loads)
    assert found.reasons[3] == Reason.CONSTANT_ITEM
    assert np.isnan(found.slopes[3]).all()
    assert np.isnan(found.loadings[3]).all()
    kept = np.arange(9) != 3
    np.testing.assert_allclose(found.slopes[kept], fit.slopes, atol=1e-9)
    assert "1 of 9 questions have no estimates" in found.summary()
    assert multidimensional_ability(found, more).ability.shape == (500, 2)


@pytest.mark.filterwarnings("ignore::psychollm._base.errors.ConvergenceWarning")
def test_runaway_slopes_are_named(answers):
    # The same item twice: only the ability itself can explain two answers without an error.
    twins = np.column_stack([answers, answers[:, :1]])[:300]
    loads = np.column_stack([np.ones(9), np.zeros(9)]).astype(bool)
    loads[[0, 8]] = [False, True]
    table = Responses(twins.T, models=[f"item {j}" for j in range(9)])
    options = {"respondents": "questions", "priors": None, "max_iterations": 60}
    found = fit_multidimensional(table, loads, **options)
    named = [label for label, why in zip(found.labels, found.reasons, strict=True) if why]
    assert named == ["item 0", "item 8"]
    assert {found.reasons[0], found.reasons[8]} == {Reason.UNBOUNDED}
    assert np.isnan(found.slopes[[0, 8]]).all()
    assert "finite estimate): 'item 0', 'item 8'" in found.summary()
    finite = fit_multidimensional(twins, loads)  # weak priors keep it finite
    assert np.isfinite(finite.slopes).all()


def test_what_the_data_do_not_determine_is_said(answers):
    with pytest.warns(ConvergenceWarning, match="do not determine all parameters"):
        found = fit_multidimensional(answers[:150], np.ones((8, 2)), priors=None)
    assert not found.convergence.converged


def test_perfect_and_empty_respondents(answers):
    more = answers.astype(float)
    more[0], more[1], more[2] = 1.0, 0.0, np.nan
    found = fit_multidimensional(more, LOADS)
    scored = multidimensional_ability(found, more)
    assert np.isfinite(scored.ability[:2]).all()
    assert scored.reasons[2] == Reason.UNSCORED
    assert found.n_respondents == 500


@pytest.mark.filterwarnings("ignore::psychollm._base.errors.ConvergenceWarning")
def test_more_than_three_abilities():
    rng = np.random.default_rng(0)
    loads = np.arange(16)[:, None] % 4 == np.arange(4)
    z = rng.normal(size=(400, 4)) @ (1.5 * loads.T)
    table = (rng.random(z.shape) < expit(z)).astype(int)
    found = fit_multidimensional(table, loads, n_points=255)  # few points: the error is said
    assert 0.0 < found.integration_error < 1.0
    assert found.integration == "quasi_random"
    assert found.n_nodes % 2 == 0
    assert np.abs(found.slopes - 1.5 * loads)[loads].max() < 1.5
    assert "quasi-random points" in found.summary()
    assert multidimensional_ability(found, table).covariance.shape == (400, 4, 4)


def test_names_and_order_come_from_the_frame(answers, fit):
    frame = pd.DataFrame(LOADS[::-1], index=range(7, -1, -1), columns=["algebra", "law"])
    found = fit_multidimensional(answers, frame)
    np.testing.assert_allclose(found.slopes, fit.slopes)
    assert found.dimensions == ("algebra", "law")
    assert "slope_law" in found.to_frame()
    assert "law with algebra" in found.summary()
    assert "MultidimensionalIRT" in repr(found)
    assert found.to_dict()["form"] == "confirmatory"
    with pytest.raises(LabelError, match="no rows for items 0"):
        fit_multidimensional(answers, frame.rename(index={0: "zero"}))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"dimensions": 5}, ShapeError, "fewer pairs than slopes"),
        ({"dimensions": 0}, OptionError, "dimensions=0"),
        ({"dimensions": np.ones((3, 2))}, ShapeError, "8 items by abilities"),
        ({"dimensions": 2 * np.ones((8, 2))}, OptionError, "True where an item loads"),
        ({"dimensions": np.eye(8, 2)}, ShapeError, "at least 2 are needed"),
        ({"dimensions": LOADS & (np.arange(8) > 1)[:, None]}, ShapeError, "load on no ability"),
        ({"dimensions": 2, "link": "cauchy"}, OptionError, "link='cauchy'"),
        ({"dimensions": 2, "respondents": "items"}, OptionError, "respondents='items'"),
        ({"dimensions": 2, "priors": "strong"}, OptionError, "priors='strong'"),
        ({"dimensions": 2, "priors": Priors(slope=(1.0, 0.5))}, OptionError, "one rotation"),
        ({"dimensions": 2, "integration": "exact"}, OptionError, "integration='exact'"),
        (
            {"dimensions": 4, "integration": "quadrature"},
            OptionError,
            "up to 3 abilities",
        ),
        ({"dimensions": 2, "integration": "quasi_random", "n_points": 3}, OptionError, "n_points"),
    ],
)
def test_bad_options(answers, options, error, message):
    with pytest.raises(error, match=message):
        fit_multidimensional(answers, **options)


def test_bad_data(answers, fit):
    with pytest.raises(ShapeError, match="leaves 2 respondents for 2"):
        fit_multidimensional(answers[:2], 2)
    with pytest.raises(ShapeError, match="fewer pairs than slopes"):
        fit_multidimensional(answers[:, :4], 2)
    with pytest.raises(CodeError):
        fit_multidimensional(answers * 2, 2)
    with pytest.raises(ShapeError, match="pass the same items"):
        multidimensional_ability(fit, answers[:, :5])
    with pytest.raises(ShapeError, match="one column for each of 2"):
        multidimensional_information(fit, np.zeros((2, 3)))
    with pytest.raises(OptionError, match="only exploratory"):
        fit.rotated(rotate)
    with pytest.raises(ShapeError, match="must have the shapes"):
        item_slopes(np.ones((3, 2)) / 2, [0.0])
    with pytest.raises(OptionError, match="explain 1"):
        item_slopes([1.0], [0.0])


def test_form_and_priors_of_a_number_of_abilities():
    assert shape_of(2, (0, 1, 2, 3, 4), correlated=True).exploratory
    shape = shape_of(2, tuple(range(9)), correlated=True)
    priors = priors_of("auto", shape, "logit", 100)
    assert str(priors) == "slope ~ N(0, 1.25), intercept ~ N(0, 2.5)"
    assert correlation_exponent("auto", shape, 100) == 0.0
