"""Several attempts at the same questions: closed forms, intervals, what more would show."""

from itertools import combinations
from math import comb

import numpy as np
import pandas as pd
import pytest

import psychollm as psy
from psychollm._base.errors import CodeError, LabelError, OptionError, ShapeError
from psychollm.estimates.intervals import wilson
from psychollm.estimates.reasons import Reason
from psychollm.studies.attempts.closed_forms import AT_LEAST_ONE, EVERY
from tests.studies.attempts.tables import COUNTS, counts


@pytest.fixture(scope="module")
def agents():
    """Three agents of known chances at 60 tasks, five attempts each."""
    rng = np.random.default_rng(3)
    chance = rng.beta(0.4, 0.5, (1, 60)) * np.array([[1.0], [0.9], [0.5]])
    return counts(rng.binomial(5, chance), 5)


@pytest.mark.parametrize("n", [1, 3, 6])
def test_closed_forms_are_shares_of_all_choices_of_attempts(n):
    for s in range(n + 1):
        outcomes = [1] * s + [0] * (n - s)
        for k in range(1, n + 1):
            chosen = list(combinations(outcomes, k))
            some = np.mean([any(one) for one in chosen])
            every = np.mean([all(one) for one in chosen])
            assert AT_LEAST_ONE.of(np.array([s]), np.array([n]), k)[0] == pytest.approx(some)
            assert EVERY.of(np.array([s]), np.array([n]), k)[0] == pytest.approx(every)
    assert np.isnan(EVERY.of(np.array([1.0]), np.array([n]), n + 1)[0])


def test_values_are_means_over_tasks_and_never_powers_of_shares(agents):
    found = psy.attempts(agents, **COUNTS, k=(1, 3), rng=1)
    own = agents.loc[agents["model"] == "m0", "right"]
    expected = np.mean([comb(s, 3) / comb(5, 3) for s in own])
    assert found.pass_hat_k[3].value[0] == pytest.approx(expected)
    assert found.pass_at_k[1].value[0] == pytest.approx(own.mean() / 5)
    assert abs((own / 5).pow(3).mean() - expected) > 0.005


def test_the_frame_has_the_columns_that_programs_read(agents):
    frame = psy.attempts(agents, model="model", **COUNTS, k=(1, 2, 3), rng=1).to_frame()
    assert [*frame] == ["model", "quantity", "k", "value", "lower", "upper", "flag"]
    assert set(frame["quantity"]) == {"pass@k", "pass^k"}
    assert len(frame) == 3 * 2 * 3
    assert frame["value"].between(frame["lower"], frame["upper"]).all()
    told = psy.attempts(agents, **COUNTS, k=1, rng=1).foretell(k=8).to_frame()
    assert [*told] == [*frame]
    assert (told["flag"] == Reason.FORETOLD).all()


def test_counts_rows_and_arrays_give_one_result():
    rng = np.random.default_rng(0)
    tries = rng.integers(0, 2, (2, 12, 4))
    of_array = psy.attempts(tries, k=(1, 2), rng=1)
    rows = pd.DataFrame(
        [
            {"agent": i, "task": j, "score": int(one)}
            for i in range(2)
            for j in range(12)
            for one in tries[i, j]
        ]
    )
    of_rows = psy.attempts(rows, model="agent", question="task", k=(1, 2), rng=1)
    of_counts = psy.attempts(counts(tries.sum(axis=2), 4), **COUNTS, k=(1, 2), rng=1)
    for other in (of_rows, of_counts):
        for k in (1, 2):
            np.testing.assert_allclose(other.pass_hat_k[k].value, of_array.pass_hat_k[k].value)
            np.testing.assert_allclose(other.pass_at_k[k].interval, of_array.pass_at_k[k].interval)


def test_tasks_are_the_units(agents):
    """With tasks as units the error is that of their values, not of single attempts."""
    once = psy.attempts(agents, **COUNTS, k=1, rng=1).pass_at_k[1]
    own = agents.loc[agents["model"] == "m0", "right"].to_numpy() / 5
    assert once.se[0] == pytest.approx(own.std(ddof=1) / np.sqrt(own.size))
    of_trials = np.sqrt(own.mean() * (1 - own.mean()) / (5 * own.size))
    assert once.se[0] > 1.5 * of_trials


def test_intervals_exist_where_nothing_varies():
    found = psy.attempts(counts([[0] * 10, [5] * 10], 5), **COUNTS, k=(1, 5), rng=1)
    low, high = found.pass_at_k[5].interval.T
    assert low[0] == 0.0
    assert 0.2 < high[0] < 0.4
    assert high[1] == 1.0
    assert 0.6 < low[1] < 0.8


def test_too_few_attempts_are_nan_with_a_reason_or_left_out():
    found = psy.attempts(counts([[1, 2, 0, 1]], [[3, 3, 1, 3]]), **COUNTS, k=(3, 4), rng=1)
    three, four = found.pass_hat_k[3], found.pass_hat_k[4]
    assert three.flags == (Reason.SOME_FEW_ATTEMPTS,)
    assert three.n[0] == 3
    assert four.flags == (Reason.FEW_ATTEMPTS,)
    assert np.isnan(four.value[0])


def test_clusters_widen_intervals(agents):
    families = np.arange(60) // 10
    values = agents["right"].to_numpy().reshape(3, 60)
    order = np.argsort(values[0], kind="stable")
    sorted_agents = counts(values[:, order], 5)
    plain = psy.attempts(sorted_agents, **COUNTS, k=3, rng=1)
    grouped = psy.attempts(sorted_agents, **COUNTS, k=3, clusters=families, rng=1)
    assert (
        np.diff(grouped.pass_hat_k[3].interval)[0] > 1.3 * np.diff(plain.pass_hat_k[3].interval)[0]
    )


def test_shares_of_variance_find_what_was_planted():
    rng = np.random.default_rng(5)
    task, agent = rng.normal(0, 0.2, 400), rng.normal(0, 0.1, 80)
    both = rng.normal(0, 0.1, (80, 400))
    p = np.clip(0.5 + task + agent[:, None] + both, 0, 1)
    found = psy.attempts(counts(rng.binomial(4, p), 4), **COUNTS, k=1, rng=1).shares
    within = (p * (1 - p)).mean()
    total = within + 0.04 + 0.01 + 0.01
    for name, planted in [("question", 0.04), ("model", 0.01), ("model:question", 0.01)]:
        row = found.place(name)
        assert found.value[row] == pytest.approx(planted / total, abs=0.03)
    assert found.value.sum() == pytest.approx(1.0)


def test_families_take_their_part_of_the_variance_of_models():
    rng = np.random.default_rng(7)
    family = np.repeat(np.arange(12), 5)
    level = rng.normal(0, 0.18, 12)[family] + rng.normal(0, 0.04, 60)
    p = np.clip(0.5 + level[:, None] + rng.normal(0, 0.1, 300), 0, 1)
    table = counts(rng.binomial(3, p), 3)
    found = psy.attempts(table, **COUNTS, k=1, families=family, rng=1).shares
    assert found.value[found.place("family")] > 4 * found.value[found.place("model in its family")]
    with pytest.raises(LabelError, match="one family"):
        psy.attempts(table, **COUNTS, k=1, families=["x"] * 60)


def test_differences_are_paired_by_task(agents):
    found = psy.attempts(agents, **COUNTS, k=(1, 3), rng=1)
    pairs = found.differences["pass^3"]
    assert (pairs.first[0], pairs.second[0]) == ("m0", "m1")
    gap = found.pass_hat_k[3].value
    assert pairs.value[0] == pytest.approx(gap[0] - gap[1])
    assert set(found.pairs()["quantity"]) == {"pass@1", "pass@3", "pass^3"}


def test_it_says_what_it_found(agents):
    text = psy.attempts(agents, **COUNTS, k=(1, 3), rng=1).summary()
    assert "m0 has the highest pass^3" in text
    assert "pass^3" in text
    assert "Of the variance of one attempt," in text


def test_errors_name_the_place_and_the_remedy(agents):
    with pytest.raises(CodeError, match=r"model 'm0', question 0 has 7 successes of 5 attempts"):
        psy.attempts(counts([[7]], 5), **COUNTS)
    with pytest.raises(CodeError, match=r"score of 0\.5: scores must be 1 \(success\)"):
        psy.attempts(np.full((1, 2, 2), 0.5))
    with pytest.raises(OptionError, match="successes= needs trials="):
        psy.attempts(agents, question="task", successes="right")
    with pytest.raises(LabelError, match="no column 'who'"):
        psy.attempts(agents, model="who")
    with pytest.raises(ShapeError, match="no attempt"):
        psy.attempts(counts([[0]], 0), **COUNTS)
    with pytest.raises(OptionError, match="k is empty"):
        psy.attempts(agents, **COUNTS, k=())
    with pytest.raises(OptionError):
        psy.attempts(agents, **COUNTS, k=0)


def test_intervals_of_differences_are_asymmetric_and_inside_their_range():
    rng = np.random.default_rng(2)
    table = counts(rng.binomial(5, [[0.1] * 10, [0.95] * 10, [0.5] * 10]), 5)
    pairs = psy.attempts(table, **COUNTS, k=3, rng=1).differences["pass^3"]
    assert (pairs.interval[:, 0] <= pairs.value).all()
    assert (pairs.value <= pairs.interval[:, 1]).all()
    assert -1.0 < pairs.interval[0, 0] < pairs.interval[0, 1] < 0.0
    below, above = pairs.value - pairs.interval[:, 0], pairs.interval[:, 1] - pairs.value
    assert below[0] < above[0]  # the value is near -1


def test_a_question_missing_for_all_leaves_the_intervals_of_differences():
    rng = np.random.default_rng(4)
    right = rng.binomial(5, 0.5, (3, 12))
    whole = psy.attempts(counts(right, 5), **COUNTS, k=3, rng=1).differences["pass^3"]
    tried = np.full((3, 13), 5)
    tried[:, 12] = 2  # fewer than k
    more = np.column_stack([right, [0, 1, 2]])
    pairs = psy.attempts(counts(more, tried), **COUNTS, k=3, rng=1).differences["pass^3"]
    assert pairs.value == pytest.approx(whole.value)
    assert pairs.interval == pytest.approx(whole.interval, abs=0.02)  # of other draws


def test_a_few_small_values_do_not_show_a_small_variance():
    right = np.zeros((1, 80), dtype=int)
    right[0, :3] = 3  # pass^3 of 0.1
    found = psy.attempts(counts(right, 5), **COUNTS, k=(1, 3), rng=1)
    values = np.where(right[0] == 3, 0.1, 0.0)
    p, n = values.mean(), values.size
    squares, binary = ((values - p) ** 2).sum(), n * p * (1.0 - p)
    variance = p * (1.0 - p) / (n - 1) * (squares + 0.05) / (binary + 0.05)
    size = p * (1.0 - p) / variance
    expected = wilson(p * size, size, df=n - 1.0)
    assert found.pass_hat_k[3].interval[0] == pytest.approx(expected)
    assert found.pass_hat_k[3].interval[0, 1] > 0.015


def test_intervals_of_binary_values_are_those_of_wilson():
    right = np.array([[1, 0, 1, 1, 0, 1, 1, 1, 0, 1]])
    found = psy.attempts(counts(right, 1), **COUNTS, k=1, rng=1)
    assert found.pass_at_k[1].interval[0] == pytest.approx(wilson(0.7 * 9.0, 9.0, df=9.0))
