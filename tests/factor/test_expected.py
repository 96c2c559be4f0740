"""Expected answers of factor models: against item response models, and what is unknown."""

import numpy as np
import pandas as pd
import pytest

import psychollm as psy
from psychollm import factor
from psychollm._base.errors import CodeError, LabelError

K = 8


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    made = psy.simulate_factor(
        loadings=np.linspace(0.6, 0.9, K),
        thresholds=np.linspace(-1.0, 1.0, K),
        n_questions=2000,
        missing=0.1,
        rng=1,
    ).responses
    values = np.where(made.missing, np.nan, made.values)
    return pd.DataFrame(values, index=[f"m{k}" for k in range(K)])


def test_one_factor_is_the_probit_model(table: pd.DataFrame) -> None:
    expected = factor.full_information(table).predict(table)
    exact = psy.fit_irt(table, respondents="questions", link="probit", priors=None).predict(table)
    np.testing.assert_allclose(expected, exact, atol=1e-4)


def test_every_solution_expects_much_the_same(table: pd.DataFrame) -> None:
    exact = factor.full_information(table).predict(table)
    correlation = psy.tetrachoric(table)
    for solution in (
        factor.pairwise_likelihood(table),
        psy.factor_analysis(correlation, 1),
        psy.confirmatory_factors(psy.polychoric(table), {"f": list(table.index)}),
        factor.exploratory_pairwise_likelihood(table, n_factors=1),
    ):
        np.testing.assert_allclose(solution.predict(table), exact, atol=0.06)


def test_variables_may_be_questions_and_are_put_in_order(table: pd.DataFrame) -> None:
    fit = factor.full_information(table)
    expected = fit.predict(table)
    np.testing.assert_array_equal(fit.predict(table.T), expected.T)
    np.testing.assert_array_equal(fit.predict(table[::-1]), expected)
    chosen = fit.predict(table, models=["m3"], questions=[5, 1])
    np.testing.assert_array_equal(chosen, expected[[3]][:, [5, 1]])


def test_a_question_nobody_answered_is_expected_at_the_yes_rates(table: pd.DataFrame) -> None:
    fit = factor.full_information(table)
    silent = table.copy()
    silent[0] = np.nan
    np.testing.assert_allclose(fit.predict(silent)[:, 0], table.mean(axis=1), atol=0.02)


def test_held_out_answers_of_two_factors(table: pd.DataFrame) -> None:
    loadings = np.zeros((K, 2))
    loadings[: K // 2, 0] = loadings[K // 2 :, 1] = 0.85
    made = psy.simulate_factor(
        loadings=loadings, thresholds=np.zeros(K), n_questions=3000, rng=2
    ).responses.values.astype(float)
    hidden = made.copy()
    hidden[0] = np.where(np.arange(3000) % 2, np.nan, made[0])
    out = np.isnan(hidden[0])
    losses = []
    for m in (1, 2):
        p = factor.exploratory_pairwise_likelihood(hidden, n_factors=m).predict(hidden)[0, out]
        losses.append(-np.mean(np.where(made[0, out] == 1, np.log(p), np.log1p(-p))))
    assert losses[1] < losses[0] - 0.02
    assert losses[1] < 0.6  # of .69 for one half always


def test_errors(table: pd.DataFrame) -> None:
    fit = factor.full_information(table)
    with pytest.raises(CodeError, match="0 and 1"):
        fit.predict(table * 2)
    with pytest.raises(LabelError, match="m0"):
        fit.predict(table.rename(index={"m0": "x"}))
