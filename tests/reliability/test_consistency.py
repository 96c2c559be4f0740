"""Coefficient alpha and its kin: psych, pingouin, slow twins, symmetries, bad input, coverage."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from psychollm._base.errors import (
    CodeError,
    LabelError,
    OptionError,
    PsychollmWarning,
    ShapeError,
)
from psychollm.data.responses import Responses
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import Bootstrap
from psychollm.reliability.scales.alpha_intervals import duhachek_se, feldt_interval
from psychollm.reliability.scales.consistency import alpha, consistency
from psychollm.reliability.scales.guttman import guttman_of_matrix
from psychollm.reliability.scales.item_statistics import item_statistics
from psychollm.reliability.scales.kuder_richardson import kr20, kr21
from psychollm.reliability.scales.moments import covariance, item_moments
from psychollm.reliability.scales.score_table import score_table
from tests.oracles import consistency_slow as slow
from tests.reliability.golden_cases import blocks_of, check_block, quick, repeated, rows_of

PSYCH = ("bin12", "llm", "lsat6", "pol5", "pol5_checkkeys")
PSYCH_SHARED = ("ability", "bfi_A", "bfi_A_checkkeys", "bfi_C", "bfi_C_checkkeys")
FILES = {
    "bin12": "synth_bin12",
    "llm": "synth_llm40x15",
    "lsat6": "lsat6_patterns",
    "pol5": "synth_poly6",
    "ability": "ability",
    "bfi": "bfi25",
}
TABLES = st.tuples(st.integers(4, 9), st.integers(2, 5), st.integers(0, 10**6)).map(
    lambda size: np.random.default_rng(size[2]).integers(0, 5, size[:2]).astype(float)
)


def scored(folder, row):
    """The table of one golden row, and the keys that its item names carry."""
    name = next(file for start, file in FILES.items() if row["id"].startswith(start))
    frame = pd.read_csv(folder / f"{name}.csv", na_values="NA")
    if "freq" in frame:
        frame = frame.loc[frame.index.repeat(frame["freq"])].reset_index(drop=True)
    names = row["keys"].split()
    items = [name.lstrip("-") for name in names]
    return frame[items], {item: -1 for item in items if f"-{item}" in names}


def check_psych(frame, keys, row):
    """Everything psych::alpha prints; it counts respondents without any answer too."""
    found = quick(frame, keys=keys)
    items = item_statistics(frame, keys=keys)
    close = {"abs": 1e-12, "rel": 1e-12}
    n = len(frame)
    assert found.alpha.value[0] == pytest.approx(row["raw_alpha"], **close)
    assert found.standardised.value[0] == pytest.approx(row["std_alpha"], **close)
    assert found.mean_correlation.value[0] == pytest.approx(row["average_r"], **close)
    assert items.mean_correlation == pytest.approx(row["average_r"], **close)
    assert items.median_correlation == pytest.approx(row["median_r"], **close)
    assert found.signal_to_noise[0] == pytest.approx(row["SN"], **close)
    assert found.mean[0] == pytest.approx(row["mean"], **close)
    assert found.sd[0] == pytest.approx(row["sd"], **close)
    table = score_table(frame, keys=keys)
    se = duhachek_se(covariance(table.values, np.ones(n)), n)
    assert se == pytest.approx(row["ase_duhachek"], **close)
    # psych takes 1.96 for the normal quantile.
    assert row["raw_alpha"] - 1.96 * se == pytest.approx(row["duhachek_lower"], **close)
    assert row["raw_alpha"] + 1.96 * se == pytest.approx(row["duhachek_upper"], **close)
    low, high = feldt_interval(found.alpha.value[0], n, frame.shape[1])
    assert (low, high) == pytest.approx((row["feldt"]["lower"], row["feldt"]["upper"]), **close)
    columns = {
        "alpha_drop_raw": items.alpha_without.value,
        "alpha_drop_std": items.standardised_alpha_without,
        "r_drop": items.item_rest.value,
        "r_cor": items.corrected_item_total,
        "raw_r": items.item_total,
        "std_r": items.standardised_item_total,
    }
    for name, value in columns.items():
        np.testing.assert_allclose(value, row[name], rtol=1e-11, atol=1e-12, err_msg=name)
    sixth = guttman_of_matrix(items.correlations).value[5]
    assert sixth == pytest.approx(row["G6"], abs=1e-12)
    assert any(items.item_rest.flags) == (
        "negatively correlated" in str(row["notes"]) and not keys
    )


@pytest.mark.parametrize("case", PSYCH)
def test_psych(golden, case):
    folder = golden / "psychometrics"
    row = rows_of(folder / "alpha.json")[case]
    check_psych(*scored(folder, row), row)


@pytest.mark.parametrize("case", PSYCH_SHARED)
def test_psych_on_data_not_redistributed(shared, case):
    folder = shared / "golden" / "psychometrics"
    row = rows_of(folder / "alpha.json")[case]
    check_psych(*scored(folder / "data", row), row)


@pytest.mark.parametrize("case", ["gses_a", "gses_b"])
def test_scale_under_four_conditions(golden, case):
    by_r, by_python = blocks_of(golden, case)
    frame = pd.read_csv(golden / "metacognition" / f"{case}.csv")
    items = [f"i{number}" for number in range(1, 11)]
    together = quick(frame[items], by=frame["condition"])
    assert together.conditions == ("none", "comp", "social", "summ")
    for place, (condition, rows) in enumerate(frame.groupby("condition", sort=False)):
        table = rows[items]
        found, _ = check_block(table, by_r["values"][condition], by_r["tol"])
        assert together.alpha.value[place] == pytest.approx(found.alpha.value[0], abs=1e-14)
        known = by_python["values"][condition]
        assert found.alpha.value[0] == pytest.approx(known["pingouin_alpha"], abs=1e-12)
        bounds = known["pingouin_alpha_ci_feldt"]
        assert found.alpha.interval[0].tolist() == pytest.approx(bounds, abs=5e-4)


@given(TABLES)
def test_alpha_is_that_of_the_slow_twin(scores):
    assume(np.ptp(scores.sum(axis=1)) > 0)
    found = quick(scores)
    value = slow.alpha_of_totals(scores)
    assert found.alpha.value[0] == pytest.approx(value, rel=1e-10)
    matrix = slow.covariance(scores)
    assert found.alpha.value[0] == pytest.approx(slow.alpha(matrix), rel=1e-10)
    assert duhachek_se(matrix, len(scores)) == pytest.approx(found.alpha.se[0], rel=1e-7, abs=1e-9)
    bounds = slow.feldt(value, *scores.shape, 0.95)
    assert found.alpha.interval[0].tolist() == pytest.approx(bounds, rel=1e-9)


def test_standard_error_is_that_of_the_delta_method():
    scores = np.random.default_rng(2).normal(size=(40, 4)) + np.arange(40)[:, None] / 15
    matrix = np.cov(scores.T)
    assert duhachek_se(matrix, 40) == pytest.approx(slow.delta_se(matrix, 40), rel=1e-6)


@given(TABLES, st.integers(0, 10**6))
def test_pairwise_covariances_are_those_of_the_slow_twin(scores, seed):
    rng = np.random.default_rng(seed)
    scores = np.where(rng.random(scores.shape) < 0.15, np.nan, scores)
    together = np.isfinite(scores).T.astype(int) @ np.isfinite(scores)
    assume((together >= 2).all())
    found = covariance(scores, np.ones(len(scores)))
    np.testing.assert_allclose(found, slow.covariance(scores), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(found, found.T)


@given(TABLES, st.integers(0, 10**6), st.booleans())
def test_resamples_are_repeated_rows(scores, seed, missing):
    """Counts of rows give what a table with these rows repeated gives."""
    rng = np.random.default_rng(seed)
    if missing:
        scores = np.where(rng.random(scores.shape) < 0.1, np.nan, scores)
    counts = rng.multinomial(len(scores), np.full(len(scores), 1 / len(scores)), size=3)
    found = item_moments(scores, counts.astype(float))
    for place, count in enumerate(counts):
        again = item_moments(np.repeat(scores, count, axis=0), np.ones((1, count.sum())))
        for name in ("variance", "with_total", "correlation_sum", "varying"):
            ours, theirs = getattr(found, name)[place], getattr(again, name)[0]
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9, err_msg=name)


@given(TABLES, st.integers(0, 10**6))
def test_moments_are_those_of_the_slow_twin(scores, seed):
    counts = np.random.default_rng(seed).multinomial(9, np.full(len(scores), 1 / len(scores)))
    found = item_moments(scores, counts[None].astype(float))
    matrix = slow.covariance(np.repeat(scores, counts, axis=0))
    np.testing.assert_allclose(found.variance[0], np.diag(matrix), rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.with_total[0], matrix.sum(axis=0), rtol=0, atol=1e-12)
    assert found.varying[0] == (np.diag(matrix) > 1e-12).sum()
    varies = np.diag(matrix) > 1e-12
    expected = slow.correlation(matrix[np.ix_(varies, varies)]).sum()
    assert found.correlation_sum[0] == pytest.approx(expected, abs=1e-9)


@given(TABLES, st.permutations(range(9)), st.permutations(range(5)))
def test_order_unit_and_origin_do_not_matter(scores, rows, columns):
    assume(np.ptp(scores.sum(axis=1)) > 0)
    rows = [row for row in rows if row < scores.shape[0]]
    columns = [column for column in columns if column < scores.shape[1]]
    value = quick(scores).alpha.value[0]
    assert quick(scores[rows][:, columns]).alpha.value[0] == pytest.approx(value, abs=1e-9)
    assert quick(-3.0 * scores + 7.0).alpha.value[0] == pytest.approx(value, abs=1e-9)
    scaled = quick(scores * np.arange(1, scores.shape[1] + 1)).standardised.value[0]
    assert scaled == pytest.approx(quick(scores).standardised.value[0], abs=1e-9, nan_ok=True)


def test_flat_respondents():
    """Nobody varies between respondents: undefined. Each flat at another level: exactly one."""
    same = quick([[1, 2, 3], [1, 2, 3], [1, 2, 3]])
    assert np.isnan(same.alpha.value[0])
    assert np.isnan(same.alpha.interval).all()
    assert same.alpha.flags == (Reason.NO_VARIANCE,)
    assert "undefined" in same.summary()
    for levels in ([1, 2, 4], [0.1, 0.3, 0.7], [1e6, 1e6 + 1, 1e6 + 2]):
        each = consistency([[level] * 5 for level in levels], bootstrap=20, rng=0)
        assert each.alpha.value[0] == each.standardised.value[0] == 1.0
        assert each.mean_correlation.value[0] == 1.0
        assert each.sem.value[0] == 0.0
        np.testing.assert_array_equal(each.alpha.interval, [[1.0, 1.0]])
        np.testing.assert_array_equal(each.standardised.interval, [[1.0, 1.0]])


def test_totals_that_are_equal_but_for_rounding():
    scores = [[0.1, 0.2, 0.3], [0.3, 0.2, 0.1], [0.2, 0.3, 0.1], [0.2, 0.1, 0.3]]
    assert quick(scores).alpha.flags == (Reason.NO_VARIANCE,)


def test_items_that_do_not_vary_are_kept_and_flagged():
    scores = np.array([[1, 2, 5], [2, 2, 5], [3, 4, 5], [5, 4, 5]], dtype=float)
    found = quick(scores)
    assert found.alpha.flags == (Reason.CONSTANT_ITEMS,)
    assert found.alpha.value[0] == pytest.approx(slow.alpha_of_totals(scores), abs=1e-12)
    assert found.standardised.value[0] == pytest.approx(
        quick(scores[:, :2]).standardised.value[0], abs=1e-12
    )
    items = item_statistics(scores)
    assert items.item_rest.flags == (Reason.NONE, Reason.NONE, Reason.CONSTANT_ITEM)
    assert np.isnan(items.item_rest.value[2])
    assert np.isnan(items.correlations[2]).all()
    assert items.alpha_without.value[2] == pytest.approx(quick(scores[:, :2]).alpha.value[0])


def test_negative_items_are_flagged_and_reversed_on_request_only():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(50, 1)) + rng.normal(size=(50, 4))
    scores[:, 3] *= -1
    plain = quick(scores)
    assert plain.alpha.flags == (Reason.NEGATIVE_ITEMS,)
    assert item_statistics(scores).item_rest.flags[3] is Reason.NEGATIVE_ITEM
    for keys in ({3: -1}, [1, 1, 1, -1], np.array([1, 1, 1, -1])):
        turned = quick(scores, keys=keys)
        assert turned.alpha.flags == (Reason.NONE,)
        assert turned.alpha.value[0] > plain.alpha.value[0]


@pytest.mark.parametrize(
    ("scores", "reason"),
    [
        ([[1], [2], [3]], Reason.ONE_QUESTION),
        ([[1, 2, 3]], Reason.FEW_RESPONDENTS),
        ([[np.nan, np.nan], [np.nan, np.nan]], Reason.FEW_RESPONDENTS),
        ([[1, np.nan], [2, np.nan], [np.nan, 1], [np.nan, 3]], Reason.TOO_FEW),
        ([[3, 3], [3, 3], [3, 3]], Reason.NO_VARIANCE),
    ],
)
def test_undefined(scores, reason):
    found = consistency(scores, bootstrap=5, rng=0)
    for name in ("alpha", "standardised", "of_means", "mean_correlation", "sem"):
        estimate = getattr(found, name)
        assert np.isnan(estimate.value).all(), name
        assert np.isnan(estimate.interval).all(), name
        assert np.isnan(estimate.se).all(), name
        assert estimate.flags == (reason,), name
    items = item_statistics(scores)
    assert np.isnan(items.alpha_without.value).all()
    assert all(items.alpha_without.flags)


def test_two_respondents_have_a_value_and_a_flag():
    found = quick([[1, 2, 4], [2, 3, 4]])
    assert found.alpha.flags == (Reason.FEW_RESPONDENTS,)
    assert found.alpha.value[0] == pytest.approx(0.75)
    assert found.alpha.interval[0, 0] < -5


def test_missing_scores():
    rng = np.random.default_rng(1)
    scores = rng.normal(size=(30, 1)) + rng.normal(size=(30, 4))
    scores[[0, 5], [1, 2]] = np.nan
    pairwise, complete = quick(scores), quick(scores, missing="listwise")
    assert pairwise.alpha.flags == (Reason.PAIRWISE,)
    assert complete.alpha.flags == (Reason.INCOMPLETE,)
    assert (pairwise.alpha.n[0], complete.alpha.n[0]) == (30.0, 28.0)
    assert pairwise.alpha.value[0] == pytest.approx(slow.alpha(slow.covariance(scores)))
    whole = scores[np.isfinite(scores).all(axis=1)]
    assert complete.alpha.value[0] == pytest.approx(slow.alpha_of_totals(whole))
    # A row without any score is no respondent.
    empty = np.vstack([scores, np.full(4, np.nan)])
    assert quick(empty).alpha.n[0] == 30.0
    assert kr21(np.vstack([np.eye(4), np.ones((2, 4)), [[1, 0, 1, np.nan]]])).n[0] == 6


def test_repeated_rows_are_not_respondents():
    scores, who = repeated()
    naive, found = quick(scores), consistency(scores, respondents=who, bootstrap=50, rng=0)
    assert found.alpha.value[0] == naive.alpha.value[0]
    assert found.alpha.method.startswith("jackknife over respondents")
    assert np.ptp(found.alpha.interval[0]) > 1.5 * np.ptp(naive.alpha.interval[0])
    assert found.n_respondents[0] == 12
    assert found.alpha.n[0] == 36
    means = pd.DataFrame(scores).groupby(np.array(who), sort=False).mean()
    alone = quick(means)
    assert found.of_means.value[0] == pytest.approx(alone.alpha.value[0], abs=1e-12)
    assert found.of_means.interval[0] == pytest.approx(alone.alpha.interval[0], abs=1e-12)
    assert found.of_means.n[0] == 12
    assert "of means" in found.summary()
    for interval in ("feldt", "duhachek"):
        with pytest.raises(OptionError, match="respondents repeat"):
            quick(scores, respondents=who, interval=interval)


def test_without_repetitions_means_are_the_rows():
    scores, _ = repeated(n_runs=1)
    named = quick(scores, respondents=[f"m{row}" for row in range(12)])
    assert named.alpha.method == "analytic (Feldt)"
    np.testing.assert_array_equal(named.of_means.value, named.alpha.value)
    np.testing.assert_array_equal(named.of_means.interval, named.alpha.interval)


def test_repeats_with_missing_scores_in_the_index():
    scores, who = repeated(noise=0.0)
    scores[0, 0] = np.nan
    frame = pd.DataFrame(scores, index=who)
    with pytest.raises(LabelError, match=r"respondents=scores\.index"):
        quick(frame)
    found = quick(frame, respondents=frame.index)
    whole, _ = repeated(noise=0.0)
    # Repetitions without noise: the means are those of any other run.
    assert found.of_means.value[0] == pytest.approx(quick(whole[1::3]).alpha.value[0], abs=1e-12)


def test_conditions_share_resamples():
    """The same rows under two names: a difference of exactly zero."""
    scores, who = repeated(n_runs=1)
    found = alpha(
        np.vstack([scores, scores, -scores[:, ::-1] + 1]),
        respondents=who * 3,
        by=["a"] * 12 + ["b"] * 12 + ["c"] * 12,
        interval="bootstrap",
        bootstrap=40,
        rng=0,
    )
    assert found.labels == ("a", "b", "c")
    assert found.axis == "condition"
    assert found.method == "BCa bootstrap over respondents"
    np.testing.assert_array_equal(found.draws[:, 0], found.draws[:, 1])
    gap = found.difference("a", "c")
    assert gap.value == pytest.approx(0.0, abs=1e-12)
    assert gap.se == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("interval", ["feldt", "duhachek", "jackknife", "bootstrap"])
def test_intervals_hold_the_value_and_widen_with_level(interval):
    scores, _ = repeated(n_models=40, n_runs=1)
    narrow, wide = (
        consistency(scores, interval=interval, level=level, bootstrap=200, rng=0)
        for level in (0.8, 0.99)
    )
    for name in ("alpha", "standardised", "of_means", "mean_correlation", "sem"):
        first, second = getattr(narrow, name), getattr(wide, name)
        assert second.interval[0, 0] < first.interval[0, 0] < first.value[0]
        assert first.value[0] < first.interval[0, 1] < second.interval[0, 1]
        assert first.se[0] > 0


def test_same_draws_for_any_number_of_workers():
    scores, who = repeated()
    one, two = (
        consistency(
            scores, respondents=who, bootstrap=Bootstrap(60, n_jobs=jobs), rng=5
        ).alpha.draws
        for jobs in (1, 2)
    )
    np.testing.assert_array_equal(one, two)


def test_every_kind_of_table():
    scores = np.array([[1, 0, 1], [1, 1, 1], [0, 0, 1], [0, 0, 0], [1, 1, 0]])
    value = kr20(scores, bootstrap=0).value[0]
    labels = {"index": list("abcde"), "columns": list("xyz")}
    for table in (
        pd.DataFrame(scores, **labels),
        Responses(scores),
        scores.tolist(),
        scores.astype(bool),
        np.ma.masked_array(scores, mask=False),
    ):
        assert kr20(table, bootstrap=0).value[0] == value
    assert item_statistics(pd.DataFrame(scores, **labels)).items == ("x", "y", "z")


def test_series_are_put_in_the_order_of_the_rows():
    scores, who = repeated()
    rows = [f"r{place}" for place in range(len(scores))]
    frame = pd.DataFrame(scores, index=rows)
    shuffled = pd.Series(who, index=rows).sample(frac=1.0, random_state=0)
    first, second = (quick(frame, respondents=by) for by in (who, shuffled))
    np.testing.assert_array_equal(first.of_means.value, second.of_means.value)


def test_frames():
    scores, who = repeated()
    found = consistency(scores, respondents=who, bootstrap=0)
    frame = found.to_frame()
    assert frame.loc[0, "alpha"] == found.alpha.value[0]
    assert {"sem_lower", "of_means_upper", "n_respondents"} <= set(frame.columns)
    items = item_statistics(scores, respondents=who).to_frame()
    assert items.shape[0] == 5
    assert json.dumps(found.to_dict())


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"respondents": ["a"]}, ShapeError, "respondents holds 1 labels for 4 rows"),
        ({"respondents": ["a", "b", None, "c"]}, LabelError, "row 2 has no label"),
        ({"respondents": "model"}, ShapeError, "one string"),
        ({"by": ["x", "y", "x"]}, ShapeError, "by holds 3 labels"),
        ({"keys": [1, -1]}, OptionError, "one number for each of the 3 items"),
        ({"keys": [1, 2, 1]}, OptionError, "item 1 has 2"),
        ({"keys": {"z": -1}}, OptionError, "keys names 'z'"),
        ({"interval": "fisher"}, OptionError, "interval='fisher'"),
        ({"missing": "drop"}, OptionError, "missing='drop'"),
        ({"level": 1.0}, OptionError, "level"),
        ({"bootstrap": 1}, OptionError, "bootstrap=1"),
        ({"bootstrap": 0, "interval": "bootstrap"}, OptionError, "draws no resamples"),
    ],
)
def test_options_that_cannot_be_used(options, error, message):
    with pytest.raises(error, match=message):
        consistency([[1, 2, 3], [2, 2, 4], [3, 1, 4], [0, 1, 1]], **options)


@pytest.mark.parametrize(
    ("scores", "error", "message"),
    [
        ([1, 2, 3], ShapeError, "1 dimension"),
        ([[1, np.inf], [1, 2]], CodeError, "question 1 holds inf"),
        ([[1, "yes"], [1, 2]], CodeError, "'yes'"),
        (np.empty((0, 3)), ShapeError, "empty"),
    ],
)
def test_scores_that_cannot_be_used(scores, error, message):
    with pytest.raises(error, match=message):
        alpha(scores)


@pytest.mark.parametrize(("interval", "respondents"), [("feldt", None), (None, 20)])
def test_coverage(interval, respondents):
    """Share of 300 data sets whose 95 % interval holds alpha: outside [0.91, 0.99] by chance with
    probability below 0.003 if coverage is 0.95.
    """
    rng = np.random.default_rng(11)
    runs = 1 if respondents is None else 3
    n = respondents or 40
    share = 0.5  # of an item's variance in common; runs repeat it but for a tenth
    truth = 4 * share / (1 + 3 * share)
    hits = 0
    for _ in range(300):
        common = np.sqrt(share) * rng.normal(size=(n, 1))
        models = common + np.sqrt(1 - share) * rng.normal(size=(n, 4))
        scores = np.repeat(models, runs, axis=0)
        who = np.repeat(np.arange(n), runs)
        low, high = quick(scores, respondents=who, interval=interval).alpha.interval[0]
        hits += low <= truth <= high
    assert 0.91 <= hits / 300 <= 0.99


@pytest.mark.parametrize("odd", [-99, 99, 999])
def test_codes_of_missing_answers_give_a_warning(odd):
    frame = pd.DataFrame(np.random.default_rng(0).integers(1, 6, (60, 4)), columns=list("abcd"))
    frame.loc[3:9, "b"] = odd
    with pytest.warns(PsychollmWarning, match=f"'b' holds '{odd}' .7 such.*replace them by NaN"):
        alpha(frame, bootstrap=2)
    alpha(frame.replace(odd, np.nan), bootstrap=2)
    alpha(frame.replace(odd, 9), bootstrap=2)  # a digit may be a score
