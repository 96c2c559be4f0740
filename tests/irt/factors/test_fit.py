"""Logistic factors of sparse tables: recovery, the same bits, number, gaps, edges."""

import numpy as np
import pytest

from psychollm._base.errors import ConvergenceWarning, InputError, OptionError
from psychollm.data.cells import CellWriter, sorted_cells
from psychollm.data.kept import Sparse
from psychollm.data.responses import Responses
from psychollm.estimates.reasons import Reason
from psychollm.irt.factors import fit as module
from psychollm.irt.factors.fit import as_source, fit_factors
from psychollm.irt.fit import fit_irt
from psychollm.irt.logistic_factors import fit_logistic_factors


def logistic(x):
    return 1.0 / (1.0 + np.exp(-x))


def simulated(seed=1, models=150, questions=600, filled=0.4, scale=(1.2, 0.8)):
    rng = np.random.default_rng(seed)
    logits = (
        rng.normal(size=(models, len(scale))) * scale @ rng.normal(size=(len(scale), questions))
    )
    logits = logits + rng.normal(size=questions)
    answers = (rng.random(logits.shape) < logistic(logits)).astype(float)
    answers[rng.random(logits.shape) >= filled] = np.nan
    return answers, logits


@pytest.fixture(scope="module")
def table():
    return simulated()


@pytest.fixture(scope="module")
def fit(table):
    return fit_factors(table[0], 2)


def same(one, other):
    return all(
        np.array_equal(getattr(one, name), getattr(other, name), equal_nan=True)
        for name in ("loadings", "intercepts", "scores", "score_se", "loading_se")
    )


def test_logits_come_back_without_being_shrunk_too_far(table, fit):
    _, logits = table
    found = fit.intercepts + fit.scores @ fit.loadings.T
    # Posterior means: truth regressed on them has slope 1. Bounds alone would give 1.1.
    assert abs(np.polyfit(found.ravel(), logits.ravel(), 1)[0] - 1.0) < 0.04
    assert np.corrcoef(found.ravel(), logits.ravel())[0, 1] > 0.9
    assert fit.convergence.converged


def test_standard_position(fit):
    np.testing.assert_allclose(fit.scores.mean(axis=0), 0.0, atol=0.02)
    second = np.cov(fit.scores.T) + np.mean(fit._score_covariance, axis=0)
    np.testing.assert_allclose(second, np.eye(2), atol=0.05)
    products = fit.loadings.T @ fit.loadings + fit._question_covariance[:, 1:, 1:].sum(axis=0)
    assert abs(products[0, 1]) < 1e-8 * products[0, 0]
    assert fit.shares[0] > fit.shares[1] > 0.0
    assert (fit.loadings.sum(axis=0) > 0.0).all()


def test_it_predicts_as_the_mechanism_with_side_information_does(table, fit):
    answers, logits = table
    other = fit_logistic_factors(answers, rank=2, rng=1).probabilities()
    assert np.sqrt(np.mean((fit.predict() - other) ** 2)) < 0.05
    empty = np.isnan(answers)
    errors = [np.mean((guess - logistic(logits))[empty] ** 2) for guess in (fit.predict(), other)]
    assert errors[0] < 1.05 * errors[1]


def test_one_factor_is_the_2pl():
    answers, _ = simulated(seed=2, models=800, questions=100, filled=0.9, scale=(1.0,))
    one, other = fit_factors(answers, 1), fit_irt(answers, model="2pl", priors=None)
    loadings = one.loadings[:, 0] * np.sign(one.loadings[:, 0] @ other.slope)
    # Beside the shrinkage of items in one fit, and not in the other.
    assert np.corrcoef(loadings, other.slope)[0, 1] > 0.995
    assert abs(np.polyfit(loadings, other.slope, 1)[0] - 1.0) < 0.05


@pytest.mark.parametrize("gaps", ["ignored", "modelled"])
def test_same_bits_from_memory_from_disk_and_with_two_workers(tmp_path, monkeypatch, gaps):
    monkeypatch.setattr(module, "BLOCK", 1_000)
    answers, _ = simulated(models=60, questions=150)
    source = as_source(answers)
    rows = np.repeat(np.arange(150), np.diff(source.by_question.start))
    cells = source.by_question.cells
    with CellWriter(tmp_path) as writer:
        order = np.random.default_rng(1).permutation(rows.size)
        writer.add(rows[order], cells.columns[order], cells.codes[order])
        disk = writer.finish((150, 60))
    labels = {"models": source.models, "questions": source.questions, "coding": "binary"}
    on_disk = Responses._of(Sparse(disk), labels)
    found = [
        fit_factors(data, 1, gaps=gaps, n_jobs=n_jobs)
        for data, n_jobs in (
            (answers, 1),
            (answers, 2),
            (on_disk, 2),
        )
    ]
    assert same(found[0], found[1])
    assert same(found[0], found[2])
    assert found[0].log_likelihood == found[2].log_likelihood


def test_where_factors_start_does_not_matter():
    # Learned at once, the population of the second factor would keep it down from most starts.
    answers, _ = simulated(seed=4, filled=0.2)
    found = [fit_factors(answers, 2, rng=rng) for rng in range(3)]
    assert min(fit.shares[1] for fit in found) > 0.03
    for other in found[1:]:
        np.testing.assert_allclose(other.loadings, found[0].loadings, atol=0.005)


def test_size_of_blocks_changes_rounding_only(table, fit, monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 5_000)
    other = fit_factors(table[0], 2)
    np.testing.assert_allclose(other.loadings, fit.loadings, atol=1e-9)


def test_the_number_of_factors_is_found(table):
    found = fit_factors(table[0], "auto")
    assert found.shares.size == 2
    choice = found.choice
    assert choice.tried.tolist() == [0, 1, 2, 3]
    assert (choice.gain[1:3] > 2 * choice.se[1:3]).all()
    assert choice.gain[3] <= 2 * choice.se[3]
    assert 0.01 < choice.n_held_out / found.n_answers < 0.03
    assert list(choice.to_frame().columns) == ["factors", "log_loss", "gain", "se"]


def test_gaps_where_models_would_fail():
    rng = np.random.default_rng(3)
    _, logits = simulated(seed=3, filled=1.0)
    answers = (rng.random(logits.shape) < logistic(logits)).astype(float)
    answers[rng.random(logits.shape) >= logistic(-1.5 + logits)] = np.nan
    empty = np.isnan(answers)
    bias = {}
    for gaps in ("ignored", "modelled"):
        predicted = fit_factors(answers, 2, gaps=gaps).predict()
        bias[gaps] = np.nanmean((predicted - logistic(logits))[empty])
    assert bias["ignored"] > 0.08
    assert abs(bias["modelled"]) < 0.04


def test_the_model_of_gaps_says_how_many_cells_are_filled(table):
    answers = table[0].copy()
    answers[:75, :300] = np.where(np.arange(300) % 4, np.nan, answers[:75, :300])
    found = fit_factors(answers, 2, gaps="modelled")
    gaps = found.gaps
    chance = logistic(gaps.levels[:, None] + gaps.intercepts + found.scores @ gaps.loadings.T)
    filled = np.isfinite(answers)
    assert abs(chance.mean() - filled.mean()) < 0.02
    assert np.corrcoef(chance.mean(axis=0), filled.mean(axis=0))[0, 1] > 0.9
    assert 0.0 < gaps.drawn <= 1.0


def test_without_answers_there_is_nan_and_a_reason(table):
    answers = table[0].copy()
    answers[3], answers[:, 5] = np.nan, np.nan
    full = as_source(np.nan_to_num(answers))
    rows, columns = np.nonzero(np.isfinite(answers.T))
    cells = sorted_cells(rows, columns, answers[columns, rows].astype(np.uint8), (600, 150))
    kept = Responses.of_cells(cells, models=full.models, questions=full.questions)
    found = fit_factors(kept, 1)
    assert np.isnan(found.scores[3]).all()
    assert np.isnan(found.loadings[5]).all()
    assert found.model_reasons[3] is Reason.NO_CELLS
    assert found.question_reasons[5] is Reason.NO_CELLS
    assert np.isfinite(np.delete(found.scores, 3, axis=0)).all()
    assert np.isnan(found.predict(models=[3])).all()


def test_graded_answers_are_shares(table):
    graded = np.round(4.0 * logistic(table[1]))
    graded[np.isnan(table[0])] = np.nan
    predicted = fit_factors(graded, 2).predict()
    assert np.sqrt(np.mean((predicted - logistic(table[1])) ** 2)) < 0.06


def test_chosen_cells_are_predicted(fit):
    part = fit.predict(models=[7, 2], questions=[30, 1, 4])
    np.testing.assert_allclose(part, fit.predict()[np.ix_([7, 2], [30, 1, 4])], rtol=1e-12)


def test_constant_questions_and_models_stay_finite():
    answers = np.random.default_rng(1).integers(0, 2, (30, 60)).astype(float)
    answers[:, 0], answers[:, 1], answers[2], answers[4] = 1.0, 0.0, 1.0, 0.0
    found = fit_factors(answers, 1)
    assert np.isfinite(found.loadings).all()
    assert np.isfinite(found.scores).all()


def test_bad_input():
    answers = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
    with pytest.raises(OptionError, match="2 models"):
        fit_factors(answers, 3)
    with pytest.raises(OptionError, match="n_factors"):
        fit_factors(answers, 0)
    with pytest.raises(OptionError, match="gaps"):
        fit_factors(answers, 1, gaps="some")
    with pytest.raises(InputError, match="above 0"):
        fit_factors(np.zeros((3, 4)), 1)
    with pytest.raises(InputError, match="no cell is empty"):
        fit_factors(answers, 1, gaps="modelled")


def test_scores_without_bound_end_the_climb() -> None:
    right = np.random.default_rng(1).integers(0, 2, size=(60, 1))
    with pytest.warns(ConvergenceWarning, match="scores grow without bound"):
        found = fit_factors(np.tile(right, 300), 2, rng=0)
    assert not found.convergence.converged
