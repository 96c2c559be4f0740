"""Differential functioning by logistic regression."""

import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2

from psychollm._base.errors import (
    LabelError,
    OptionError,
    ShapeError,
)
from psychollm.estimates.reasons import Reason
from psychollm.irt.groups.logistic import differential_functioning
from tests.irt.test_groups import simulated


def two_groups(simulated, seed, impact=0.0, n=800):
    ability = np.concatenate([np.zeros(n), np.full(n, impact)])
    rng = np.random.default_rng(seed)
    z = 1.4 * (rng.normal(size=(2 * n, 1)) + ability[:, None] - np.linspace(-1, 1, 10))
    return z, np.repeat(["old", "new"], n), rng


def test_uniform_and_nonuniform_functioning_are_told_apart(simulated):
    z, groups, rng = two_groups(simulated, 5, impact=0.5)
    z[800:, 3] += 1.2
    z[800:, 6] *= 0.2
    answers = rng.random(z.shape) < 1 / (1 + np.exp(-z))
    result = differential_functioning(answers, groups)
    assert np.flatnonzero(result.flagged == 1).tolist() == [3, 6]
    assert result.uniform[3] < 1e-4 < result.nonuniform[3]
    assert result.nonuniform[6] < 1e-4
    assert result.log_odds[3] > 0.7
    assert result.groups == ("old", "new")
    assert result.rounds >= 2
    assert "2 of 10 tested items function differently" in result.summary()
    assert "(3: " in result.summary()
    assert "ETS class C" in result.summary()
    assert "Sizes refer to the change in R squared (Jodoin and Gierl, 2001)" in result.summary()
    assert result.to_frame()["size"][0] == "negligible"
    assert result.to_frame()["ets"][[0, 3]].tolist() == ["A", "C"]


def test_ets_classes_depend_on_the_log_odds(simulated):
    z, groups, rng = two_groups(simulated, 5)
    result = differential_functioning(rng.random(z.shape) < 1 / (1 + np.exp(-z)), groups)
    sizes = np.array([0.42, -0.42, 0.43, -0.63, 0.64, -2.0, np.nan])
    assert replace(result, log_odds=sizes).ets == ("A", "A", "B", "B", "C", "C", "")


def test_printed_flags_are_words_and_p_values_have_three_decimals(simulated):
    z, groups, rng = two_groups(simulated, 5)
    z[800:, 3] += 1.2
    answers = (rng.random(z.shape) < 1 / (1 + np.exp(-z))).astype(float)
    answers[:800, 7] = np.nan
    lines = str(differential_functioning(answers, groups)).split("\n")
    header, *rows = lines[next(n for n, line in enumerate(lines) if line.startswith("item ")) :]
    rows = [re.split(" {2,}", row.strip()) for row in rows if not row.startswith(("*", "..."))]
    columns = re.split(" {2,}", header.strip())
    flags = {row[0]: row[columns.index("flagged")] for row in rows}
    assert (flags["3"], flags["5"], flags["7"]) == ("yes", "no", "–")
    assert next(row for row in rows if row[0] == "3")[columns.index("uniform")] == "< .001"


def test_functioning_holds_its_level(simulated):
    alarms = 0
    for seed in range(40):
        z, groups, rng = two_groups(simulated, 100 + seed, n=250)
        answers = rng.random(z.shape) < 1 / (1 + np.exp(-z))
        alarms += np.any(differential_functioning(answers, groups).flagged == 1)
    assert alarms <= 7  # of 2 expected: false alarm of this test below 0.4 %


def test_swapping_groups_turns_the_shift(simulated):
    z, groups, rng = two_groups(simulated, 6)
    z[800:, 3] += 1.0
    answers = rng.random(z.shape) < 1 / (1 + np.exp(-z))
    one = differential_functioning(answers, groups)
    two = differential_functioning(answers[::-1], groups[::-1])
    np.testing.assert_allclose(two.log_odds, -one.log_odds, atol=1e-6)
    np.testing.assert_allclose(two.statistic, one.statistic, atol=1e-6)


def alarm_rates(first, second, items, gap, tables):
    """Return the rate of p-values at most .05 of equal 2PL items, and the share tested."""
    found = []
    group = np.repeat([0, 1], [first, second])
    for seed in range(tables):
        rng = np.random.default_rng([first, seed])
        ability = rng.normal(size=group.size) - gap * group
        slope, difficulty = rng.lognormal(0.0, 0.5, items), rng.normal(size=items)
        z = slope * (ability[:, None] - difficulty)
        answers = rng.random(z.shape) < 1 / (1 + np.exp(-z))
        found.append(differential_functioning(answers, group).p_value)
    p = np.array(found)
    return np.mean(p[np.isfinite(p)] <= 0.05), np.isfinite(p).mean()


@pytest.mark.parametrize(
    ("first", "second", "items", "gap", "tables", "error", "tested"),
    [
        (12, 12, 60, 1.0, 30, 0.007, 0.8),
        (300, 80, 20, 1.5, 20, 0.011, 0.95),  # of scores with their errors, .24
        (300, 300, 10, 1.0, 30, 0.013, 0.95),  # .65
    ],
)
def test_level_with_few_respondents_or_a_gap(first, second, items, gap, tables, error, tested):
    rate, share = alarm_rates(first, second, items, gap, tables)
    assert rate <= 0.05 + 2 * error  # Monte Carlo error `error`, seeded
    assert share >= tested


def test_functioning_agrees_with_statsmodels(simulated):
    sm = pytest.importorskip("statsmodels.api")
    z, groups, rng = two_groups(simulated, 7, impact=0.6)
    answers = (rng.random(z.shape) < 1 / (1 + np.exp(-z))).astype(float)
    result = differential_functioning(answers, groups, purify=False)
    group = (groups == "new").astype(float)
    for j in (0, 4):
        score, moved = np.delete(answers, j, axis=1).mean(axis=1), []
        for side in (group == 0, group == 1):
            n, n_items, own = side.sum(), answers.shape[1], answers[side]
            alpha = n_items / (n_items - 1)
            alpha *= 1 - own.var(axis=0, ddof=1).sum() / own.sum(axis=1).var(ddof=1)
            error = own.mean(axis=1).var(ddof=1) * (1 - alpha) * n_items / (n_items - 1)
            variance, gap = score[side].var(ddof=1), score[side] - score[side].mean()
            lost = error / variance
            for change in (
                np.full(n, np.sqrt(variance / n)),
                gap * np.sqrt(2 * (n_items - 1) / ((n_items - 2) * (n - 1))),
            ):
                moved.append(np.zeros(score.size))
                moved[-1][side] = lost * change
            score[side] = score[side].mean() + (1 - lost) * gap
        moved = np.transpose(moved) / score.std()
        score = (score - score.mean()) / score.std()
        columns = np.column_stack([np.ones(score.size), score, group, score * group])
        fits = [sm.GLM(answers[:, j], columns[:, :k], sm.families.Binomial()) for k in (2, 3)]
        base, shift = (fit.fit(tol=1e-12) for fit in fits)
        for fit, last, p in (
            (base, 4, result.p_value[j]),
            (base, 3, result.uniform[j]),
            (shift, 4, result.nonuniform[j]),
        ):
            k, mean = fit.params.size, fit.fittedvalues
            weight = np.diag(mean * (1 - mean))
            spread = weight + fit.params[1] ** 2 * weight @ moved @ moved.T @ weight
            both = columns[:, :last].T
            inside = both @ weight @ both.T
            keep = np.hstack([-inside[k:, :k] @ np.linalg.inv(inside[:k, :k]), np.eye(last - k)])
            rest = keep @ both
            gradient = rest @ (answers[:, j] - mean)
            statistic = gradient @ np.linalg.inv(rest @ spread @ rest.T) @ gradient
            np.testing.assert_allclose(p, chi2.sf(statistic, last - k), rtol=1e-4)
        np.testing.assert_allclose(result.log_odds[j], shift.params[2], atol=1e-5)


def test_functioning_with_missing_answers(simulated):
    z, groups, rng = two_groups(simulated, 9, impact=0.6)
    z[800:, 3] += 1.2
    answers = (rng.random(z.shape) < 1 / (1 + np.exp(-z))).astype(float)
    answers[rng.random(z.shape) < 0.2] = np.nan
    answers[:5] = np.nan
    assert np.flatnonzero(differential_functioning(answers, groups).flagged == 1).tolist() == [3]


def test_functioning_of_untestable_items(simulated):
    answers = simulated(100, np.ones(5), np.zeros(5), 8)
    answers[:, 0] = 1
    answers[4:, 1] = 1
    answers[:4, 1] = 0
    result = differential_functioning(answers, np.repeat([0, 1], 50))
    assert result.reasons[:2] == (Reason.CONSTANT_ITEM, Reason.TOO_FEW)
    assert np.isnan([result.p_value[:2], result.flagged[:2]]).all()
    assert result.summary().startswith("0 of 3 tested items function differently")
    assert result.size[0] == ""


def test_an_item_that_one_group_always_solves(simulated):
    answers = simulated(100, np.ones(9), np.zeros(9), 8)
    answers[:50, 1] = 1
    result = differential_functioning(answers, np.repeat([0, 1], 50))
    assert np.flatnonzero(result.flagged == 1).tolist() == [1]
    assert result.uniform[1] < 1e-4
    assert np.isnan([result.log_odds[1], result.nonuniform[1]]).all()


def test_scores_that_match_nobody_leave_items_untested():
    ability = np.tile(np.arange(20) % 2, (6, 1)).T
    result = differential_functioning(ability, np.repeat([0, 1], 10))
    assert set(result.reasons) == {Reason.PERFECT}
    ability[10:, 1:] = 1 - ability[10:, 1:2]
    ability[10:, 1:4] = [1, 0, 1]
    ability[10:, 4:] = [0, 1]
    result = differential_functioning(ability, np.repeat([0, 1], 10))
    assert result.reasons[0] == Reason.NO_REST_VARIANCE
    assert np.isnan(result.p_value[0])


def test_a_group_without_answers_leaves_items_untested(simulated):
    answers = simulated(100, np.ones(5), np.zeros(5), 8).astype(float)
    answers[:50, 2:] = np.nan
    result = differential_functioning(answers, np.repeat([0, 1], 50))
    assert result.reasons[2:] == (Reason.TOO_FEW,) * 3
    answers[:50] = np.nan
    result = differential_functioning(answers, np.repeat([0, 1], 50))
    assert set(result.reasons) == {Reason.TOO_FEW}


def test_functioning_refuses(simulated):
    answers = simulated(100, np.ones(5), np.zeros(5), 8)
    with pytest.raises(LabelError, match="two different labels, got 3"):
        differential_functioning(answers, np.arange(100) % 3)
    with pytest.raises(ShapeError, match="99 labels"):
        differential_functioning(answers, np.zeros(99))
    with pytest.raises(ShapeError, match="at least 3"):
        differential_functioning(answers[:, :2], np.repeat([0, 1], 50))


def test_adjustments_of_regressions():
    data, group = simulated(200, 11, dif=0.5)
    holm, bh = (differential_functioning(data, group, adjustment=name) for name in ("holm", "bh"))
    assert bh.flagged.sum() >= holm.flagged.sum()
    with pytest.raises(OptionError, match="adjustment='none'"):
        differential_functioning(data, group, adjustment="none")
