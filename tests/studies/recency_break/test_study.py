"""Questions published later: breaks are found, harder questions are none, odd input is told."""

import numpy as np
import pandas as pd
import pytest

import psychollm as psy
from psychollm._base.errors import LabelError, OptionError, ShapeError
from psychollm.estimates.reasons import Reason
from psychollm.studies.recency_break.difference import (
    Breaks,
    Unit,
    difficulty_of,
    means_of_lineages,
)
from tests.studies.recency_break.seen import CUT, drawn


@pytest.fixture(scope="module")
def seen():
    """Eight models of which the first has seen the earlier questions."""
    scores, dates = drawn(np.random.default_rng(3), seen=2.5)
    return scores, dates, psy.recency_break(scores, published=dates, cutoff=CUT, n_null=199, rng=1)


def test_harder_questions_alone_do_not_alarm():
    scores, dates = drawn(np.random.default_rng(6), harder=2.0)
    found = psy.recency_break(scores, published=dates, cutoff=CUT, n_null=99, rng=1)
    assert found.alarms == ()
    assert "Scores on recent questions are not significantly lower" in found.summary()


def test_the_date_is_found_where_none_is_given(seen):
    scores, dates, known = seen
    found = psy.recency_break(scores, published=dates, n_null=99, rng=1)
    assert found.alarms == ("m0",)
    gap = found.to_frame().loc[0, "cutoff"] - pd.Timestamp(CUT)
    assert abs(gap) < pd.Timedelta(days=40)
    assert found.by_model.change.flags[0] == Reason.DATE_SEARCHED
    assert found.by_model.z[0] <= known.by_model.z[0]
    assert found.adjusted[0] >= known.adjusted[0]


def test_statistics_are_those_of_least_squares():
    rng = np.random.default_rng(2)
    values = rng.normal(size=(4, 60))
    values[3, 5] = np.nan
    day = np.sort(rng.integers(0, 50, 60)).astype(float)
    difficulty, reliability = difficulty_of(values[1:])
    found = Breaks([Unit(values[0], difficulty, 1.0)], day, np.array([25.0]))
    z = difficulty - difficulty.mean()
    after = (day > 25).astype(float)
    design = np.stack([z**0, z, z**2, z**3, after], axis=1)
    expected = np.linalg.lstsq(design, values[0], rcond=None)[0][-1]
    value, interval, raw, sides = found.fitted(0, 0, 0.95)
    assert value == pytest.approx(expected)
    assert interval.mean() == pytest.approx(expected)
    assert raw == pytest.approx(values[0][after > 0].mean() - values[0][after == 0].mean())
    assert sides.sum() == 60
    plain = design[:, :4]
    rest = after - plain @ np.linalg.lstsq(plain, after, rcond=None)[0]
    left = values[0] - plain @ np.linalg.lstsq(plain, values[0], rcond=None)[0]
    null = (rest @ left) / np.sqrt((rest**2) @ (left**2))
    assert found.z()[0, 0] == pytest.approx(null)
    order = rng.permutation(60)
    again = Breaks([Unit(values[0], difficulty, 1.0)], day[order], np.array([25.0]))
    assert found.z(order)[0, 0] == pytest.approx(again.z()[0, 0])
    assert 0.2 <= reliability <= 1.0


def test_difficulty_of_a_complete_table_is_the_mean_and_its_reliability_is_alpha():
    rng = np.random.default_rng(0)
    values = rng.normal(size=30) + 0.7 * rng.normal(size=(5, 30))
    question, reliability = difficulty_of(values)
    assert question == pytest.approx(values.mean(axis=0))
    alpha = 5 / 4 * (1 - values.var(axis=1, ddof=1).sum() / values.sum(axis=0).var(ddof=1))
    assert reliability == pytest.approx(alpha, abs=0.02)
    lineage = np.array([0, 0, 1, 2, 2])
    assert means_of_lineages(values, lineage)[1] == pytest.approx(values[2])


def test_a_lineage_counts_once_and_its_latest_cutoff_holds(seen):
    scores, dates, _ = seen
    family = ["a", "a", "b", "b", "c", "c", "d", "d"]
    cutoff = {"m0": CUT, "m1": "2024-05-01", "m2": "2023-01-01", "m4": CUT}
    found = psy.recency_break(
        scores, published=dates, cutoff=cutoff, families=family, n_null=99, rng=1
    )
    assert found.lineages == ("a", "b", "c", "d")
    frame = found.lineages_frame()
    assert frame.loc[0, "cutoff"] == pd.Timestamp(CUT)
    assert found.by_lineage.change.flags[1] == Reason.ONE_SIDE
    assert found.by_lineage.change.flags[3] == Reason.NO_DATE
    assert np.isnan(found.adjusted[[1, 3]]).all()
    assert found.by_model.change.flags[3] == Reason.NO_DATE
    assert len(found.to_frame()) == 8
    assert "of 4 lineages" in found.summary()


def test_gaps_scales_and_order_leave_the_result_alone(seen):
    scores, dates, found = seen
    again = psy.recency_break(
        scores * 100.0, published=dates[::-1], cutoff=[CUT] * 8, n_null=199, rng=1
    )
    assert again.by_model.change.value == pytest.approx(100 * found.by_model.change.value)
    assert again.by_model.z == pytest.approx(found.by_model.z)
    gaps = scores.astype(float)
    gaps.iloc[0, ::7] = np.nan
    gaps.iloc[5] = np.nan
    held = dates.copy()
    held.iloc[:3] = pd.NaT
    left = psy.recency_break(gaps, published=held, cutoff=CUT, n_null=99, rng=1)
    assert left.n_questions == 237
    assert left.alarms == ("m0",)
    assert left.by_model.change.flags[5] == Reason.ONE_SIDE
    constant = scores.copy()
    constant.iloc[4] = 0
    none = psy.recency_break(constant, published=dates, cutoff=CUT, n_null=99, rng=1)
    assert none.by_model.change.flags[4] == Reason.CONSTANT


def test_errors_name_the_argument_and_the_label(seen):
    scores, dates, _ = seen
    with pytest.raises(LabelError, match="published: question 'q0' has 'soon', which is not a da"):
        psy.recency_break(scores, published={**dates.astype(str), "q0": "soon"}, rng=1)
    with pytest.raises(LabelError, match="cutoff"):
        psy.recency_break(scores, published=dates, cutoff=2024, rng=1)
    with pytest.raises(ShapeError, match="2 lineages of models"):
        psy.recency_break(scores, published=dates, families=list("aaaabbbb"), rng=1)
    with pytest.raises(ShapeError, match="published: 10 questions have a date and a score"):
        psy.recency_break(scores.iloc[:, :10], published=dates.iloc[:10], rng=1)
    with pytest.raises(OptionError, match="n_null"):
        psy.recency_break(scores, published=dates, n_null=3, rng=1)
