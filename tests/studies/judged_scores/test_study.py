"""Judged scores: known estimators as special cases, rare errors, labels of any kind."""

import numpy as np
import pandas as pd
import pytest

import psychollm as psy
from psychollm._base.errors import CodeError, LabelError, OptionError, ShapeError
from psychollm.estimates.corrected import correction
from psychollm.estimates.intervals import wilson
from psychollm.estimates.reasons import Reason
from psychollm.studies.judged_scores.study import judged_scores
from tests.studies.judged_scores.tables import MODELS, QUESTIONS, tables

COUNTS = (54, 1, 8, 17, 251, 69)


@pytest.fixture(scope="module")
def found():
    _, judge, people = tables()
    return judged_scores(judge, people, rng=1)


def test_verdicts_of_two_values_weigh_labels_within_each(found) -> None:
    _, judge, people = tables()
    for row, model in enumerate(MODELS):
        labels, verdict = people.loc[model], judge.loc[model]
        within = labels.groupby(verdict).mean()
        share = verdict.value_counts(normalize=True)
        assert found.score.value[row] == pytest.approx((within * share).sum())
    assert found.raw.value == pytest.approx(judge.mean(axis=1))
    assert found.bias.value == pytest.approx(found.raw.value - found.score.value)
    assert found.bias.interval[:, ::-1] == pytest.approx(
        found.raw.value[:, None] - found.score.interval
    )


def test_ppi_py_is_the_same_correction_with_its_own_weight() -> None:
    # An exam taker of the TriviaQA judges with 80 labels, by counts of (people, judge), and what
    # the judge said of the other 320; values of ppi_py 0.2 (`ppi_mean_ci`, tuned lambda).
    y = np.repeat([1.0, 1.0, 0.0, 0.0], COUNTS[:4])
    f = np.repeat([1.0, 0.0, 1.0, 0.0], COUNTS[:4])
    rest = np.repeat([1.0, 0.0], COUNTS[4:])
    n, left = y.size, rest.size
    pooled = np.concatenate([f, rest]).var(ddof=1)
    weight = ((y - y.mean()) * (f - f.mean())).mean() / ((1 + n / left) * pooled)
    value = weight * rest.mean() + correction(y - weight * f, np.full(n, 1 / n))
    se = np.sqrt(weight**2 * rest.var() / left + (y - weight * f).var() / n)
    assert value == pytest.approx(0.6937501721383719, abs=1e-12)
    assert value - 1.959963984540054 * se == pytest.approx(0.6173515349230493, abs=1e-8)
    assert value + 1.959963984540054 * se == pytest.approx(0.7701488093536945, abs=1e-8)
    # Ours divides by the variance of the labelled verdicts, and counts all verdicts as the mean.
    verdicts, people = np.concatenate([f, rest]), np.concatenate([y, np.full(left, np.nan)])
    ours = judged_scores(verdicts, people, rng=1)
    slope = ours.weight[0]
    assert slope == pytest.approx(np.cov(y, f, ddof=0)[0, 1] / f.var())
    assert ours.score.value[0] == pytest.approx(y.mean() + slope * (verdicts.mean() - f.mean()))


def test_where_people_labelled_everything_differences_have_no_interval() -> None:
    truth, judge, _ = tables()
    verdicts = 0.5 * judge + 0.5 * tables(wrong=0.2)[1]  # of three values
    found = judged_scores(verdicts, truth, rng=1)
    assert set(found.differences.flags) == {Reason.NO_SPREAD}
    assert np.isnan(found.differences.interval).all()


def test_a_judge_that_is_never_wrong_leaves_an_interval() -> None:
    truth, _, people = tables()
    found = judged_scores(truth, people, rng=1)
    assert found.score.value == pytest.approx(truth.mean(axis=1))
    assert (np.ptp(found.score.interval, axis=1) > 0.04).all()
    assert (np.ptp(found.differences.interval, axis=1) > 0.04).all()
    everything = judged_scores(truth * 0 + 1, people * 0 + 1, rng=1)
    assert (everything.score.interval[:, 0] < 0.98).all()
    assert (everything.score.interval[:, 1] == 1.0).all()


@pytest.mark.parametrize("wrong", [0.02, 0.5])
def test_intervals_cover(wrong: float) -> None:
    single, together = [], []
    for seed in range(40):
        truth, judge, people = tables(seed, 30, wrong)
        found = judged_scores(judge, people, n_draws=100, rng=1)
        means = truth.mean(axis=1).to_numpy()
        low, high = found.score.interval.T
        single.append((low <= means) & (means <= high))
        gap = means[[0, 0, 1]] - means[[1, 2, 2]]
        low, high = found.differences.interval.T
        together.append(((low <= gap) & (gap <= high)).all())
    assert np.mean(single) > 0.91
    assert np.mean(together) > 0.88


def test_a_judge_narrows_intervals_and_a_coin_hardly_widens_them() -> None:
    truth, judge, people = tables()
    rng = np.random.default_rng(3)
    coin = pd.DataFrame(rng.integers(0, 2, truth.shape), MODELS, QUESTIONS)
    useful, useless = (judged_scores(one, people, rng=1) for one in (judge, coin))
    n = 60 / (1 - 60 / 300)
    plain = np.ptp(wilson(people.mean(axis=1) * n, np.full(3, n)), axis=1)
    assert (np.ptp(useful.score.interval, axis=1) < 0.8 * plain).all()
    assert (np.ptp(useless.score.interval, axis=1) < 1.03 * plain).all()
    assert useful.helps
    assert not useless.helps
    assert "does not help" in useless.remarks[0]


def test_tables_are_matched_by_labels_and_any_dtype_will_do(found) -> None:
    _, judge, people = tables()
    expected = found.score.interval
    for verdicts, labels in (
        (judge.astype(bool), people.astype("boolean").iloc[::-1, ::-1]),
        (judge.astype("category"), people.astype("Int64")),
        (judge.to_numpy(), people.to_numpy()),
        (judge, people.to_numpy().tolist()),
        (
            judge,
            people.rename_axis("model")
            .reset_index()
            .melt("model", var_name="question", value_name="score"),
        ),
        (judge, people.dropna(axis=1)),
    ):
        assert judged_scores(verdicts, labels, rng=1).score.interval == pytest.approx(expected)


def test_labels_without_a_verdict_count_as_they_are() -> None:
    _, judge, people = tables()
    judge = judge.copy()
    judge.loc["a"] = np.nan
    found = judged_scores(judge, people, rng=1)
    assert found.score.value[0] == pytest.approx(people.loc["a"].mean())
    assert np.isnan(found.raw.value[0])
    assert found.bias.flags[0] == Reason.NO_VERDICTS
    assert found.score.interval[0, 1] - found.score.interval[0, 0] > 0.1


def test_every_label_known_leaves_nothing_to_estimate() -> None:
    truth, judge, _ = tables()
    found = judged_scores(judge, truth, rng=1)
    assert found.score.interval == pytest.approx(np.stack([truth.mean(axis=1)] * 2, axis=1))
    beyond = judged_scores(judge, truth, target="questions like these", rng=1)
    n = np.full(3, 300.0)
    assert beyond.score.interval == pytest.approx(wilson(truth.mean(axis=1) * n, n), abs=0.01)


def test_unequal_chances_weigh_labels() -> None:
    truth, judge, _ = tables()
    pi = np.where(np.arange(300) < 150, 0.5, 0.1)
    values = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        people = truth.copy()
        people.iloc[:, rng.random(300) >= pi] = np.nan
        harder = judge.copy()
        harder.iloc[:, :150] = 1.0  # a judge that is wrong where labels are many
        values.append(
            judged_scores(harder, people, probability=pi, n_draws=100, rng=1).score.value
        )
    spread = np.std(values, axis=0) / np.sqrt(40)
    assert (np.abs(np.mean(values, axis=0) - truth.mean(axis=1)) < 4 * spread).all()


def test_labels_drawn_apart_make_independent_errors() -> None:
    truth, judge, _ = tables()
    rng = np.random.default_rng(0)
    apart = pd.DataFrame(
        [np.where(rng.permutation(300) < 60, row, np.nan) for row in truth.to_numpy()],
        MODELS, QUESTIONS,
    )  # fmt: skip
    found = judged_scores(judge, apart, rng=1)
    own = found.score.se
    pairs = np.hypot(own[[0, 0, 1]], own[[1, 2, 2]])
    assert found.differences.se == pytest.approx(pairs, rel=0.05)


def test_clusters_widen_and_few_say_so() -> None:
    _, judge, _ = tables()
    cluster = np.arange(300) // 5
    shared = np.random.default_rng(1).random((3, 60)) < 0.6
    truth = pd.DataFrame(shared[:, cluster].astype(float), MODELS, QUESTIONS)
    people = truth.copy()
    people.iloc[:, 60:] = np.nan
    plain, clustered = (
        judged_scores(judge, people, clusters=one, rng=1) for one in (None, cluster)
    )
    assert (np.ptp(clustered.score.interval, 1) > 1.5 * np.ptp(plain.score.interval, 1)).all()
    few = judged_scores(judge, people, clusters=np.arange(300) // 30, rng=1)
    assert set(few.score.flags) == {Reason.FEW_CLUSTERS}
    one = judged_scores(judge, people, clusters=np.arange(300) // 60, rng=1)
    assert set(one.score.flags) == {Reason.ONE_CLUSTER}
    assert np.isnan(one.score.interval).all()


def test_several_judges_are_combined_and_one_may_be_named() -> None:
    truth, judge, people = tables()
    rng = np.random.default_rng(2)
    other = truth.where(rng.random(truth.shape) >= 0.1, 1.0 - truth)
    noise = pd.DataFrame(rng.random(truth.shape), MODELS, QUESTIONS)
    both = {"good": judge, "other": other, "noise": noise}
    found = judged_scores(both, people, rng=1)
    assert found.judges == ("good", "other", "noise")
    assert found.judge_weights[:2].min() > 0.2 > abs(found.judge_weights[2])
    single = judged_scores(both, people, judge="good", rng=1)
    assert found.score.se.sum() < single.score.se.sum()
    alone = judged_scores(judge, people, judge="good", rng=1)
    assert single.score.value == pytest.approx(alone.score.value)
    with pytest.raises(LabelError, match="judge='bad' is unknown"):
        judged_scores(both, people, judge="bad")


def test_grades_have_a_scale_of_their_own() -> None:
    _, judge, people = tables()
    found = judged_scores(1 + 4 * judge, 1 + 4 * people, rng=1)
    plain = judged_scores(judge, people, rng=1)
    assert found.score.value == pytest.approx(1 + 4 * plain.score.value)
    assert found.bias.value == pytest.approx(4 * plain.bias.value)
    assert found.differences.value == pytest.approx(4 * plain.differences.value)
    apart = judged_scores(1 + 9 * judge, people, rng=1)
    assert apart.score.value == pytest.approx(plain.score.value)
    assert set(apart.bias.flags) == {Reason.OTHER_SCALE}
    soft = judged_scores(0.1 + 0.8 * judge + 0.001 * np.arange(300) / 300, people, rng=1)
    assert soft.score.value == pytest.approx(plain.score.value, abs=0.01)
    # Right and wrong labels about graded verdicts: as wide as those within verdicts, about.
    ratio = np.ptp(soft.score.interval, axis=1) / np.ptp(plain.score.interval, axis=1)
    assert ((ratio > 0.8) & (ratio < 1.3)).all()


def test_the_order_of_models_changes_nothing(found) -> None:
    _, judge, people = tables()
    turned = judged_scores(judge.iloc[::-1], people, rng=1)
    assert turned.score.value[::-1] == pytest.approx(found.score.value)
    assert turned.tier[::-1].tolist() == found.tier.tolist()
    assert turned.rank[::-1].tolist() == found.rank.tolist()


def test_errors_name_the_argument() -> None:
    _, judge, people = tables()
    with pytest.raises(LabelError, match="no model in common"):
        judged_scores(judge, people.set_axis([1, 2, 3]))
    with pytest.raises(ShapeError, match="people has 3 models x 10 questions"):
        judged_scores(judge.to_numpy(), people.to_numpy()[:, :10])
    with pytest.raises(CodeError, match="people: model 'a'"):
        judged_scores(judge, people.replace(1.0, np.inf))
    with pytest.raises(OptionError, match="probability of model 'a', question 'q0' is 0"):
        judged_scores(judge, people, probability=np.zeros(300))
    with pytest.raises(OptionError, match="target"):
        judged_scores(judge, people, target="others")
    with pytest.raises(ShapeError, match="verdicts: every value is missing"):
        judged_scores(judge * np.nan, people)
    with pytest.raises(OptionError, match="verdicts is empty"):
        judged_scores({}, people)


def test_a_card_takes_labels() -> None:
    _, judge, people = tables()
    card = psy.evaluation_card(judge, human_labels=people, n_draws=100, rng=1)
    direct = judged_scores(judge.loc[list(card.labels)], people, rng=1)
    assert card.judged.score.value == pytest.approx(direct.score.value)
    assert "How would people score the answers?" in card.summary()
    assert psy.evaluation_card(judge, n_draws=100, rng=1).judged is None
