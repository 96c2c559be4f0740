"""Confusion tables: golden values, the slow twin, missing answers, models at the extremes."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from psychollm._base.errors import CodeError, LabelError, OptionError
from psychollm.calibration.decisions.confusion import RATES, SKILLS, confusion
from psychollm.calibration.decisions.two_by_two import (
    F1_ABSTAIN,
    KAPPA,
    PHI,
    YOUDEN,
    Cells,
    f_score,
)
from psychollm.data.responses import Responses
from psychollm.estimates.intervals import paired_difference, wilson
from psychollm.estimates.reasons import Reason
from tests.oracles import association_slow as association
from tests.oracles import calibration_slow as slow

ANSWERS = st.integers(1, 4).flatmap(
    lambda k: st.integers(1, 12).flatmap(
        lambda n: st.tuples(
            *[arrays(float, (k, n), elements=st.sampled_from([0.0, 1.0, np.nan]))] * 2
        )
    )
)


def golden_case(golden, case):
    folder = golden / "metacognition"
    frame = pd.read_csv(folder / f"{case}.csv")
    block = json.loads((folder / f"{case}.expected.json").read_text())["blocks"][0]
    said = Responses(frame, model="model", question="item", value="yes")
    right = Responses(frame, model="model", question="item", value="correct")
    return said, right, block


@pytest.mark.parametrize("case", ["binconf_a", "binconf_b", "binconf_degenerate_a"])
def test_golden(golden, case):
    said, right, block = golden_case(golden, case)
    table = confusion(said, right)
    names = {
        "tp": table.tp,
        "fp": table.fp,
        "fn": table.fn,
        "tn": table.tn,
        "n": table.n,
        "yes_rate": table.yes_rate.value,
        "accuracy_task": table.accuracy.value,
        "overconfidence_bias": table.overconfidence.value,
        "accuracy_meta": table.agreement.value,
        "precision": table.precision.value,
        "recall": table.recall.value,
        "specificity": table.specificity.value,
        "npv": table.npv.value,
        "f1_abstain": table.f1_abstain.value,
        "kappa_sklearn": table.kappa.value,
        "youden_j": table.youden.value,
        "auroc2_binary": 0.5 + 0.5 * table.youden.value,
    }
    for beta in (0.1, 0.25, 0.5, 1, 2, 4, 10):
        at = confusion(said, right, beta=beta)
        names[f"fbeta_{beta:g}"] = at.f_score.value
    for row, model in enumerate(table.labels):
        expected = block["values"][model]
        for name, found in names.items():
            wanted = np.nan if expected[name] is None else expected[name]
            np.testing.assert_allclose(
                found[row], wanted, rtol=1e-12, atol=1e-14, err_msg=f"{model} {name}"
            )
        margins = [
            table.tp + table.fp,
            table.fn + table.tn,
            table.tp + table.fn,
            table.fp + table.tn,
        ]
        if min(margin[row] for margin in margins) > 0:
            assert table.phi.value[row] == pytest.approx(expected["mcc_sklearn"], abs=1e-12)
        else:  # scikit-learn gives 0 where a margin is empty; it is undefined
            assert np.isnan(table.phi.value[row])
            assert table.phi.flags[row]
        for name, estimate in (("precision", table.precision), ("recall", table.recall)):
            wanted = [np.nan if x is None else x for x in expected[f"{name}_wilson"]]
            np.testing.assert_allclose(estimate.interval[row], wanted, atol=block["tol"])


@given(ANSWERS)
def test_counts_are_those_of_the_slow_twin(answers):
    table = confusion(*answers)
    for m, (said, right) in enumerate(zip(*answers, strict=True)):
        found = table.tp[m], table.fp[m], table.fn[m], table.tn[m]
        assert found == slow.cells(said, right)
        assert table.n[m] + table.left_out[m] == said.size


@given(ANSWERS)
def test_rates_lie_inside_their_intervals_or_have_a_reason(answers):
    table = confusion(*answers)
    for name in (*RATES, "overconfidence"):
        estimate = getattr(table, name)
        for value, (low, high), reason in zip(
            estimate.value, estimate.interval, estimate.flags, strict=True
        ):
            if reason:
                assert np.isnan([value, low, high]).all()
            else:
                assert low - 1e-12 <= value <= high + 1e-12
                assert -1.0 <= low <= high <= 1.0


@given(ANSWERS)
def test_statistics_are_those_of_the_slow_twins(answers):
    table = confusion(*answers, beta=0.5)
    for m, (said, right) in enumerate(zip(*answers, strict=True)):
        cells = slow.cells(said, right)
        tp, fp, fn, tn = cells
        for estimate, twin in (
            (table.phi, association.phi),
            (table.kappa, association.kappa),
            (table.youden, association.youden),
        ):
            np.testing.assert_allclose(estimate.value[m], twin(*cells), atol=1e-12)
        if tp:
            expected = slow.f_beta(tp / (tp + fp), tp / (tp + fn), 0.5)
            assert table.f_score.value[m] == pytest.approx(expected, abs=1e-12)
        if tn:
            expected = slow.f_beta(tn / (tn + fn), tn / (tn + fp), 1.0)
            assert table.f1_abstain.value[m] == pytest.approx(expected, abs=1e-12)


@given(ANSWERS)
def test_skills_lie_inside_their_intervals_or_have_a_reason(answers):
    table = confusion(*answers)
    for name in SKILLS:
        estimate = getattr(table, name)
        for value, (low, high), reason in zip(
            estimate.value, estimate.interval, estimate.flags, strict=True
        ):
            if np.isnan(value):
                assert reason
                assert np.isnan([low, high]).all()
            else:
                assert -1.0 <= low <= value + 1e-12
                assert value - 1e-12 <= high <= 1.0


@pytest.mark.parametrize("name", ["phi", "kappa", "youden", "f_score", "f1_abstain"])
def test_standard_errors_are_those_of_differences(name):
    cells = (9, 4, 3, 7)
    said = np.repeat([1.0, 1, 0, 0], cells)[None]
    right = np.repeat([1.0, 0, 1, 0], cells)[None]
    twins = {
        "phi": lambda a, b, c, d: (a * d - b * c) / np.sqrt((a + b) * (c + d) * (a + c) * (b + d)),
        "kappa": association.kappa,
        "youden": association.youden,
        "f_score": lambda a, b, c, d: 5 * a / (5 * a + 4 * c + b),
        "f1_abstain": lambda a, b, c, d: 2 * d / (2 * d + b + c),
    }
    found = getattr(confusion(said, right, beta=2.0), name)
    assert found.se[0] == pytest.approx(association.delta_se(twins[name], cells), rel=1e-6)


def test_newcombe_is_the_published_interval():
    # Newcombe (1998), table II: 56/70 against 48/80, method 10.
    said = np.repeat([1.0, 0, 1, 0], [56, 14, 48, 32])[None]
    right = np.repeat([1.0, 0], [70, 80])[None]
    found = confusion(said, right).youden
    np.testing.assert_allclose(found.interval[0], [0.0524, 0.3339], atol=5e-5)


def test_a_perfect_table_is_no_certainty():
    found = confusion([[1, 1, 1, 0, 0]], [[1, 1, 1, 0, 0]])
    for name in ("phi", "kappa", "youden", "f_score"):
        estimate = getattr(found, name)
        assert estimate.value[0] == 1.0 == estimate.interval[0, 1]
        assert estimate.interval[0, 0] < 0.9
    assert found.phi.flags == (Reason.PERFECT,)


@pytest.mark.parametrize("cells", [(0.45, 0.15, 0.15, 0.25), (0.6, 0.1, 0.1, 0.2)])
def test_coverage_of_skills(cells):
    # 3,000 tables of 60 answers. Nominal 95 %, standard error .4 %.
    rng = np.random.default_rng(5)
    tables = Cells(*rng.multinomial(60, cells, size=3000).T.astype(float))
    whole = Cells(*(np.array(cells)[:, None] * 1e9))
    for statistic in (PHI, KAPPA, YOUDEN, f_score(0.5), f_score(2.0), F1_ABSTAIN):
        low, high = statistic.closed_form(tables, 0.95)[1].T
        truth = statistic.value(whole)
        assert 0.93 < np.mean((low <= truth) & (truth <= high)) < 0.975, statistic.name


def test_stated_confidence_is_cut():
    stated, right = [[0.9, 0.5, 0.7, np.nan]], [[1, 1, 0, 1]]
    table = confusion(stated, right, yes_above=0.5)
    assert (table.tp[0], table.fp[0], table.fn[0], table.left_out[0]) == (1, 1, 1, 1)
    assert confusion(stated, right, yes_above=0.8).fp[0] == 0


def test_resamples_change_no_number_and_allow_differences():
    rng = np.random.default_rng(6)
    said, right = rng.integers(0, 2, size=(2, 3, 80)).astype(float)
    plain = confusion(said, right)
    drawn = confusion(said, right, bootstrap=50, rng=0)
    for name in (*RATES, "overconfidence", *SKILLS):
        first, second = getattr(plain, name), getattr(drawn, name)
        np.testing.assert_allclose(first.value, second.value, atol=1e-15)
        np.testing.assert_allclose(first.interval, second.interval, atol=1e-12)
        np.testing.assert_array_equal(first.n, second.n)
        assert first.flags == second.flags
        assert first.method == second.method
    assert np.isfinite(drawn.phi.difference(0, 1).p_value)


def test_clusters_widen_and_need_resamples():
    rng = np.random.default_rng(7)
    said, right = np.repeat(rng.integers(0, 2, size=(2, 1, 30)), 4, axis=2).astype(float)
    clusters = np.arange(120) // 4
    with pytest.raises(OptionError, match="pass bootstrap=2000"):
        confusion(said, right, clusters=clusters)
    plain, found = (
        confusion(said, right),
        confusion(said, right, clusters=clusters, bootstrap=20),
    )
    for name in ("precision", "phi", "f_score", "youden", "overconfidence"):
        # Four copies of each answer: standard errors double, but for G / (G - 1).
        ratio = getattr(found, name).se[0] / getattr(plain, name).se[0]
        assert ratio == pytest.approx(2 * np.sqrt(30 / 29), rel=1e-9)
        assert getattr(found, name).method.startswith("sandwich")


@pytest.mark.parametrize("beta", [0.0, -1.0, np.inf, np.nan, "one"])
def test_beta_is_positive(beta):
    with pytest.raises(OptionError, match="beta"):
        confusion([[1, 0]], [[1, 0]], beta=beta)


@given(ANSWERS)
def test_flipping_confidence_exchanges_the_rows_of_the_table(answers):
    said, right = answers
    table, flipped = confusion(said, right), confusion(1.0 - said, right)
    np.testing.assert_array_equal(table.tp, flipped.fn)
    np.testing.assert_array_equal(table.fp, flipped.tn)


@given(ANSWERS, st.randoms(use_true_random=False))
def test_order_of_questions_does_not_matter(answers, random):
    order = list(range(answers[0].shape[1]))
    random.shuffle(order)
    first, second = confusion(*answers), confusion(*(part[:, order] for part in answers))
    np.testing.assert_array_equal(first.precision.value, second.precision.value)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
@pytest.mark.parametrize(("hits", "n"), [(0, 1), (1, 1), (0, 40), (7, 40), (40, 40), (1, 10_000)])
def test_wilson_is_the_inverted_score_test(hits, n, level):
    # brentq's own tolerance is 1e-12 relative.
    np.testing.assert_allclose(
        wilson(hits, n, level=level), slow.wilson(hits, n, level), atol=1e-11
    )


@pytest.mark.parametrize(("p", "n"), [(0.5, 20), (0.9, 50), (0.02, 200)])
def test_coverage_of_wilson(p, n):
    # Mean coverage of the score interval is near nominal; single points may fall to about .92.
    hits = np.random.default_rng(1).binomial(n, p, size=4000)
    low, high = wilson(hits, n).T
    assert np.mean((low <= p) & (p <= high)) > 0.915


def test_coverage_of_the_paired_difference():
    # Both are correct or wrong together more often than not; true difference .1. Nominal 95 %.
    rng = np.random.default_rng(2)
    cells = rng.multinomial(60, [0.4, 0.25, 0.15, 0.2], size=4000)
    low, high = paired_difference(cells[:, 1], cells[:, 2], 60).T
    assert 0.935 < np.mean((low <= 0.1) & (high >= 0.1)) < 0.97


def test_reasons_name_what_is_missing():
    said = [[1, 1, 1], [0, 0, 0], [1, 0, 1], [np.nan, np.nan, np.nan], [0, 0, 0]]
    right = [[1, 0, 1], [1, 0, 1], [1, 1, 1], [1, 1, 0], [0, 0, 0]]
    table = confusion(said, right)
    assert table.precision.flags == (
        Reason.NONE,
        Reason.NO_YES,
        Reason.NONE,
        Reason.NO_ANSWERS,
        Reason.NO_YES,
    )
    assert table.recall.flags[4] is Reason.NO_CORRECT
    assert table.specificity.flags[2] is Reason.NO_WRONG
    assert table.accuracy.flags[3] is Reason.NO_ANSWERS


def test_tables_are_aligned_by_label():
    said = pd.DataFrame([[1, 0], [0, 1]], index=["a", "b"], columns=["q", "r"])
    right = pd.DataFrame([[0, 0], [1, 1]], index=["b", "a"], columns=["r", "q"])
    table = confusion(said, right)
    assert table.labels == ("a", "b")
    np.testing.assert_array_equal(table.tp, [1, 0])


def test_mismatched_tables_name_the_difference():
    said = pd.DataFrame([[1]], index=["a"], columns=["q"])
    with pytest.raises(LabelError, match="'b'"):
        confusion(said, said.rename(index={"a": "b"}))


def test_graded_confidence_names_the_remedy():
    with pytest.raises(CodeError, match="threshold="):
        confusion([[3, 1]], [[1, 0]])


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0, np.nan])
def test_level_is_a_fraction(level):
    with pytest.raises(OptionError, match="level"):
        confusion([[1, 0]], [[1, 0]], level=level)


def test_tables_of_results():
    table = confusion([[1, 0, 1]], [[1, 0, 0]])
    assert table.to_frame().loc[0, "precision"] == 0.5
    assert table.precision.to_frame()["flag"].tolist() == [""]
    assert table.to_dict()["precision"]["value"] == [0.5]


def test_a_million_questions():
    rng = np.random.default_rng(0)
    said, right = rng.integers(0, 2, size=(2, 2, 1_000_000), dtype=np.int8)
    assert confusion(said, right).n.tolist() == [1_000_000, 1_000_000]
