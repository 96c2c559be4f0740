"""Krippendorff's alpha against published values, the package of that name, and its slow twin."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psychollm._base.errors import CodeError, OptionError
from psychollm.estimates.reasons import Reason
from psychollm.reliability.raters.agreement import krippendorff_alpha
from psychollm.reliability.raters.ratings import Ratings
from tests.oracles import agreement_slow as slow

QUICK = {"bootstrap": 20, "rng": 0}
METRICS = ["nominal", "ordinal", "interval", "ratio"]


def expected(golden, case: str) -> list[dict]:
    path = golden / "metacognition" / f"{case}.expected.json"
    return json.loads(path.read_text())["blocks"]


@pytest.mark.parametrize("metric", METRICS)
def test_published_example(golden, metric: str) -> None:
    data = pd.read_csv(golden / "metacognition" / "krippendorff2011.csv").to_numpy().T
    (block,) = expected(golden, "krippendorff2011")
    found = krippendorff_alpha(data, metric=metric, **QUICK)
    assert found.value[0] == pytest.approx(block["values"][metric], abs=block["tol"])
    published = {"nominal": 0.743, "ordinal": 0.815, "interval": 0.849, "ratio": 0.797}
    assert round(found.value[0], 3) == published[metric]


@pytest.mark.parametrize("case", ["gses_a", "gses_b"])
@pytest.mark.parametrize("condition", ["none", "comp", "social", "summ"])
def test_items_over_repetitions(golden, case: str, condition: str) -> None:
    frame = pd.read_csv(golden / "metacognition" / f"{case}.csv")
    long = frame[frame["condition"] == condition].melt(
        ["model", "condition", "rep"], var_name="item", value_name="response"
    )
    long["unit"] = long["model"] + "/" + long["item"]
    ratings = Ratings.from_long(long, model=None, question="unit", run="rep")
    wanted = expected(golden, case)[1]["values"][condition]
    for metric, key in (
        ("ordinal", "krippendorff_ordinal_items_over_reps"),
        ("interval", "krippendorff_interval"),
    ):
        found = krippendorff_alpha(ratings, metric=metric, **QUICK)
        assert found.value[0] == pytest.approx(wanted[key], abs=1e-9)


tables = st.lists(
    st.lists(st.sampled_from([0, 1, 2, 4, 7, None]), min_size=3, max_size=3),
    min_size=2,
    max_size=10,
)


@pytest.mark.parametrize("metric", METRICS)
@given(table=tables)
def test_slow_twin(metric: str, table) -> None:
    values = {value for unit in slow.rated(table) for value in unit}
    found = krippendorff_alpha(Ratings.from_table(table), metric=metric, **QUICK)
    if len(values) < 2:
        assert np.isnan(found.value).all()
        return
    assert found.value[0] == pytest.approx(slow.krippendorff(table, metric), abs=1e-12)


@pytest.mark.parametrize("metric", METRICS)
@given(table=tables, counts=st.lists(st.integers(0, 3), min_size=10, max_size=10))
def test_a_resample_is_the_table_with_its_units_repeated(metric: str, table, counts) -> None:
    from psychollm.reliability.raters.chance_corrected import Summation, krippendorff, unit_tables

    counts = counts[: len(table)]
    repeated = [unit for unit, times in zip(table, counts, strict=True) for _ in range(times)]
    if len({value for unit in slow.rated(repeated) for value in unit}) < 2:
        return
    ratings = Ratings.from_table(table)
    table, alpha = unit_tables(ratings)[0], krippendorff(ratings, metric)
    units = alpha.disagreement(table) if alpha.disagreement else None
    found = alpha.value(Summation(table, units).of(np.array([counts], float)))
    assert found[0] == pytest.approx(slow.krippendorff(repeated, metric), abs=1e-12)


@pytest.mark.parametrize("metric", METRICS)
def test_the_package_of_that_name(metric: str) -> None:
    package = pytest.importorskip("krippendorff")
    rng = np.random.default_rng(0)
    data = rng.integers(1, 6, size=(40, 4)) + rng.integers(0, 2, size=(40, 1)) * 3.0
    data[rng.uniform(size=data.shape) < 0.2] = np.nan
    found = krippendorff_alpha(data, metric=metric, **QUICK)
    other = package.alpha(reliability_data=data.T, level_of_measurement=metric)
    assert found.value[0] == pytest.approx(other, abs=1e-12)


@given(table=tables, shift=st.floats(-1e6, 1e6), scale=st.floats(0.1, 50.0))
def test_invariance(table, shift: float, scale: float) -> None:
    array = np.array(table, dtype=float)
    linear = array * scale + shift
    original = krippendorff_alpha(array, metric="interval", **QUICK)
    moved = krippendorff_alpha(linear, metric="interval", **QUICK)
    # values near 1e6 leave ten digits of a difference of one
    assert moved.value == pytest.approx(original.value, abs=1e-6, nan_ok=True)
    ordinal = krippendorff_alpha(array, metric="ordinal", **QUICK)
    curved = krippendorff_alpha(np.exp(array), metric="ordinal", **QUICK)
    assert curved.value == pytest.approx(ordinal.value, abs=1e-12, nan_ok=True)
    ratio = krippendorff_alpha(array, metric="ratio", **QUICK)
    scaled = krippendorff_alpha(array * scale, metric="ratio", **QUICK)
    assert scaled.value == pytest.approx(ratio.value, abs=1e-10, nan_ok=True)


def test_equal_values_that_do_not_add_up_exactly() -> None:
    found = krippendorff_alpha(np.full((7, 3), 0.1), metric="interval", **QUICK)
    assert np.isnan(found.value).all()


def test_ordinal_words_need_an_order() -> None:
    table = [["low", "mid", "high"], ["low", "high", "high"]]
    with pytest.raises(OptionError, match=r"needs an order of the categories .*categories="):
        krippendorff_alpha(table, metric="ordinal", **QUICK)
    words = krippendorff_alpha(table, metric="ordinal", categories=["low", "mid", "high"], **QUICK)
    numbers = krippendorff_alpha([[0, 1, 2], [0, 2, 2]], metric="ordinal", **QUICK)
    assert words.value == numbers.value


@pytest.mark.parametrize("metric", ["interval", "ratio"])
def test_words_have_no_distances(metric: str) -> None:
    with pytest.raises(CodeError, match="category 'a' is not a number"):
        krippendorff_alpha([["a", "b"], ["b", "b"]], metric=metric, **QUICK)


def test_ratios_need_a_true_zero() -> None:
    with pytest.raises(CodeError, match=r"category -1 is negative"):
        krippendorff_alpha([[-1, 1], [2, 1]], metric="ratio", **QUICK)


def test_unknown_metrics_are_named() -> None:
    with pytest.raises(OptionError, match=r"metric='cardinal' is not an option"):
        krippendorff_alpha([[1, 1], [2, 1]], metric="cardinal", **QUICK)


def test_rare_categories_far_apart_widen_or_flag():
    # Answers 0 to 3, the last three rare: 120 x 3. Before, .81 of intervals without a flag held.
    law, rng = np.array([0.94, 0.03, 0.02, 0.01]), np.random.default_rng(0)
    edges = rng.dirichlet(law, size=(200, 120)).cumsum(axis=-1)
    runs = (rng.uniform(size=(3, 200, 120, 1)) > edges[..., :-1]).sum(axis=-1)
    found = krippendorff_alpha(runs, metric="interval", bootstrap=2, rng=0)
    held = (found.interval[:, 0] <= 0.5) & (found.interval[:, 1] >= 0.5)
    flagged = np.array([bool(flag) for flag in found.flags])
    assert held.mean() > 0.88
    assert flagged.mean() > 0.9


def test_frequent_categories_are_not_flagged():
    rng = np.random.default_rng(1)
    data = rng.integers(0, 4, size=(120, 1)) + rng.integers(0, 2, size=(120, 3))
    assert krippendorff_alpha(data, metric="interval", **QUICK).flags == (Reason.NONE,)
