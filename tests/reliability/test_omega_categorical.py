"""Categorical omega: what semTools prints, twins, invariances, intervals, bad input."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import psychollm as psy
from psychollm._base.errors import CodeError, InputError, OptionError, ShapeError
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import Bootstrap
from psychollm.factor.one_factor.full_information import full_information
from psychollm.factor.one_factor.pairwise_likelihood import pairwise_likelihood
from psychollm.reliability.omegas.latent_response import NUMBERS
from psychollm.reliability.omegas.omega_categorical import omega_categorical
from psychollm.reliability.omegas.omega_of_loadings import omega_of_loadings
from tests.effort import examples
from tests.oracles import omega_slow as slow

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "psychometrics"
KEYS = {
    "omega_ordinal_scale_green_yang": "total",
    "alpha_ordinal_scale": "alpha",
    "omega_latent_response": "latent",
    "alpha_latent_response": "latent_alpha",
    "AVE": "average_variance",
}


def answers(name):
    if name == "bin12":
        return np.loadtxt(GOLDEN / "synth_bin12.csv", delimiter=",", skiprows=1)
    patterns = np.loadtxt(GOLDEN / "lsat7_patterns.csv", delimiter=",", skiprows=1)
    return np.repeat(patterns[:, :5], patterns[:, 5].astype(int), axis=0)


def expected(name, folder=GOLDEN):
    rows = json.loads((folder / "omega_categorical.json").read_text())["rows"]
    return next(row for row in rows if row["id"] == name)


def check(found, row, tolerance):
    for key, name in KEYS.items():
        assert getattr(found, name).value[0] == pytest.approx(row[key], abs=tolerance), key


@pytest.mark.parametrize("name", ["lsat7", "bin12"])
def test_golden_from_loadings(name):
    row = expected(name)
    correlation = psy.tetrachoric(answers(name), of="questions")
    found = omega_of_loadings(
        row["std_loading"], thresholds=row["threshold"], correlation=np.array(correlation.matrix)
    )
    check(found, row, 1e-7)  # stated: 1e-5


def test_golden_that_may_not_be_shipped(shared):
    folder = shared / "golden" / "psychometrics"
    row = expected("ability", folder)
    fits = json.loads((folder / "lavaan_cfa.json").read_text())["rows"]
    sample = next(fit for fit in fits if fit["id"].startswith("ability"))["sample_rho"]
    found = omega_of_loadings(
        row["std_loading"], thresholds=row["threshold"], correlation=np.array(sample)
    )
    check(found, row, 1e-7)


@pytest.mark.parametrize("name", ["lsat7", "bin12"])
def test_golden_from_answers(name):
    # lavaan's weighted least squares from the answers themselves: loadings to 5e-7.
    row = expected(name)
    found = omega_categorical(answers(name), estimator="dwls", bootstrap=0)
    check(found, row, 1e-5)
    np.testing.assert_allclose(found.loadings[:, 0], row["std_loading"], atol=2e-6)
    np.testing.assert_allclose(found.thresholds[:, 0], row["threshold"], atol=1e-12)
    low, high = found.total.interval[0]
    assert low < row["omega_ordinal_scale_green_yang"] < high


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


def simulated(n, seed, loadings=(0.8, 0.7, 0.6, 0.75, 0.5), cuts=(0.0, 0.4, -0.4, 0.8, -0.2)):
    rng = np.random.default_rng(seed)
    L = np.array(loadings)
    y = rng.normal(size=(n, 1)) * L + np.sqrt(1 - L**2) * rng.normal(size=(n, L.size))
    return (y > np.array(cuts)).astype(float)


def test_alpha_of_scores_is_kr20():
    scores = simulated(300, 0)
    found = omega_categorical(scores, bootstrap=0)
    p = scores.mean(axis=0)
    kr20 = 5 / 4 * (1 - (p * (1 - p)).sum() / scores.sum(axis=1).var())
    assert found.alpha.value[0] == pytest.approx(kr20, abs=1e-12)


@examples(6)
@given(seed=st.integers(0, 10_000), estimator=st.sampled_from(["pairwise", "dwls"]))
def test_order_and_duplicates_do_not_matter(seed, estimator):
    scores = simulated(150, seed)
    rng = np.random.default_rng(seed)
    first = omega_categorical(scores, estimator=estimator, bootstrap=0)
    order = scores[rng.permutation(150)][:, rng.permutation(5)]
    # Half a count in an empty cell weighs less in twice the data: latent numbers may move.
    scored = ("total", "alpha", "average_variance") if estimator == "pairwise" else ("alpha",)
    for other, names in ((order, NUMBERS), (np.concatenate([scores, scores]), scored)):
        again = omega_categorical(other, estimator=estimator, bootstrap=0)
        for name in names:
            assert getattr(again, name).value[0] == pytest.approx(
                getattr(first, name).value[0], abs=1e-4
            )


def test_resamples():
    scores = simulated(200, 1)
    first = omega_categorical(scores, bootstrap=40, rng=0, interval="bootstrap")
    second = omega_categorical(
        scores, bootstrap=Bootstrap(40, n_jobs=2), rng=0, interval="bootstrap"
    )
    np.testing.assert_array_equal(first.total.draws, second.total.draws)
    assert first.total.method == "BCa bootstrap over respondents"
    jackknife = omega_categorical(scores, bootstrap=40, rng=0)
    assert jackknife.total.method == "jackknife over respondents, log(1 - x)"
    for name in NUMBERS:
        low, high = getattr(jackknife, name).interval[0]
        assert low < getattr(jackknife, name).value[0] < high
    table = jackknife.to_frame()
    assert table["coefficient"].tolist()[0] == "categorical omega"
    assert len(table) == 5


def test_respondents_are_resampled_whole():
    scores = simulated(60, 2)
    repeated = np.repeat(scores, 3, axis=0)
    who = np.repeat(np.arange(60), 3)
    owned = omega_categorical(repeated, respondents=who, bootstrap=0)
    plain = omega_categorical(scores, bootstrap=0)
    assert owned.total.value[0] == pytest.approx(plain.total.value[0], abs=1e-6)
    np.testing.assert_allclose(owned.total.interval, plain.total.interval, atol=1e-4)
    assert owned.n == 180


def test_coverage():
    # 60 data sets at 95 %: fewer than 51 hits happen by chance less than once in 1,000 times.
    truth = omega_of_loadings(
        [0.8, 0.7, 0.6, 0.75, 0.5], thresholds=[0.0, 0.4, -0.4, 0.8, -0.2]
    ).total.value[0]
    hits = 0
    for seed in range(60):
        found = omega_categorical(simulated(120, 100 + seed), bootstrap=0)
        low, high = found.total.interval[0]
        hits += low <= truth <= high
    assert hits >= 51


def test_keys_reverse_items():
    scores = simulated(300, 4)
    turned = scores.copy()
    turned[:, 1] = 1 - turned[:, 1]
    plain = omega_categorical(scores, bootstrap=0)
    flagged = omega_categorical(turned, bootstrap=0)
    assert flagged.total.flags == (Reason.NEGATIVE_ITEMS,)
    assert flagged.total.value[0] < plain.total.value[0]
    keyed = omega_categorical(turned, keys={1: -1}, bootstrap=0)
    assert keyed.total.value[0] == pytest.approx(plain.total.value[0], abs=1e-9)


def test_missing_answers():
    scores = simulated(300, 5)
    scores[np.random.default_rng(0).random(scores.shape) < 0.05] = np.nan
    found = omega_categorical(scores, bootstrap=20, rng=0)
    assert found.total.flags == (Reason.PAIRWISE,)
    assert np.isfinite(found.total.interval).all()


def test_a_constant_item_adds_nothing():
    scores = simulated(300, 6)
    found = omega_categorical(np.column_stack([scores, np.ones(300)]), bootstrap=20, rng=0)
    plain = omega_categorical(scores, bootstrap=20, rng=0)
    assert found.total.flags == (Reason.CONSTANT_ITEMS,)
    assert found.total.value[0] == pytest.approx(plain.total.value[0], abs=1e-9)
    assert np.isnan(found.loadings[-1, 0])


def test_a_heywood_case_is_flagged():
    scores = simulated(60, 7)
    scores[:, 1] = scores[:, 0]
    found = omega_categorical(scores, bootstrap=0)
    assert found.heywood
    assert found.total.flags == (Reason.HEYWOOD,)
    given_one = omega_of_loadings([1.0, 0.5, 0.5], thresholds=[0.0, 0.0, 0.0])
    assert given_one.total.flags == (Reason.HEYWOOD,)


@pytest.mark.parametrize(
    ("scores", "reason"),
    [
        (np.ones((20, 4)), Reason.CONSTANT_ITEMS),
        (np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]), Reason.FEW_RESPONDENTS),
        (np.column_stack([simulated(30, 0)[:, :2], np.ones((30, 2))]), Reason.CONSTANT_ITEMS),
    ],
)
def test_undefined_with_a_reason(scores, reason):
    found = omega_categorical(scores, bootstrap=20, rng=0)
    for name in NUMBERS:
        assert np.isnan(getattr(found, name).value[0])
        assert getattr(found, name).flags == (reason,)
    assert str(reason) in found.summary()


@pytest.mark.parametrize(
    ("data", "options", "error", "message"),
    [
        ([[1, 2, 0]] * 4, {}, CodeError, "item 1 holds 2"),
        ([[1, 0], [0, 1], [1, 1]], {}, ShapeError, "2 items"),
        (np.eye(4), {"variance": "true"}, OptionError, "variance='true'"),
        (np.eye(4), {"estimator": "wls"}, OptionError, "estimator='wls'"),
        (np.eye(4), {"interval": "wald"}, OptionError, "interval='wald'"),
    ],
)
def test_bad_answers(data, options, error, message):
    with pytest.raises(error, match=message):
        omega_categorical(data, **options)


@pytest.mark.parametrize(
    ("loadings", "options", "error", "message"),
    [
        ([0.5, 0.5, 0.5], {}, InputError, "thresholds are needed"),
        ([0.5, 0.5], {"thresholds": [0.0]}, ShapeError, "thresholds hold 1 items, loadings 2"),
        ([0.5, 0.5], {"thresholds": [[0.0, -1.0], [0.0]]}, InputError, "thresholds of 0 must be"),
        ([0.5, 0.5], {"thresholds": [np.nan, 0.0]}, InputError, "increasing numbers, got"),
        ([0.5, 1.2], {"thresholds": [0.0, 0.0]}, InputError, "loadings of 1 explain more"),
        ([0.5, np.nan], {"thresholds": [0.0, 0.0]}, InputError, "undefined for 1"),
        (
            [0.5, 0.5],
            {"thresholds": [0.0, 0.0], "correlation": np.eye(3)},
            ShapeError,
            "correlation is of 3 items",
        ),
    ],
)
def test_bad_loadings(loadings, options, error, message):
    with pytest.raises(error, match=message):
        omega_of_loadings(loadings, **options)


def test_labels_are_kept():
    frame = pd.DataFrame(simulated(100, 9), columns=list("abcde"))
    assert omega_categorical(frame, bootstrap=0).items == tuple("abcde")
