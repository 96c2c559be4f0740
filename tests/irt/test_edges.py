"""Degenerate tables: what has no number says why, and nothing raises."""

import warnings

import numpy as np
import pytest

from psychollm._base.errors import ConvergenceWarning, ShapeError
from psychollm.estimates.reasons import Reason
from psychollm.irt.ability import ability
from psychollm.irt.fit import fit_irt
from psychollm.irt.fit_statistics.item_fit import item_fit
from psychollm.irt.fit_statistics.local_dependence import local_dependence
from psychollm.irt.fit_statistics.model_fit import model_fit
from psychollm.irt.fit_statistics.person_fit import person_fit
from psychollm.irt.linking import link_scales
from psychollm.irt.replicated.bootstrap import bootstrap_fit
from psychollm.irt.thresholds import thresholds
from tests.irt.test_polytomous import graded_answers

EVERYTHING = (item_fit, person_fit, local_dependence, model_fit)


@pytest.mark.parametrize("model", ["rasch", "2pl", "3pl", "graded", "gpcm", "nominal"])
def test_items_nobody_and_everybody_answers(model, simulated):
    table = simulated(150, np.full(12, 1.2), np.linspace(-1, 1, 12), 5).astype(float)
    if model in ("graded", "gpcm", "nominal"):
        table = graded_answers(150, np.full(6, 1.2), [1.0, -1.0], 5).astype(float)
    table[:, 1] = np.nan
    table[:, 4] = np.nanmax(table)
    fit = fit_irt(table, model=model)
    gone, predicted = [1, 4], model in ("rasch", "2pl", "3pl")
    if predicted:
        assert fit.reasons[1] is fit.reasons[4] is Reason.PRIOR_ALONE
    else:
        assert fit.reasons[1] is Reason.UNANSWERED
        assert fit.reasons[4] is Reason.CONSTANT_ITEM
    for values in (fit.slope, fit.difficulty, thresholds(fit).threshold[:, 0]):
        assert (np.isfinite(values[gone]) == predicted).all()
    assert not fit.fitted[gone].any()
    assert np.isfinite(fit.slope[[0, 2, 3, 5]]).all()
    for method in ("eap", "map", "wle"):
        assert np.isfinite(ability(fit, table, method=method).ability).all()
    found = item_fit(fit, table)
    assert found.n_complete == 150  # of the items that were fitted
    assert np.isnan(found.outfit[gone]).all()
    link_scales(fit, fit, method="haebara")


def test_perfect_zero_and_empty_respondents_among_others(simulated):
    table = simulated(100, np.full(6, 1.5), np.linspace(-1, 1, 6), 6).astype(float)
    table[0], table[1], table[2] = 1.0, 0.0, np.nan
    fit = fit_irt(table)
    mode, warm = ability(fit, table, method="ml"), ability(fit, table, method="wle")
    assert mode.reasons[:3] == (Reason.NO_NO, Reason.NO_YES, Reason.UNSCORED)
    assert warm.reasons[:3] == (Reason.NONE, Reason.NONE, Reason.UNSCORED)
    people = person_fit(fit, table)
    assert np.isfinite(people.zh[:2]).all()
    assert np.isnan(people.zh[2])
    assert np.isfinite(mode.reliability)


def test_all_yes_is_bounded_where_an_item_is_miskeyed(simulated):
    """A yes to an item of negative slope speaks for a low ability: the mode is finite."""
    table = simulated(400, [1.5, 1.5, 1.5, -1.5], np.zeros(4), 7)
    fit = fit_irt(table)
    assert fit.slope[3] < 0
    found = ability(fit, [[1, 1, 1, 1], [1, 1, 1, 0]], method="ml")
    assert np.isfinite(found.ability[0])
    assert found.reasons[1] is Reason.UNBOUNDED


def test_separated_item(simulated):
    table = simulated(40, np.full(6, 1.0), np.linspace(-1, 1, 6), 8)
    table[:, 0] = table[:, 1:].sum(axis=1) >= 3  # says all there is to say
    fit = fit_irt(table, priors=None)
    assert fit.reasons[0] is Reason.UNBOUNDED
    assert np.isnan(fit.slope[0])
    with_prior = fit_irt(table)
    assert np.isfinite(with_prior.slope).all()
    for statistic in EVERYTHING:
        statistic(fit, table)
        statistic(with_prior, table)
    assert np.isfinite(bootstrap_fit(with_prior, table, n_null=3, rng=1).p_value).all()


def test_3pl_that_data_do_not_determine(simulated):
    table = simulated(150, np.full(5, 1.0), np.linspace(0, 2, 5), 9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it may or may not find a top
        fit = fit_irt(table, model="3pl", priors=None)
    assert Reason.UNIDENTIFIED in fit.reasons or Reason.UNBOUNDED in fit.reasons
    for statistic in EVERYTHING:
        statistic(fit, table)
    assert item_fit(fit, table).df.max() <= 1.0  # four scores, three parameters


def test_nothing_varies():
    with pytest.raises(ShapeError, match="no item varies"):
        fit_irt(np.ones((10, 3)))
    with pytest.raises(ShapeError, match="no item varies"):
        fit_irt([[0, 1, 2], [0, 1, 2]], model="graded")


@pytest.mark.parametrize("model", ["2pl", "graded"])
def test_two_items_leave_no_freedom(model, simulated):
    table = simulated(100, np.ones(2), np.zeros(2), 1)
    fit = fit_irt(table, model=model)
    found = model_fit(fit, table)
    assert found.reason is Reason.NO_FREEDOM
    assert (found.df, np.isnan(found.m2)) == (0, True)
    assert np.isfinite(found.srmsr)
    assert np.isnan(item_fit(fit, table).p_value).all()
