"""Runs of the same questions: totals, majorities, contrasts of types."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psychollm._base.errors import CodeError
from psychollm.estimates.comparisons import compare_all
from psychollm.estimates.intervals import wilson
from psychollm.estimates.reasons import Reason
from psychollm.reliability.raters.rate_contrast import rate_contrast
from psychollm.reliability.raters.ratings import Ratings
from psychollm.reliability.raters.retest import retest
from tests.oracles import agreement_slow as slow

QUICK = {"bootstrap": 20, "rng": 0}


def test_copies_of_questions_count_once() -> None:
    """Four copies of each question, in clusters, tell what one of each would."""
    runs = np.random.default_rng(3).integers(0, 2, (3, 2, 12)).astype(float)
    clusters = np.repeat(np.arange(12), 4)
    once, copied = (
        retest(runs, **QUICK),
        retest(runs.repeat(4, axis=2), clusters=clusters, **QUICK),
    )
    # Of clusters the variance is estimated; that of single answers is known.
    wider = np.diff(copied.rate.interval) / np.diff(once.rate.interval)
    assert ((wider >= 1.0) & (wider < 1.15)).all()
    assert copied.rate.df == pytest.approx(np.full(2, 11.0))
    gap, again = compare_all(once.rate), compare_all(copied.rate)
    assert again.p_value[0] == pytest.approx(gap.p_value[0], rel=0.05)
    kinds = np.repeat(np.arange(12) % 2, 4)
    contrast = rate_contrast(
        runs.repeat(4, axis=2), kinds, {0: 1.0, 1: -1.0}, clusters=clusters, **QUICK
    )
    assert contrast.df == pytest.approx(np.full(2, 11.0))


def reference(golden, case: str) -> tuple[pd.DataFrame, list[dict]]:
    folder = golden / "metacognition"
    blocks = json.loads((folder / f"{case}.expected.json").read_text())["blocks"]
    return pd.read_csv(folder / f"{case}.csv"), [block["values"] for block in blocks]


@pytest.mark.parametrize("case", ["vornish_a", "vornish_b"])
@pytest.mark.parametrize("kind", ["A", "B", "C", "M"])
def test_reference_values(golden, case: str, kind: str) -> None:
    frame, (values, of_r) = reference(golden, case)
    scores = Ratings.from_long(frame[frame["type"] == kind], question="item", value="score")
    found = retest(scores, **QUICK)
    pooled = wilson(found.totals.sum(axis=1), found.n.sum(axis=1))
    for i, model in enumerate(found.labels):
        wanted = values[model][kind]
        assert found.rate.value[i] == pytest.approx(wanted["rate"], abs=1e-9)
        assert found.majority.value[i] == pytest.approx(wanted["majority_rate"], abs=1e-9)
        assert found.rates[i] == pytest.approx(wanted["per_run"], abs=1e-9)
        assert found.intervals[i, 0] == pytest.approx(wanted["wilson_run1"], abs=1e-9)
        assert pooled[i] == pytest.approx(wanted["wilson_pooled"], abs=1e-9)
        if kind == "C":
            run = of_r[model]["wilson_items_run1"]
            assert [found.rates[i, 0], *found.intervals[i, 0]] == pytest.approx(run, abs=1e-6)
            assert found.rate.value[i] == pytest.approx(of_r[model]["rate"], abs=1e-6)


scored = st.lists(
    st.lists(st.sampled_from([0, 1, None]), min_size=4, max_size=4), min_size=2, max_size=12
)


@given(scored)
def test_majorities_against_their_twin(table) -> None:
    if not any(value is not None for unit in table for value in unit):
        return
    found = retest(np.array(table, dtype=float), **QUICK)
    assert found.majority.value[0] == pytest.approx(slow.majority(table), abs=1e-12)
    known = [value for unit in table for value in unit if value is not None]
    assert found.rate.value[0] == pytest.approx(np.mean(known), abs=1e-12)
    assert found.totals[0].sum() == sum(known)


def simulated(n: int, seed: int, models: int = 3) -> np.ndarray:
    rng = np.random.default_rng(seed)
    rate = rng.beta(0.6, 0.4, size=(models, n))
    return (rng.uniform(size=(3, models, n)) < rate).astype(float)


def test_one_run_has_wilsons_interval() -> None:
    runs = simulated(40, 0)[:1]
    found = retest(runs, **QUICK)
    assert found.rate.interval == pytest.approx(wilson(runs[0].sum(axis=1), 40.0), abs=1e-12)
    assert found.rate.interval == pytest.approx(found.intervals[:, 0], abs=1e-12)


def test_runs_that_repeat_each_other_add_nothing() -> None:
    runs = np.repeat(simulated(40, 1)[:1], 3, axis=0)
    found = retest(runs, **QUICK)
    assert found.rate.interval == pytest.approx(wilson(runs[0].sum(axis=1), 40.0), abs=1e-12)


def test_independent_runs_count_as_answers() -> None:
    rng = np.random.default_rng(2)
    runs = (rng.uniform(size=(3, 1, 2000)) < 0.5).astype(float)
    width = np.diff(retest(runs, **QUICK).rate.interval)[0, 0]
    # 6000 answers, whose effective number is estimated within a few per cent
    assert width == pytest.approx(np.diff(wilson(3000, 6000))[0], rel=0.05)


def test_a_label_flip_mirrors_rates() -> None:
    runs = simulated(30, 3)
    found, flipped = retest(runs, **QUICK), retest(1 - runs, **QUICK)
    assert found.rate.value == pytest.approx(1 - flipped.rate.value)
    assert found.rate.interval == pytest.approx(1 - flipped.rate.interval[:, ::-1])
    assert found.majority.interval == pytest.approx(1 - flipped.majority.interval[:, ::-1])


def test_silent_models_and_runs() -> None:
    runs = simulated(20, 4)
    runs[:, 1] = np.nan
    runs[2, 0] = np.nan
    found = retest(runs, **QUICK)
    assert found.rate.flags == (Reason.NONE, Reason.NO_RATINGS, Reason.NONE)
    assert np.isnan(found.rate.value[1])
    assert np.isnan(found.rates[0, 2])
    lines = found.summary().splitlines()
    assert "over 2 runs" in lines[0]
    assert lines[1] == f"1: {Reason.NO_RATINGS}"
    assert len(found.to_frame()) == 9


def test_scores_lie_between_nothing_and_one() -> None:
    with pytest.raises(CodeError, match="scores contain 2, but must be inside"):
        retest([[1, 2], [0, 1]], **QUICK)
    with pytest.raises(CodeError, match="category 'yes' is not a number"):
        retest([["yes", "yes"], ["yes", "yes"]], **QUICK)


def test_order_and_labels_change_nothing() -> None:
    runs = simulated(30, 5)
    kinds = np.array(list("AABBCC") * 5)
    order = np.random.default_rng(0).permutation(30)
    weights = {"C": 1.0, "A": -1.0}
    found = rate_contrast(runs, kinds, weights, **QUICK)
    moved = rate_contrast(runs[:, :, order], kinds[order], weights, **QUICK)
    assert found.value == pytest.approx(moved.value, abs=1e-12)
    assert found.interval == pytest.approx(moved.interval, abs=1e-12)
    turned = rate_contrast(runs, kinds, {"C": -1.0, "A": 1.0}, **QUICK)
    assert found.interval == pytest.approx(-turned.interval[:, ::-1], abs=1e-12)
