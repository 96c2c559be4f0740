"""Respondents of families: weights, coverage, and who is named where no families are given."""

import numpy as np
import pytest

from psychollm._base.errors import LabelError, OptionError
from psychollm.data.responses import Responses
from psychollm.estimates.clustered import effective_shares
from psychollm.irt.ability import ability
from psychollm.irt.fit import fit_irt
from validation.coverage_families import draw, figures

FIVE = (5, 5, 0.8, 0.3)


def test_intervals_cover_where_members_repeat_their_parent():
    found = np.mean([figures(FIVE, seed, told=True) for seed in range(2)], axis=0)
    assert (found[:4] > 0.88).all()
    assert found[4] == 1.0


@pytest.mark.filterwarnings("ignore::psychollm._base.errors.ConvergenceWarning")
def test_a_fit_without_families_names_who_answers_alike():
    *_, answers, family = draw(FIVE, 0)
    names = [f"{'abcde'[f]}{k % 5}" for k, f in enumerate(family)]
    fit = fit_irt(Responses(answers, models=names))
    assert len(fit.alike) >= 3
    assert all(len({name[0] for name in group}) == 1 for group in fit.alike)
    assert "Warning: residuals of" in fit.summary()
    assert "pass families=" in fit.summary()


@pytest.mark.filterwarnings("ignore::psychollm._base.errors.ConvergenceWarning")
def test_abilities_of_a_fit_with_families_have_wider_errors():
    *_, answers, family = draw(FIVE, 0)
    apart, together = fit_irt(answers), fit_irt(answers, families=family)
    ratio = ability(together, answers).se / ability(apart, answers).se
    assert np.median(ratio) > 1.2


def test_independent_respondents_are_not_named():
    named = [fit_irt(draw((25, 1, 0.0, 0.0), seed)[3]).alike for seed in range(10)]
    assert sum(map(bool, named)) <= 1


def test_members_count_by_how_alike_they_answer():
    *_, answers, family = draw(FIVE, 1)
    fit = fit_irt(answers, families=family)
    assert fit.families == (0, 1, 2, 3, 4)
    assert ((fit.family_correlation > 0.25) & (fit.family_correlation < 0.75)).all()
    assert 5.0 < fit.respondent_weight.sum() < 14.0
    assert "25 models are from 5 families" in fit.summary()
    apart = fit_irt(answers[::5], families=family[::5])
    np.testing.assert_allclose(apart.slope, fit_irt(answers[::5]).slope, rtol=1e-12)
    assert (apart.respondent_weight == 1.0).all()


def test_shares_of_clusters():
    member = np.array([0, 0, 1, 2, 2, 2])
    found = effective_shares(member, np.array([1.0, 0.7, 0.5]))
    np.testing.assert_allclose(found, [0.5, 0.5, 1.0, 0.5, 0.5, 0.5])


def test_families_that_do_not_fit():
    *_, answers, family = draw(FIVE, 0)
    with pytest.raises(LabelError, match="only one label"):
        fit_irt(answers, families=np.zeros(25))
    with pytest.raises(OptionError, match="'sandwich' does not support families"):
        fit_irt(answers, families=family, standard_errors="sandwich")
    with pytest.raises(OptionError, match="needs a dense table"):
        fit_irt(Responses(answers).sparse(), families=family)
