"""Differences of mean scores: golden cases, McNemar's test, every flag."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from psychollm._base.errors import CodeError, LabelError, ShapeError
from psychollm.estimates.reasons import Reason
from psychollm.reliability.means.clustered import mean_score
from psychollm.reliability.means.score_differences import mcnemar, score_differences
from psychollm.reliability.means.set_difference import set_difference
from tests.oracles import clustered_slow as slow
from tests.reliability.golden_cases import clusters_case

CASES = ["cluster_a", "cluster_b"]


@pytest.mark.parametrize("case", CASES)
def test_golden_differences(golden, case):
    scores, clusters, models, (block, _) = clusters_case(golden, case)
    assert models == ["A", "B"]
    found = score_differences(scores, clusters=clusters, correction="cr0")
    alone = score_differences(scores)  # McNemar's test knows no clusters
    pairs = {
        "mean": found.value,
        "se_paired": found.se_paired,
        "se_paired_cluster_cr0": found.se,
        "se_unpaired": found.se_unpaired,
        "corr": found.correlation,
        "mcnemar_chi2": alone.mcnemar_chi2,
        "mcnemar_p": alone.mcnemar_p,
        "mcnemar_exact_p": alone.mcnemar_exact_p,
    }
    assert set(pairs) == set(block["values"]["diff"])
    for name, value in pairs.items():
        assert value[0] == pytest.approx(block["values"]["diff"][name], abs=block["tol"]), name


def test_every_flag_of_a_difference():
    scores = np.array([[1, 0, 1, np.nan], [1, 0, 1, 1], [np.nan] * 3 + [1], [0, 1, np.nan, 0]])
    pairs = [(0, 2), (2, 3), (0, 3), (0, 1), (1, 3)]
    found = score_differences(scores, pairs=pairs, clusters=["a", "a", "b", "b"])
    assert found.flags == (
        Reason.NO_COMMON,
        Reason.ONE_QUESTION,
        Reason.ONE_CLUSTER,
        Reason.NO_SPREAD,
        Reason.FEW_CLUSTERS,
    )
    np.testing.assert_array_equal(found.p_value[:4], [np.nan, np.nan, np.nan, 1.0])
    assert np.isnan(found.interval[:4]).all()
    alone = score_differences(scores, pairs=pairs)
    assert alone.mcnemar_exact_p[3] == 1.0
    assert np.isnan(alone.mcnemar_chi2[3])
    # A gap that never varies: no t test, but the exact test counts it.
    apart = score_differences([[1] * 6, [0] * 6])
    assert np.isnan(apart.p_value[0])
    assert apart.mcnemar_exact_p[0] == pytest.approx(2 / 2**6)


@given(st.integers(0, 40), st.integers(0, 40))
def test_mcnemar_exact_is_the_sum_of_binomials(b, c):
    assert mcnemar(b, c).exact_p_value == pytest.approx(slow.exact_mcnemar(b, c), rel=1e-10)


def test_clusters_leave_no_mcnemar():
    """Its coin flips are questions: four copies of each would be four flips."""
    scores = np.random.default_rng(0).integers(0, 2, (2, 20)).repeat(4, axis=1)
    found = score_differences(scores, clusters=np.repeat(np.arange(20), 4))
    assert np.isnan([found.mcnemar_exact_p[0], found.mcnemar_p[0], found.mcnemar_chi2[0]]).all()
    assert np.isfinite(score_differences(scores, clusters=np.arange(80)).mcnemar_exact_p[0])


def test_a_long_table_is_compared_as_a_wide_one():
    scores = np.random.default_rng(0).random((2, 20))
    wide = pd.DataFrame(scores, ["a", "b"], [f"q{k}" for k in range(20)])
    long = wide.rename_axis("model").reset_index().melt("model", var_name="question")
    for one in (long, long.rename(columns={"value": "score"})):
        assert score_differences(one).value == pytest.approx(score_differences(wide).value)
        assert mean_score(one).value == pytest.approx(mean_score(wide).value)
    with pytest.raises(LabelError, match=r"pass table\.pivot\(index='model'"):
        score_differences(long.set_index("model"))


def test_scores_that_are_not_binary_have_no_mcnemar():
    found = score_differences(np.random.default_rng(0).normal(size=(2, 20)))
    assert np.isnan(found.mcnemar_exact_p[0])
    assert np.isfinite(found.p_value[0])


def test_pairing_is_right_where_models_agree():
    rng = np.random.default_rng(3)
    base = rng.integers(0, 2, 200)
    other = np.where(rng.uniform(size=200) < 0.1, 1 - base, base)
    found = score_differences(np.stack([base, other]))
    assert found.correlation[0] > 0.7
    assert found.se[0] < 0.6 * found.se_unpaired[0]
    assert found.to_frame().shape == (1, 15)


def test_limits_of_shares_stay_in_their_range():
    found = score_differences([[1, 1], [1, 0]])
    assert found.interval.tolist() == [[-1.0, 1.0]]
    assert found.margin[0] > 5.0
    assert set_difference([[1, 1, 0, 1]], [0, 1], [2, 3]).interval.tolist() == [[-1.0, 1.0]]
    assert mean_score([[0.5, 1.0]], bootstrap=0).interval.tolist() == [[0.0, 1.0]]
    assert score_differences([[5, 9], [5, 4]]).interval[0, 0] < -10.0


@pytest.mark.parametrize(
    ("counts", "error", "message"),
    [
        (([1, 0, 1], [1, 0]), ShapeError, r"first_only \(3,\), second_only \(2,\)"),
        (([1, 0, 1], [1, 0, 0]), CodeError, r"hold answers, 0 and 1.*score_differences"),
        ((-1, 2), CodeError, "counts of questions"),
        ((0.5, 2), CodeError, "counts of questions"),
    ],
)
def test_mcnemar_takes_counts(counts, error, message):
    with pytest.raises(error, match=message):
        mcnemar(*counts)


@pytest.mark.parametrize("adjustment", ["holm", "max_t"])
@pytest.mark.parametrize("kind", ["binary", "numbers", "clusters", "tasks", "both"])
def test_complete_tables_by_models_say_what_pairs_say(kind, adjustment):
    """A question that nobody answered changes nothing but the way that is gone."""
    rng = np.random.default_rng(8)
    scores = rng.normal(size=(7, 60)) if kind == "numbers" else rng.integers(0, 2, (7, 60)) * 1.0
    scores[1] = scores[0]
    scores[2] = 1.0
    scores[4, 1:] = scores[3, 1:]  # differs in one question alone
    options = {}
    if kind in {"clusters", "both"}:
        options["clusters"] = np.sort(rng.integers(0, 17, 60))
    if kind in {"tasks", "both"}:
        options["tasks"] = np.arange(60) % 4 // 2
    rest = {"adjustment": adjustment, "rng": 3, "n_draws": 200}
    found = score_differences(scores, **options, **rest)
    more = np.column_stack([scores, np.full(7, np.nan)])
    # Its labels are those of the last question: no cluster and no task is new.
    other = {name: np.append(labels, labels[-1]) for name, labels in options.items()}
    expected = score_differences(more, **other, **rest)
    assert found.flags == expected.flags
    exact = {"value", "se", "df", "n", "n_clusters", "se_paired", "se_unpaired", "p_value"}
    exact |= {"correlation", "first_only", "mcnemar_exact_p"}
    drawn = {"margin", "interval", "adjusted"}
    # One question more draws other errors; clusters are as many as before.
    same = adjustment == "holm" or "clusters" in options
    for name in exact | drawn:
        close = {"rtol": 1e-9, "atol": 1e-12} if same or name in exact else {"atol": 0.2}
        here, there = getattr(found, name), getattr(expected, name)
        np.testing.assert_allclose(here, there, **close, err_msg=name)


def test_a_pilot_of_clusters_in_which_few_differ_knows_its_error_less_well():
    rng = np.random.default_rng(4)
    passages = np.repeat(np.arange(12), 5)
    even = rng.integers(0, 2, (3, 60)).astype(float)
    rare = even.copy()
    rare[1] = rare[0]
    rare[1, :5] = 1.0 - rare[0, :5]  # all that differs is in one passage
    for scores in (even, rare):
        found = score_differences(scores, clusters=passages, adjustment="holm")
        gaps = scores.copy()
        gaps[2, 59] = np.nan  # each pair by itself
        again = score_differences(gaps, clusters=passages, adjustment="holm")
        assert found.pilot_df[0] == pytest.approx(again.pilot_df[0])
        sums = (scores[0] - scores[1]).reshape(12, 5).mean(axis=1)
        excess = stats.kurtosis(sums, bias=False)
        wanted = 2.0 / (2.0 / 11.0 + max(excess, 0.0) / 12.0)
        assert found.pilot_df[0] == pytest.approx(wanted, rel=1e-6)
    assert found.pilot_df[0] < 2.0
    alone = score_differences(even, adjustment="holm")
    assert alone.pilot_df.tolist() == alone.df.tolist()


def test_a_constant_model_is_correlated_with_none():
    scores = np.array([[1.0] * 8, [1, 0, 1, 1, 0, 1, 0, 0], [0, 0, 1, 1, 0, 1, 0, 1]])
    assert np.isnan(score_differences(scores).correlation[:2]).all()


@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_memory_is_that_of_models_or_of_some_pairs(missing):
    rng = np.random.default_rng(5)
    scores = rng.integers(0, 2, (60, 12_000)) * 1.0
    scores[rng.random(scores.shape) < missing] = np.nan
    tracemalloc.start()
    score_differences(scores, adjustment="max_t", n_draws=100, rng=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 1770 * 12_000  # one array of pairs by questions
