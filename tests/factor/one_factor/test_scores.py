"""Scores of questions: the slow twin, leaving models out, silence."""

import numpy as np
import pytest

import psychollm as psy
from psychollm._base.errors import OptionError, ShapeError
from tests.oracles import full_information_slow as slow

LOADINGS = np.array([0.9, 0.5, 0.7, 0.8, -0.6])
THRESHOLDS = np.array([0.0, 1.5, -1.0, 0.5, -0.3])


@pytest.fixture(scope="module")
def answers():
    return psy.simulate_factor(
        loadings=LOADINGS, thresholds=THRESHOLDS, n_questions=60, missing=0.2, rng=8
    ).responses


def test_scores_are_those_of_adaptive_quadrature(answers):
    result = psy.question_scores(answers, loadings=LOADINGS, thresholds=THRESHOLDS)
    for q in range(0, 60, 7):
        mean, sd = slow.score(answers.values[:, q], LOADINGS, THRESHOLDS)
        assert result.scores[q] == pytest.approx(mean, abs=1e-7)
        assert result.sd[q] == pytest.approx(sd, abs=1e-7)


def test_leaving_a_model_out_is_scoring_without_its_answers(answers):
    result = psy.question_scores(answers, loadings=LOADINGS, thresholds=THRESHOLDS)
    for m in range(5):
        values = answers.values.copy()
        values[m] = np.nan
        without = psy.question_scores(
            values, loadings=LOADINGS, thresholds=THRESHOLDS, leave_one_out=False
        )
        assert result.leave_one_out[m] == pytest.approx(without.scores, abs=1e-9)
        assert result.leave_one_out_sd[m] == pytest.approx(without.sd, abs=1e-9)


def test_parameters_are_fitted_where_not_given_and_scores_follow_the_truth():
    made = psy.simulate_factor(
        loadings=np.full(30, 0.85), thresholds=np.linspace(-2, 2, 30), n_questions=2000, rng=1
    )
    result = psy.question_scores(made.responses)
    error = (result.scores - made.scores[:, 0]) / result.sd
    assert error.std() == pytest.approx(1, abs=0.06)
    assert np.corrcoef(result.scores, made.scores[:, 0])[0, 1] ** 2 == pytest.approx(
        result.reliability, abs=0.02
    )


def test_a_question_nobody_answered_keeps_the_prior():
    codes = psy.simulate_factor(
        loadings=[0.8] * 5, thresholds=[0] * 5, n_questions=50, rng=1
    ).responses.values.copy()
    codes[:, 3] = np.nan
    result = psy.question_scores(codes)
    assert result.answered[3] == 0
    assert (result.scores[3], result.sd[3]) == pytest.approx((0, 1), abs=1e-6)
    assert result.to_frame()["answered"].tolist()[3] == 0


def test_models_without_parameters_take_no_part(answers):
    loadings = LOADINGS.copy()
    loadings[2] = np.nan
    result = psy.question_scores(answers, loadings=loadings, thresholds=THRESHOLDS)
    assert np.array_equal(result.leave_one_out[2], result.scores)
    assert np.isnan(result.loadings[2])


def test_the_return_type_does_not_depend_on_leave_one_out(answers):
    result = psy.question_scores(answers, leave_one_out=False)
    assert result.leave_one_out.shape == (0, 60)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"loadings": [0.5] * 5}, OptionError, "pass both"),
        ({"loadings": [1.0] * 5, "thresholds": [0.0] * 5}, OptionError, "between -1 and 1"),
        (
            {"loadings": [0.5] * 4, "thresholds": [0.0] * 5},
            ShapeError,
            "one number for each of the 5 models",
        ),
        ({"loadings": [np.nan] * 5, "thresholds": [0.0] * 5}, ShapeError, "no model"),
    ],
)
def test_bad_parameters(answers, options, error, message):
    with pytest.raises(error, match=message):
        psy.question_scores(answers, **options)


def test_questions_that_differ_in_a_models_own_answer_are_tied_without_it() -> None:
    """Else rounding, and the processor with it, would rank them by that very answer."""
    said = np.random.default_rng(1).integers(0, 2, size=(6, 200))
    found = psy.question_scores(said, loadings=np.full(6, 0.7), thresholds=np.linspace(-1, 1, 6))
    for model in range(6):
        others = np.delete(said, model, axis=0)
        patterns = np.unique(others, axis=1, return_inverse=True)[1]
        assert len(np.unique(found.leave_one_out[model])) <= patterns.max() + 1
