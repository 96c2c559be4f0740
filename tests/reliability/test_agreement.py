"""Agreement of runs: against reference values, slow twins, and what must not change it."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import Bootstrap
from psychollm.reliability.raters.agreement import (
    COEFFICIENTS,
    Agreement,
    agreement,
    fleiss_kappa,
    gwet_ac1,
    krippendorff_alpha,
    percent_agreement,
)
from psychollm.reliability.raters.kappa import cohen_kappa
from psychollm.reliability.raters.ratings import Ratings
from psychollm.reliability.raters.response_shares import response_shares
from psychollm.reliability.raters.score_interval import clustered_share, score_interval
from tests.oracles import agreement_slow as slow

QUICK = {"bootstrap": 20, "rng": 0}
NOMINAL = {**QUICK, "metric": "nominal"}


def by_unit(rows) -> np.ndarray:
    """Return a table with a row per question; a sequence of rows would be runs."""
    return np.array(rows, dtype=object)


def number(value: float | None) -> float:
    return math.nan if value is None else value


def vornish(golden, case: str, kind: str, value: str) -> tuple[Ratings, dict]:
    folder = golden / "metacognition"
    frame = pd.read_csv(folder / f"{case}.csv")
    blocks = json.loads((folder / f"{case}.expected.json").read_text())["blocks"]
    ratings = Ratings.from_long(frame[frame["type"] == kind], question="item", value=value)
    return ratings, {block["tol"]: block["values"] for block in blocks}


@pytest.mark.parametrize("case", ["vornish_a", "vornish_b"])
@pytest.mark.parametrize("kind", ["A", "B", "C", "M"])
def test_reference_values(golden, case: str, kind: str) -> None:
    scores, blocks = vornish(golden, case, kind, "score")
    responses, _ = vornish(golden, case, kind, "response")
    of_scores, of_responses = agreement(scores, **NOMINAL), agreement(responses, **NOMINAL)
    shares = response_shares(responses)
    for i, model in enumerate(scores.models):
        expected = blocks[1e-9][model][kind]
        found = {
            "pairwise_agreement": of_scores.pairwise,
            "all_identical": of_scores.all_identical,
            "fleiss_kappa_score": of_scores.fleiss_kappa,
            "kripp_nominal_response": of_responses.krippendorff_alpha,
        }
        for key, estimate in found.items():
            wanted = number(expected[key])
            assert estimate.value[i] == pytest.approx(wanted, abs=1e-9, nan_ok=True), key
        own = dict(zip(shares.categories, shares.value[i], strict=True))
        assert {k: v for k, v in own.items() if v} == pytest.approx(expected["response_share"])


@pytest.mark.parametrize("case", ["vornish_a", "vornish_b"])
def test_r_counts_the_same_identical_runs(golden, case: str) -> None:
    responses, blocks = vornish(golden, case, "C", "response")
    found = agreement(responses, **NOMINAL).all_identical.value
    wanted = [blocks[1e-6][model]["all_runs_identical"] for model in responses.models]
    assert found == pytest.approx(wanted, abs=1e-6)


ratings_tables = st.lists(
    st.lists(st.sampled_from([1, 2, 3, 5, None]), min_size=3, max_size=3), min_size=3, max_size=12
)


@given(ratings_tables)
def test_slow_twins(table: list[list[int | None]]) -> None:
    given_values = sorted({value for unit in table for value in unit if value is not None})
    paired = slow.rated(table)
    if len({value for unit in paired for value in unit}) < 2:
        return
    found = agreement(by_unit(table), **NOMINAL)
    assert found.categories == tuple(given_values)
    expected = {
        "pairwise": slow.pairwise(table),
        "all_identical": slow.identical(table),
        "fleiss_kappa": slow.fleiss(table, given_values),
        "gwet_ac1": slow.gwet(table, given_values),
        "krippendorff_alpha": slow.krippendorff(table, "nominal"),
    }
    for name, value in expected.items():
        estimate = getattr(found, name)
        assert estimate.value[0] == pytest.approx(value, abs=1e-12), name
        assert estimate.n[0] == len(paired)


@given(ratings_tables, st.randoms(use_true_random=False))
def test_order_of_questions_and_runs_changes_nothing(table, random) -> None:
    before = agreement(by_unit(table), **NOMINAL)
    shuffled = random.sample(table, len(table))
    order = random.sample(range(3), 3)
    after = agreement(by_unit([[unit[i] for i in order] for unit in shuffled]), **NOMINAL)
    for name in COEFFICIENTS:
        first, second = getattr(before, name), getattr(after, name)
        assert first.value == pytest.approx(second.value, abs=1e-12, nan_ok=True)
        assert first.interval == pytest.approx(second.interval, abs=1e-9, nan_ok=True)
        assert first.flags == second.flags


@given(ratings_tables)
def test_names_of_categories_change_nothing(table) -> None:
    words = {1: "yes", 2: "no", 3: "maybe", 5: "refused", None: None}
    before = agreement(by_unit(table), **NOMINAL)
    after = agreement(by_unit([[words[value] for value in unit] for unit in table]), **NOMINAL)
    for name in COEFFICIENTS:
        first, second = getattr(before, name), getattr(after, name)
        assert first.value == pytest.approx(second.value, abs=1e-12, nan_ok=True)


@given(ratings_tables)
def test_bounds(table) -> None:
    found = agreement(by_unit(table), **NOMINAL)
    for name in ("pairwise", "all_identical"):
        estimate = getattr(found, name)
        if estimate.defined[0] and estimate.n[0] > 1:
            low, high = estimate.interval[0]
            assert 0.0 <= low <= estimate.value[0] + 1e-12
            assert estimate.value[0] - 1e-12 <= high <= 1.0
    for name in ("fleiss_kappa", "gwet_ac1", "krippendorff_alpha"):
        estimate = getattr(found, name)
        if estimate.defined[0]:
            assert estimate.value[0] <= 1.0
        if np.isfinite(estimate.interval[0]).all():
            assert estimate.interval[0, 0] <= estimate.value[0] <= estimate.interval[0, 1] <= 1.0


def test_all_data_twice_leaves_all_but_alpha() -> None:
    table = [[1, 1, 2], [2, 2, 2], [3, 1, 3], [1, 1, 1]]
    once, twice = agreement(by_unit(table), **NOMINAL), agreement(by_unit(table * 2), **NOMINAL)
    for name in COEFFICIENTS[:-1]:
        assert getattr(once, name).value == pytest.approx(getattr(twice, name).value)
    # alpha corrects for the number of ratings
    assert once.krippendorff_alpha.value[0] > twice.krippendorff_alpha.value[0]


def simulated(n: int, seed: int, models: int = 3) -> np.ndarray:
    """Runs x models x questions: each question has its own distribution of answers."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([0.4, 0.2, 0.1], size=(models, n)).cumsum(axis=-1)
    return (rng.uniform(size=(4, models, n, 1)) > p).sum(axis=-1)


def test_a_model_alone_has_the_draws_it_has_in_a_panel() -> None:
    runs = simulated(60, 1)
    together, alone = agreement(runs, **NOMINAL), agreement(runs[:, 1:2], **NOMINAL)
    for name in COEFFICIENTS:
        assert (getattr(together, name).draws[:, 1] == getattr(alone, name).draws[:, 0]).all()


def test_single_functions_are_the_columns_of_the_panel() -> None:
    runs = simulated(40, 2)
    found = agreement(runs, metric="ordinal", **QUICK)
    singles = {
        "pairwise": percent_agreement(runs, **QUICK),
        "fleiss_kappa": fleiss_kappa(runs, **QUICK),
        "gwet_ac1": gwet_ac1(runs, **QUICK),
        "krippendorff_alpha": krippendorff_alpha(runs, metric="ordinal", **QUICK),
    }
    for name, single in singles.items():
        panel = getattr(found, name)
        assert (single.value == panel.value).all()
        assert (single.interval == panel.interval).all()
        assert (single.draws == panel.draws).all()
        assert single.name == panel.name


def test_jobs_change_nothing() -> None:
    runs = simulated(50, 3)
    one = agreement(runs, bootstrap=60, rng=4, metric="nominal")
    two = agreement(runs, bootstrap=Bootstrap(60, n_jobs=2), rng=4, metric="nominal")
    assert (one.krippendorff_alpha.draws == two.krippendorff_alpha.draws).all()


def test_differences_are_paired() -> None:
    runs = simulated(200, 5)
    runs[:, 1] = runs[:, 0]
    runs[0, 1, 0] = (runs[0, 0, 0] + 1) % 3
    found = agreement(runs, bootstrap=200, rng=0, metric="nominal").fleiss_kappa
    gap = found.difference(0, 1)
    assert gap.value == pytest.approx(found.value[0] - found.value[1])
    assert gap.se < 0.2 * found.se[0]


def test_the_jackknife_standard_error_is_that_of_the_bootstrap() -> None:
    runs = simulated(150, 6)
    scored = agreement(runs, bootstrap=1500, rng=0, metric="nominal")
    resampled = agreement(runs, bootstrap=1500, rng=0, metric="nominal", interval="percentile")
    for name in COEFFICIENTS:
        # 1500 draws: 2 % noise; jackknife and bootstrap differ by O(1/n)
        assert getattr(scored, name).se == pytest.approx(getattr(resampled, name).se, rel=0.12)


def test_two_runs_agree_as_often_as_they_are_identical() -> None:
    runs = simulated(300, 7)[:2]
    found = agreement(runs, **NOMINAL)
    assert found.pairwise.interval == pytest.approx(found.all_identical.interval, abs=1e-12)


def test_clusters_of_equal_questions_count_once() -> None:
    runs = simulated(40, 8)
    thrice = np.repeat(runs, 3, axis=2)
    plain = agreement(runs, **NOMINAL)
    grouped = agreement(thrice, clusters=np.repeat(np.arange(40), 3), **NOMINAL)
    for name in COEFFICIENTS[:-1]:
        first, second = getattr(plain, name), getattr(grouped, name)
        assert first.value == pytest.approx(second.value)
        # Of clusters the variance is estimated; a share of single answers has a known one.
        wider = np.diff(second.interval) / np.diff(first.interval)
        assert ((wider >= 1.0 - 1e-9) & (wider <= 1.06)).all()
        assert "clusters of questions" in second.method


@pytest.mark.parametrize("interval", ["bca", "percentile"])
def test_other_intervals(interval) -> None:
    runs = simulated(80, 9)
    found = agreement(runs, interval=interval, bootstrap=400, rng=0, metric="nominal")
    scored = agreement(runs, **NOMINAL)
    for name in COEFFICIENTS:
        # of the same data with little skewness: bounds within a fifth of their width
        width = np.diff(getattr(scored, name).interval)[:, 0]
        gap = np.abs(getattr(found, name).interval - getattr(scored, name).interval).max(axis=1)
        assert (gap < 0.2 * width).all()


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=3, max_size=15),
    st.sampled_from([0.8, 0.95]),
)
def test_effective_shares_against_their_twin(units, level) -> None:
    hits, clusters = [h for h, _ in units], [c for _, c in units]
    sizes = [3] * len(units)
    found = clustered_share(
        np.array(hits, float), np.array(sizes, float), np.array(clusters), level=level
    )
    if (
        len(set(clusters)) < 2
        or found.se == 0
        or found.effective_n >= sum(sizes)
        or not 0 < found.value < 1
    ):
        return
    share, bounds = slow.effective_share(hits, sizes, clusters, level)
    assert found.value == pytest.approx(share)
    assert found.interval == pytest.approx(bounds, abs=1e-9)


@given(st.floats(-0.9, 0.99), st.floats(1e-5, 0.2), st.integers(3, 300))
def test_score_intervals_against_their_twin(value, variance, units) -> None:
    found = score_interval(value, variance, units=units, df=units - 1.0, expected=0.5, level=0.95)
    assert found == pytest.approx(slow.rare_bounds(value, variance, units, 0.95), abs=1e-8)


# Degenerate data


def flags(found: Agreement) -> dict[str, Reason]:
    return {name: getattr(found, name).flags[0] for name in COEFFICIENTS}


def test_a_single_value() -> None:
    found = agreement(by_unit([["a", "a"]] * 10), **NOMINAL)
    assert flags(found) == dict.fromkeys(COEFFICIENTS[:2], Reason.PERFECT_AGREEMENT) | {
        "fleiss_kappa": Reason.SINGLE_VALUE,
        "gwet_ac1": Reason.PERFECT_AGREEMENT,
        "krippendorff_alpha": Reason.SINGLE_VALUE,
    }
    for name in ("fleiss_kappa", "krippendorff_alpha"):
        estimate = getattr(found, name)
        assert np.isnan(estimate.value).all()
        assert np.isnan(estimate.se).all()
        assert np.isnan(estimate.interval).all()
    for name in ("pairwise", "all_identical", "gwet_ac1"):
        estimate = getattr(found, name)
        assert estimate.value[0] == 1.0
        # Ten questions without a difference are no certainty.
        assert 0.4 < estimate.interval[0, 0] < 0.8
        assert estimate.interval[0, 1] == 1.0


def test_perfect_agreement_is_no_certainty() -> None:
    found = agreement(by_unit([["a", "a", "a"], ["b", "b", "b"]] * 10), **NOMINAL)
    assert set(flags(found).values()) == {Reason.PERFECT_AGREEMENT}
    for name in COEFFICIENTS:
        estimate = getattr(found, name)
        assert estimate.value[0] == 1.0
        assert 0.5 < estimate.interval[0, 0] < 0.9
        assert estimate.interval[0, 1] == 1.0


def test_all_variation_in_one_question() -> None:
    found = agreement(by_unit([["a", "a", "a"]] * 20 + [["a", "b", "a"]]), **NOMINAL)
    assert flags(found) == {
        "pairwise": Reason.NONE,
        "all_identical": Reason.NONE,
        "fleiss_kappa": Reason.ONE_VARIES,
        "gwet_ac1": Reason.NONE,
        "krippendorff_alpha": Reason.ONE_VARIES,
    }
    assert np.isfinite(found.fleiss_kappa.value).all()
    assert np.isnan(found.fleiss_kappa.interval).all()
    assert np.isfinite(found.gwet_ac1.interval).all()


@pytest.mark.parametrize(("unusual", "flag"), [(9, Reason.FEW_VARY), (10, Reason.NONE)])
def test_few_questions_with_an_unusual_answer(unusual: int, flag: Reason) -> None:
    table = [["a", "a"]] * 40 + [["b", "b"]] * (unusual - 2) + [["a", "b"], ["b", "a"]]
    found = agreement(by_unit(table), **NOMINAL)
    assert flags(found) == {
        "pairwise": Reason.NONE,
        "all_identical": Reason.NONE,
        "fleiss_kappa": flag,
        "gwet_ac1": Reason.NONE,
        "krippendorff_alpha": flag,
    }
    first, second = zip(*table, strict=True)
    assert cohen_kappa(list(first), list(second), **QUICK).flags == (flag,)


@pytest.mark.parametrize("metric", ["ordinal", "interval", "ratio"])
def test_few_graded_disagreements(metric) -> None:
    table = [[1, 1], [2, 2], [3, 3]] * 20 + [[1, 3]] * 4
    found = agreement(by_unit(table), metric=metric, **QUICK)
    assert found.krippendorff_alpha.flags == (Reason.FEW_VARY,)
    assert found.fleiss_kappa.flags == (Reason.NONE,)
    first, second = zip(*table, strict=True)
    weighted = cohen_kappa(list(first), list(second), weights="linear", **QUICK)
    assert weighted.flags == (Reason.FEW_VARY,)


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ([[None, None], [None, None]], Reason.NO_RATINGS),
        ([[1, None], [None, 2]], Reason.NO_PAIRS),
        ([[1, 2], [None, 2]], Reason.ONE_QUESTION),
    ],
)
def test_nothing_to_compare(table, reason) -> None:
    found = agreement(by_unit(table), **NOMINAL)
    assert set(flags(found).values()) == {reason}
    for name in COEFFICIENTS:
        estimate = getattr(found, name)
        assert np.isnan(estimate.interval).all()
        assert np.isnan(estimate.se).all()
        assert np.isfinite(estimate.value).all() == (reason is Reason.ONE_QUESTION)


def test_one_cluster() -> None:
    found = agreement(by_unit([[1, 1], [1, 2], [2, 2]]), clusters=["x"] * 3, **NOMINAL)
    assert set(flags(found).values()) == {Reason.ONE_CLUSTER}
    assert np.isnan(found.pairwise.interval).all()
    assert np.isfinite(found.pairwise.value).all()


def test_one_model_of_a_panel_may_be_silent() -> None:
    runs = simulated(20, 10).astype(float)
    runs[:, 1] = np.nan
    found = agreement(runs, **NOMINAL)
    assert [flag is Reason.NO_RATINGS for flag in found.fleiss_kappa.flags] == [False, True, False]
    assert np.isfinite(found.fleiss_kappa.interval[[0, 2]]).all()


def test_units_rated_once_are_left_out() -> None:
    table = [[1, 1], [1, 2], [2, 2], [1, 2]]
    more = [*table, [2, None], [None, 1], [None, None]]
    first, second = agreement(by_unit(table), **NOMINAL), agreement(by_unit(more), **NOMINAL)
    for name in COEFFICIENTS:
        assert getattr(first, name).value == getattr(second, name).value
        assert getattr(second, name).n[0] == 4


def test_declared_categories_enter_ac1_alone() -> None:
    table = [["a", "a"], ["a", "b"], ["b", "b"]]
    plain = agreement(by_unit(table), **NOMINAL)
    wider = agreement(by_unit(table), categories=["a", "b", "c", "d"], **NOMINAL)
    assert wider.gwet_ac1.value[0] > plain.gwet_ac1.value[0]
    for name in ("pairwise", "fleiss_kappa", "krippendorff_alpha"):
        assert getattr(wider, name).value == getattr(plain, name).value


def test_tables_and_sentences() -> None:
    runs = simulated(30, 11)
    runs[:, 2] = 1
    found = agreement(runs, **NOMINAL)
    frame = found.to_frame()
    assert frame["gwet_ac1"].tolist() == found.gwet_ac1.value.tolist()
    lines = found.summary().splitlines()
    assert len(lines) == 3
    assert "undefined: only one value occurs" in lines[2]
    assert "[" in lines[0]
    empty = agreement(by_unit([[None, None], [None, None]]), **NOMINAL).summary()
    assert empty == f"0: {Reason.NO_RATINGS}"
