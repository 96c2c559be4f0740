"""Agreement of two benchmarks: known truths, noise, labels, and what cannot be said."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import psychollm as psy
from psychollm._base.errors import LabelError, OptionError, ShapeError
from psychollm.estimates.reasons import Reason
from psychollm.estimates.verdict import Outcome, SmallestEffects
from psychollm.studies.benchmark_agreement.sides import agreement_of, side_of
from psychollm.studies.benchmark_agreement.study import benchmark_agreement


def drawn(rng, able, n: int, name: str = "q", easy: float = 0.0) -> pd.DataFrame:
    """Return right and wrong answers of models of these abilities."""
    p = 1.0 / (1.0 + np.exp(rng.normal(size=n) - easy - np.asarray(able)[:, None]))
    models = [f"m{k}" for k in range(len(p))]
    columns = [f"{name}{k}" for k in range(n)]
    return pd.DataFrame((rng.random(p.shape) < p).astype(int), index=models, columns=columns)


@pytest.fixture(scope="module")
def tables() -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(6)
    able = rng.multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], 12)
    return drawn(rng, able[:, 0], 150, "a"), drawn(rng, able[:, 1], 250, "b", easy=1.0)


@pytest.fixture(scope="module")
def found(tables):
    return benchmark_agreement(*tables, rng=1)


def test_what_is_compared_and_counted(found, tables) -> None:
    first, second = tables
    assert found.labels == tuple(first.mean(axis=1).sort_values(ascending=False).index)
    assert found.second.value == pytest.approx(second.mean(axis=1)[list(found.labels)])
    assert found.n_questions.tolist() == [150, 250]
    assert found.log_odds == (True, True)
    rho = stats.spearmanr(first.mean(axis=1), second.mean(axis=1)).statistic
    assert found.rank_correlation == pytest.approx(rho)


def test_tau_and_the_share_of_opposite_pairs_follow_from_the_correlation(found) -> None:
    rho, tau, opposite = found.agreement.value
    z = np.random.default_rng(1).multivariate_normal([0, 0], [[1, rho], [rho, 1]], 4000)
    assert tau == pytest.approx(stats.kendalltau(*z.T).statistic, abs=0.03)
    assert opposite == pytest.approx((1.0 - tau) / 2.0)
    assert found.agreement.interval[2] == pytest.approx(
        (1 - found.agreement.interval[1][::-1]) / 2
    )


def test_benchmarks_may_be_swapped_and_models_and_questions_stand_in_any_order(
    found, tables
) -> None:
    first, second = tables
    swapped = benchmark_agreement(second.iloc[::-1], first.iloc[:, ::-1], rng=1)
    assert swapped.agreement.value == pytest.approx(found.agreement.value, abs=1e-4)
    assert swapped.agreement.interval == pytest.approx(found.agreement.interval, abs=1e-3)
    assert swapped.reliability[::-1] == pytest.approx(found.reliability)


def test_models_are_matched_by_label_and_the_others_named(tables) -> None:
    first, second = tables
    found = benchmark_agreement(first[1:], second.iloc[:-2].assign(b0=np.nan), rng=1)
    assert set(found.left_out) == {"m0", "m10", "m11"}
    assert len(found.labels) == 9
    assert "without enough scores" in found.findings().head


def test_a_model_without_scores_in_one_takes_no_part(tables) -> None:
    first, second = tables
    second = second.astype(float)
    second.loc["m3", "b1":] = np.nan
    assert benchmark_agreement(first, second, rng=1).left_out == ("m3",)


def test_alike_rankings_are_seldom_called_different() -> None:
    """Scores of one ability, the second benchmark easier and with a floor from guessing."""
    said = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        able = rng.normal(size=12)
        easy = drawn(rng, able, 400, "b", easy=1.5)
        guessed = (easy.to_numpy() == 1) | (rng.random(easy.shape) < 0.25)
        both = drawn(rng, able, 200, "a"), easy.mask(guessed, 1)
        sides = [
            side_of(psy.data.labels.Table(one.to_numpy(), (*one.index,), (*one,)), None, place)
            for place, one in enumerate(both)
        ]
        truth, _ = agreement_of(sides, 0.95)
        said.append(truth.interval[1] < 1.0)
    assert np.mean(said) <= 0.05


def test_unlike_rankings_are_called_different(found) -> None:
    assert found.outcome().shown
    assert "rank models differently" in found.verdict
    assert found.p_one < 0.025


def test_many_questions_show_that_rankings_are_alike() -> None:
    rng = np.random.default_rng(3)
    able = np.linspace(-2.0, 2.0, 30)
    found = benchmark_agreement(drawn(rng, able, 2000, "a"), drawn(rng, able, 2000, "b"), rng=1)
    assert found.outcome(smallest=SmallestEffects(share=0.1)) is Outcome.SMALL
    assert "rank models alike" in found.findings(smallest=SmallestEffects(share=0.1)).verdict


def test_a_reversed_pair_is_found_and_no_other() -> None:
    rng = np.random.default_rng(2)
    able = np.linspace(-1.0, 1.0, 6)
    other = able.copy()
    other[[0, 5]] = other[[5, 0]]
    found = benchmark_agreement(drawn(rng, able, 600, "a"), drawn(rng, other, 600, "b"), rng=1)
    pairs = found.pairs()
    shown = pairs[pairs["reversed"]]
    assert {"m0", "m5"} in [set(pair) for pair in shown[["model", "other"]].to_numpy().tolist()]
    assert all({"m0", "m5"} & set(pair) for pair in shown[["model", "other"]].to_numpy().tolist())
    assert len(found.findings()["reversed"].rows) == len(shown)


def test_a_benchmark_that_does_not_distinguish_models_leaves_no_correlation(tables) -> None:
    luck = drawn(np.random.default_rng(4), np.zeros(12), 150, "a")
    found = benchmark_agreement(luck, tables[1], rng=1)
    assert np.isnan(found.agreement.value).all()
    assert found.agreement.flags[0] is Reason.NOT_DISTINGUISHED
    assert found.outcome() is Outcome.OPEN
    assert "does not distinguish these models" in found.verdict


def test_equal_scores_leave_no_correlation(tables) -> None:
    same = tables[0] * 0 + [1, 0, 1, 0, 1] * 30
    found = benchmark_agreement(same, tables[1], rng=1)
    assert found.agreement.flags[0] is Reason.NOT_DISTINGUISHED
    assert np.isnan(found.rank_correlation)
    assert found.summary()


def test_all_right_and_all_wrong_are_finite(tables) -> None:
    first, second = (one.copy() for one in tables)
    first.loc["m0"], second.loc["m1"] = 1, 0
    found = benchmark_agreement(first, second, rng=1)
    assert np.isfinite(found.agreement.interval).all()


def test_three_models_have_a_wide_interval_and_no_verdict(tables) -> None:
    found = benchmark_agreement(*(one[:3] for one in tables), rng=1)
    assert np.ptp(found.agreement.interval[0]) > 0.9
    assert not found.enough
    assert found.outcome() is Outcome.OPEN


@pytest.mark.parametrize("n", [1, 2])
def test_fewer_models_are_refused(tables, n: int) -> None:
    with pytest.raises(ShapeError, match=f"{n} models have scores .* a correlation needs 3"):
        benchmark_agreement(tables[0][:n], tables[1], rng=1)


def test_models_without_a_common_label_are_refused(tables) -> None:
    with pytest.raises(LabelError, match="no model in common"):
        benchmark_agreement(tables[0], tables[1].rename(index=str.upper))


def test_clusters_are_named_by_question(tables) -> None:
    passages = {label: label[0] + str(int(label[1:]) // 5) for one in tables for label in one}
    found = benchmark_agreement(*tables, clusters=passages, rng=1)
    assert found.first_differences.n_clusters[0] == 30
    series = benchmark_agreement(*tables, clusters=pd.Series(passages), rng=1)
    assert series.agreement.value == pytest.approx(found.agreement.value)
    with pytest.raises(OptionError, match="pass a mapping or a Series"):
        benchmark_agreement(*tables, clusters=np.arange(150))
    passages.pop("b7")
    with pytest.raises(LabelError, match="b7"):
        benchmark_agreement(*tables, clusters=passages)
    with pytest.raises(ShapeError, match="only one cluster of the second"):
        benchmark_agreement(*tables, clusters=passages | dict.fromkeys(tables[1], "x"))


def test_few_clusters_leave_no_verdict(tables) -> None:
    passages = {label: label[0] + str(int(label[1:]) % 4) for one in tables for label in one}
    found = benchmark_agreement(*tables, clusters=passages, rng=1)
    assert found.outcome() is Outcome.OPEN


def test_questions_in_both_are_accounted_for(tables) -> None:
    """Their errors correlate: with the same luck in both, less of the agreement is true."""
    first, _ = tables
    rng = np.random.default_rng(9)
    second = drawn(rng, rng.normal(0.0, 0.5, 12), 50, "b")
    both = pd.concat([first.iloc[:, :100], second], axis=1)
    named = benchmark_agreement(first, both, rng=1)
    hidden = benchmark_agreement(first, both.rename(columns=lambda one: f"x{one}"), rng=1)
    assert (named.n_shared, hidden.n_shared) == (100, 0)
    assert named.agreement.value[0] < hidden.agreement.value[0]


def test_positions_are_no_labels_of_questions(tables) -> None:
    arrays = [one.to_numpy() for one in tables]
    found = benchmark_agreement(*arrays, rng=1)
    assert found.n_shared == 0
    assert found.agreement.value == pytest.approx(
        benchmark_agreement(*tables, rng=1).agreement.value
    )


def test_other_scores_are_compared_as_they_are(tables) -> None:
    first, second = tables
    found = benchmark_agreement(100.0 * first - 50.0, second, rng=1)
    assert found.log_odds == (False, True)
    assert found.agreement.value[0] == pytest.approx(0.5, abs=0.5)


def test_repeats_count_as_one_question(tables) -> None:
    first, second = tables
    runs = psy.reliability.RepeatedScores.from_runs([first, first])
    twice = benchmark_agreement(runs, second, rng=1)
    assert twice.agreement.value == pytest.approx(
        benchmark_agreement(first, second, rng=1).agreement.value
    )


def test_the_page_and_the_figure(found, tmp_path) -> None:
    pytest.importorskip("matplotlib")
    page = found.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Do two benchmarks rank models alike?" in page
    assert page.count('class="mark') >= 0
    assert len(found.plot().lines) >= 1
