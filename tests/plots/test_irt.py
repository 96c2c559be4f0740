"""Pictures of item response theory."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure

from psychollm._base.errors import LabelError, OptionError, ShapeError
from psychollm.estimates.posterior import posterior_estimate
from psychollm.estimates.reasons import Reason
from psychollm.irt.ability import ability
from psychollm.irt.bayes.bayesian import bayesian_2pl
from psychollm.irt.fit import fit_irt
from psychollm.irt.information import information
from psychollm.plots.irt_curves import plot_item_curves, plot_test_information
from psychollm.plots.person_item_map import plot_wright_map
from psychollm.plots.posterior_forest import plot_posterior_forest


@pytest.fixture(scope="module")
def answers():
    rng = np.random.default_rng(0)
    z = np.outer(rng.normal(size=120), np.linspace(0.6, 1.8, 12)) + np.linspace(-2.0, 2.0, 12)
    return (rng.random(z.shape) < 1.0 / (1.0 + np.exp(-z))).astype(int)


@pytest.fixture(scope="module")
def fit(answers):
    return fit_irt(answers)


def texts(ax):
    return {text.get_text() for text in ax.texts}


def test_curves_are_those_of_information(fit, ax):
    drawn = plot_item_curves(fit, items=[3, 5], ax=ax)
    line = next(line for line in drawn.lines if line.get_gid() == "item 3")
    expected = information(fit, abilities=line.get_xdata()).probability[3]
    np.testing.assert_allclose(line.get_ydata(), expected)
    assert [text.get_text() for text in drawn.get_legend().get_texts()] == ["3", "5"]


def test_eight_items_are_coloured_unless_named(fit, ax):
    drawn = plot_item_curves(fit, what="information", ax=ax)
    assert len(drawn.get_legend().get_texts()) == 8
    assert drawn.get_ylabel() == "information"


def test_test_information(fit, answers, ax):
    drawn = plot_test_information(fit, abilities=ability(fit, answers).ability, ax=ax)
    np.testing.assert_allclose(
        drawn.lines[0].get_ydata(), information(fit, abilities=drawn.lines[0].get_xdata()).test
    )
    (rug,) = [one for one in drawn.collections if one.get_label() == "respondents"]
    assert all(segment[0, 1] == 0.0 < segment[1, 1] for segment in rug.get_segments())


def test_map_names_few_and_counts_many(fit, answers, ax):
    plot_wright_map(fit, ability(fit, answers), ax=ax)
    assert {"models", "questions", "0", "11"} <= texts(ax)
    assert len(ax.patches) > 10  # 120 respondents: bars
    few = Figure().subplots()
    plot_wright_map(fit, ability(fit, answers[:10]), ax=few)
    assert not few.patches


def test_map_holds_all_respondents_and_the_items_near_them(fit, answers, ax):
    people = ability(fit, answers)
    plot_wright_map(replace(fit, difficulty=np.r_[fit.difficulty[:-1], 99.0]), people, ax=ax)
    shown = np.concatenate([people.ability, fit.difficulty[:-1]])
    pad = 0.06 * np.ptp(shown)
    np.testing.assert_allclose(ax.get_ylim(), (shown.min() - pad, shown.max() + pad))


def test_map_of_several_answers_shows_steps(ax):
    rng = np.random.default_rng(1)
    z = rng.normal(size=(30, 1)) * 1.5 + rng.logistic(size=(30, 4))
    table = (z[:, :, None] > [-1.0, 1.0]).sum(axis=2)
    fit = fit_irt(table, model="graded")
    plot_wright_map(fit, ability(fit, table), ax=ax)
    assert {"0 >= 1", "0 >= 2", "3 >= 2"} <= texts(ax)


def test_map_of_a_bayesian_fit_and_forest(answers, ax):
    found = bayesian_2pl(answers, n_draws=200, rng=0)
    plot_wright_map(found, ax=ax)
    assert "questions" in texts(ax)
    drawn = plot_posterior_forest(found.slope, reference=1.0, ax=Figure().subplots())
    names = [text.get_text() for text in drawn.get_yticklabels()]
    assert names == [str(j) for j in np.argsort(-found.slope.value)]


def test_forest_leaves_out_the_middle_and_the_undefined():
    draws = np.random.default_rng(0).normal(size=(50, 70)) + np.arange(70)
    draws[:, 3] = np.nan
    estimate = posterior_estimate(
        "x",
        draws,
        n=np.ones(70),
        flags=(Reason.NONE,) * 70,
        level=0.9,
        labels=tuple(range(70)),
    )
    drawn = plot_posterior_forest(estimate, ax=Figure().subplots())
    assert len(drawn.get_yticklabels()) == 60
    wide, half = (np.array(one.get_segments())[:, :, 0] for one in drawn.collections[:2])
    inside = (draws[:, 69] >= half[0, 0]) & (draws[:, 69] <= half[0, 1])
    assert inside.sum() == 25
    assert (np.diff(half) < np.diff(wide)).all()
    assert drawn.get_title(loc="right") == "9 in between not drawn, 1 without a value"


def test_bad_input(fit):
    with pytest.raises(LabelError, match="'q'"):
        plot_item_curves(fit, items=["q"], ax=Figure().subplots())
    with pytest.raises(OptionError):
        plot_item_curves(fit, what="shape", ax=Figure().subplots())
    with pytest.raises(OptionError, match="abilities"):
        plot_wright_map(fit, ax=Figure().subplots())
    estimate = posterior_estimate(
        "x", np.full((5, 1), np.nan), n=np.ones(1), flags=(Reason.TOO_FEW,), level=0.9, labels=(0,)
    )
    with pytest.raises(ShapeError):
        plot_posterior_forest(estimate, ax=Figure().subplots())


def test_a_fit_draws_what_is_asked_for(fit, answers, pyplot):
    people = ability(fit, answers)
    assert fit.plot().get_ylabel() == "probability of yes"
    assert fit.plot(what="information", items=fit.labels[:1]).get_ylabel() == "information"
    ticks = fit.plot(what="test", abilities=people).collections[-1]
    assert len(ticks.get_segments()) == len(people.labels)
    assert fit.plot(what="map", abilities=people).get_ylabel() == "ability, difficulty"
    with pytest.raises(OptionError, match="abilities is missing"):
        fit.plot(what="map")
    with pytest.raises(OptionError, match="what='curve' is not an option"):
        fit.plot(what="curve")


@pytest.mark.parametrize(("n", "named"), [(12, True), (61, False)])
def test_abilities_stand_from_high_to_low(fit, answers, ax, n, named):
    found = ability(fit, answers[:n])
    found.plot(level=0.9, ax=ax)
    rows = np.argsort(-found.ability, kind="stable")
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), found.ability[rows])
    ends = np.array(ax.collections[-1].get_segments())[:, :, 0]
    np.testing.assert_allclose(ends.mean(axis=1), found.ability[rows])
    np.testing.assert_allclose(np.ptp(ends, axis=1), 2 * 1.6448536 * found.se[rows])
    assert [text.get_text() for text in ax.get_yticklabels()] == [str(row) for row in rows] * named


def test_who_has_no_ability_is_counted(fit, answers, ax):
    found = ability(fit, answers[:9])
    value = np.array(found.ability)
    value[[2, 5]] = np.nan
    replace(found, ability=value).plot(ax=ax)
    assert ax.get_xlabel() == "ability, 95 % interval (2 without one)"
    with pytest.raises(ShapeError, match="no respondent has an ability"):
        replace(found, ability=np.full(9, np.nan)).plot()
