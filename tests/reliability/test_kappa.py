"""Cohen's kappa against psych, statsmodels, scikit-learn and its slow twin."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psychollm._base.errors import OptionError, ShapeError
from psychollm.estimates.reasons import Reason
from psychollm.reliability.raters.kappa import cohen_kappa, kappa_of, kappa_variance, kappa_weights
from psychollm.reliability.raters.ratings import Ratings
from tests.oracles import agreement_slow as slow

QUICK = {"bootstrap": 20, "rng": 0}
CASES = ["table3", "table2", "raw_bin2", "cohen68", "raw_poly", "table4"]


def expanded(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two vectors of ratings with the given table of counts."""
    cells = np.repeat(np.arange(table.size), table.ravel().astype(int))
    return cells // len(table), cells % len(table)


def reference(golden, case: str) -> tuple[dict, np.ndarray, np.ndarray, float]:
    """Two vectors of ratings, and how many times the reference's questions they are."""
    rows = json.loads((golden / "psychometrics" / "kappa.json").read_text())["rows"]
    row = next(row for row in rows if row["id"] == case)
    data = np.array(row["input"])
    if data.shape[1] == 2 and data.shape[0] > 2:
        return row, data[:, 0], data[:, 1], 1.0
    # One table holds shares in per cent, which psych takes for a single question.
    times = 100.0 if row["n"] == 1 else 1.0
    return row, *expanded(np.round(data * times)), times


@pytest.mark.parametrize("case", CASES)
def test_reference_values(golden, case: str) -> None:
    row, first, second, times = reference(golden, case)
    plain = cohen_kappa(first, second, interval="asymptotic", **QUICK)
    assert plain.value[0] == pytest.approx(row["kappa"], abs=1e-12)
    assert times * plain.se[0] ** 2 == pytest.approx(row["var_kappa"], rel=1e-10)
    if times == 1.0:
        low, middle, high = row["confid"][0]
        assert plain.interval[0] == pytest.approx([low, high], abs=1e-10)
        assert plain.value[0] == pytest.approx(middle, abs=1e-12)
    weighted = cohen_kappa(first, second, weights="quadratic", **QUICK)
    assert weighted.value[0] == pytest.approx(row["weighted_kappa"], abs=1e-12)


def psych_variance(table: np.ndarray, credit: np.ndarray) -> float:
    """What psych 2.2.9 prints: the margins of (3) are summed along the wrong side."""
    shares = table / table.sum()
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    observed, expected = (credit * shares).sum(), (credit * np.outer(rows, columns)).sum()
    margins = columns @ credit
    wrong = (credit * rows[:, None]).sum(axis=1)
    inner = credit * (1 - expected) - (margins[:, None] + wrong) * (1 - observed)
    centre = observed * expected - 2 * expected + observed
    return ((shares * inner**2).sum() - centre**2) / (table.sum() * (1 - expected) ** 4)


@pytest.mark.parametrize("case", CASES)
def test_weighted_variance_where_psych_errs(golden, case: str) -> None:
    row, first, second, times = reference(golden, case)
    pair = Ratings.from_runs([first, second])
    table = np.zeros((len(pair.categories),) * 2)
    np.add.at(table, tuple(pair.codes[0].T), 1.0)
    credit = kappa_weights("quadratic", pair)
    assert times * psych_variance(table, credit) == pytest.approx(row["var_weighted"], rel=1e-9)
    own = kappa_variance(table, credit)
    # numerical derivatives with a step of 1e-6
    assert own == pytest.approx(slow.cohen_variance(table, credit), rel=1e-6)
    found = cohen_kappa(first, second, weights="quadratic", interval="asymptotic", **QUICK)
    assert found.se[0] ** 2 == pytest.approx(own, rel=1e-12)


@pytest.mark.parametrize("weights", ["linear", "quadratic", None])
def test_statsmodels(golden, weights) -> None:
    raters = pytest.importorskip("statsmodels.stats.inter_rater")
    table = np.array([[44, 5, 1], [7, 20, 3], [9, 5, 6]])
    other = raters.cohens_kappa(table, wt=weights)
    found = cohen_kappa(*expanded(table), weights=weights, interval="asymptotic", **QUICK)
    assert found.value[0] == pytest.approx(other.kappa, abs=1e-12)
    assert found.se[0] ** 2 == pytest.approx(other.var_kappa, rel=1e-10)


@pytest.mark.parametrize("case", ["vornish_a", "vornish_b"])
@pytest.mark.parametrize("kind", ["A", "B", "C", "M"])
def test_kappa_of_the_first_two_runs(golden, case: str, kind: str) -> None:
    folder = golden / "metacognition"
    frame = pd.read_csv(folder / f"{case}.csv")
    blocks = json.loads((folder / f"{case}.expected.json").read_text())["blocks"]
    scores = Ratings.from_long(frame[frame["type"] == kind], question="item", value="score")
    found = cohen_kappa(scores.select(runs=[1, 2]), interval="asymptotic", **QUICK)
    for i, model in enumerate(scores.models):
        wanted = blocks[0]["values"][model][kind]["kappa12"]
        if wanted is None:
            assert np.isnan(found.value[i])
            assert found.flags[i] is Reason.SINGLE_VALUE
        else:
            assert found.value[i] == pytest.approx(wanted, abs=1e-9)
        if kind == "C":
            of_r = blocks[1]["values"][model]
            assert found.value[i] == pytest.approx(of_r["kappa12"], abs=1e-6)
            assert found.interval[i] == pytest.approx(of_r["kappa12_ci"], abs=1e-6)


pairs = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=3, max_size=20)
off_diagonals = st.lists(st.floats(0.0, 0.9), min_size=6, max_size=6)


@given(pairs, off_diagonals)
def test_slow_twin(units, off_diagonal) -> None:
    first, second = [a for a, _ in units], [b for _, b in units]
    weights = np.eye(4)
    weights[np.triu_indices(4, 1)] = off_diagonal
    weights += np.triu(weights, 1).T
    if len({*first, *second}) < 2:
        return
    found = cohen_kappa(first, second, weights=weights, categories=range(4), **QUICK)
    wanted = slow.cohen(first, second, weights, range(4))
    assert found.value[0] == pytest.approx(wanted, abs=1e-12)


@given(pairs)
def test_symmetries(units) -> None:
    first, second = np.array(units).T
    options = {**QUICK, "interval": "score"}
    found = cohen_kappa(first, second, **options)
    swapped = cohen_kappa(second, first, **options)
    recoded = cohen_kappa(3 - first, 3 - second, **options)
    for other in (swapped, recoded):
        assert found.value == pytest.approx(other.value, abs=1e-12, nan_ok=True)
        assert found.interval == pytest.approx(other.interval, abs=1e-9, nan_ok=True)


def test_a_panel_is_its_models() -> None:
    rng = np.random.default_rng(0)
    first = rng.integers(3, size=(4, 50))
    second = np.where(
        rng.uniform(size=first.shape) < 0.7, first, rng.integers(3, size=first.shape)
    )
    panel = cohen_kappa(first, second, bootstrap=50, rng=1)
    for row in range(4):
        alone = cohen_kappa(first[row], second[row], bootstrap=50, rng=1)
        assert alone.value[0] == panel.value[row]
        assert (alone.draws[:, 0] == panel.draws[:, row]).all()


def test_labelled_runs_are_put_in_order() -> None:
    first = pd.DataFrame([[1, 2, 2], [1, 1, 2]], index=["a", "b"], columns=["x", "y", "z"])
    second = first.iloc[::-1, [2, 0, 1]]
    assert cohen_kappa(first, second, **QUICK).value.tolist() == [1.0, 1.0]


def test_asymptotic_and_score_standard_errors_agree_in_large_samples() -> None:
    rng = np.random.default_rng(2)
    first = rng.integers(3, size=1500)
    second = np.where(rng.uniform(size=1500) < 0.6, first, rng.integers(3, size=1500))
    score = cohen_kappa(first, second, **QUICK)
    large = cohen_kappa(first, second, interval="asymptotic", **QUICK)
    # 200 blocks: the jackknife's standard error has 5 % noise
    assert score.se == pytest.approx(large.se, rel=0.2)


def test_perfect_agreement() -> None:
    answers = ["a", "b", "c"] * 8
    score = cohen_kappa(answers, answers, **QUICK)
    point = cohen_kappa(answers, answers, interval="asymptotic", **QUICK)
    assert score.flags == point.flags == (Reason.PERFECT_AGREEMENT,)
    assert 0.6 < score.interval[0, 0] < 0.9
    assert point.interval.tolist() == [[1.0, 1.0]]


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        ([1, 1, 1], [1, 1, 1], Reason.SINGLE_VALUE),
        ([1, np.nan, 2], [np.nan, 1, np.nan], Reason.NO_PAIRS),
        ([np.nan] * 3, [np.nan] * 3, Reason.NO_RATINGS),
    ],
)
@pytest.mark.parametrize("interval", ["score", "asymptotic"])
def test_undefined(first, second, reason, interval) -> None:
    found = cohen_kappa(first, second, interval=interval, **QUICK)
    assert found.flags == (reason,)
    assert np.isnan(found.value).all()
    assert np.isnan(found.interval).all()


def test_full_credit_for_everything_that_occurs_is_no_agreement_beyond_chance() -> None:
    weights = np.ones((2, 2))
    found = cohen_kappa([1, 2, 1], [2, 1, 1], weights=weights, **QUICK)
    assert found.flags == (Reason.SINGLE_VALUE,)
    assert np.isnan(found.value).all()


def test_one_question_and_one_varying_question() -> None:
    assert cohen_kappa([1], [2], **QUICK).flags == (Reason.ONE_QUESTION,)
    lone = cohen_kappa([1] * 9 + [2], [1] * 10, **QUICK)
    assert lone.flags == (Reason.FEW_VARY,)
    assert lone.value[0] == pytest.approx(0.0, abs=1e-12)
    assert -1.0 < lone.interval[0, 0] < 0.0 < lone.interval[0, 1] < 1.0
    scored = cohen_kappa([1] * 9 + [2], [1] * 10, interval="score", **QUICK)
    assert scored.flags == (Reason.ONE_VARIES,)
    assert np.isnan(scored.interval).all()


def test_the_usual_category_is_that_of_both_runs() -> None:
    always, mostly = [1] * 17, [1] * 8 + [2] * 9  # nine answers besides the pair (1, 1)
    for runs in ((always, mostly), (mostly, always)):
        assert cohen_kappa(*runs, **QUICK).flags == (Reason.FEW_VARY,)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"weights": "cubic"}, OptionError, "weights='cubic' is not an option"),
        ({"weights": np.eye(3)}, OptionError, "one row and column for each of the 2 categories"),
        ({"weights": [[1, 2], [0, 1]]}, OptionError, "1 on the diagonal"),
        ({"weights": [[0, 1], [1, 0]]}, OptionError, "1 on the diagonal"),
        ({"interval": "wald"}, OptionError, "interval='wald' is not an option"),
        (
            {"interval": "asymptotic", "clusters": [1, 2, 2]},
            OptionError,
            "assumes independent questions",
        ),
        ({"clusters": [1, 2]}, ShapeError, "2 labels for 3 questions"),
    ],
)
def test_options(options, error, message) -> None:
    with pytest.raises(error, match=message):
        cohen_kappa([1, 2, 2], [1, 1, 2], **QUICK, **options)


def test_weights_of_words_need_an_order() -> None:
    first, second = ["low", "high", "mid"], ["low", "mid", "mid"]
    with pytest.raises(OptionError, match="need an order"):
        cohen_kappa(first, second, weights="linear", **QUICK)
    words = cohen_kappa(
        first, second, weights="linear", categories=["low", "mid", "high"], **QUICK
    )
    numbers = cohen_kappa([0, 2, 1], [0, 1, 1], weights="linear", **QUICK)
    assert words.value == numbers.value


def test_two_runs_are_needed() -> None:
    with pytest.raises(ShapeError, match=r"compares two runs, got 3"):
        cohen_kappa([[1, 2], [1, 2], [1, 1]], **QUICK)
    assert cohen_kappa([[1, 2, 2], [1, 1, 2]], **QUICK).value[0] == pytest.approx(0.4)


def test_tables_of_nothing() -> None:
    assert np.isnan(kappa_of(np.zeros((1, 2, 2)), np.eye(2))).all()


def test_clusters_that_hold_the_disagreements_are_few():
    """500 pairs of runs over 15 clusters, one answer in eleven wrong: 90 % held."""
    rng = np.random.default_rng(9)
    codes = np.repeat(np.arange(15), 20)
    ease = 3.0 + rng.standard_normal((500, 15))[:, codes] + 0.9 * rng.standard_normal((500, 300))
    first, second = (rng.random((2, *ease.shape)) < 1.0 / (1.0 + np.exp(-ease))) * 1.0
    many = 3.0 + 1.81**0.5 * np.random.default_rng(0).standard_normal(1_000_000)
    chance = 1.0 / (1.0 + np.exp(-many))
    truth = chance.var() / (chance.mean() * (1.0 - chance.mean()))
    found = cohen_kappa(first, second, clusters=codes, bootstrap=2, rng=0)
    low, high = found.interval[found.defined].T
    assert ((low <= truth) & (truth <= high)).mean() > 0.93


def test_ranks_of_numbers_with_a_gap_are_flagged() -> None:
    first, second = [1, 2, 5, 5, 1, 2] * 5, [1, 2, 5, 2, 2, 1] * 5
    gap = cohen_kappa(first, second, weights="quadratic", **QUICK)
    assert gap.flags == (Reason.UNEQUAL_STEPS,)
    filled = cohen_kappa(first, second, weights="quadratic", categories=range(1, 6), **QUICK)
    assert Reason.UNEQUAL_STEPS not in filled.flags
    assert filled.value[0] != gap.value[0]
    even = cohen_kappa([2 * x for x in [1, 2, 3] * 8], [2, 4, 6] * 8, weights="linear", **QUICK)
    assert Reason.UNEQUAL_STEPS not in even.flags
    assert cohen_kappa(first, second, **QUICK).flags != (Reason.UNEQUAL_STEPS,)
