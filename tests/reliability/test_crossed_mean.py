"""Means over people and questions: against the analysis of variance, and against repetition."""

import numpy as np
import pytest

from psychollm.reliability.means.crossed_mean import crossed_mean


def by_anova(table):
    """Return the variance and the degrees of freedom from mean squares of a complete table."""
    n_people, n_questions = table.shape
    mean, people, questions = table.mean(), table.mean(axis=1), table.mean(axis=0)
    rest = table - people[:, None] - questions + mean
    squares = np.array(
        [
            n_questions * ((people - mean) ** 2).sum() / (n_people - 1),
            n_people * ((questions - mean) ** 2).sum() / (n_questions - 1),
            (rest**2).sum() / ((n_people - 1) * (n_questions - 1)),
        ]
    )
    parts = squares / table.size
    df = np.array([n_people - 1, n_questions - 1, (n_people - 1) * (n_questions - 1)])
    variance = parts @ [1, 1, -1]
    return variance, variance**2 / (parts**2 / df).sum()


def test_of_a_complete_table_it_is_the_analysis_of_variance() -> None:
    rng = np.random.default_rng(3)
    table = rng.standard_normal((60, 1)) + rng.standard_normal(25) + rng.standard_normal((60, 25))
    found, (variance, df) = crossed_mean(table), by_anova(table)
    assert found.value == pytest.approx(table.mean())
    assert found.variance == pytest.approx(variance)
    # People tell no less than 59 in 60 here; the cap may take the rest.
    assert found.df <= df * (1 + 1e-9)
    assert found.df > 0.5 * df


@pytest.mark.parametrize(("missing", "clusters"), [(0.0, None), (0.3, None), (0.0, 4)])
def test_the_variance_has_no_bias(missing: float, clusters: int | None) -> None:
    """Over 400 tables: within four standard errors of the variance of the mean."""
    rng = np.random.default_rng(4)
    values, variances = [], []
    codes = None if clusters is None else np.arange(40) // clusters
    for _ in range(400):
        table = 0.6 * rng.standard_normal((15, 1)) + rng.standard_normal(40)
        table = table + rng.standard_normal((15, 40))
        if codes is not None:
            table = table + rng.standard_normal(codes.max() + 1)[codes]
        table[rng.random(table.shape) < missing] = np.nan
        found = crossed_mean(table, codes)
        values.append(found.value)
        variances.append(found.variance)
    assert np.mean(variances) / np.var(values) == pytest.approx(1.0, abs=4 * np.sqrt(2 / 400))


def test_people_alone_vary_where_questions_are_fixed() -> None:
    totals = np.array([[3.0], [4.0], [5.0], [9.0]])
    found = crossed_mean(totals, fixed=True)
    assert found.variance == pytest.approx(totals.var(ddof=1) / 4)
    assert found.of_questions == 0.0


def test_what_one_person_or_one_question_leaves_unknown_is_nan() -> None:
    assert np.isnan(crossed_mean(np.ones((1, 5))).variance)
    assert np.isnan(crossed_mean(np.ones((5, 1))).variance)
    assert np.isnan(crossed_mean(np.full((3, 3), np.nan)).value)
    assert np.isnan(crossed_mean(np.eye(4), np.zeros(4, dtype=int)).variance)


def test_equal_scores_have_no_variance() -> None:
    found = crossed_mean(np.full((7, 9), 0.1))
    assert (found.value, found.variance) == (0.1, 0.0)
