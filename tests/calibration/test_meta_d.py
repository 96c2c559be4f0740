"""Meta-d': metadpy, metaSDT, statConfR, the slow twin, symmetries, degenerate input, coverage."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psychollm._base.errors import (
    CodeError,
    ConvergenceWarning,
    OptionError,
    ShapeError,
)
from psychollm.calibration.two_choice import meta_d as meta_d_module
from psychollm.calibration.two_choice.meta_d import meta_d, meta_d_from_counts
from psychollm.calibration.two_choice.meta_d_fit import fit_counts
from psychollm.data.simulate import simulate_meta_d
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import Bootstrap
from psychollm.kernels import meta_d as kernel
from psychollm.kernels.meta_d_likelihood import log_likelihood
from tests.effort import examples
from tests.oracles import meta_d_slow as slow

TABLES = ["metad_counts_maniscalco_lau_doc", "metad_counts_metadpy_doc"]
TRIALS = ["metad_trials_a", "metad_trials_b"]
PADDINGS = ["unpadded", "padded"]


def reference(golden, case, source):
    blocks = json.loads((golden / "metacognition" / f"{case}.expected.json").read_text())["blocks"]
    return next(block for block in blocks if block["source"].startswith(source))


def wide(golden, case):
    frame = pd.read_csv(golden / "metacognition" / f"{case}.csv")
    columns = ("stimulus", "response", "rating")
    return [frame.pivot_table(index="model", columns="trial", values=name) for name in columns]


def fitted(golden, case, **options):
    if case in TABLES:
        counts = pd.read_csv(golden / "metacognition" / f"{case}.csv")
        return meta_d_from_counts(counts["nR_S1"], counts["nR_S2"], bootstrap=0, **options)
    return meta_d(*wide(golden, case), bootstrap=0, **options)


def expected(golden, case, source):
    values = reference(golden, case, source)["values"]
    return [values] if case in TABLES else list(values.values())


@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("case", TABLES + TRIALS)
def test_golden_metadpy(golden, case, padding):
    block = reference(golden, case, "metadpy")
    found = fitted(golden, case, padding=padding == "padded")
    k = found.criteria.shape[2]
    for i, values in enumerate(expected(golden, case, "metadpy")):
        peer = values[padding]["metadpy"]
        own = {
            "dprime": found.d_prime.value[i],
            "meta_d": found.meta_d.value[i],
            "m_ratio": found.m_ratio.value[i],
            "m_diff": found.m_diff.value[i],
            "meta_ca": found.meta_c.value[i],
            "logL": found.log_likelihood[i],
            "t2ca_rS1": found.criteria[i, 0],
            "t2ca_rS2": found.criteria[i, 1],
        }
        for r in (0, 1):
            own[f"est_HR2_rS{r + 1}"] = found.fitted_hit_rates[i, r]
            own[f"obs_HR2_rS{r + 1}"] = found.hit_rates[i, r]
            own[f"est_FAR2_rS{r + 1}"] = found.fitted_false_alarm_rates[i, r]
            own[f"obs_FAR2_rS{r + 1}"] = found.false_alarm_rates[i, r]
        assert set(own) == set(peer)
        for key, value in peer.items():
            assert np.shape(own[key]) in {(), (k,)}
            np.testing.assert_allclose(own[key], value, atol=block["tol"], err_msg=key)


@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("case", TABLES + TRIALS)
def test_golden_independent_optimiser(golden, case, padding):
    # Its values are good to 1e-7: the tolerance is that, not the block's, which is metadpy's.
    found = fitted(golden, case, padding=padding == "padded")
    for i, values in enumerate(expected(golden, case, "metadpy")):
        peer = values[padding]["own"]
        own = {
            "dprime": found.d_prime.value[i],
            "c": found.criterion.value[i],
            "meta_d": found.meta_d.value[i],
            "m_ratio": found.m_ratio.value[i],
            "m_diff": found.m_diff.value[i],
            "meta_c": found.meta_c.value[i],
            "t2c_rS2": found.criteria[i, 1],
            "t2c_rS1": found.criteria[i, 0],
            "logL": found.log_likelihood[i],
            "se_meta_d_conditional_on_d": found.conditional_se[i],
        }
        assert set(own) == set(peer)
        for key, value in peer.items():
            np.testing.assert_allclose(own[key], value, atol=3e-7, err_msg=key)


@pytest.mark.parametrize("case", TRIALS)
def test_golden_counts_and_padding_once(golden, case):
    found = fitted(golden, case)
    padded = fitted(golden, case, padding=True)
    for i, values in enumerate(expected(golden, case, "metadpy")):
        for s, name in enumerate(("nR_S1", "nR_S2")):
            row = np.r_[found.counts[i, s, 0, ::-1], found.counts[i, s, 1]]
            np.testing.assert_array_equal(row, values[name])
        # Padding twice is the peer's mistake: it is not what we do, and is what it takes.
        twice = values["metadpy_metad_df_padding_true"]
        assert abs(padded.d_prime.value[i] - twice["dprime"]) > 1e-3
        again = fit_counts(padded.counts[i : i + 1] + padded.padding, padding=True).outputs[0]
        own = dict(
            zip(("dprime", "meta_d", "m_ratio", "m_diff"), again[[0, 2, 3, 4]], strict=True)
        )
        assert set(own) == set(twice)
        for key, value in twice.items():
            assert own[key] == pytest.approx(value, abs=1e-4)


@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("case", TABLES)
def test_golden_metasdt(golden, case, padding):
    block = reference(golden, case, "R metaSDT")
    found = fitted(golden, case, padding=padding == "padded")
    own = {
        "dprime": found.d_prime.value[0],
        "meta_d": found.meta_d.value[0],
        "m_ratio": found.m_ratio.value[0],
        "logL": found.log_likelihood[0],
    }
    assert set(own) == set(block["values"][padding])
    for key, value in block["values"][padding].items():
        assert own[key] == pytest.approx(value, abs=block["tol"])


@pytest.mark.parametrize(("key", "meta_c"), [("statConfR_ML", "scaled"), ("statConfR_F", "fixed")])
@pytest.mark.parametrize("case", TRIALS)
def test_golden_statconfr(golden, case, key, meta_c):
    block = reference(golden, case, "statConfR")
    found = fitted(golden, case, padding=True, meta_c=meta_c)
    for i, peer in enumerate(block["values"][key]):
        own = {
            "dprime": found.d_prime.value[i],
            "c": found.criterion.value[i],
            "metaD": found.meta_d.value[i],
            "Ratio": found.m_ratio.value[i],
        }
        assert set(own) == set(peer) - {"model", "participant"}
        for name, value in own.items():
            assert value == pytest.approx(peer[name], abs=block["tol"])


@pytest.mark.parametrize("scaled", [True, False])
def test_fit_is_that_of_the_slow_twin(scaled):
    rng = np.random.default_rng(5)
    tables = rng.multinomial(300, rng.dirichlet(np.ones(12)), size=3).reshape(3, 2, 2, 3) + 1.0
    tables[:, [0, 1], [0, 1]] *= 2.0
    found = fit_counts(tables, meta_c="scaled" if scaled else "fixed")
    for i, table in enumerate(tables):
        m, below, above, value = slow.fit(table, scaled=scaled)
        assert found.raw[i, kernel.LOG_LIKELIHOOD] == pytest.approx(value, abs=1e-6)
        assert found.outputs[i, 2] == pytest.approx(m, abs=2e-3)
        np.testing.assert_allclose(found.criteria[i, 0], below, atol=2e-3)
        np.testing.assert_allclose(found.criteria[i, 1], above, atol=2e-3)


def test_likelihood_and_its_derivatives():
    rng = np.random.default_rng(1)
    table = rng.integers(1, 40, (2, 2, 4)).astype(float)
    counts = np.stack([table[[0, 1], 0], table[[1, 0], 1]])
    point = np.array([0.8, 0.3, 0.9, 1.4, 0.6, 1.1, 1.9, 0.2])

    def value(x, gradient=None, hessian=None):
        gradient = np.empty(8) if gradient is None else gradient
        hessian = np.empty((8, 8)) if hessian is None else hessian
        used = np.array([4, 4])
        return log_likelihood(x, counts, used, np.empty((3, 4)), gradient, hessian)

    gradient, hessian = np.empty(8), np.empty((8, 8))
    found = value(point, gradient, hessian)
    assert found == pytest.approx(
        slow.log_likelihood(table, 0.8, 0.2, -point[3:0:-1], point[4:7]), abs=1e-10
    )
    step = 1e-5
    for i in range(8):
        up, down, high, low = np.empty(8), np.empty(8), point.copy(), point.copy()
        high[i] += step
        low[i] -= step
        slope = (value(high, up) - value(low, down)) / (2 * step)
        assert slope == pytest.approx(gradient[i], rel=1e-6)
        np.testing.assert_allclose((up - down) / (2 * step), hessian[i], rtol=1e-5, atol=1e-4)


def test_standard_errors_are_the_derivatives_of_the_fit():
    # The delta method against refits at shifted hit and false-alarm rates and shifted ratings.
    made = simulate_meta_d(d_prime=[1.4], criterion=0.3, m_ratio=0.8, n_questions=4000, rng=3)
    found = meta_d(made.stimulus, made.response, made.rating, bootstrap=800, rng=0)
    for name in ("d_prime", "criterion", "meta_d", "m_ratio", "m_diff", "log_m_ratio", "meta_c"):
        estimate = getattr(found, name)
        # The standard deviation of 800 draws is within 10 % of its mean with probability 99.99 %.
        assert estimate.draws.std() == pytest.approx(estimate.se[0], rel=0.1)


CELLS = st.lists(st.integers(0, 15), min_size=12, max_size=12).map(
    lambda counts: np.array(counts, dtype=float).reshape(1, 2, 2, 3)
)


@given(CELLS)
def test_symmetries(table):
    found = fit_counts(table)
    # The classes renamed, and with them the responses: criteria change sign.
    swapped = fit_counts(table[:, ::-1, ::-1])
    mirrored = found.outputs * np.array([1, -1, 1, 1, 1, 1, -1])
    np.testing.assert_allclose(swapped.outputs, mirrored, atol=2e-5)
    np.testing.assert_allclose(swapped.criteria, -found.criteria[:, ::-1, ::-1], atol=2e-5)
    assert swapped.reasons() == found.reasons()
    # Everything seen twice says the same, more surely.
    doubled = fit_counts(2 * table)
    np.testing.assert_allclose(doubled.outputs, found.outputs, atol=2e-5)
    defined = np.isfinite(found.outputs)
    np.testing.assert_allclose(
        doubled.standard_errors[defined] * np.sqrt(2), found.standard_errors[defined], rtol=1e-3
    )


@given(CELLS)
def test_every_blank_has_a_reason_and_no_rating_is_needed_that_is_not_used(table):
    found = fit_counts(table)
    reasons = found.reasons()
    allowed = {Reason.NONE, Reason.UNSTABLE}
    for i, value in enumerate(found.outputs[0]):
        assert np.isfinite(value) == (reasons[i][0] in allowed)
    # A rating that nobody uses, in the middle of the scale, changes nothing.
    spread = np.zeros((1, 2, 2, 4))
    spread[..., [0, 2, 3]] = table
    np.testing.assert_allclose(fit_counts(spread).outputs, found.outputs, atol=1e-9)
    assert np.isfinite(found.outputs[0, 2]) or np.isnan(found.criteria).all()


@examples(20)
@given(st.integers(0, 1000))
def test_order_of_questions_changes_nothing(seed):
    made = simulate_meta_d(d_prime=[1.0, 2.0], n_questions=80, rng=seed)
    order = np.random.default_rng(seed).permutation(80)
    first = meta_d(made.stimulus, made.response, made.rating, bootstrap=0)
    again = meta_d(
        made.stimulus[order], made.response[:, order], made.rating[:, order], bootstrap=0
    )
    np.testing.assert_array_equal(first.meta_d.value, again.meta_d.value)


def degenerate():
    """One table per reason, three ratings; the last one is sound but of low sensitivity."""
    sound = np.array([[[10, 12, 14], [5, 4, 2]], [[6, 5, 3], [9, 12, 15]]], dtype=float)
    cases = {Reason.NO_ANSWERS: np.zeros((2, 2, 3))}
    cases[Reason.NO_STIMULUS_CLASSES] = sound * np.array([1, 0])[:, None, None]
    no_errors = sound.copy()
    no_errors[0, 1] = 0
    cases[Reason.EMPTY_RESPONSE] = no_errors
    cases[Reason.LOW_SENSITIVITY] = sound[::-1]
    constant = np.zeros((2, 2, 3))
    constant[:, :, 1] = sound.sum(axis=2)
    cases[Reason.FEW_RATINGS] = constant
    separated = np.zeros((2, 2, 3))
    separated[:, :, 2] = [[30, 0], [0, 30]]
    separated[:, :, 0] = [[0, 9], [9, 0]]
    cases[Reason.UNBOUNDED] = separated
    cases[Reason.NONE] = sound
    return cases


@pytest.mark.parametrize("padding", [False, True])
def test_degenerate(padding):
    cases = degenerate()
    if padding:
        # Padded counts never separate; all else is judged by the counts as they are.
        del cases[Reason.UNBOUNDED]
    tables = np.stack(list(cases.values()))
    n = [np.concatenate([tables[:, s, 0, ::-1], tables[:, s, 1]], axis=1) for s in (0, 1)]
    found = meta_d_from_counts(*n, padding=padding, bootstrap=20, rng=0)
    assert found.meta_d.flags == tuple(cases)
    assert found.m_ratio.flags == tuple(cases)
    blank = np.array([bool(reason) for reason in cases])
    for name in ("meta_d", "m_ratio", "m_diff", "log_m_ratio", "meta_c"):
        estimate = getattr(found, name)
        np.testing.assert_array_equal(np.isnan(estimate.value), blank)
        np.testing.assert_array_equal(np.isnan(estimate.se), blank)
        np.testing.assert_array_equal(np.isnan(estimate.interval).any(axis=1), blank)
    # d' needs no ratings: below chance it is a number, and only the ratio has no meaning.
    below = list(cases).index(Reason.LOW_SENSITIVITY)
    assert found.d_prime.value[below] < 0
    assert not found.d_prime.flags[below]
    assert [ended.converged for ended in found.convergence] == [not bad for bad in blank]


def test_qualified_values():
    # d' of .4: the ratio is said to be unstable. Ratings that go down with being right: meta-d'
    # is negative, the ratio too, and it has no logarithm.
    unstable = meta_d_from_counts([30, 20, 20, 10], [12, 23, 20, 25], bootstrap=0)
    assert 0.1 < unstable.d_prime.value[0] < 0.5
    assert unstable.meta_d.flags == (Reason.NONE,)
    assert unstable.m_ratio.flags == unstable.log_m_ratio.flags == (Reason.UNSTABLE,)
    inverted = meta_d_from_counts([10, 40, 4, 16], [16, 4, 40, 10], bootstrap=0)
    assert inverted.m_ratio.value[0] < 0
    assert inverted.m_ratio.flags == (Reason.NONE,)
    assert inverted.log_m_ratio.flags == (Reason.NOT_POSITIVE,)
    assert np.isnan(inverted.log_m_ratio.value[0])


def test_unused_top_and_bottom_ratings():
    n_s1, n_s2 = [0, 30, 20, 12, 8, 0], [0, 9, 12, 22, 30, 0]
    found = meta_d_from_counts(n_s1, n_s2, bootstrap=0)
    same = meta_d_from_counts([30, 20, 12, 8], [9, 12, 22, 30], bootstrap=0)
    assert found.meta_d.value == same.meta_d.value
    assert found.criteria[0, 0, 0] == -np.inf
    assert found.criteria[0, 1, 1] == np.inf
    assert found.fitted_hit_rates[0, 1, 1] == found.hit_rates[0, 1, 1] == 0.0


def test_constant_confidence_is_no_perfect_metacognition():
    # metadpy gives an M-ratio of .996 here.
    made = simulate_meta_d(d_prime=[1.5], n_questions=400, rng=0)
    for padding in (False, True):
        found = meta_d(
            made.stimulus,
            made.response,
            np.full((1, 400), 2),
            n_ratings=4,
            padding=padding,
            bootstrap=0,
        )
        assert found.m_ratio.flags == (Reason.FEW_RATINGS,)
        assert np.isnan(found.m_ratio.value[0])


def test_not_converged_is_said(monkeypatch):
    tables = degenerate()[Reason.NONE][None]
    fits = fit_counts(tables)
    raw = fits.raw.copy()
    raw[0, kernel.STATUS] = kernel.NOT_CONVERGED
    raw[0, kernel.META_D] = np.nan
    object.__setattr__(fits, "raw", raw)
    sampling = meta_d_module.Sampling(draws=None, n=np.ones(1), level=0.95, labels=("m",))
    with pytest.warns(ConvergenceWarning, match="'m'"):
        found = meta_d_module.assemble(fits, sampling)
    assert found.meta_d.flags == (Reason.NOT_CONVERGED,)


def test_paired_differences_clusters_and_weights():
    made = simulate_meta_d(d_prime=[1.5, 1.5], m_ratio=[1.0, 0.3], n_questions=600, rng=2)
    trials = made.stimulus, made.response, made.rating
    plain = meta_d(*trials, bootstrap=200, rng=0)
    assert plain.m_ratio.method == "observed information, delta method"
    gap = plain.m_ratio.difference(0, 1)
    assert gap.value == plain.m_ratio.value[0] - plain.m_ratio.value[1]
    assert gap.p_value < 0.05
    one_each = meta_d(*trials, clusters=np.arange(600), bootstrap=200, rng=0)
    assert one_each.m_ratio.method == "bootstrap percentiles over clusters of questions"
    np.testing.assert_array_equal(one_each.m_ratio.draws, plain.m_ratio.draws)
    # Every question doubled and clustered with its double: nothing new was learnt.
    doubled = [np.concatenate([values, values], axis=-1) for values in trials]
    pairs = np.tile(np.arange(600), 2)
    twice = meta_d(*doubled, clusters=pairs, bootstrap=200, rng=0)
    np.testing.assert_allclose(twice.m_ratio.draws, plain.m_ratio.draws, atol=1e-6)
    weighted = meta_d(*trials, weights=np.r_[np.ones(300), np.zeros(300)], bootstrap=50, rng=0)
    half = meta_d(*(values[..., :300] for values in trials), bootstrap=0)
    np.testing.assert_allclose(weighted.meta_d.value, half.meta_d.value, atol=1e-6)
    assert weighted.meta_d.method == "bootstrap percentiles over questions"
    alone = meta_d(*trials, clusters=["one"] * 600, bootstrap=20, rng=0)
    assert alone.m_ratio.flags == (Reason.ONE_CLUSTER, Reason.ONE_CLUSTER)
    assert np.isnan(alone.m_ratio.interval).all()
    with pytest.raises(OptionError, match="bootstrap=2000"):
        meta_d(*trials, weights=np.arange(600.0), bootstrap=0)


def test_draws_do_not_depend_on_workers():
    made = simulate_meta_d(d_prime=[1.5, 1.0], n_questions=200, rng=2)
    trials = made.stimulus, made.response, made.rating
    one, two = (
        meta_d(*trials, bootstrap=Bootstrap(40, n_jobs=n), rng=0).m_ratio.draws for n in (1, 2)
    )
    np.testing.assert_array_equal(one, two)
    tables = [10, 20, 5, 2], [3, 6, 20, 11]
    one, two = (
        meta_d_from_counts(*tables, bootstrap=Bootstrap(40, n_jobs=n), rng=0).meta_d.draws
        for n in (1, 2)
    )
    np.testing.assert_array_equal(one, two)
    assert np.isfinite(one).mean() > 0.9
    with pytest.raises(OptionError, match="without resamples"):
        _ = meta_d_from_counts(*tables, bootstrap=0).meta_d.draws


def test_missing_answers_and_labels():
    made = simulate_meta_d(d_prime=[1.5, 1.0], n_questions=100, rng=2)
    names = [f"q{i}" for i in range(100)]
    response = pd.DataFrame(made.response, index=["a", "b"], columns=names, dtype=float)
    rating = pd.DataFrame(made.rating, index=["a", "b"], columns=names, dtype=float)
    rating.iloc[0, :40] = np.nan
    stimulus = pd.Series(made.stimulus, index=names)
    found = meta_d(stimulus[::-1], response.iloc[::-1, ::-1], rating, bootstrap=0)
    assert found.labels == ("a", "b")
    np.testing.assert_array_equal(found.m_ratio.n, [60, 100])
    kept = meta_d(made.stimulus[40:], made.response[:, 40:], made.rating[:, 40:], bootstrap=0)
    assert found.meta_d.value[0] == kept.meta_d.value[0]
    nothing = meta_d(stimulus, response, rating * np.nan, bootstrap=0)
    assert nothing.d_prime.flags == nothing.m_ratio.flags == (Reason.NO_ANSWERS,) * 2
    own = meta_d(np.tile(made.stimulus, (2, 1)), made.response, made.rating, bootstrap=0)
    assert own.meta_d.value[1] == found.meta_d.value[1]


def test_frames_and_summary():
    found = meta_d_from_counts(
        pd.DataFrame([[50, 30, 20, 10], [9, 9, 0, 0]], index=["a", "b"]),
        pd.DataFrame([[0, 0, 9, 9], [10, 15, 30, 60]], index=["b", "a"]),
        bootstrap=0,
    )
    frame = found.to_frame()
    assert list(frame["model"]) == ["a", "b"]
    assert frame.loc[0, "m_ratio_lower"] == found.m_ratio.interval[0, 0]
    assert frame.loc[1, "flag"] == str(Reason.EMPTY_RESPONSE)
    curve = found.roc_frame()
    assert list(curve.columns[:3]) == ["model", "response", "rated_above"]
    assert curve.loc[1, "fitted_hit_rate"] == found.fitted_hit_rates[0, 1, 0]
    first, second = found.summary().split("\n")
    assert first.startswith("a: M-ratio 0.8")
    assert "225 trials" in first
    assert "no M-ratio" in second


def test_coverage():
    # 1,000 models of 400 trials: at 95 % the number covered lies in [926, 972] with 99.9 %.
    made = simulate_meta_d(
        d_prime=np.full(1000, 1.4), criterion=0.2, m_ratio=0.8, n_questions=400, rng=11
    )
    found = meta_d(made.stimulus, made.response, made.rating, bootstrap=0)
    for name, truth in (("d_prime", 1.4), ("meta_d", 1.12), ("m_ratio", 0.8), ("m_diff", -0.28)):
        low, high = getattr(found, name).interval.T
        assert 926 <= ((low <= truth) & (truth <= high)).sum() <= 972


def test_simulated_answers_follow_their_parameters():
    made = simulate_meta_d(
        d_prime=[2.0], criterion=-0.4, m_ratio=0.5, n_questions=200_000, meta_c="fixed", rng=0
    )
    found = meta_d(made.stimulus, made.response, made.rating, bootstrap=0, meta_c="fixed")
    # Within four standard errors.
    for name, truth in (("d_prime", 2.0), ("criterion", -0.4), ("m_ratio", 0.5)):
        estimate = getattr(found, name)
        assert abs(estimate.value[0] - truth) < 4 * estimate.se[0]
    expected = np.array([[-1.9, -1.4, -0.9], [0.1, 0.6, 1.1]])
    np.testing.assert_allclose(found.criteria[0], expected, atol=0.05)
    with pytest.raises(OptionError, match="increasing"):
        simulate_meta_d(d_prime=[1.0], distances=[0.5, 0.2], n_questions=10)
    with pytest.raises(ShapeError, match="one value per model"):
        simulate_meta_d(d_prime=[1.0, 2.0], m_ratio=[1.0, 1.0, 1.0], n_questions=10)


@pytest.mark.parametrize(
    ("n_s1", "n_s2", "error", "match"),
    [
        ([1, 2, 3, 4], [1, 2, 3], ShapeError, "they must be equal"),
        ([1, 2, 3], [1, 2, 3], ShapeError, "at least four"),
        ([1, 2], [1, 2], ShapeError, "at least four"),
        ([1, 2, 3, -4], [1, 2, 3, 4], CodeError, "n_s1: model 0, question 3 holds -4"),
        ([1, 2, 3, 4], [1, None, 3, 4], CodeError, "n_s2"),
        ([[1, 2, 3, 4]] * 2, [[1, 2, 3, 4]], ShapeError, "they must be equal"),
    ],
)
def test_bad_counts(n_s1, n_s2, error, match):
    with pytest.raises(error, match=match):
        meta_d_from_counts(n_s1, n_s2)
