"""Binned calibration errors: golden values, slow twins, and what must not matter."""

import json
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psychollm._base.errors import CodeError, OptionError, ShapeError
from psychollm.calibration.errors.binned import (
    ACE,
    ECE,
    ECE_SWEEP,
    MCE,
    RMSCE,
    BinnedCalibrationError,
    binned_metric,
    calibration_error,
)
from psychollm.calibration.errors.calibration_error import inverted, scales
from psychollm.calibration.errors.smooth import SMOOTH_ECE
from psychollm.calibration.errors.under_calibration import under_calibration
from psychollm.calibration.metric import Metric, draw
from psychollm.calibration.stated import stated_answers
from psychollm.calibration.tally import Tally, tallies
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import Bootstrap, Resampling
from psychollm.kernels import binned as kernels
from tests.effort import examples
from tests.oracles import binned_slow as slow

CASES = ("gradconf_a", "gradconf_b")
MODELS = ("calibrated", "overconf", "underconf", "noisy")
NORMS = ("l1", "l2", "max", "average")
QUICK = {"bootstrap": 60, "n_null": 60, "rng": 0}
SIZES = (5, 10, 15, 20)


def outputs(metric: Metric, confidence, correct, **given) -> np.ndarray:
    """The outputs of a metric in the sample, without resamples."""
    (tally,) = tallies(stated_answers(confidence, correct, **given))
    return of_tally(metric, tally)


def of_tally(metric: Metric, tally: Tally) -> np.ndarray:
    found = metric.compute(metric.shared(tally), tally.correct[None], tally.wrong[None])
    return found[0, : len(metric.names)]


def in_bins(confidence, correct, bins, norm: str) -> float:
    """An error of answers in given bins, by the kernels."""
    bins, order = np.asarray(bins), np.argsort(bins)
    size = (1, bins.max() + 1)
    gap, n, hits, out = np.empty(size), np.empty(size), np.empty(size), np.empty(1)
    right = np.asarray(correct, dtype=float)[None, order]
    stop = np.bincount(bins).cumsum()
    kernels.bin_gaps(np.asarray(confidence)[order], stop, right, 1.0 - right, gap, n, hits)
    kernels.norms(gap, n, NORMS.index(norm), out)
    return float(out[0])


@cache
def simulated(n: int, seed: int, decimals: int = 9, slope: float = 1.0):
    """Confidences and correctness of a model whose accuracy is a power of its confidence."""
    rng = np.random.default_rng(seed)
    confidence = np.round(rng.beta(4, 2, n), decimals)
    return confidence, (rng.random(n) < confidence**slope).astype(float)


@pytest.fixture(scope="module")
def gold(golden: Path):
    @cache
    def read(case: str, model: str):
        folder = golden / "metacognition"
        data = pd.read_csv(folder / f"{case}.csv")
        blocks = json.loads((folder / f"{case}.expected.json").read_text())["blocks"]
        data = data[data.model == model]
        values = blocks[2]["values"][model]
        return data.confidence.to_numpy(), data.correct.to_numpy(), values

    return read


KEYS = {
    "ece_netcal": ("l1", slow.netcal_bin),
    "mce_netcal": ("max", slow.netcal_bin),
    "ace_netcal": ("average", slow.netcal_bin),
    "ece_torchmetrics": ("l1", slow.torchmetrics_bin),
    "mce_torchmetrics": ("max", slow.torchmetrics_bin),
    "rmsce_torchmetrics": ("l2", slow.torchmetrics_bin),
    "ece_relplot_binned": ("l1", slow.relplot_bin),
}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("n_bins", SIZES)
@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("closed", ["left", "right"])
def test_other_libraries_agree_without_ties(gold, key, n_bins, model, closed) -> None:
    confidence, correct, expected = gold("gradconf_a", model)
    metric = binned_metric(KEYS[key][0], bins="width", n_bins=n_bins, closed=closed)
    found = outputs(metric, confidence, correct)[0]
    assert found == pytest.approx(expected[f"{key}_{n_bins}"], abs=1e-9)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("n_bins", SIZES)
@pytest.mark.parametrize("key", KEYS)
def test_other_libraries_agree_on_ties_in_their_bins(gold, key, n_bins, model) -> None:
    # Confidences on edges: 0.3 < np.linspace(0, 1, 11)[3], and each library rounds its own way.
    # In the bins that their rounding makes, their figures are ours.
    confidence, correct, expected = gold("gradconf_b", model)
    norm, of_library = KEYS[key]
    bins = [of_library(f, n_bins) for f in confidence]
    found = in_bins(confidence, correct, bins, norm)
    assert found == pytest.approx(expected[f"{key}_{n_bins}"], abs=1e-9)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("n_bins", SIZES)
@pytest.mark.parametrize(
    ("key", "norm", "bins", "output"),
    [
        ("ece_uc", "l1", "width", 0),
        ("ece_em_uc", "l1", "mass", 0),
        ("l2_plugin_eqwidth_uc", "l2", "width", 0),
        ("l2_debiased_eqwidth_uc", "l2", "width", 1),
        ("l2_debiased_eqmass_uc", "l2", "mass", 1),
    ],
)
def test_uncertainty_calibration_agrees(
    gold, case, model, n_bins, key, norm, bins, output
) -> None:
    confidence, correct, expected = gold(case, model)
    found = outputs(binned_metric(norm, bins=bins, n_bins=n_bins), confidence, correct)[output]
    assert found == pytest.approx(expected[f"{key}_{n_bins}"], abs=1e-9)


@pytest.mark.parametrize("closed", ["right", "left"])
@pytest.mark.parametrize("kind", ["width", "mass", "discrete", "sweep"])
@pytest.mark.parametrize(("n", "decimals"), [(60, 1), (60, 2), (59, 9), (7, 9)])
def test_slow_twin(kind, closed, n, decimals) -> None:
    confidence, correct = simulated(n, n + decimals, decimals, 2.0)
    bins = {
        "width": lambda: [slow.width_bin(f, 7, closed) for f in confidence],
        "mass": lambda: slow.mass_bins(confidence, 7, closed),
        "discrete": lambda: slow.discrete_bins(confidence),
        "sweep": lambda: slow.swept_bins(confidence, correct, closed),
    }[kind]()
    expected = slow.errors(confidence, correct, bins)
    for norm in NORMS:
        metric = binned_metric(norm, bins=kind, n_bins=7, closed=closed)
        found = outputs(metric, confidence, correct)
        assert found[0] == pytest.approx(expected[norm], abs=1e-12)
        if norm == "l2":
            assert found[1] == pytest.approx(expected["debiased"], abs=1e-9)


@pytest.mark.parametrize("decimals", [1, 9])
def test_expectation_under_calibration_is_exact(decimals) -> None:
    confidence, correct = simulated(80, 3, decimals)
    found = calibration_error(confidence, correct, **(QUICK | {"n_null": 4000})).expected
    if decimals == 1:
        bins = slow.discrete_bins(confidence)
    else:
        bins = [slow.width_bin(f, 15, "right") for f in confidence]
    # Four standard errors: a false alarm in 16,000 runs of other seeds.
    assert abs(found.value[0] - slow.expected_ece(confidence, bins)) < 4 * found.se[0]


def test_p_values_of_calibrated_models_are_uniform() -> None:
    rng = np.random.default_rng(5)
    confidence = rng.beta(4, 2, (300, 100))
    correct = (rng.random((300, 100)) < confidence).astype(float)
    answers = stated_answers(confidence, correct)
    ((_, p_value),) = under_calibration([ECE], answers, Resampling(n=199, rng=1))
    # Counts of 300 in tenths: chi-square with 9 degrees, 27.9 is its 99.9th percentile.
    p = p_value.value
    np.testing.assert_allclose(p_value.se, np.sqrt(p * (1 - p) / 199), rtol=1e-12)
    counts, _ = np.histogram(p_value.value, bins=10, range=(0, 1 + 1e-9))
    assert ((counts - 30) ** 2 / 30).sum() < 27.9


TABLE = {  # n: ECE10, ECE15, ECE15 equal mass, smECE, debiased L2 with 10 mass bins
    50: (0.129, 0.154, 0.193, 0.081, 0.057),
    100: (0.095, 0.112, 0.135, 0.066, 0.043),
    300: (0.057, 0.068, 0.078, 0.045, 0.021),
    1000: (0.030, 0.037, 0.042, 0.029, 0.011),
    5000: (0.013, 0.016, 0.018, 0.016, 0.005),
}


@pytest.mark.parametrize("n", TABLE)
def test_errors_of_a_calibrated_model_are_mostly_bias(n) -> None:
    rng = np.random.default_rng(n)
    metrics = [
        binned_metric(bins="width", n_bins=10),
        binned_metric(bins="width", n_bins=15),
        binned_metric(bins="mass", n_bins=15),
        SMOOTH_ECE,
        binned_metric("l2", bins="mass", n_bins=10),
    ]
    confidence = rng.beta(4, 2, (60 if n == 5000 else 200, n))
    correct = (rng.random(confidence.shape) < confidence) * 1.0
    found = [
        [of_tally(metric, tally)[-1] for metric in metrics]
        for tally in tallies(stated_answers(confidence, correct))
    ]
    mean, error = np.mean(found, axis=0), np.std(found, axis=0) / np.sqrt(len(found))
    # The table is rounded and has Monte Carlo errors of its own, about as large as ours.
    assert (np.abs(mean - TABLE[n]) < 4 * np.sqrt(2) * error + 6e-4).all()


def test_intervals_reach_zero_and_cover() -> None:
    # 200 data sets: 89 % or less would be seen once in 6,000 times at a coverage of 95 %.
    rng = np.random.default_rng(11)
    confidence = np.round(rng.beta(4, 2, (200, 200)), 1)
    for shift in (0.0, 0.2):
        chance = np.clip(confidence - shift, 0.0, 1.0)
        correct = (rng.random(confidence.shape) < chance).astype(float)
        drawn = draw([ECE], stated_answers(confidence, correct), Resampling(n=300, rng=2))
        lower, upper = drawn.estimates(ECE)[0].interval.T
        # The few confidences below 0.2 cannot be overstated by as much.
        truth = np.mean(np.round(rng.beta(4, 2, 10**6), 1).clip(0, shift)) if shift else 0.0
        covered = ((lower <= truth) & (truth <= upper)).mean()
        assert 0.89 < covered <= 1.0


def test_inverted_bootstrap_of_one_gap_is_the_normal_interval() -> None:
    noise = np.random.default_rng(0).normal(0, 0.1, (40_000, 1))
    scale = scales(0.5, 0.1)
    found = inverted(0.5, scale, np.abs(scale + noise), 0.95)
    assert found == pytest.approx([0.5 - 0.196, 0.5, 0.5 + 0.196], abs=0.006)
    low = inverted(0.0, scales(0.0, 0.1), np.abs(scales(0.0, 0.1) + noise), 0.95)
    assert low[0] == low[1] == 0.0
    assert low[2] > 0.1  # a sample without any gap does not prove that there is none


@pytest.mark.parametrize("metric", [ECE, MCE, RMSCE, ACE, ECE_SWEEP], ids=lambda m: m.names[0])
def test_interval_holds_the_corrected_error(metric) -> None:
    for seed, slope in ((1, 1.0), (2, 1.5), (3, 3.0)):
        confidence, correct = simulated(90, seed, 2, slope)
        found = calibration_error(
            confidence,
            correct,
            norm={"ECE": "l1", "MCE": "max", "RMSCE": "l2", "ACE": "average"}.get(
                metric.names[0], "l1"
            ),
            bins="sweep" if metric is ECE_SWEEP else "auto",
            **QUICK,
        )
        lower, upper = found.corrected.interval[0]
        assert 0.0 <= lower <= found.corrected.value[0] <= upper <= 1.0
        assert found.value.value[0] == outputs(metric, confidence, correct)[0]
        assert np.array_equal(found.value.interval, found.corrected.interval)
        assert np.array_equal(found.value.interval, found.debiased.interval)


def test_debiased_errors() -> None:
    confidence, correct = simulated(90, 4, 9, 2.0)
    plain = calibration_error(confidence, correct, **QUICK)
    assert plain.debiased.value == plain.value.value - plain.expected.value
    squared = calibration_error(confidence, correct, norm="l2", **QUICK)
    assert squared.debiased.value == outputs(RMSCE, confidence, correct)[1]
    assert squared.debiased.name == "debiased RMSCE"


def test_differences_are_those_of_corrected_errors() -> None:
    good, right = simulated(300, 7)
    bad = np.clip(good + 0.15, 0.0, 1.0)
    found = calibration_error([good, bad], [right, right], **(QUICK | {"bootstrap": 300}))
    gap = found.corrected.difference(1, 0)
    assert gap.value == pytest.approx(np.diff(found.corrected.value)[0])
    assert gap.interval[0] < gap.value < gap.interval[1]
    assert gap.p_value < 0.05
    assert gap.se < found.corrected.se.sum()


def test_draws_of_the_corrected_error_are_its_confidence_distribution() -> None:
    for seed, slope in ((1, 1.0), (2, 3.0)):
        confidence, correct = simulated(200, seed, 9, slope)
        found = calibration_error(confidence, correct, **(QUICK | {"bootstrap": 500})).corrected
        middle, *bounds = np.quantile(found.draws[:, 0], [0.5, 0.025, 0.975])
        assert found.value[0] == pytest.approx(middle, abs=1e-3)
        assert found.interval[0] == pytest.approx(bounds, abs=4e-3)


def test_two_calibrated_models_do_not_differ() -> None:
    rng = np.random.default_rng(8)
    confidence = np.round(rng.beta(4, 2, (40, 200)), 1)
    correct = (rng.random(confidence.shape) < confidence).astype(float)
    found = calibration_error(confidence, correct, **(QUICK | {"bootstrap": 200})).corrected
    apart = [found.difference(2 * i, 2 * i + 1).p_value < 0.05 for i in range(20)]
    assert sum(apart) <= 3  # more in one of 60 runs of a test that holds its level


def test_clusters_widen_the_interval() -> None:
    rng = np.random.default_rng(3)
    correct = np.repeat(rng.random(30) < 0.5, 10).astype(float)
    confidence = np.full(300, 0.75)
    options = QUICK | {"bootstrap": 400}
    alone = calibration_error(confidence, correct, **options).value
    clustered = calibration_error(
        confidence, correct, clusters=np.repeat(range(30), 10), **options
    ).value
    assert np.diff(clustered.interval) > 2 * np.diff(alone.interval)
    assert "clusters of questions" in clustered.method


def test_weights_are_copies() -> None:
    confidence, correct = simulated(50, 9, 2)
    weight = np.arange(50) % 3
    copies = np.repeat(np.arange(50), weight)
    for norm in NORMS:
        metric = binned_metric(norm, bins="mass", n_bins=6)
        weighted = outputs(metric, confidence, correct, weights=weight)[0]
        assert weighted == pytest.approx(outputs(metric, confidence[copies], correct[copies])[0])


cases = st.lists(st.tuples(st.integers(0, 20), st.booleans()), min_size=1, max_size=30).map(
    lambda rows: (np.array([k / 20 for k, _ in rows]), np.array([1.0 * y for _, y in rows]))
)
kinds = st.sampled_from(["auto", "width", "mass", "discrete", "sweep"])


@given(cases, kinds, st.integers(1, 20), st.randoms(use_true_random=False))
def test_order_of_questions_does_not_matter(case, kind, n_bins, random) -> None:
    confidence, correct = case
    order = list(range(confidence.size))
    random.shuffle(order)
    for norm in NORMS:
        metric = binned_metric(norm, bins=kind, n_bins=n_bins)
        same = outputs(metric, confidence[order], correct[order])
        assert np.array_equal(outputs(metric, confidence, correct), same)


@given(cases, st.sampled_from(["auto", "width", "mass", "discrete"]), st.integers(1, 20))
def test_duplicating_all_answers_does_not_matter(case, kind, n_bins) -> None:
    confidence, correct = case
    for norm in NORMS:
        metric = binned_metric(norm, bins=kind, n_bins=n_bins)
        twice = outputs(metric, np.tile(confidence, 2), np.tile(correct, 2))[0]
        assert outputs(metric, confidence, correct)[0] == pytest.approx(twice, abs=1e-12)


@given(cases, kinds, st.integers(1, 20))
def test_turning_confidence_and_correctness_round(case, kind, n_bins) -> None:
    confidence, correct = case
    for norm in NORMS:
        one = binned_metric(norm, bins=kind, n_bins=n_bins, closed="right")
        other = binned_metric(norm, bins=kind, n_bins=n_bins, closed="left")
        turned = outputs(other, 1.0 - confidence, 1.0 - correct)
        assert outputs(one, confidence, correct) == pytest.approx(turned, abs=1e-7)


@given(cases, kinds, st.integers(1, 20))
def test_bounds_and_order_of_the_errors(case, kind, n_bins) -> None:
    confidence, correct = case
    ece, rmsce, mce, ace = (
        outputs(binned_metric(norm, bins=kind, n_bins=n_bins), confidence, correct)[0]
        for norm in NORMS
    )
    assert abs(confidence.mean() - correct.mean()) - 1e-12 <= ece <= rmsce + 1e-12
    assert max(rmsce, ace) <= mce + 1e-12
    assert mce <= 1.0


@examples(20)
@given(cases)
def test_results_are_well_formed(case) -> None:
    confidence, correct = case
    found = calibration_error(confidence, correct, bootstrap=10, n_null=10, rng=0)
    assert 0.0 < found.p_value.value[0] <= 1.0
    assert found.expected.interval[0, 0] <= found.expected.interval[0, 1]
    assert len(found.summary().splitlines()) == 1
    assert len(found.to_frame()) == 1


def test_jobs_do_not_matter() -> None:
    confidence, correct = simulated(60, 1)
    one = calibration_error([confidence], [correct], **QUICK)
    shared = QUICK | {"bootstrap": Bootstrap(60, n_jobs=2)}
    two = calibration_error([confidence], [correct], **shared)
    for name in ("value", "expected", "p_value", "debiased", "corrected"):
        first, second = getattr(one, name), getattr(two, name)
        assert np.array_equal(first.value, second.value)
        assert np.array_equal(first.interval, second.interval)


def test_two_models_are_two_single_ones() -> None:
    first, second = simulated(60, 1), simulated(60, 2, 1)
    both = calibration_error([first[0], second[0]], [first[1], second[1]], **QUICK)
    alone = calibration_error(*second, **QUICK)
    assert both.value.value[1] == alone.value.value[0]
    assert both.value.interval[1] == pytest.approx(alone.value.interval[0], abs=1e-12)
    assert both.p_value.value[1] == alone.p_value.value[0]


def flags_of(found: BinnedCalibrationError) -> tuple[Reason, Reason]:
    return found.value.flags[0], found.debiased.flags[0]


def test_flags() -> None:
    constant = calibration_error([0.7] * 9, [1, 0] * 4 + [1], **QUICK)
    assert flags_of(constant) == (Reason.ONE_BIN, Reason.ONE_BIN)
    assert constant.value.value[0] == pytest.approx(abs(5 / 9 - 0.7))
    sparse = calibration_error([0.1, 0.1, 0.9], [1, 0, 1], norm="l2", **QUICK)
    assert flags_of(sparse) == (Reason.NONE, Reason.SPARSE_BINS)
    single = calibration_error([0.2], [1], **QUICK)
    assert np.isnan(single.value.interval).all()
    assert single.value.flags[0] is Reason.ONE_BIN
    cluster = calibration_error([0.2, 0.8, 0.9], [1, 0, 1], clusters=[0, 0, 0], **QUICK)
    assert cluster.value.flags[0] is Reason.ONE_CLUSTER
    assert np.isnan(cluster.value.interval).all()


def test_nothing_answered() -> None:
    found = calibration_error([[np.nan, 0.5], [0.5, 0.5]], [[1, np.nan], [1, 0]], **QUICK)
    for name in ("value", "expected", "p_value", "debiased", "corrected"):
        estimate = getattr(found, name)
        assert estimate.flags[0] is Reason.NO_ANSWERS
        assert np.isnan(estimate.value[0])
        assert np.isnan(estimate.interval[0]).all()
        assert np.isfinite(estimate.value[1])
    assert "undefined" in found.summary()
    assert found.bins.model.tolist() == [1]


def test_answers_without_noise_are_certain() -> None:
    found = calibration_error([1.0] * 5 + [0.0] * 5, [1] * 5 + [0] * 5, **QUICK)
    assert found.value.value[0] == found.corrected.value[0] == found.expected.value[0] == 0.0
    assert found.p_value.value[0] == 1.0


def test_one_class_is_no_trouble() -> None:
    for outcome in (0.0, 1.0):
        found = calibration_error(np.linspace(0, 1, 30), np.full(30, outcome), **QUICK)
        assert np.isfinite(found.corrected.interval).all()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"norm": "l3"}, OptionError, "norm='l3' is not an option"),
        ({"bins": "equal"}, OptionError, "bins='equal'"),
        ({"closed": "both"}, OptionError, "closed='both'"),
        ({"n_bins": 0}, OptionError, "n_bins=0"),
        ({"n_bins": 2.5}, OptionError, "n_bins=2.5"),
        ({"n_null": 1}, OptionError, "n_null=1"),
        ({"level": 95}, OptionError, "level=95"),
        ({"clusters": [1]}, ShapeError, "clusters"),
        ({"weights": [1, np.inf]}, OptionError, "weights"),
    ],
)
def test_bad_options(options, error, message) -> None:
    with pytest.raises(error, match=message):
        calibration_error([0.5, 0.6], [0, 1], **options)


def test_bad_confidence() -> None:
    with pytest.raises(CodeError, match="holds 50"):
        calibration_error([50, 60], [0, 1])
