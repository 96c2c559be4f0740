"""Comparisons of models: against statsmodels, an independent bootstrap and the definition."""

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import psychollm as psy
from psychollm._base.errors import LabelError, OptionError, ShapeError, ValidityWarning
from psychollm.estimates.reasons import Reason
from psychollm.estimates.sample_size import about
from psychollm.estimates.verdict import Outcome, SmallestEffects, Verdicts, judged_pairs
from psychollm.irt.fit import fit_irt
from psychollm.reliability.means.clustered import mean_score
from psychollm.reliability.means.repeated_scores import RepeatedScores
from psychollm.studies.comparison.planning import needed_of
from psychollm.studies.comparison.study import compare


@pytest.fixture(scope="module")
def right() -> pd.DataFrame:
    drawn = np.random.default_rng(3)
    easy = drawn.normal(size=600)
    able = np.array([0.2, 1.1, 0.9, -0.4, 0.25])
    scores = drawn.normal(size=(5, 600)) < able[:, None] + easy
    return pd.DataFrame(scores.astype(int), index=list("abcde"), columns=range(600))


@pytest.fixture(scope="module")
def found(right):
    return compare(right, rng=1)


def pair(found, first: str, second: str) -> int:
    """Return the row of a pair, whichever stands first."""
    names = list(zip(found.differences.first, found.differences.second, strict=True))
    return names.index((first, second))


def test_models_stand_in_the_order_of_their_scores(found, right) -> None:
    assert found.labels == tuple(right.mean(axis=1).sort_values(ascending=False).index)
    assert found.score.value == pytest.approx(right.mean(axis=1)[list(found.labels)])
    assert found.rank.tolist() == [1, 2, 3, 4, 5]


def test_scores_have_the_intervals_of_statsmodels(found, right) -> None:
    proportions = pytest.importorskip("statsmodels.stats.proportion")
    for row, model in enumerate(found.labels):
        bounds = proportions.proportion_confint(right.loc[model].sum(), 600, method="wilson")
        assert found.score.interval[row] == pytest.approx(bounds)


def test_errors_of_differences_are_those_of_paired_questions(found, right) -> None:
    pairs = found.differences
    for row, (i, j) in enumerate(zip(pairs.first, pairs.second, strict=True)):
        test = stats.ttest_rel(right.loc[i], right.loc[j])
        assert pairs.value[row] / pairs.se[row] == pytest.approx(test.statistic)
        assert pairs.p_value[row] == pytest.approx(test.pvalue)


def test_intervals_that_hold_at_once_agree_with_an_independent_bootstrap(found, right) -> None:
    table = right.loc[list(found.labels)].to_numpy()
    i, j = np.triu_indices(5, 1)
    drawn = np.random.default_rng(7)
    resamples = drawn.integers(600, size=(4000, 600))
    means = np.array([table[:, rows].mean(axis=1) for rows in resamples])
    gaps = means[:, i] - means[:, j]
    largest = (np.abs(gaps - found.differences.value) / gaps.std(axis=0)).max(axis=1)
    half = np.diff(found.differences.interval, axis=1)[:, 0] / 2
    assert half / found.differences.se == pytest.approx(np.quantile(largest, 0.95), rel=0.03)
    # Wider than single intervals, narrower than those of Bonferroni.
    assert stats.norm.isf(0.025) < half[0] / found.differences.se[0] < stats.norm.isf(0.0025)


def test_ranks_and_tiers_are_what_the_intervals_show(found) -> None:
    better = np.zeros((5, 5), dtype=bool)
    places = {label: row for row, label in enumerate(found.labels)}
    pairs = found.differences
    for first, second, (low, high) in zip(pairs.first, pairs.second, pairs.interval, strict=True):
        better[places[first], places[second]] = low > 0
        better[places[second], places[first]] = high < 0
    assert better.any()
    assert not better[np.triu_indices(5, 1)].all()
    for row in range(5):
        assert found.rank_interval[row].tolist() == [
            1 + better[:, row].sum(),
            5 - better[row].sum(),
        ]
    assert sum(found.tiers(), ()) == found.labels
    for tier in found.tiers():
        best, *others = (places[label] for label in tier)
        assert not better[best, others].any()
    for upper, lower in zip(found.tiers(), found.tiers()[1:], strict=False):
        assert better[places[upper[0]], places[lower[0]]]
    for row, label in enumerate(found.labels):
        expected = tuple(found.labels[column] for column in np.flatnonzero(better[row]))
        assert found.significantly_below(label) == expected
    with pytest.raises(LabelError, match="model 'z' is not in the comparison: pass one of 'b'"):
        found.significantly_below("z")


@given(st.integers(0, 10_000))
def test_neither_the_order_of_models_nor_of_questions_matters(seed: int) -> None:
    drawn = np.random.default_rng(seed)
    scores = drawn.integers(0, 2, (4, 40)) * 1.0
    scores[drawn.random(scores.shape) < 0.1] = np.nan
    table = pd.DataFrame(scores, index=list("abcd"))
    first = compare(table, n_draws=200, rng=0)
    rows = np.argsort(-first.score.value, kind="stable")
    shuffled = table.iloc[:, drawn.permutation(40)]
    second = compare(shuffled, n_draws=200, rng=0)
    assert first.score.value[rows] == pytest.approx(second.score.value)
    assert first.differences.se == pytest.approx(second.differences.se)
    inside = (first.rank_interval[:, 0] <= first.rank) & (first.rank <= first.rank_interval[:, 1])
    assert inside.all()


def test_repeats_of_a_question_are_no_questions(right) -> None:
    drawn = np.random.default_rng(5)
    repeats = (drawn.random((3, 80, 4)) < drawn.random((3, 80, 1))) * 1.0
    found = compare(RepeatedScores.from_array(repeats), rng=1)
    once = mean_score(repeats.mean(axis=2), bootstrap=0)
    order = np.argsort(-once.value)
    assert found.n_answers == 4
    assert found.n_questions == 80
    assert found.score.se == pytest.approx(once.se[order])
    alike = compare(np.repeat(right.to_numpy()[:, :, None], 3, axis=2), rng=1)
    assert alike.differences.se == pytest.approx(compare(right, rng=1).differences.se)


def test_shares_keep_their_intervals_inside() -> None:
    scores = np.full((2, 12, 2), 1.0)
    scores[0, 0, 0] = scores[1, :6, 0] = 0.0
    found = compare(scores, clusters=np.arange(12) // 2, rng=1)
    assert (found.score.interval >= 0.0).all()
    assert (found.score.interval <= 1.0).all()
    assert found.score.interval[0, 0] < found.score.value[0] < found.score.interval[0, 1]


def test_clusters_widen_what_they_should(right) -> None:
    copies = pd.concat([right, right.rename(columns=lambda one: one + 600)], axis=1)
    found = compare(copies, clusters=np.tile(np.arange(600), 2), rng=1)
    assert found.differences.se == pytest.approx(compare(right, rng=1).differences.se)
    assert found.differences.n_clusters.tolist() == [600] * 10
    assert "600 clusters" in found.summary()


def test_missing_answers_are_left_out_pair_by_pair(right) -> None:
    scores = right.astype(float)
    scores.loc["a", :299] = np.nan
    scores.loc["b", 300:] = np.nan
    found = compare(scores, rng=1)
    row = pair(found, "b", "a")
    assert found.differences.n[row] == 0
    assert np.isnan(found.differences.interval[row]).all()
    for low, high in found.rank_interval:
        assert 1 <= low <= high <= 5


def test_a_model_that_is_always_right_and_one_that_never_is_are_told_apart() -> None:
    found = compare(np.array([[0] * 40, [1] * 40, [1] * 40]), rng=1)
    assert found.tiers() == ((1, 2), (0,))
    assert found.rank_interval.tolist() == [[1, 2], [1, 2], [3, 3]]


def test_a_model_without_a_score_has_no_rank() -> None:
    scores = np.array([[1, 0, 1, 1, 0, 1] * 10, [np.nan] * 60, [0, 1, 0, 0, 0, 0] * 10])
    found = compare(scores, rng=1)
    assert found.labels[-1] == 1
    assert np.isnan(found.rank[-1])
    assert found.tier[-1] == 0
    assert found.rank_interval[-1].tolist() == [1, 3]
    assert 1 not in sum(found.tiers(), ())
    assert "1: score undefined (" in found.summary()


def test_the_questions_needed_would_show_the_difference(right) -> None:
    found = compare(right, rng=1)
    row = pair(found, "b", "c")
    value, se, n = (getattr(found.differences, name)[row] for name in ("value", "se", "n"))
    half = found.differences.interval[row, 1] - value
    # With as many questions the error falls by the root, and the interval with it.
    shrunk = np.sqrt(n / found.needed[row])
    shown = stats.norm.sf((half * shrunk - value) / (se * shrunk))
    # The error of the standard error is allowed for.
    assert shown == pytest.approx(0.8, abs=0.005)
    assert found.detectable[row] == pytest.approx(half + stats.norm.ppf(0.8) * se, rel=0.01)


def test_absence_takes_more_questions_than_an_effect(right) -> None:
    found = compare(right, rng=1)
    row = pair(found, "b", "c")
    se, n = found.differences.se[row], found.differences.n[row]
    half = found.differences.margin[row]
    needed = found.to_exclude(0.05)[row]
    # Both ends of an interval about zero lie within .05 in four of five studies.
    assert (half + stats.norm.ppf(0.9) * se) * np.sqrt(n / needed) == pytest.approx(0.05, rel=0.01)
    assert found.excludable[row] > found.detectable[row]
    printed = " ".join(found.summary().split())
    assert f"{about(needed)} to show equivalence (±0.05)" in printed


def test_the_smallest_difference_of_interest_has_a_number_of_questions(right) -> None:
    found = compare(right, rng=1)
    for share, size in ((0.03, "3 points"), (0.01, "1 point")):
        text = found.findings(smallest=SmallestEffects(share=share))["power"].statement
        number = re.search(f"true difference of {size} takes about ([0-9,]+)", text)
        least = needed_of(found.differences, share, 0.8).min()
        assert float(number[1].replace(",", "")) == pytest.approx(least, rel=0.05)


def test_equal_scores_need_no_number_of_questions() -> None:
    first = np.array([1, 0, 1, 0, 1, 1, 0, 1] * 5)
    found = compare([first, 1 - np.roll(1 - first, 1)], rng=1)
    assert found.differences.value == pytest.approx([0.0], abs=1e-12)
    assert np.isinf(found.needed).all()
    assert "to detect this" not in found.summary()


def test_logs_give_what_their_scores_give(tmp_path) -> None:
    drawn = np.random.default_rng(2)
    rows = [
        {"model": model, "question": f"q{q}", "repeat": k, "score": round(drawn.random(), 2)}
        for model in "ab"
        for q in range(30)
        for k in (1, 2)
    ]
    path = tmp_path / "scores.csv"
    pd.DataFrame(rows).to_csv(path, index=False)
    log = psy.read_scores(path)
    scores = np.array([row["score"] for row in rows]).reshape(2, 30, 2)
    by_log, by_array = compare(log, rng=1), compare(scores, rng=1)
    assert by_log.score.value == pytest.approx(by_array.score.value)
    assert by_log.differences.se == pytest.approx(by_array.differences.se)
    assert by_log.n_answers == 2


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(ShapeError, match="one model only"):
        compare([[1, 0, 1]])
    with pytest.raises(ShapeError, match="every value is missing"):
        compare(np.full((2, 3), np.nan))
    with pytest.raises(OptionError, match="power=0"):
        compare([[1, 0, 1], [0, 1, 1]], power=0.0)
    with pytest.raises(OptionError, match="n_draws=10"):
        compare([[1, 0, 1], [0, 1, 1]], n_draws=10)


def test_verdicts_name_the_best_and_whom_it_cannot_be_told_from(found) -> None:
    findings = found.findings()
    rivals = np.array(found.labels)[found.rank_interval[:, 0] == 1]
    assert findings.verdict.startswith(f"{rivals[0]} ranks first, ")
    assert len(rivals) > 1
    assert all(label in findings.verdict.split(";")[1] for label in rivals[1:])
    assert len(findings["ranks"].rows) == 5
    alone = compare([[1] * 90 + [0] * 10, [0] * 80 + [1] * 20], rng=1)
    assert "significantly better than every other model" in alone.findings().verdict


def test_a_comment_is_markdown_with_a_row_per_model(found, right) -> None:
    lines = found.comment().splitlines()
    table = [line for line in lines if line.startswith("|")]
    assert len(table) == 2 + 5
    assert found.score.text(0, 3) in table[2]
    named = compare(right.rename(index={"a": "x|y"}), rng=1)
    assert "x\\|y" in named.comment()


def test_few_questions_or_clusters_show_nothing(right) -> None:
    apart = np.array([[1] * 8 + [0], [0] * 8 + [1]])
    few = compare(apart, rng=1)
    assert (few.differences.interval[:, 0] > 0).all()
    assert few.tiers() == ((0, 1),)
    assert "too few questions" in few.summary()
    clusters = np.minimum(np.arange(600) // 200, 2)
    grouped = compare(right, clusters=clusters, rng=1)
    assert (grouped.rank_interval == [1, 5]).all()
    assert not any(one.shown for one in grouped.outcomes().outcomes)


def test_scores_that_are_no_shares_are_not_called_points() -> None:
    scores = np.random.default_rng(0).normal([[50.0], [52.0]], 10.0, (2, 100))
    assert "points" not in compare(scores, rng=1).summary()


def test_two_models_with_one_score_are_both_the_best() -> None:
    half = [1, 0] * 40
    both = compare([half, half[::-1]], rng=1).findings().verdict
    assert both.startswith("0 and 1 rank first, with a score of 0.500")
    assert "no model is significantly worse" in both
    three = compare([[1] * 80, [1] * 80, [0, 0, 0, 1] * 20], rng=1).findings().verdict
    assert "and are significantly better than every other model" in three


def test_pairs_are_counted_with_the_right_verb() -> None:
    labels = tuple("abc")
    outcomes = (Outcome.SMALL, Outcome.SMALL, Outcome.ABOVE)
    judged = Verdicts(outcomes=outcomes, labels=labels)
    words = "Of 3 pairs of models, 1 differs significantly and 2 are equivalent."
    assert judged_pairs(judged) == words


def test_pairs_that_are_not_listed_are_counted() -> None:
    drawn = np.random.default_rng(4)
    rows = compare(drawn.integers(0, 2, (15, 30)), rng=1).findings()["differences"].rows
    assert len(rows) == 4
    assert rows[-1] == "11 more pairs are in the table of pairs"
    assert len(compare(drawn.integers(0, 2, (13, 30)), rng=1).findings()["differences"].rows) == 4


# Models without a common question


def apart() -> np.ndarray:
    """Return two sets of models: a and b on forty questions, c and d on forty others."""
    rng = np.random.default_rng(4)
    right = rng.random((5, 80)) < np.array([[0.9], [0.4], [0.95], [0.5], [0.3]])
    scores = right.astype(float)
    scores[:2, 40:] = scores[2:, :40] = np.nan
    return scores


def test_models_without_a_common_question_are_not_ranked():
    found = compare(pd.DataFrame(apart(), index=list("abcde")), rng=1)
    assert found.labels == ("c", "d", "e", "a", "b")  # the larger set first
    assert found.component.tolist() == [1, 1, 1, 2, 2]
    assert found.rank.tolist() == [1, 2, 3, 1, 2]
    assert found.rank_interval.max(axis=0)[1] == 3
    assert (found.rank_interval[found.component == 2] <= 2).all()
    assert found.tiers()[0][0] == "c"
    assert all(len({"abcde".index(label) < 2 for label in one}) == 1 for one in found.tiers())
    text = found.summary()
    assert "2 sets without a common question" in text
    assert "6 have no common questions" in text
    assert "c minus a" not in text
    flags = found.pairs().set_index(["first", "second"])["flag"]
    assert flags["c", "a"] == "no question has scores of both models"


def test_each_set_has_the_intervals_that_it_has_alone():
    scores = apart()
    many = {"n_draws": 100_000, "rng": 1}
    whole = compare(pd.DataFrame(scores, index=list("abcde")), **many).pairs()
    alone = compare(pd.DataFrame(scores[:2, :40], index=list("ab")), **many).pairs()
    pair = whole[(whole["first"] == "a") & (whole["second"] == "b")]
    np.testing.assert_allclose(pair["lower"], alone["lower"], rtol=0.01)


def test_two_models_without_a_common_question():
    found = compare(
        pd.DataFrame([[1, 0, None, None], [None, None, 1, 1]], index=["a", "b"]), rng=1
    )
    assert found.rank.tolist() == [1, 1]
    text = found.summary()
    assert "its score is 0.500" in " ".join(text.split())
    assert "inconclusive" not in text


def test_a_chain_of_models_is_one_set():
    scores = np.full((3, 40), np.nan)
    scores[0, :20], scores[1, 10:30], scores[2, 20:] = 1, 0, 1
    found = compare(pd.DataFrame(scores, index=list("abc")), rng=1)
    assert found.component.tolist() == [1, 1, 1]
    assert "1 has no common questions" in found.summary()


def test_abilities_of_sets_are_warned_of():
    with pytest.warns(ValidityWarning, match="2 sets without a common question"):
        fit_irt(pd.DataFrame(apart()), respondents="models", model="rasch")


# Tasks that count alike


def test_tasks_count_alike() -> None:
    rng = np.random.default_rng(7)
    tasks = np.repeat(["big", "small"], [300, 20])
    chances = np.where(tasks == "big", [[0.6], [0.7]], [[0.9], [0.4]])
    scores = (rng.random((2, 320)) < chances).astype(float)
    pooled, found = compare(scores, rng=1), compare(scores, tasks=tasks, rng=1)
    means = np.array([[row[tasks == name].mean() for name in ("big", "small")] for row in scores])
    order = list(found.labels)
    np.testing.assert_allclose(found.score.value, means.mean(axis=1)[order], rtol=1e-12)
    assert pooled.labels == (1, 0)
    assert found.labels == (0, 1)
    assert "2 equally weighted tasks" in found.summary()
    # The classical standard error of a stratified mean, with strata that count alike.
    gap = scores[0] - scores[1]
    variance = sum(gap[tasks == t].var(ddof=1) / (tasks == t).sum() for t in ("big", "small")) / 4
    assert found.differences.se[0] == pytest.approx(np.sqrt(variance), rel=1e-12)
    assert (np.abs(found.score.interval - 0.5) <= 0.5).all()


def test_a_task_of_one_question_has_no_mean_with_an_error() -> None:
    scores = np.tile([1.0, 0.0, 1.0, 0.0, 1.0], (2, 4))
    found = compare(scores, tasks=["a"] * 19 + ["b"], rng=1)
    assert np.isnan(found.differences.value).all()
    assert found.differences.flags == (Reason.FEW_OF_A_TASK,)
