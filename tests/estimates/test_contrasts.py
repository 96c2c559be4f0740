"""Contrasts between arms: by hand, in limiting cases, and how often intervals cover."""

import numpy as np
import pytest
from scipy.stats import t

from psychollm._base.errors import LabelError, ShapeError
from psychollm.estimates import contrast_arms
from psychollm.estimates.contrasts import LIKE_THESE, THESE
from psychollm.estimates.reasons import Reason
from psychollm.reliability import mean_score

ARMS, MODELS = list("xxxyyy"), list("abcabc")


def score(seed: int = 0, n: int = 200, shift: float = -0.2) -> np.ndarray:
    rng = np.random.default_rng(seed)
    easy = rng.normal(size=n)
    chance = np.array([0.6, 0.7, 0.8] * 2) + np.repeat([0.0, shift], 3)
    return (rng.random((6, n)) < np.clip(chance[:, None] + 0.1 * easy, 0, 1)).astype(float)


def test_values_pairs_and_labels() -> None:
    table = score()
    estimate = mean_score(table, bootstrap=400, rng=1)
    (found,) = contrast_arms(estimate, ARMS, MODELS, rates=True)
    gaps = table[3:].mean(axis=1) - table[:3].mean(axis=1)
    np.testing.assert_allclose(found.each.value, gaps)
    np.testing.assert_allclose(found.pooled.value, gaps.mean())
    assert (found.first, found.second, found.paired) == ("y", "x", True)
    assert found.each.labels == ("a", "b", "c")
    assert found.pooled.labels == (THESE, LIKE_THESE)
    # Paired by question: the standard error is that of differences.
    pairs = (table[3:] - table[:3]).std(axis=1, ddof=1) / np.sqrt(200)
    np.testing.assert_allclose(found.each.se, pairs, rtol=0.15)
    assert found.pooled.se[0] < found.each.se.min()
    frame = found.to_frame()
    assert frame["model"].tolist() == ["a", "b", "c", THESE, LIKE_THESE]


def test_models_like_these_by_hand() -> None:
    table = score(n=4000)
    estimate = mean_score(table, bootstrap=400, rng=1)
    (found,) = contrast_arms(estimate, ARMS, MODELS)
    gaps = found.each.value
    draws = found.each.draws
    common = np.cov(draws, rowvar=False)
    shared = max(0.0, (common.sum() - np.trace(common)) / 6)
    parts = np.array([gaps.var(ddof=1) / 3, shared])
    se = np.sqrt(parts.sum())
    df = parts.sum() ** 2 / (parts[0] ** 2 / 2 + parts[1] ** 2 / 3999)
    reach = t.ppf(0.975, df) * se
    np.testing.assert_allclose(
        found.pooled.interval[1], [gaps.mean() - reach, gaps.mean() + reach], rtol=1e-9
    )


def test_the_interval_has_a_length_where_all_pairs_agree() -> None:
    table = np.tile([1.0, 0.0, 1.0, 1.0] * 5, (2, 1))
    estimate = mean_score(table, bootstrap=100, rng=1)
    (found,) = contrast_arms(estimate, "xy", "aa", rates=True)
    # Bonett and Price: with b = c = 0 of n = 20 pairs, s = sqrt(2 / 22) / sqrt(22), t of 19.
    reach = t.ppf(0.975, 19) * np.sqrt(2 / 22 / 22)
    np.testing.assert_allclose(found.each.interval, [[-reach, reach]])
    assert found.p_value == 1.0
    (found,) = contrast_arms(estimate, "xy", "aa")  # no rates: no interval, and the reason
    assert np.isnan(found.each.interval).all()
    assert found.each.flags == (Reason.NO_SPREAD,)
    assert found.pooled.flags[1] is Reason.ONE_MODEL


def test_arms_without_a_common_model() -> None:
    estimate = mean_score(score(), bootstrap=400, rng=1)
    (found,) = contrast_arms(estimate, ARMS, list("abcdef"), rates=True)
    assert not found.paired
    assert found.each.labels == ()
    np.testing.assert_allclose(
        found.pooled.value, estimate.value[3:].mean() - estimate.value[:3].mean()
    )
    assert found.only_first == ("d", "e", "f")
    (pairs,) = contrast_arms(estimate, ARMS, MODELS, rates=True)
    assert np.diff(found.pooled.interval[1]) > np.diff(pairs.pooled.interval[1])


def test_several_arms_are_adjusted_and_the_baseline_is_chosen() -> None:
    estimate = mean_score(score(), bootstrap=400, rng=1)
    found = contrast_arms(estimate, list("xxyyzz"), list("ababab"), baseline="y")
    assert [(one.first, one.second) for one in found] == [("x", "y"), ("z", "y")]
    assert all(one.p_adjusted >= one.p_value for one in found)


def test_wrong_labels() -> None:
    estimate = mean_score(score(), bootstrap=20, rng=1)
    with pytest.raises(ShapeError, match="arms and models hold 2 and 6"):
        contrast_arms(estimate, "xy", MODELS)
    with pytest.raises(LabelError, match="one label only"):
        contrast_arms(estimate, "xxxxxx", list("abcdef"))
    with pytest.raises(LabelError, match="baseline='q' is not an arm"):
        contrast_arms(estimate, ARMS, MODELS, baseline="q")
    with pytest.raises(LabelError, match="must be unique"):
        contrast_arms(estimate, ARMS, list("aacabc"))
    with pytest.raises(LabelError, match="model of an arm labels must be hashable"):
        contrast_arms(estimate, [np.zeros(2)] * 6, MODELS)


def test_intervals_cover() -> None:
    rng = np.random.default_rng(5)
    hits = []
    for seed in range(150):
        shifts = rng.normal(-0.1, 0.05, 3)
        easy = rng.uniform(-0.2, 0.2, 60)
        base = np.array([0.5, 0.6, 0.4])
        chance = np.concatenate([base, base + shifts])[:, None] + easy
        table = (rng.random((6, 60)) < chance).astype(float)
        estimate = mean_score(table, bootstrap=200, rng=seed)
        (found,) = contrast_arms(estimate, ARMS, MODELS, rates=True)
        truths = [*shifts, shifts.mean(), -0.1]
        rows = [*found.each.interval, *found.pooled.interval]
        hits.append([low <= true <= high for true, (low, high) in zip(truths, rows, strict=True)])
    share = np.mean(hits, axis=0)
    assert (share > 0.9).all()  # 150 data sets: two standard errors are .036
    assert share.mean() < 0.985
