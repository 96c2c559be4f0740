"""Conditions compared on ranks and by a mixed model: R, slow twins, coverage, degenerate input."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from psychollm._base.errors import CodeError, LabelError, OptionError, ShapeError
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import Bootstrap
from psychollm.reliability.contrasts.condition_scores import condition_scores
from psychollm.reliability.contrasts.conditions import friedman, kruskal_wallis
from psychollm.reliability.contrasts.mixed_model import mixed_model
from psychollm.reliability.contrasts.pairwise_conditions import pairwise_conditions
from psychollm.reliability.contrasts.random_intercept import InterceptDesign, InterceptFit
from tests.oracles import conditions_slow as slow
from tests.reliability.golden_cases import gses

CASES = ["gses_a", "gses_b"]


def rows_of(golden):
    return json.loads((golden / "psychometrics" / "kruskal.json").read_text())["rows"]


def stacked(groups):
    items = groups.items() if isinstance(groups, dict) else enumerate(groups)
    pairs = [(value, name) for name, group in items for value in group]
    return [value for value, _ in pairs], [name for _, name in pairs]


def check_kruskal(row):
    found = kruskal_wallis(*stacked(row["groups"]), bootstrap=2, rng=0)
    assert found.statistic == pytest.approx(row["H"], abs=1e-12, rel=1e-12)
    assert found.p_value == pytest.approx(row["p"], rel=1e-10)
    assert found.df == row["df"]


@pytest.mark.parametrize("place", range(5))
def test_golden_kruskal(golden, place):
    check_kruskal(rows_of(golden)[place])


def test_golden_kruskal_of_data_that_are_not_redistributed(shared):
    folder = shared / "golden" / "psychometrics"
    for row in json.loads((folder / "kruskal.json").read_text())["rows"]:
        check_kruskal(row)


@pytest.mark.parametrize("case", CASES)
def test_golden_rank_tests(golden, case):
    frame, r, python = gses(golden, case)
    by_condition = kruskal_wallis(frame["total"], frame["condition"], bootstrap=2, rng=0)
    assert by_condition.statistic == pytest.approx(r["kruskal_condition"]["H"], abs=1e-10)
    assert by_condition.df == r["kruskal_condition"]["df"]
    assert by_condition.p_value == pytest.approx(r["kruskal_condition"]["p"], abs=1e-10)
    assert by_condition.statistic == pytest.approx(python["kruskal_H"], abs=1e-12)
    assert by_condition.p_value == pytest.approx(python["kruskal_p"], abs=1e-12)
    assert by_condition.effect == pytest.approx(python["epsilon2"], abs=1e-12)
    by_model = kruskal_wallis(frame["total"], frame["model"], bootstrap=2, rng=0)
    assert by_model.statistic == pytest.approx(r["kruskal_model"]["H"], abs=1e-10)
    assert by_model.p_value == pytest.approx(r["kruskal_model"]["p"], rel=1e-9)
    paired = friedman(frame["total"], frame["condition"], frame["model"], bootstrap=2, rng=0)
    assert paired.statistic == pytest.approx(r["friedman"], abs=1e-10)
    pairs = pairwise_conditions(frame["total"], frame["condition"])
    wanted = {
        frozenset((row["_row"], other)): p
        for row in r["pairwise_wilcox_holm"]
        for other, p in row.items()
        if other != "_row" and p is not None
    }
    assert len(wanted) == len(pairs.first) == 6
    for first, second, p in zip(pairs.first, pairs.second, pairs.adjusted, strict=True):
        assert p == pytest.approx(wanted[frozenset((first, second))], abs=1e-10)


# R 4.5: aov(total ~ condition + Error(model / condition)), of all 120 rows.
WITHIN = {
    "gses_a": (23.0668910693, 1.30047577352e-07),
    "gses_b": (23.4696969697, 1.10119831633e-07),
}


@pytest.mark.parametrize("case", CASES)
def test_repeats_are_no_respondents(golden, case):
    frame, _, _ = gses(golden, case)
    fit = mixed_model(frame["total"], frame["condition"], frame["model"], bootstrap=99, rng=0)
    assert fit.f_df == (3, pytest.approx(27))
    assert fit.f_statistic == pytest.approx(WITHIN[case][0], rel=1e-9)
    assert fit.p_value == pytest.approx(WITHIN[case][1], rel=1e-6)
    assert (fit.n, fit.n_models, fit.means.n.tolist()) == (40, 10, [10.0] * 4)


def repeated(rng, *, copies, n_models=10, k=4, repeats=3):
    """Models that react to conditions each in its own way, on average alike to all."""
    cell = rng.normal(size=(n_models, 1)) + rng.normal(size=(n_models, k))
    noise = rng.normal(size=(n_models, k, repeats)) * (0.1 if copies else 1.0)
    score = cell[:, :, None] + noise
    model, condition, _ = np.indices(score.shape)
    return score.ravel(), condition.ravel(), model.ravel()


@pytest.mark.parametrize("copies", [True, False])
def test_false_alarms_with_repeats(copies):
    """200 tables without an effect; more than 0.10 has a chance of 2 in 1,000 at 0.05."""
    alarms = np.zeros(4)
    for rng in np.random.default_rng(8).spawn(200):
        rows = repeated(rng, copies=copies)
        table = condition_scores(*rows).averaged()
        design = InterceptDesign.of(table.condition, table.model)
        alarms += [
            InterceptFit.of(design.reduced(table.scores[None])).f_test()[2] <= 0.05,
            friedman(*rows, bootstrap=2, rng=rng).p_value <= 0.05,
            kruskal_wallis(*rows[:2], models=rows[2], bootstrap=99, rng=rng).p_value <= 0.05,
            pairwise_conditions(*rows[:2], models=rows[2]).adjusted.min() <= 0.05,
        ]
    assert (alarms / 200 <= 0.10).all()


def test_copies_of_scores_change_nothing():
    score, condition, model = crossed(np.random.default_rng(9), 6, 3, 1)
    three = [np.repeat(part, 3) for part in (score, condition, model)]
    one, copied = (
        mixed_model(*rows, bootstrap=50, rng=0) for rows in ((score, condition, model), three)
    )
    assert copied.p_value == pytest.approx(one.p_value, rel=1e-9)
    assert copied.f_df == pytest.approx(one.f_df)
    np.testing.assert_allclose(copied.contrasts.interval, one.contrasts.interval)
    first, again = (
        kruskal_wallis(*rows[:2], models=rows[2], bootstrap=50, rng=0)
        for rows in ((score, condition, model), three)
    )
    assert again.statistic == pytest.approx(first.statistic, rel=1e-12)
    assert again.p_value == first.p_value
    np.testing.assert_allclose(again.effect_interval, first.effect_interval)


SEEDS = st.integers(0, 10_000)


@given(SEEDS)
def test_ranks_are_those_of_the_slow_twins(seed):
    rng = np.random.default_rng(seed)
    groups = [rng.integers(0, 5, size).tolist() for size in rng.integers(2, 7, 3)]
    groups[0][0] = 9
    found = kruskal_wallis(*stacked(groups), bootstrap=2, rng=0)
    assert found.statistic == pytest.approx(slow.kruskal(groups), abs=1e-12)
    table = rng.integers(0, 4, (5, 3))
    table[0] = [0, 1, 2]
    paired = friedman(
        table.ravel(), np.tile(list("abc"), 5), np.repeat(np.arange(5), 3), bootstrap=2, rng=0
    )
    assert paired.effect == pytest.approx(slow.kendall(table), abs=1e-12)
    chi2 = stats.friedmanchisquare(*table.T)
    assert paired.statistic == pytest.approx(chi2.statistic, abs=1e-10)
    assert paired.p_value == pytest.approx(chi2.pvalue, abs=1e-10)


def crossed(rng, n_models=10, n_conditions=3, repeats=2, spread=1.0):
    model = np.repeat(np.arange(n_models), n_conditions * repeats)
    condition = np.tile(np.repeat(np.arange(n_conditions), repeats), n_models)
    score = spread * rng.normal(size=n_models)[model] + rng.normal(size=model.size)
    return score, condition, model


def test_results_do_not_depend_on_jobs_or_order():
    rng = np.random.default_rng(3)
    score, condition, model = crossed(rng, 6, 3, 2)
    order = rng.permutation(score.size)
    first = mixed_model(score, condition, model, bootstrap=Bootstrap(40, n_jobs=2), rng=0)
    again = mixed_model(score, condition, model, bootstrap=40, rng=0)
    np.testing.assert_array_equal(first.means.draws, again.means.draws)
    mixed = mixed_model(score[order], condition[order], model[order], bootstrap=2, reference=0)
    same = [mixed.contrasts.place(label) for label in first.contrasts.labels]
    np.testing.assert_allclose(mixed.contrasts.value[same], first.contrasts.value, atol=1e-10)
    one = kruskal_wallis(score, condition, models=model, bootstrap=Bootstrap(30, n_jobs=2), rng=1)
    two = kruskal_wallis(score, condition, models=model, bootstrap=30, rng=1)
    np.testing.assert_array_equal(one.effect_interval, two.effect_interval)


@pytest.mark.parametrize("shift", [0.0, 0.5])
def test_coverage_of_epsilon_squared(shift):
    """120 data sets of 3 x 30; intervals cover 93 to 100 % in long runs."""
    rng = np.random.default_rng(4)
    condition = np.repeat([0, 1, 2], 30)
    large = np.repeat([0, 1, 2], 60_000)
    true = stats.kruskal(*np.split(shift * large + rng.normal(size=large.size), 3)).statistic
    true = max(0.0, (true - 2) / (large.size - 3)) if shift else 0.0
    hits = 0
    for _ in range(120):
        score = shift * condition + rng.normal(size=90)
        low, high = kruskal_wallis(score, condition, bootstrap=99, rng=rng).effect_interval
        hits += low <= true <= high
    assert hits / 120 > 0.88


def test_notes_say_what_is_left_out():
    score, condition, model = crossed(np.random.default_rng(7))
    alone = kruskal_wallis(score, condition, bootstrap=20, rng=0)
    named = kruskal_wallis(score, condition, models=model, bootstrap=20, rng=0)
    assert not alone.note
    assert "Friedman" in named.note
    assert named.summary().endswith(named.note)
    assert named.to_frame().shape == (3, 3)
    assert kruskal_wallis(score, model, models=model, bootstrap=20, rng=0).note == ""
    assert mixed_model(score, condition, model, bootstrap=20, rng=0).to_frame().shape == (2, 9)


def test_every_flag():
    tied = kruskal_wallis([1, 1, 1, 1], list("aabb"), rng=0, bootstrap=9)
    assert tied.flag is Reason.ALL_TIED
    assert np.isnan(tied.p_value)
    assert kruskal_wallis([1, 2, 3], list("aaa"), rng=0).flag is Reason.TOO_FEW
    assert kruskal_wallis([None, np.nan], list("ab"), rng=0).flag is Reason.NO_ANSWERS
    rows = [1, 2, 2, 3, None, 4, 1, 5]
    partly = friedman(rows, list("abababab"), list("wwxxyyzz"), rng=0, bootstrap=9)
    assert partly.flag is Reason.INCOMPLETE
    assert partly.sizes.tolist() == [3, 3]
    flat = friedman([1, 1, 2, 2], list("abab"), list("wwxx"), rng=0, bootstrap=9)
    assert flat.flag is Reason.ALL_TIED
    pairs = pairwise_conditions([1, 1, 1, 1, 2], list("aabbc"))
    assert pairs.flags[0] is Reason.ALL_TIED
    assert np.isnan(pairs.adjusted[0])
    signed = pairwise_conditions([1, 1, 2, 2, 3], list("ababc"), models=list("xxyyx"))
    assert signed.flags == (Reason.ALL_TIED, Reason.TOO_FEW, Reason.TOO_FEW)
    assert pairs.to_frame().shape == (3, 8)
    few = {
        Reason.NO_ANSWERS: ([None], ["a"], ["x"]),
        Reason.ALL_TIED: ([1, 1, 1], list("aba"), list("xyx")),
        Reason.TOO_FEW: ([1, 2, 4], list("aba"), list("xxx")),
        Reason.NO_RESIDUAL: ([1, 1, 2, 2, 4, 4], list("ababab"), list("xxyyzz")),
    }
    for reason, rows in few.items():
        fit = mixed_model(*rows, bootstrap=9, rng=0)
        assert set(fit.means.flags) <= {reason}
        assert np.isnan(fit.p_value)
        assert np.isnan(fit.intraclass.value).all()
        assert fit.intraclass.flags == (reason,)


def test_bad_input():
    with pytest.raises(ShapeError, match="conditions holds 1 labels for 2"):
        kruskal_wallis([1, 2], ["a"])
    with pytest.raises(ShapeError, match="must be a vector"):
        kruskal_wallis([[1, 2], [2, 3]], ["a", "b"])
    with pytest.raises(CodeError, match=r"scores\[1\] is 'x'"):
        friedman([1, "x"], ["a", "b"], ["m", "m"])
    with pytest.raises(CodeError, match="row 1 is infinite"):
        friedman([np.inf, 1], ["a", "b"], ["m", "m"])
    with pytest.raises(LabelError, match="row 1 has no label"):
        mixed_model([1, 2], ["a", None], ["m", "m"])
    with pytest.raises(LabelError, match="no condition 'z'"):
        mixed_model([1, 2, 3, 4], list("abab"), list("mmnn"), reference="z")
    with pytest.raises(OptionError, match="'holm'"):
        pairwise_conditions([1, 2], ["a", "b"], adjustment="tukey")
    with pytest.raises(OptionError, match="level"):
        kruskal_wallis([1, 2], ["a", "b"], level=2)
