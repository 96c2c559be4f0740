"""Time horizons: the truth is covered, definitions differ as they should, odd input is told."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit

import psychollm as psy
from psychollm._base.errors import CodeError, LabelError, OptionError, ShapeError
from psychollm.estimates.reasons import Reason
from psychollm.studies.time_horizon.explained import explained
from psychollm.studies.time_horizon.plain import plain_logistic
from tests.studies.time_horizon.horizons import drawn


@pytest.fixture(scope="module")
def agents():
    """Eight agents, 120 tasks, and their horizons."""
    solved, minutes, horizon = drawn(np.random.default_rng(4))
    return solved, minutes, horizon, psy.time_horizon(solved, minutes, rng=1)


def test_true_horizons_are_covered_and_differ_by_the_scatter(agents):
    horizon, found = agents[2], agents[3]
    bounds = np.log2(found.typical_task[0].interval)
    assert ((bounds[:, 0] <= horizon) & (horizon <= bounds[:, 1])).mean() >= 7 / 8
    assert found.scatter == pytest.approx(2.6, abs=0.6)
    assert found.slope == pytest.approx(1.4, abs=0.4)
    ratio = found.all_tasks[1].value / found.typical_task[1].value
    assert 0.35 < np.exp(np.log(ratio).mean()) < 0.8


def test_without_scatter_both_definitions_are_one(agents):
    solved, minutes, _ = drawn(np.random.default_rng(2), tasks=400, scatter=0.0)
    found = psy.time_horizon(solved, minutes)
    ratio = found.all_tasks[1].value / found.typical_task[1].value
    assert ratio == pytest.approx(1.0, abs=0.25)
    assert found.scatter < 0.6


def test_the_plain_curve_is_that_of_a_penalised_likelihood():
    rng = np.random.default_rng(0)
    x = rng.normal(size=30)
    y = (rng.random((1, 30)) < expit(0.3 - 1.5 * x)).astype(float)
    found = plain_logistic(y, x, None, 0.95)

    def height(a, b):
        p = expit(a - b * x)
        v = p * (1 - p)
        design = np.stack([np.ones(30), -x], axis=1)
        return (y[0] * np.log(p) + (1 - y[0]) * np.log1p(-p)).sum() + 0.5 * np.linalg.slogdet(
            design.T @ (v[:, None] * design)
        )[1]

    a, b = found.level[0], found.slope[0]
    top = height(a, b)
    for step in (1e-3, -1e-3):
        assert height(a + step, b) < top
        assert height(a, b + step) < top
    drops = [2 * (top - height(*point)) for point in found.contour[0]]
    assert drops == pytest.approx([3.8415] * len(drops), abs=1e-3)
    # The bound is the profile's: no curve with a horizon beyond it is as likely.
    bound = found.horizons(0.8)[1][0, 1]
    best = max(height(logit(0.8) + b * bound, b) for b in np.linspace(0.01, 8, 4000))
    assert 2 * (top - best) == pytest.approx(3.8415, abs=0.02)


def test_the_marginal_likelihood_is_that_of_dense_quadrature():
    rng = np.random.default_rng(1)
    solved, minutes, _ = drawn(rng, models=4, tasks=25)
    x = np.log2(minutes.to_numpy())
    x = (x - x.mean()) / x.std()
    values = solved.to_numpy(dtype=float, copy=True)
    values[0, 3] = np.nan
    found = explained(values, x, None)
    node = np.linspace(-9, 9, 2001)
    weight = np.exp(-(node**2) / 2) / np.sqrt(2 * np.pi) * (node[1] - node[0])
    odds = found.ability[:, None, None] - found.slope * x[:, None] + found.scatter * node
    p = expit(odds)
    each = np.where(np.isnan(values)[:, :, None], 1.0, np.where(values[:, :, None] == 1, p, 1 - p))
    apart = found.ability - found.ability.mean()
    prior = 0.5 * (apart @ apart) / 36 + 0.5 * (np.log(found.scatter / 2) / 0.75) ** 2
    expected = np.log((each.prod(axis=0) * weight).sum(axis=1)).sum() - prior
    assert found.convergence.converged
    assert found.convergence.objective == pytest.approx(expected, abs=1e-4)


def test_families_widen_intervals_and_singletons_change_nothing(agents):
    solved, minutes, _, alone = agents
    rng = np.random.default_rng(8)
    shift = np.repeat(rng.normal(size=20), 6) * 2.5
    length = np.log2(minutes.to_numpy())
    odds = 1.4 * (np.linspace(0, 7, 8)[:, None] - length) + shift
    together = solved.copy()
    together[:] = (rng.random(solved.shape) < expit(odds)).astype(int)
    family = np.repeat(np.arange(20), 6)
    wide = psy.time_horizon(together, minutes, families=family)
    narrow = psy.time_horizon(together, minutes)
    for mine, theirs in zip(wide.estimates, narrow.estimates, strict=True):
        gaps = [np.diff(np.log(one[0].interval)).ravel() for one in (mine, theirs)]
        assert np.median(gaps[0] / gaps[1]) > 1.15
        assert mine[0].value == pytest.approx(theirs[0].value)
    one_each = psy.time_horizon(solved, minutes, families=np.arange(120))
    pd.testing.assert_frame_equal(one_each.to_frame(), alone.to_frame())


def test_never_and_always_are_open_with_a_reason():
    minutes = [1, 2, 4, 8, 16, 32, 64, 128]
    solved = [[0] * 8, [1] * 8, [1, 1, 1, 0, 1, 0, 0, 0], [0, 1, 0, 0, 1, 0, 1, 1]]
    found = psy.time_horizon(solved, minutes)
    for by_share in found.estimates:
        for one in by_share:
            assert np.isnan(one.value[:2]).all()
            assert one.interval[0, 0] == 0.0
            assert one.interval[1, 1] == np.inf
            assert one.flags[:2] == (Reason.NEVER_SOLVED, Reason.ALWAYS_SOLVED)
    assert found.all_tasks[0].flags[3] == Reason.NOT_FALLING
    assert found.all_tasks[0].interval[0, 1] < 16
    assert found.all_tasks[0].interval[1, 0] > 8
    assert "undefined [0, " in found.summary()


def test_a_single_model_has_no_typical_task_and_few_tasks_no_line():
    minutes = {"a": 1, "b": 4, "c": 16, "d": 64}
    solved = pd.DataFrame([[1, 1, 0, 0]], columns=list("abcd"))
    found = psy.time_horizon(solved, minutes, share=0.5)
    assert found.typical_task[0].flags == (Reason.ONE_MODEL_SCATTER,)
    assert np.isfinite(found.all_tasks[0].value).all()
    two = psy.time_horizon(pd.DataFrame([[1, 0], [0, 0]]), [1, 9])
    assert two.typical_task[0].flags == (Reason.TOO_FEW, Reason.TOO_FEW)
    assert "Not estimated" in two.summary()


def test_one_family_gives_no_interval_and_few_are_flagged(agents):
    solved, minutes = agents[:2]
    one = psy.time_horizon(solved, minutes, families=["x"] * 120)
    assert set(one.to_frame()["flag"]) == {str(Reason.ONE_CLUSTER)}
    assert one.to_frame()[["lower", "upper"]].isna().all(axis=None)
    few = psy.time_horizon(solved, minutes, families=np.arange(120) % 3)
    assert str(Reason.FEW_CLUSTERS) in set(few.to_frame()["flag"])


def test_labels_gaps_types_and_long_tables_are_the_same_table(agents):
    solved, minutes, _, found = agents
    turned = psy.time_horizon(solved, minutes[::-1])
    pd.testing.assert_frame_equal(turned.to_frame(), found.to_frame())
    pd.testing.assert_frame_equal(
        psy.time_horizon(solved.astype(bool), minutes.to_dict()).to_frame(), found.to_frame()
    )
    gaps = solved.astype(float)
    gaps.iloc[0, :5] = np.nan
    long = gaps.rename_axis(index="model", columns="question").reset_index()
    long = long.melt("model", value_name="score", ignore_index=True).dropna()
    wide = psy.time_horizon(gaps, minutes).to_frame()
    pd.testing.assert_frame_equal(
        psy.time_horizon(long, minutes)
        .to_frame()
        .sort_values(["model", "share"], ignore_index=True),
        wide,
        check_exact=False,
    )  # fmt: skip
    more = pd.concat([pd.Series({"elsewhere": 5.0}), minutes])
    pd.testing.assert_frame_equal(psy.time_horizon(solved, more).to_frame(), found.to_frame())
    unknown = minutes.copy()
    unknown.iloc[:20] = np.nan
    left = psy.time_horizon(solved, unknown)
    assert len(left.left_out) == 20
    assert "20 without minutes were omitted" in left.summary()


def test_shares_of_attempts_are_taken_and_narrow_what_answers_leave(agents):
    rng = np.random.default_rng(5)
    minutes = agents[1]
    p = expit(1.4 * (np.linspace(0, 7, 8)[:, None] - np.log2(minutes.to_numpy())))
    runs = (rng.random((8, 120, 6)) < p[:, :, None]).astype(float)
    mean = psy.time_horizon(runs.mean(axis=2), minutes.to_numpy())
    once = psy.time_horizon(runs[:, :, 0], minutes.to_numpy())
    same = psy.time_horizon(runs, minutes.to_numpy())
    pd.testing.assert_frame_equal(mean.to_frame(), same.to_frame())
    gaps = [np.diff(np.log(one.all_tasks[0].interval)).ravel() for one in (mean, once)]
    assert np.median(gaps[0] / gaps[1]) < 0.7


@pytest.mark.parametrize(
    ("change", "kind", "words"),
    [
        ({"minutes": 0.0}, CodeError, "minutes: task 't0' takes 0"),
        ({"minutes": np.inf}, CodeError, "minutes: task 't0' is infinite"),
        ({"minutes": "long"}, CodeError, "minutes: task 't0' has 'long'"),
        ({"solved": 2}, CodeError, "solved: model 'm0', task 't0' has 2"),
        ({"share": 1.0}, OptionError, "share"),
        ({"share": ()}, OptionError, "share is empty"),
        ({"level": 95}, OptionError, "level"),
        ({"families": ["x"]}, ShapeError, "families"),
    ],
)
def test_errors_name_the_argument_and_the_label(agents, change, kind, words):
    solved, minutes = agents[0].copy(), agents[1].copy().astype(object)
    options = dict(change)
    if "minutes" in options:
        minutes["t0"] = options.pop("minutes")
    if "solved" in options:
        solved.loc["m0", "t0"] = options.pop("solved")
    with pytest.raises(kind, match=words):
        psy.time_horizon(solved, minutes, **options)


def test_lengths_that_cannot_be_used_are_refused(agents):
    with pytest.raises(ShapeError, match="fewer than two different lengths"):
        psy.time_horizon(agents[0], [5.0] * 120)
    with pytest.raises(LabelError, match="minutes has no entry for task 't0'"):
        psy.time_horizon(agents[0], agents[1].iloc[1:].to_dict())


def test_tables_without_a_success_or_a_failure_need_no_maximum():
    for solved, reason in ((0, Reason.NEVER_SOLVED), (1, Reason.ALWAYS_SOLVED)):
        found = psy.time_horizon(np.full((3, 12), solved), 2.0 ** np.arange(12))
        assert set(found.to_frame()["flag"]) == {str(reason)}
        assert found.convergence.converged


def test_minutes_families_and_dates_may_be_columns_of_a_long_table(agents):
    solved, minutes = agents[:2]
    day = {model: f"2024-0{place + 1}-01" for place, model in enumerate(solved.index)}
    family = pd.Series([f"f{place // 4}" for place in range(len(minutes))], minutes.index)
    long = solved.astype(int).rename_axis("model").reset_index()
    long = long.melt("model", var_name="question", value_name="score")
    long["minutes"], long["family"] = long["question"].map(minutes), long["question"].map(family)
    long["released"] = long["model"].map(day)
    named = psy.time_horizon(long, "minutes", families="family", dates="released")
    given = psy.time_horizon(solved, minutes, families=family, dates=day)
    for one, other in zip(named.all_tasks, given.all_tasks, strict=True):
        np.testing.assert_allclose(one.interval, other.interval, rtol=1e-6)
    assert named.trends is not None
    with pytest.raises(LabelError, match="'hours' is not a column of the table, only"):
        psy.time_horizon(long, "hours")
    with pytest.raises(LabelError, match="released: .* has several values in this column"):
        psy.time_horizon(long, "released")
    with pytest.raises(ShapeError, match="names a column, but solved has no row per answer"):
        psy.time_horizon(solved, "minutes")
