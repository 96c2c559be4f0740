"""Fit of the whole model."""

import itertools

import numpy as np
import pytest

from psychollm._base.errors import ShapeError
from psychollm.irt.fit import fit_irt
from psychollm.irt.fit_statistics.item_fit import item_fit
from psychollm.irt.fit_statistics.local_dependence import local_dependence
from psychollm.irt.fit_statistics.margins import layout_of, margin_covariance
from psychollm.irt.fit_statistics.model_fit import model_fit
from psychollm.irt.fit_statistics.person_fit import person_fit
from tests.irt.test_fit import MIRT, fitted


# mirt's Rasch optima are off by 4e-6 in the parameters, which statistics multiply.
def tolerance(name):
    return 1e-5 if "2PL" in name else 5e-4


@pytest.mark.parametrize("name", MIRT)
def test_m2(name, mirt, data_of):
    row, atol = mirt[name]["M2"], tolerance(name)
    result = model_fit(fitted(mirt[name], data_of), data_of(mirt[name]["data"]))
    np.testing.assert_allclose(result.m2, row["M2"], atol=atol)
    assert result.df == row["df"]
    for ours, theirs in (("p_value", "p"), ("rmsea", "RMSEA"), ("srmsr", "SRMSR")):
        np.testing.assert_allclose(getattr(result, ours), row[theirs], atol=1e-5)
    np.testing.assert_allclose([result.cfi, result.tli], [row["CFI"], row["TLI"]], atol=1e-5)
    # mirt finds the limits by a search that stops at 1e-4
    limits = [row["RMSEA_5"], row["RMSEA_95"]]
    np.testing.assert_allclose(result.rmsea_interval, limits, atol=2e-4)
    assert f"M2({row['df']})" in result.summary()


def test_covariance_of_margins_is_that_of_all_patterns():
    rng = np.random.default_rng(1)
    curves, weights = rng.uniform(0.1, 0.9, (4, 7)), rng.dirichlet(np.ones(7))
    patterns = np.array(list(itertools.product((0, 1), repeat=4)))
    chance = sum(
        w * np.prod(np.where(patterns, p, 1 - p), axis=1)
        for w, p in zip(weights, curves.T, strict=True)
    )
    pairs = [patterns[:, i] * patterns[:, j] for i, j in itertools.combinations(range(4), 2)]
    margins = np.column_stack([patterns, *pairs])
    mean = chance @ margins
    expected = (margins * chance[:, None]).T @ margins - np.outer(mean, mean)
    both = np.stack([1 - curves, curves], axis=1)
    found = margin_covariance(layout_of("m2", np.ones((4, 2), dtype=bool)), both, weights)
    np.testing.assert_allclose(found, expected, atol=1e-14)


def test_missing_and_constant(simulated):
    answers = simulated(300, np.full(6, 1.2), np.linspace(-1, 1, 6), 5).astype(float)
    answers[:, 3] = 1.0
    answers[:40, 0] = np.nan
    answers[5] = np.nan
    fit = fit_irt(answers)
    items, people = item_fit(fit, answers), person_fit(fit, answers)
    assert np.isnan(items.s_x2[3])
    assert np.isfinite(items.s_x2[[0, 1, 2, 4, 5]]).all()
    assert items.n_complete == 260
    assert np.isnan(people.outfit[5])
    assert np.isnan(local_dependence(fit, answers).q3[3]).all()
    assert model_fit(fit, answers).n_complete == 260
    assert items.to_frame().shape[0] == 6


def test_no_degrees_of_freedom(simulated):
    answers = simulated(200, np.ones(3), np.zeros(3), 6)
    result = model_fit(fit_irt(answers, priors=None), answers)
    assert (result.df, np.isnan(result.m2)) == (0, True)
    assert np.isnan(item_fit(fit_irt(answers), answers).s_x2).all()


def test_m2_needs_two_respondents_who_answered_all(simulated):
    answers = simulated(200, np.ones(4), np.zeros(4), 7)
    fit = fit_irt(answers, model="rasch")
    one, two = answers.astype(float), answers.astype(float)
    one[1:, 0] = two[2:, 0] = np.nan
    with pytest.raises(ShapeError, match="at least two"):
        model_fit(fit, one)
    assert model_fit(fit, two).n_complete == 2


def test_bad_input(simulated):
    answers = simulated(30, np.ones(4), np.zeros(4), 7)
    fit = fit_irt(answers)
    with pytest.raises(ShapeError, match="the fit has 4"):
        item_fit(fit, answers[:, 1:])
    with pytest.raises(ShapeError, match="at least two"):
        model_fit(fit, np.where(np.arange(4) == 0, np.nan, answers))
    many = simulated(30, np.ones(101), np.zeros(101), 8)
    with pytest.raises(ShapeError, match="at most 100 items"):
        model_fit(fit_irt(many), many)
