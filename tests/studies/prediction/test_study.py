"""Predictions of answers nobody has: whether they are good, calibrated, everywhere, and honest."""

import numpy as np
import pandas as pd
import pytest

import psychollm as psy
from psychollm._base.errors import CodeError, LabelError, OptionError, ShapeError
from psychollm.studies.prediction.predictors import MEANS, STACKED, expit, log_losses


def _table(seed, n=30, m=120, rank=2, filled=0.6, slope=0.0):
    rng = np.random.default_rng(seed)
    minutes = np.exp(rng.normal(3.0, 1.5, m))
    known = (np.log(minutes) - 3.0) / 1.5
    logits = 1.2 * rng.standard_normal((n, 1)) + rng.standard_normal(m) - slope * known
    logits = logits + rng.standard_normal((n, rank)) @ rng.standard_normal((m, rank)).T
    answers = (rng.random((n, m)) < expit(logits)).astype(float)
    hidden = rng.random((n, m)) >= filled
    frame = pd.DataFrame(
        np.where(hidden, np.nan, answers),
        index=[f"model {chr(97 + k % 26)}{k}" for k in range(n)],
        columns=range(m),
    )
    return frame, answers, hidden, expit(logits), pd.DataFrame({"minutes": minutes})


@pytest.fixture(scope="module")
def predicted():
    frame, answers, hidden, truth, _ = _table(3)
    return psy.predict_answers(frame, rng=0), frame, answers, hidden, truth


def test_every_cell_has_a_probability(predicted):
    result, frame, *_ = predicted
    assert result.probability.shape == frame.shape
    assert ((result.probability > 0.0) & (result.probability < 1.0)).all()
    assert result.models == tuple(frame.index)
    assert result.questions == tuple(frame.columns)
    np.testing.assert_array_equal(result.answered, frame.notna().to_numpy())


def test_answers_that_were_hidden_are_predicted_as_cross_validation_says(predicted):
    result, _, answers, hidden, truth = predicted
    y, p = answers[hidden], result.probability[hidden]
    loss = -np.mean(np.where(y == 1.0, np.log(p), np.log1p(-p)))
    stated, se = result.held_out.log_loss[0], result.held_out.se[0]
    # The final fit has a quarter more answers, so that it may do better, hardly worse.
    assert stated - 0.06 < loss < stated + 2.5 * se
    means = result.predictors.log_loss[result.predictors.labels.index(MEANS)]
    assert loss < means - 0.05
    entropy = -np.mean(truth * np.log(truth) + (1 - truth) * np.log1p(-truth))
    assert loss > entropy - 0.03  # nobody does better than the truth


def test_predictions_are_calibrated(predicted):
    result, _, answers, hidden, _ = predicted
    p, y = result.probability[hidden], answers[hidden]
    order = np.argsort(p)
    gaps = [abs(y[part].mean() - p[part].mean()) for part in np.array_split(order, 5)]
    # Standard error of a fifth of 1,400 answers: .03.
    assert max(gaps) < 0.09
    assert result.held_out.calibration_error[0] < 0.03


def test_the_log_loss_is_that_of_the_formula():
    y, logits = np.array([0.0, 1.0, 0.3]), np.array([0.4, -1.0, 2.0])
    p = 1.0 / (1.0 + np.exp(-logits))
    np.testing.assert_allclose(
        log_losses(y, logits), -(y * np.log(p) + (1 - y) * np.log(1 - p)), rtol=1e-12
    )


def test_what_is_known_of_questions_predicts_those_without_answers():
    frame, answers, _, truth, table = _table(5, slope=2.0, rank=1)
    frame.iloc[:, :40] = np.nan
    blind = psy.predict_answers(frame, rng=0, n_folds=2)
    told = psy.predict_answers(frame, questions=table, rng=0, n_folds=2)
    errors = [np.mean((one.probability - truth)[:, :40] ** 2) for one in (told, blind)]
    assert errors[0] < 0.7 * errors[1]
    assert told.held_out.log_loss[2] < blind.held_out.log_loss[2] - 0.03
    assert answers.shape == told.probability.shape


def test_labels_of_the_table_without_answers_are_predicted_behind_the_others():
    frame, _, _, _, table = _table(7, slope=2.0, rank=1)
    table.loc["new and short"] = 0.1
    table.loc["new and long"] = 5000.0
    result = psy.predict_answers(frame, questions=table, rng=0, n_folds=2)
    assert result.questions[-2:] == ("new and short", "new and long")
    short, long = result.predict(questions=["new and short", "new and long"]).mean(axis=0)
    assert short > long + 0.2
    assert not result.answered[:, -2:].any()


def test_near_copies_of_a_model_are_used():
    frame, answers, *_ = _table(9, n=24, m=200, rank=0, filled=0.8)
    rng = np.random.default_rng(1)
    for k in range(0, 24, 2):  # every second model is the one before it, but for one answer in ten
        copy = np.where(rng.random(200) < 0.9, answers[k], answers[k + 1])
        frame.iloc[k + 1] = np.where(frame.iloc[k + 1].isna(), np.nan, copy)
    result = psy.predict_answers(frame, rng=0, n_folds=3)
    assert result.predictor == STACKED
    assert result.weights["resemblance"] > 0.0
    loss = dict(zip(result.predictors.labels, result.predictors.log_loss, strict=True))
    assert loss[STACKED] < loss["8 factors"] - 0.01


def test_scores_between_count_as_shares():
    frame, *_ = _table(11, n=12, m=60)
    rng = np.random.default_rng(2)
    scores = frame.mask(rng.random(frame.shape) < 0.2, 0.5).where(frame.notna())
    result = psy.predict_answers(scores, rng=0, n_folds=2)
    assert "2PL" not in result.predictors.labels
    known = result.answered
    assert abs(result.probability[known].mean() - scores.to_numpy()[known].mean()) < 0.03


def test_same_seed_same_answer_and_constant_questions_are_inside():
    frame, *_ = _table(13, n=10, m=40)
    frame[0], frame[1] = 1.0, 0.0
    frame.iloc[3, :2] = np.nan
    first, second = (psy.predict_answers(frame, rng=5, n_folds=2) for _ in "ab")
    np.testing.assert_array_equal(first.probability, second.probability)
    assert 0.5 < first.probability[3, 0] < 1.0
    assert 0.0 < first.probability[3, 1] < 0.5


def test_table_and_summary(predicted):
    result, frame, *_ = predicted
    table = result.to_frame()
    assert list(table.columns) == ["model", "question", "probability", "answered"]
    assert len(table) == frame.size
    assert "log loss" in result.summary()
    assert set(result.held_out.to_frame()["judged"]) == {"cells", "models", "questions"}


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (lambda f: {"responses": f * 3}, CodeError, "has 3"),
        (lambda f: {"responses": f.iloc[:1]}, ShapeError, "of 1 models"),
        (lambda f: {"responses": f, "questions": [1, 2]}, OptionError, "must be a DataFrame"),
        (
            lambda f: {"responses": f, "models": pd.DataFrame({"a": [1]}, index=["other"])},
            LabelError,
            "set_index",
        ),
        (
            lambda f: {"responses": f, "questions": pd.DataFrame({"a": [1, 2]}, index=[0, 0])},
            LabelError,
            "several rows",
        ),
    ],
)
def test_bad_input_is_named(change, error, words):
    frame, *_ = _table(3)
    with pytest.raises(error, match=words):
        psy.predict_answers(**change(frame))
