"""Omega of given loadings: golden cases, slow twin, parallel forms, bad input."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import psychollm as psy
from psychollm._base.errors import InputError, ShapeError
from psychollm.factor.one_factor.full_information import full_information
from psychollm.factor.one_factor.pairwise_likelihood import pairwise_likelihood
from psychollm.reliability.omegas.latent_response import NUMBERS
from psychollm.reliability.omegas.omega_categorical import omega_categorical
from psychollm.reliability.omegas.omega_of_loadings import omega_of_loadings
from tests.effort import examples
from tests.oracles import omega_slow as slow
from tests.reliability.golden_cases import (
    categorical_answers,
    categorical_row,
    check_categorical,
)


@pytest.mark.parametrize("name", ["lsat7", "bin12"])
def test_golden_from_loadings(name):
    row = categorical_row(name)
    correlation = psy.tetrachoric(categorical_answers(name), of="questions")
    found = omega_of_loadings(
        row["std_loading"], thresholds=row["threshold"], correlation=np.array(correlation.matrix)
    )
    check_categorical(found, row, 1e-7)  # stated: 1e-5


def test_golden_that_may_not_be_shipped(shared):
    folder = shared / "golden" / "psychometrics"
    row = categorical_row("ability", folder)
    fits = json.loads((folder / "lavaan_cfa.json").read_text())["rows"]
    sample = next(fit for fit in fits if fit["id"].startswith("ability"))["sample_rho"]
    found = omega_of_loadings(
        row["std_loading"], thresholds=row["threshold"], correlation=np.array(sample)
    )
    check_categorical(found, row, 1e-7)


@examples(10)
@given(seed=st.integers(0, 10_000), n_cuts=st.integers(1, 3))
def test_twin(seed, n_cuts):
    rng = np.random.default_rng(seed)
    L = rng.uniform(0.2, 0.9, 3)
    cuts = np.sort(rng.normal(size=(3, n_cuts)), axis=1) + 0.01 * np.arange(n_cuts)
    found = omega_of_loadings(L, thresholds=cuts)
    assert found.total.value[0] == pytest.approx(slow.green_yang(L, cuts), abs=1e-6)
    latent = np.clip(np.outer(L, L) + 0.05, -1, 1)
    np.fill_diagonal(latent, 1.0)
    observed = omega_of_loadings(L, thresholds=cuts, correlation=latent)
    assert observed.total.value[0] == pytest.approx(slow.green_yang(L, cuts, latent), abs=1e-6)


def test_it_is_the_correlation_of_parallel_forms():
    L, cuts = [0.8, 0.7, 0.6, 0.75], [[-1.0, 0.5], [0.0], [-0.5, 0.0, 1.0], [0.8]]
    found = omega_of_loadings(L, thresholds=cuts).total.value[0]
    # A correlation of 200,000 pairs is within .005 of its mean but for once in 10,000 times.
    assert slow.parallel_forms(L, cuts, 200_000, 1) == pytest.approx(found, abs=0.005)


def test_many_categories_come_near_the_latent_responses():
    cuts = [np.linspace(-3, 3, 41)] * 5
    found = omega_of_loadings([0.7] * 5, thresholds=cuts)
    assert found.total.value[0] == pytest.approx(found.latent.value[0], abs=0.003)
    two = omega_of_loadings([0.7] * 5, thresholds=[0.0] * 5)
    assert two.total.value[0] < found.total.value[0] - 0.05
    assert two.latent.value[0] == pytest.approx(found.latent.value[0])


@given(seed=st.integers(0, 10_000))
def test_recoding_yes_as_no_changes_nothing(seed):
    rng = np.random.default_rng(seed)
    L, cuts = rng.uniform(0.1, 0.9, 5), rng.normal(size=5)
    first = omega_of_loadings(L, thresholds=cuts)
    second = omega_of_loadings(L, thresholds=-cuts)
    for name in NUMBERS:
        assert getattr(second, name).value[0] == pytest.approx(
            getattr(first, name).value[0], abs=1e-12
        )
    assert 0.0 < first.total.value[0] < 1.0


def test_takes_solutions():
    data = psy.simulate_factor(
        loadings=[0.8, 0.7, 0.6, 0.7, 0.5], thresholds=[0, 0.5, -0.5, 0.2, 1.0],
        n_questions=3000, rng=1,
    )  # fmt: skip
    pairwise, full = pairwise_likelihood(data.responses), full_information(data.responses)
    truth = omega_of_loadings(data.loadings, thresholds=data.thresholds)
    for solution in (pairwise, full):
        found = omega_of_loadings(solution)
        assert found.items == data.responses.models
        assert found.total.value[0] == pytest.approx(truth.total.value[0], abs=0.03)
    rows = omega_categorical(data.responses.codes.T, bootstrap=0, variance="implied")
    assert rows.total.value[0] == pytest.approx(
        omega_of_loadings(pairwise).total.value[0], abs=1e-6
    )


@pytest.mark.parametrize(
    ("loadings", "options", "error", "message"),
    [
        ([0.5, 0.5, 0.5], {}, InputError, "thresholds are needed"),
        ([0.5, 0.5], {"thresholds": [0.0]}, ShapeError, "thresholds have 1 items, but loadings"),
        ([0.5, 0.5], {"thresholds": [[0.0, -1.0], [0.0]]}, InputError, "thresholds of 0 must be"),
        ([0.5, 0.5], {"thresholds": [np.nan, 0.0]}, InputError, "increasing numbers, got"),
        ([0.5, 1.2], {"thresholds": [0.0, 0.0]}, InputError, "communalities of 1 exceed 1"),
        ([0.5, np.nan], {"thresholds": [0.0, 0.0]}, InputError, "undefined for 1"),
        (
            [0.5, 0.5],
            {"thresholds": [0.0, 0.0], "correlation": np.eye(3)},
            ShapeError,
            "correlation has 3 items",
        ),
    ],
)
def test_bad_loadings(loadings, options, error, message):
    with pytest.raises(error, match=message):
        omega_of_loadings(loadings, **options)
