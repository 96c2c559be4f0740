"""`factor_scores`: printed weights, definitions, what each method keeps, missing values."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from psychollm._base.errors import CodeError, InputError, LabelError, OptionError, ShapeError
from psychollm.factor.exploratory.factor_analysis import factor_analysis
from psychollm.factor.factor_scores import factor_scores, posterior_scores, score_weights
from psychollm.factor.one_factor.scores import question_scores
from tests.oracles import irt_multidimensional_slow
from tests.oracles.factor_slow import aligned

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "psychometrics"
INPUTS = {row["id"]: row for row in json.loads((GOLDEN / "fa_inputs.json").read_text())["rows"]}
ROWS = [
    pytest.param(row, id=row["id"])
    for row in json.loads((GOLDEN / "fa.json").read_text())["rows"]
    if row["fm"] in ("minres", "ml")
    and row["rotate"] == "oblimin"
    and "harman8_f3" not in row["id"]
]
METHODS = ("regression", "bartlett", "ten_berge")


@pytest.mark.parametrize("row", ROWS)
def test_golden_weights(row):
    R = np.array(INPUTS[row["R"]]["R"])
    solution = factor_analysis(R, row["nfactors"], method=row["fm"])
    data = np.random.default_rng(0).normal(size=(len(R), 20))
    found = factor_scores(solution, data)
    expected, order, _ = aligned(np.array(found.weights), np.array(row["weights"]))
    np.testing.assert_allclose(expected, row["weights"], atol=2e-3)
    np.testing.assert_allclose(found.determinacy[list(order)] ** 2, row["R2"], atol=2e-3)


def sample(n=4000, seed=0):
    rng = np.random.default_rng(seed)
    L = np.kron(np.eye(2), np.array([[0.8], [0.7], [0.6], [0.7]]))
    phi = np.array([[1, 0.4], [0.4, 1]])
    factors = np.linalg.cholesky(phi) @ rng.normal(size=(2, n))
    unique = np.sqrt(1 - np.sum((L @ phi) * L, axis=1))
    return L @ factors + unique[:, None] * rng.normal(size=(8, n)), factors


@pytest.mark.parametrize("method", METHODS)
def test_what_each_method_keeps(method):
    data, factors = sample()
    solution = factor_analysis(np.corrcoef(data), 2)
    found = factor_scores(solution, data, method=method)
    observed = np.corrcoef(found.scores.T)
    np.testing.assert_allclose(observed, found.score_correlation, atol=1e-9)
    both = np.abs(np.corrcoef(found.scores.T, factors)[:2, 2:])
    np.testing.assert_allclose(np.sort(both.max(axis=1)), np.sort(found.validity), atol=0.02)
    best = factor_scores(solution, data)
    assert (found.validity <= best.validity + 1e-12).all()
    np.testing.assert_allclose(best.validity, best.determinacy, atol=1e-12)
    if method == "ten_berge":
        np.testing.assert_allclose(found.score_correlation, solution.factor_correlation, atol=1e-9)
    if method == "bartlett":  # no other factor's score moves: W'L = I
        np.testing.assert_allclose(found.weights.T @ solution.loadings, np.eye(2), atol=1e-10)


def test_one_factor_methods_agree_up_to_scale():
    data, _ = sample()
    solution = factor_analysis(np.corrcoef(data[:4]), 1)
    scores = [factor_scores(solution, data[:4], method=m).scores[:, 0] for m in METHODS]
    assert (np.corrcoef(scores) > 0.999).all()


def test_rotation_turns_scores_with_it():
    data, _ = sample(500)
    solution = factor_analysis(np.corrcoef(data), 2)
    plain = factor_scores(solution, data)
    other = factor_scores(solution.permuted([1, 0], [1, -1]), data)
    np.testing.assert_allclose(other.scores, plain.scores[:, [1, 0]] * [1, -1], atol=1e-12)
    assert other.factors == ("factor_2", "factor_1")


@pytest.mark.parametrize("method", METHODS)
def test_missing_values(method):
    data, _ = sample(300)
    whole = factor_scores(factor_analysis(np.corrcoef(data), 2), data, method=method)
    gappy = data.copy()
    gappy[0, :40], gappy[:, 41], gappy[5, 20:30] = np.nan, np.nan, np.nan
    found = factor_scores(factor_analysis(np.corrcoef(data), 2), gappy, method=method)
    assert np.isnan(found.scores[41]).all()
    if method == "ten_berge":
        assert np.isnan(found.scores[:40]).all()
        return
    assert np.isfinite(found.scores[:40]).all()
    assert np.corrcoef(found.scores[:40, 1], whole.scores[:40, 1])[0, 1] > 0.9


def test_labels():
    data, _ = sample(200)
    frame = pd.DataFrame(data, index=list("abcdefgh"))
    solution = factor_analysis(frame.T.corr(), 2)
    found = factor_scores(solution, frame)
    other = factor_scores(solution, frame.iloc[::-1])
    np.testing.assert_allclose(other.scores, found.scores, atol=1e-12)
    assert list(found.to_frame().columns) == ["factor_1", "factor_2"]
    assert "determinacy factor_1" in repr(found)
    with pytest.raises(LabelError, match="lacks models 'a'"):
        factor_scores(solution, frame.rename(index={"a": "z"}))


@pytest.mark.parametrize(
    ("data", "options", "error", "message"),
    [
        (np.ones((3, 5)), {}, ShapeError, "3 models, the solution 8 variables"),
        (np.vstack([np.ones(9), np.eye(7, 9)]), {}, InputError, "zero variance in 0"),
        (np.full((8, 4), np.inf), {}, CodeError, "infinity"),
        (np.eye(8), {"method": "magic"}, OptionError, "method='magic'"),
    ],
)
def test_bad_input(data, options, error, message):
    solution = factor_analysis(np.corrcoef(sample(300)[0]), 2)
    with pytest.raises(error, match=message):
        factor_scores(solution, data, **options)


def answers_of(n=3000, seed=1, gaps=0.0):
    data, factors = sample(n, seed)
    yes = (data > np.linspace(-0.8, 0.8, 8)[:, None]).astype(float)
    yes[np.random.default_rng(seed).random(yes.shape) < gaps] = np.nan
    return yes, factors


@pytest.mark.parametrize("gaps", [0.0, 0.2])
def test_posterior_means_on_two_factors(gaps):
    answers, factors = answers_of(gaps=gaps)
    L = np.kron(np.eye(2), np.array([[0.8], [0.7], [0.6], [0.7]]))
    phi = np.array([[1, 0.4], [0.4, 1]])
    solution = factor_analysis(np.corrcoef(sample(50_000)[0]), 2)
    order = [int(np.argmax(np.abs(solution.loadings[0]))), 0]
    order[1] = 1 - order[0]
    found = factor_scores(solution, answers, method="eap")
    scores, sd = found.scores[:, order], found.sd[:, order]
    slopes = L / np.sqrt(1 - np.sum((L @ phi) * L, axis=1))[:, None]
    tau = np.linspace(-0.8, 0.8, 8)
    intercepts = -tau / np.sqrt(1 - np.sum((L @ phi) * L, axis=1))
    rule = irt_multidimensional_slow.nodes_of(2, 61)
    for u in range(3):  # the solution is nearly the truth, and so are the scores
        mean, covariance = irt_multidimensional_slow.posterior_moments(
            answers[:, u], slopes, intercepts, phi, rule, "probit"
        )
        np.testing.assert_allclose(scores[u], mean, atol=0.06)
        np.testing.assert_allclose(sd[u], np.sqrt(np.diagonal(covariance)), atol=0.03)
    observed = np.abs(np.corrcoef(scores.T, factors)[:2, 2:]).max(axis=1)
    np.testing.assert_allclose(observed, found.validity[order], atol=0.03)
    assert (found.validity < found.determinacy).all()
    assert np.isnan(found.weights).all()


def test_posterior_means_are_exact_for_their_solution():
    answers, _ = answers_of(200, gaps=0.3)
    solution = factor_analysis(np.corrcoef(sample(400)[0]), 2)
    tau = np.linspace(-0.5, 0.5, 8)
    answers[:, 5] = np.nan
    found = factor_scores(solution, answers, method="eap", thresholds=tau)
    L, phi = solution.loadings, solution.factor_correlation
    size = np.sqrt(1 - np.sum((L @ phi) * L, axis=1))
    rule = irt_multidimensional_slow.nodes_of(2, 61)
    for u in (0, 1, 2):
        mean, covariance = irt_multidimensional_slow.posterior_moments(
            answers[:, u], L / size[:, None], -tau / size, phi, rule, "probit"
        )
        np.testing.assert_allclose(found.scores[u], mean, atol=1e-6)
        np.testing.assert_allclose(found.sd[u], np.sqrt(np.diagonal(covariance)), atol=1e-6)
    assert np.isnan(found.scores[5]).all()


def test_posterior_means_on_one_factor_are_those_of_question_scores():
    answers, _ = answers_of(500)
    solution = factor_analysis(np.corrcoef(sample(400)[0][:4]), 1)
    L = np.array(solution.loadings[:, 0])
    tau = np.array([-0.3, 0.0, 0.2, 0.1])
    one = question_scores(answers[:4], loadings=L, thresholds=tau, leave_one_out=False)
    found = factor_scores(solution, answers[:4], method="eap", thresholds=tau)
    np.testing.assert_allclose(found.scores[:, 0], one.scores, atol=1e-6)
    np.testing.assert_allclose(found.sd[:, 0], one.sd, atol=1e-6)


def test_distance_of_scores_from_factors():
    data, factors = sample(20_000)
    solution = factor_analysis(np.corrcoef(data), 2)
    for method in METHODS:
        found = factor_scores(solution, data, method=method)
        order = np.abs(np.corrcoef(found.scores.T, factors)[:2, 2:]).argmax(axis=1)
        observed = np.sqrt(np.mean((found.scores - factors[order].T) ** 2, axis=0))
        np.testing.assert_allclose(found.sd[0], observed, atol=0.02)


def test_posterior_means_of_bad_input():
    solution = factor_analysis(np.corrcoef(sample(300)[0]), 2)
    answers, _ = answers_of(100)
    with pytest.raises(CodeError, match="coded 0 and 1"):
        factor_scores(solution, answers * 2, method="eap")
    with pytest.raises(OptionError, match="thresholds are for method='eap'"):
        factor_scores(solution, answers, thresholds=np.zeros(8))
    with pytest.raises(ShapeError, match="8 finite numbers"):
        factor_scores(solution, answers, method="eap", thresholds=np.zeros(3))
    with pytest.raises(InputError, match="zero variance"):
        factor_scores(solution, np.vstack([np.ones(100), answers[1:]]), method="eap")


def test_units_in_rows_are_what_questions_scored_by_models_are():
    rng = np.random.default_rng(5)
    data = 0.7 * rng.normal(size=300) + 0.7 * rng.normal(size=(6, 300))
    solution = factor_analysis(np.corrcoef(data), 1)
    found = factor_scores(solution, data)
    turned = factor_scores(solution, data.T, of="questions")
    np.testing.assert_allclose(turned.scores, found.scores, rtol=1e-12)
    assert turned.units == found.units
    labelled = pd.DataFrame(data, index=list("abcdef"))
    named = factor_analysis(labelled.T.corr(), 1)
    shuffled = factor_scores(named, labelled.T[list("fbdace")], of="questions")
    np.testing.assert_allclose(shuffled.scores, found.scores, atol=1e-9)


@pytest.mark.parametrize("of", ["models", "questions"])
def test_variables_on_the_other_axis_are_told(of):
    rng = np.random.default_rng(5)
    data = pd.DataFrame(rng.normal(size=(6, 40)), index=list("abcdef"))
    solution = factor_analysis(data.T.corr(), 1)
    wrong = data.T if of == "models" else data
    other = "questions" if of == "models" else "models"
    with pytest.raises(ShapeError, match=f"on the other axis: pass of='{other}'"):
        factor_scores(solution, wrong, of=of)
    square = wrong.iloc[:6] if of == "models" else wrong.iloc[:, :6]
    with pytest.raises(LabelError, match=f"on the other axis: pass of='{other}'"):
        factor_scores(solution, square, of=of)


def test_weights_and_posterior_means_of_two_variables():
    L, R = np.array([[0.8], [0.6]]), np.array([[1.0, 0.48], [0.48, 1.0]])
    weights = score_weights(L, np.eye(1), R, "regression")
    assert weights.round(3).ravel().tolist() == [0.665, 0.281]
    answers = np.array([[1.0, 0.0], [1.0, 0.0]])
    mean, _ = posterior_scores(L, np.eye(1), np.zeros(2), answers)
    assert mean.round(3).ravel().tolist() == [0.847, -0.847]
