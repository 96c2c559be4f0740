"""Permutation nulls: what each scheme keeps, uniform p-values, same bits everywhere."""

import json

import numpy as np
import pandas as pd
import pytest

from psychollm._base.errors import CodeError, OptionError, ShapeError
from psychollm.data.responses import Responses
from psychollm.estimates.null import monte_carlo_p_value
from psychollm.nulls import permutation
from psychollm.nulls.design import component_loadings, quadratic_fit
from psychollm.nulls.permutation import permutation_null


def table(k=6, n=200, seed=0, missing=0.0, signal=0.8):
    rng = np.random.default_rng(seed)
    x = signal * rng.normal(size=n) + np.sqrt(1 - signal**2) * rng.normal(size=(k, n))
    values = (x > np.linspace(-0.9, 0.9, k)[:, None]).astype(float)
    values[rng.random((k, n)) < missing] = np.nan
    return Responses(values)


@pytest.mark.parametrize("scheme", ["within_model", "within_question", "both_margins"])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_same_bits_for_any_jobs_and_length(scheme, missing):
    data = table(missing=missing)
    one = permutation_null(data, scheme=scheme, n_null=60, rng=3, n_jobs=1)
    two = permutation_null(data, scheme=scheme, n_null=60, rng=3, n_jobs=2)
    short = permutation_null(data, scheme=scheme, n_null=7, rng=3)
    assert np.array_equal(one.draws, two.draws)
    assert np.array_equal(one.draws[:7], short.draws)
    assert not np.array_equal(
        one.draws, permutation_null(data, scheme=scheme, n_null=60, rng=4).draws
    )


def test_same_bits_in_other_processes():
    joblib = pytest.importorskip("joblib")
    data = table()
    with joblib.parallel_config(backend="loky", n_jobs=2):
        spread = permutation_null(data, n_null=400, rng=3)
    assert np.array_equal(spread.draws, permutation_null(data, n_null=400, rng=3, n_jobs=1).draws)


@pytest.mark.parametrize("scheme", ["within_model", "within_question"])
def test_exchangeable_rows_get_uniform_p_values(scheme):
    """200 tables without signal: a Kolmogorov-Smirnov distance of 1.63/sqrt(200) has p = .01."""
    rng = np.random.default_rng(5)
    p = []
    for seed in range(200):
        data = (rng.random((5, 80)) < 0.5).astype(int)
        null = permutation_null(data, statistic="eigenvalues", scheme=scheme, n_null=99, rng=seed)
        p.append(null.p_value[0])
    grid = np.sort(p)
    distance = np.abs(grid - np.arange(1, 201) / 200).max()
    assert distance < 1.63 / np.sqrt(200) + 0.01  # p-values are multiples of .01


def test_row_permutation_means_are_those_of_the_golden_null(golden):
    rows = json.loads((golden / "psychometrics" / "parallel.json").read_text())["rows"]
    for row, name in zip(rows, ("synth_bin12", "synth_llm200x10"), strict=True):
        frame = pd.read_csv(golden / "psychometrics" / f"{name}.csv")
        columns = row["column_permutation_tet_pc"]
        # The golden table has respondents in rows: their column permutation is our within_model.
        null = permutation_null(
            frame.T, n_null=200, rng=1, missing="global", empty_cells="add_half"
        )
        spread = 2 * null.sd / np.sqrt(200)
        assert np.all(np.abs(null.mean - columns["mean"])[:3] < 4 * spread[:3])
        by_row = row["row_permutation_tet_pc"]
        other = permutation_null(
            frame.T,
            scheme="within_question",
            n_null=200,
            rng=1,
            missing="global",
            empty_cells="add_half",
        )
        spread = 2 * other.sd / np.sqrt(200)
        assert np.all(np.abs(other.mean - by_row["mean"])[:3] < 4 * spread[:3])


@pytest.mark.parametrize(("trades", "half"), [(40, 20), (1, 1)])
def test_mixing_compares_half_of_the_trades_with_all(monkeypatch, trades, half):
    block, drawn = permutation._permuted_block, []

    def recorded(seeds, **options):
        drawn.append((len(seeds), options["trades"]))
        return block(seeds, **options)

    monkeypatch.setattr(permutation, "_permuted_block", recorded)
    answers = np.random.default_rng(3).integers(0, 2, (4, 30))
    null = permutation_null(answers, scheme="both_margins", n_null=3, rng=1, trades=trades)
    assert (null.mixing.trades.min(), null.mixing.trades.max()) == (max(trades // 8, 1), trades)
    assert drawn.count((permutation.MIXING_CHAINS, half)) >= 1
    assert drawn.count((permutation.MIXING_CHAINS, trades)) >= 1


def test_mixing_is_reported_and_warns_of_too_few_trades():
    data = table(k=10, n=400)
    good = permutation_null(data, scheme="both_margins", n_null=20, rng=1)
    assert good.mixing.z < 4
    assert good.mixing.changed[-1] == pytest.approx(good.mixing.changed[-2], rel=0.1)
    poor = permutation_null(data, scheme="both_margins", n_null=20, rng=1, trades=4)
    assert poor.mixing.changed[-1] < 0.7 * good.mixing.changed[-1]
    assert poor.mixing.z > 1
    assert "Mixing" in repr(good)
    assert permutation_null(data, n_null=9, rng=1).mixing is None


@pytest.mark.parametrize(
    ("statistic", "shape"),
    [
        ("eigenvalues", (6,)),
        ("shares", (6,)),
        ("negative_mass", ()),
        ("mean_correlation", ()),
        ("quadratic_r2", ()),
        ("second_loadings", (6,)),
    ],
)
def test_named_statistics(statistic, shape):
    null = permutation_null(table(), statistic=statistic, n_null=20, rng=1)
    assert null.observed.shape == shape
    assert null.draws.shape == (20, *shape)
    assert null.statistic == statistic


def test_any_function_of_the_matrix():
    null = permutation_null(table(), statistic=np.linalg.det, n_null=20, rng=1, alternative="less")
    assert null.statistic == "det"
    assert null.p_value == pytest.approx(1 / 21)
    assert len(null.to_frame()) == 1


def test_p_value_counts_the_observed_table():
    draws = np.array([1.0, 2.0, 3.0, 4.0])
    assert monte_carlo_p_value(np.array(2.5), draws) == pytest.approx(3 / 5)
    assert monte_carlo_p_value(np.array(2.5), draws, alternative="less") == pytest.approx(3 / 5)
    assert monte_carlo_p_value(np.array(9.0), draws, alternative="two-sided") == pytest.approx(0.4)
    assert monte_carlo_p_value(np.array(3.0), draws) == pytest.approx(3 / 5)  # a tie counts
    assert np.isnan(monte_carlo_p_value(np.array(np.nan), draws))


def test_monte_carlo_error():
    null = permutation_null(table(signal=0.05), n_null=99, rng=1)
    p = null.p_value
    np.testing.assert_allclose(null.p_value_se, np.sqrt(p * (1 - p) / 100))


def test_quadratic_fit_is_least_squares():
    tau = np.linspace(-2, 2, 9)
    coefficients, r2 = quadratic_fit(tau, 0.9 - 0.1 * tau**2)
    np.testing.assert_allclose(coefficients, [0.9, 0, -0.1], atol=1e-12)
    assert r2 == pytest.approx(1)
    assert np.isnan(quadratic_fit(tau[:3], tau[:3])[1])


def test_an_interrupt_ends_the_call():
    def statistic(matrix, seen=[]):  # noqa: B006 - counts its calls
        seen.append(1)
        if len(seen) == 5:
            raise KeyboardInterrupt
        return matrix[0, 1]

    with pytest.raises(KeyboardInterrupt):
        permutation_null(table(), statistic=statistic, n_null=50, rng=1, n_jobs=1)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"scheme": "columns"}, OptionError, "scheme='columns'"),
        ({"statistic": "eigen"}, OptionError, "statistic='eigen' is not known"),
        ({"statistic": 3}, OptionError, "function of a matrix"),
        ({"n_null": 0}, OptionError, "n_null=0"),
        ({"n_null": 2.5}, OptionError, "n_null=2.5"),
        ({"trades": -1}, OptionError, "trades=-1"),
    ],
)
def test_bad_options(options, error, message):
    with pytest.raises(error, match=message):
        permutation_null(table(), **options)


def test_bad_tables():
    with pytest.raises(CodeError, match="'lazy' have constant answers"):
        permutation_null(pd.DataFrame([[1, 1, 1], [1, 0, 1]], index=["lazy", "busy"]))
    with pytest.raises(ShapeError, match="one model only"):
        permutation_null([[1, 0, 1]])
    nan = np.nan
    with pytest.raises(CodeError, match="no correlation on the 0 questions"):
        permutation_null([[1, 0, nan, nan], [nan, nan, 1, 0]])


def test_loadings_of_a_component_make_up_its_share():
    """Squared loadings sum to the eigenvalue, below 1 as well as above."""
    data = np.corrcoef(np.random.default_rng(0).normal(size=(5, 40)))
    values = np.linalg.eigvalsh(data)[::-1]
    for which in range(5):
        loadings = component_loadings(data[None], which)[0]
        assert (loadings**2).sum() == pytest.approx(values[which])
        assert loadings.sum() >= 0


def test_mixing_of_a_table_in_which_nothing_can_be_traded():
    nested = np.tril(np.ones((4, 5)))
    null = permutation_null(nested, scheme="both_margins", n_null=5, rng=0)
    assert null.mixing.z == 0.0
    assert null.mixing.changed.max() == 0.0
