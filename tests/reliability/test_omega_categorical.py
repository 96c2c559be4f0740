"""Categorical omega: what semTools prints, twins, invariances, intervals, bad input."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psychollm._base.errors import CodeError, OptionError, ShapeError
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import Bootstrap
from psychollm.reliability.omegas.latent_response import NUMBERS
from psychollm.reliability.omegas.omega_categorical import omega_categorical
from psychollm.reliability.omegas.omega_of_loadings import omega_of_loadings
from tests.effort import examples
from tests.reliability.golden_cases import categorical_answers, categorical_row, check_categorical


@pytest.mark.parametrize("name", ["lsat7", "bin12"])
def test_golden_from_answers(name):
    # lavaan's weighted least squares from the answers themselves: loadings to 5e-7.
    row = categorical_row(name)
    found = omega_categorical(categorical_answers(name), estimator="dwls", bootstrap=0)
    check_categorical(found, row, 1e-5)
    np.testing.assert_allclose(found.loadings[:, 0], row["std_loading"], atol=2e-6)
    np.testing.assert_allclose(found.thresholds[:, 0], row["threshold"], atol=1e-12)
    low, high = found.total.interval[0]
    assert low < row["omega_ordinal_scale_green_yang"] < high


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
        ([[1, 2.5, 0]] * 4, {}, CodeError, "item 1 holds 2.5"),
        ([[1, 0], [0, 1], [1, 1]], {}, ShapeError, "2 items"),
        (np.eye(4), {"variance": "true"}, OptionError, "variance='true'"),
        (np.eye(4), {"estimator": "wls"}, OptionError, "estimator='wls'"),
        (np.eye(4), {"interval": "wald"}, OptionError, "interval='wald'"),
    ],
)
def test_bad_answers(data, options, error, message):
    with pytest.raises(error, match=message):
        omega_categorical(data, **options)


def test_labels_are_kept():
    frame = pd.DataFrame(simulated(100, 9), columns=list("abcde"))
    assert omega_categorical(frame, bootstrap=0).items == tuple("abcde")


def test_ratings_have_the_omega_of_their_loadings_and_thresholds():
    rng = np.random.default_rng(0)
    loading, cuts = np.array([0.8, 0.7, 0.6, 0.7]), [-1.0, -0.3, 0.4, 1.2]
    latent = rng.normal(size=(600, 1)) * loading
    latent = latent + rng.normal(size=(600, 4)) * np.sqrt(1 - loading**2)
    ratings = np.digitize(latent, cuts) + 1
    found = omega_categorical(ratings[:, :4])
    truth = omega_of_loadings(loading, thresholds=[cuts] * 4).total.value[0]
    low, high = found.total.interval[0]
    assert low < truth < high
    assert found.thresholds.shape == (4, 4)
    np.testing.assert_allclose(found.loadings[:, 0], loading, atol=0.1)
    with pytest.raises(CodeError, match="whole numbers, at most 15 apart"):
        omega_categorical(ratings + 0.5)
