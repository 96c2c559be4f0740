"""Intraclass correlations: psych, pingouin, published values, slow twins, REML, edges."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st

from psychollm._base.errors import CodeError, OptionError, ShapeError
from psychollm.estimates.reasons import Reason
from psychollm.reliability.components.generalizability import generalizability
from psychollm.reliability.components.intraclass import FORMS, MCGRAW_WONG, intraclass
from psychollm.reliability.components.two_way import (
    expected_mean_squares,
    generalised_interval,
    mean_squares,
)
from psychollm.reliability.scales.split_half import split_half
from tests.effort import examples
from tests.oracles import consistency_slow as slow

FILES = {"icc_30x5_missing", "icc_noise20x3", "icc_binary60x4", "icc_sf"}
TABLES = st.tuples(st.integers(3, 8), st.integers(2, 5), st.integers(0, 10**6)).map(
    lambda size: np.random.default_rng(size[2]).integers(0, 5, size[:2]).astype(float)
)


def rows(golden):
    return json.loads((golden / "psychometrics" / "icc.json").read_text())["rows"]


@pytest.mark.parametrize("place", range(6))
def test_psych(golden, place):
    row = rows(golden)[place]
    assert row["data"] in FILES
    scores = pd.read_csv(golden / "psychometrics" / f"{row['data']}.csv", na_values="NA")
    found = intraclass(scores, method="reml" if row["lmer"] else "anova")
    # lme4's optimiser stops within 1e-5 of the optimum: for `icc4_lmerTRUE`, whose component of
    # raters is zero, ICC1 must be that of `icc4_lmerFALSE`, and here it is to 1e-7.
    close = {"abs": 2e-5 if row["lmer"] else 1e-10, "rel": 0}
    np.testing.assert_allclose(found.icc.value, row["ICC"], rtol=0, atol=close["abs"] / 2)
    assert found.f == pytest.approx(row["F"], **close)
    assert found.df1.tolist() == row["df1"]
    assert found.df2.tolist() == row["df2"]
    np.testing.assert_allclose(found.p_value, row["p"], rtol=1e-3 if row["lmer"] else 1e-9)
    assert found.icc.interval[:, 0] == pytest.approx(row["lower"], **close)
    assert found.icc.interval[:, 1] == pytest.approx(row["upper"], **close)
    assert found.within_targets == pytest.approx(row["MSW"], **close)
    assert found.n_targets == row["n.obs"]
    assert found.n_raters == row["n.judge"]
    assert list(FORMS) == row["type"]


def test_boundary_of_reml_is_one_way(golden):
    scores = pd.read_csv(golden / "psychometrics" / "icc_noise20x3.csv")
    free, bounded = intraclass(scores), intraclass(scores, method="reml")
    assert free.between_raters < free.residual
    assert bounded.icc.value[:3] == pytest.approx([free.icc.value[0]] * 3, abs=1e-7)


def test_shrout_and_fleiss(golden):
    folder = golden / "metacognition"
    block = json.loads((folder / "shroutfleiss1979.expected.json").read_text())["blocks"][0]
    found = intraclass(pd.read_csv(folder / "shroutfleiss1979.csv"))
    assert found.icc.value.round(2).tolist() == [0.17, 0.29, 0.71, 0.44, 0.62, 0.91]
    check_forms(found, block["values"], block["tol"])


def check_forms(found, known, tolerance):
    for place, form in enumerate(known):
        values = {
            "ICC": found.icc.value[place],
            "df1": found.df1[place],
            "df2": found.df2[place],
            "lo": found.icc.interval[place, 0],
            "hi": found.icc.interval[place, 1],
        }
        for name in set(values) & set(form):
            assert values[name] == pytest.approx(form[name], abs=tolerance), (form, name)
        # F in the hundreds is printed with twelve digits.
        assert found.f[place] == pytest.approx(form["F"], rel=1e-9)
        p_value = form.get("p", form.get("pval"))
        assert found.p_value[place] == pytest.approx(p_value, rel=1e-8)


@pytest.mark.parametrize("case", ["gses_a", "gses_b"])
def test_stability_of_a_scale_over_repetitions(golden, case):
    folder = golden / "metacognition"
    by_r, by_python = json.loads((folder / f"{case}.expected.json").read_text())["blocks"]
    frame = pd.read_csv(folder / f"{case}.csv")
    for condition, part in frame.groupby("condition"):
        mean = part.filter(regex="^i").mean(axis=1)
        found = intraclass(part.assign(mean=mean).pivot_table("mean", "model", "rep"))
        known = by_r["values"][condition]["icc_total"]
        assert [form["type"] for form in known] == list(FORMS)
        check_forms(found, known, by_r["tol"])
        known = by_python["values"][condition]
        order = [
            MCGRAW_WONG.index(form["Type"].replace("1,1", "1").replace("(1,k)", "(k)"))
            for form in known["icc"]
        ]
        assert order == list(range(6))
        check_forms(found, known["icc"], by_python["tol"])
        bounds = np.array(list(known["icc_ci"].values()))
        np.testing.assert_allclose(found.icc.interval, bounds, rtol=0, atol=0.00501)


@given(TABLES)
def test_six_forms_are_those_of_the_slow_twin(scores):
    assume(np.ptp(scores.mean(axis=1)) > 0)
    assume(intraclass(scores).residual > 0)
    found = intraclass(scores)
    expected = slow.intraclass(scores)
    if np.isnan(found.icc.value[4]):
        assert found.icc.flags[4] is Reason.NEGATIVE_COMPONENT
        expected[4] = np.nan
    np.testing.assert_allclose(found.icc.value, expected, rtol=1e-9, atol=1e-12)


@given(TABLES, st.permutations(range(8)), st.permutations(range(5)))
def test_order_unit_and_origin_do_not_matter(scores, first, second):
    assume(np.ptp(scores.mean(axis=1)) > 0)
    n, k = scores.shape
    moved = scores[[i for i in first if i < n]][:, [j for j in second if j < k]]
    value = intraclass(scores).icc.value
    np.testing.assert_allclose(intraclass(moved).icc.value, value, rtol=1e-8, atol=1e-9)
    scaled = intraclass(-3 * scores + 1).icc.value
    np.testing.assert_allclose(scaled, value, rtol=1e-8, atol=1e-9)


@given(TABLES)
def test_intervals_hold_the_value(scores):
    assume(np.ptp(scores.mean(axis=1)) > 0)
    found = intraclass(scores)
    assume(found.residual > 0)
    there = found.icc.defined
    assert there[[0, 1, 2, 3, 5]].all()
    low, high = found.icc.interval[there].T
    assert (low <= found.icc.value[there] + 1e-9).all()
    assert (found.icc.value[there] <= high + 1e-9).all()
    assert (high <= 1.0).all()


def test_a_negative_correlation_lies_in_its_interval():
    """Satterthwaite's approximation gave -.625 in [-.677, -.663]."""
    found = intraclass([[4, 1], [2, 3], [4, 0]]).icc
    low, high = found.interval[1]
    assert found.value[1] == pytest.approx(-0.625, abs=5e-4)
    assert low <= found.value[1] <= high


def test_means_are_more_reliable_than_single_scores():
    """The mean of k scores: Spearman and Brown, for forms 1 and 3."""
    rng = np.random.default_rng(0)
    found = intraclass(rng.normal(size=(20, 1)) + rng.normal(size=(20, 4))).icc.value
    for place in (0, 2):
        stepped = 4 * found[place] / (1 + 3 * found[place])
        assert found[place + 3] == pytest.approx(stepped, abs=1e-12)


@pytest.mark.parametrize("method", ["anova", "reml"])
def test_perfect_agreement(method):
    found = intraclass([[0.1, 0.1, 0.1], [0.7, 0.7, 0.7], [0.3, 0.3, 0.3]], method=method)
    np.testing.assert_array_equal(found.icc.value, 1.0)
    np.testing.assert_array_equal(found.icc.interval, 1.0)
    np.testing.assert_array_equal(found.p_value, 0.0)
    np.testing.assert_array_equal(found.icc.se, 0.0)
    assert set(found.icc.flags) == {Reason.NONE}


@pytest.mark.parametrize("method", ["anova", "reml"])
def test_raters_that_differ_by_a_constant(method):
    """They agree in form 3 and not in the others."""
    found = intraclass([[1, 2, 4], [2, 3, 5], [5, 6, 8]], method=method)
    assert found.icc.value[[2, 5]].tolist() == [1.0, 1.0]
    assert (found.icc.value[[0, 1, 3, 4]] < 0.99).all()
    assert found.icc.interval[2].tolist() == [1.0, 1.0]
    assert np.isfinite(found.icc.interval).all()


@pytest.mark.parametrize(
    ("scores", "reason"),
    [
        ([[2, 2], [2, 2], [2, 2]], Reason.NO_BETWEEN_VARIANCE),
        ([[1, 2], [1, 2], [1, 2]], Reason.NO_BETWEEN_VARIANCE),
        ([[0.1 + 0.2, 0.3], [0.3, 0.1 + 0.2], [0.3, 0.3]], Reason.NO_BETWEEN_VARIANCE),
        ([[1, 2, 3]], Reason.TOO_FEW),
        ([[1], [2], [3]], Reason.TOO_FEW),
        ([[np.nan, 1], [2, np.nan], [np.nan, np.nan]], Reason.TOO_FEW),
    ],
)
def test_undefined(scores, reason):
    for method in ("anova", "reml"):
        found = intraclass(scores, method=method)
        assert np.isnan(found.icc.value).all()
        assert np.isnan(found.icc.interval).all()
        assert np.isnan(found.icc.se).all()
        assert np.isnan(found.p_value).all()
        assert set(found.icc.flags) == {reason}


def test_targets_that_differ_less_than_chance():
    scores = [[1, 2], [2, 1], [1, 1.9]]
    free, bounded = intraclass(scores), intraclass(scores, method="reml")
    assert (free.icc.value[[0, 1, 2, 3, 5]] < 0).all()
    # The variance of a mean would be negative: psych prints an ICC2k of 3.8 here.
    assert np.isnan(free.icc.value[4])
    assert free.icc.flags[4] is Reason.NEGATIVE_COMPONENT
    assert set(free.icc.flags) == {Reason.NONE, Reason.NEGATIVE_COMPONENT}
    np.testing.assert_array_equal(bounded.icc.value, 0.0)
    assert set(bounded.icc.flags) == {Reason.AT_BOUND}


def test_generalised_interval_is_that_of_its_simulation():
    """Quantiles of the share, from 400,000 draws of its three chi-squared variables: within four
    standard errors of them.
    """
    rng = np.random.default_rng(0)
    for n, k in ((6, 2), (30, 3), (200, 8)):
        scores = rng.normal(size=(n, 1)) + rng.normal(size=k) + rng.normal(size=(n, k))
        squares = mean_squares(scores)
        between, raters, residual = (
            freedom * square / rng.chisquare(freedom, 400_000)
            for freedom, square in (
                (n - 1, squares.targets),
                (k - 1, squares.raters),
                ((n - 1) * (k - 1), squares.residual),
            )
        )
        whole = between + (k - 1) * residual + k * (raters - residual) / n
        share = (between - residual) / whole
        for bound, tail in zip(generalised_interval(squares), (0.025, 0.975), strict=True):
            assert (share <= bound).mean() == pytest.approx(tail, abs=1e-3)


def test_generalised_interval_at_its_edges():
    perfect = intraclass([[1, 1], [2, 2], [4, 4]], absolute_interval="generalised")
    np.testing.assert_array_equal(perfect.icc.interval, 1.0)
    shifted = intraclass([[1, 2, 4], [2, 3, 5], [5, 6, 8]], absolute_interval="generalised")
    assert shifted.icc.interval[1, 0] < shifted.icc.value[1] < shifted.icc.interval[1, 1]
    noise = intraclass([[1, 2], [2, 1], [1, 1.9]], absolute_interval="generalised")
    assert noise.icc.interval[1, 0] == -1.0
    with pytest.raises(OptionError, match="absolute_interval"):
        intraclass([[1, 2], [2, 3]], absolute_interval="exact")


def test_generalised_interval_keeps_its_level_with_few_raters():
    """Three raters of 500 targets: 200 data sets, below 0.89 by chance with probability 0.001 if
    coverage is 0.95; the published interval is far below.
    """
    rng, hits = np.random.default_rng(6), np.zeros(2)
    for _ in range(200):
        scores = rng.normal(size=(500, 1)) + rng.normal(size=3) + rng.normal(size=(500, 3))
        for place, kind in enumerate(("generalised", "satterthwaite")):
            low, high = intraclass(scores, absolute_interval=kind).icc.interval[1]
            hits[place] += low <= 1 / 3 <= high
    assert hits[0] / 200 >= 0.89
    assert hits[1] / 200 <= 0.89


def test_missing_scores():
    rng = np.random.default_rng(3)
    scores = 2 * rng.normal(size=(25, 1)) + rng.normal(size=4) + rng.normal(size=(25, 4))
    scores[[0, 1, 5], [0, 1, 2]] = np.nan
    left_out, reml = intraclass(scores), intraclass(scores, method="reml")
    assert (left_out.n_targets, left_out.left_out) == (22, 3)
    assert set(left_out.icc.flags) == {Reason.INCOMPLETE}
    whole = intraclass(scores[np.isfinite(scores).all(axis=1)])
    np.testing.assert_array_equal(left_out.icc.value, whole.icc.value)
    assert (reml.n_targets, reml.left_out) == (25, 0)
    assert set(reml.icc.flags) == {Reason.UNBALANCED}
    np.testing.assert_allclose(reml.icc.value, left_out.icc.value, atol=0.1)


@pytest.mark.parametrize("seed", range(4))
def test_reml_is_at_the_least_of_its_criterion(seed):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(12, 1)) + 0.5 * rng.normal(size=3) + rng.normal(size=(12, 3))
    scores = np.where(rng.random(scores.shape) < 0.1, np.nan, scores)
    found, converged = expected_mean_squares(scores)
    assert converged
    residual = found.residual
    targets, raters = (found.targets - residual) / 3, (found.raters - residual) / 12
    least = slow.reml_criterion(scores, targets, raters, residual)
    for step in (0.98, 1.02):
        for moved in (
            (targets * step + 1e-3 * (targets == 0), raters, residual),
            (targets, raters * step + 1e-3 * (raters == 0), residual),
            (targets, raters, residual * step),
        ):
            assert slow.reml_criterion(scores, *moved) > least


@examples(30, suppress_health_check=[HealthCheck.filter_too_much])
@given(TABLES)
def test_reml_is_anova_where_no_component_is_negative(scores):
    squares = mean_squares(scores)
    assume(squares.residual > 0.05)
    assume(min(squares.targets, squares.raters) > 1.2 * squares.residual)
    found, converged = expected_mean_squares(scores)
    assert converged
    for name in ("targets", "raters", "residual", "within"):
        assert getattr(found, name) == pytest.approx(getattr(squares, name), rel=1e-5), name


def test_reml_knows_no_unit():
    rng = np.random.default_rng(5)
    scores = rng.normal(size=(10, 1)) + rng.normal(size=(10, 3))
    scores[0, 0] = np.nan
    first, second = (intraclass(1e4 + c * scores, method="reml").icc.value for c in (1.0, 1e3))
    np.testing.assert_allclose(first, second, atol=1e-6)


def test_frame(golden):
    scores = pd.read_csv(golden / "psychometrics" / "icc_sf.csv")
    frame = intraclass(scores).to_frame()
    assert frame["form"].tolist() == list(FORMS)
    assert frame["mcgraw_wong"].tolist() == list(MCGRAW_WONG)
    assert {"f", "df1", "df2", "p_value", "lower", "upper", "se"} <= set(frame.columns)


def test_bad_input():
    with pytest.raises(OptionError, match="method='lmer'"):
        intraclass([[1, 2], [2, 3]], method="lmer")
    with pytest.raises(OptionError, match="level"):
        intraclass([[1, 2], [2, 3]], level=2)
    with pytest.raises(CodeError, match="'high'"):
        intraclass([[1, "high"], [2, 3]])
    with pytest.raises(ShapeError, match="dimension"):
        intraclass([1, 2, 3])


def test_coverage():
    """Share of 300 data sets whose 95 % interval holds the six forms of the population: outside
    [0.91, 0.99] by chance with probability below 0.003 each if coverage is 0.95.
    """
    targets, raters, residual, n, k = 1.0, 0.3, 1.0, 40, 4
    single = np.array(
        [targets / (targets + raters + residual)] * 2 + [targets / (targets + residual)]
    )
    truth = np.concatenate([single, k * single / (1 + (k - 1) * single)])
    rng, hits = np.random.default_rng(8), np.zeros(6)
    for _ in range(300):
        person = np.sqrt(targets) * rng.normal(size=(n, 1))
        noise = np.sqrt(residual) * rng.normal(size=(n, k))
        crossed = intraclass(person + np.sqrt(raters) * rng.normal(size=k) + noise)
        own = intraclass(person + np.sqrt(raters) * rng.normal(size=(n, k)) + noise)
        interval = crossed.icc.interval.copy()
        interval[[0, 3]] = own.icc.interval[[0, 3]]  # form 1: each target has raters of its own
        hits += (interval[:, 0] <= truth) & (truth <= interval[:, 1])
    assert (hits / 300 >= 0.91).all()
    assert (hits / 300 <= 0.99).all()


@pytest.mark.parametrize("function", [intraclass, split_half, generalizability])
def test_a_cell_that_no_square_can_hold_is_one_clear_error(function):
    scores = np.random.default_rng(0).normal(size=(20, 4))
    scores[3, 2] = 1e308
    with pytest.raises(CodeError, match=r"model 3, question 2 holds 1e\+308, which is too large"):
        function(scores)
