"""What the study of raters says, in words and tables."""

import numpy as np
import pytest

import psychollm as psy
from psychollm.estimates.verdict import Outcome

SEVERITY = np.array([-1.5, 0.0, 0.0, 1.5])


@pytest.fixture(scope="module")
def found():
    """Four raters, of whom the first is mild and the last harsh, with time and groups."""
    rng = np.random.default_rng(1)
    quality, group = rng.standard_normal((120, 1)), np.repeat(["x", "y"], 60)
    z = 2.0 * quality - SEVERITY
    table = (z + rng.logistic(size=z.shape) > 0).astype(int)
    return psy.rater_severity(table, time=np.arange(120), group=group, rng=1)


def test_the_verdict_counts_raters_apart_from_the_average(found):
    assert found.verdict.startswith("3 is the harshest rater and ")
    assert "1 of 4 raters rates higher than the average, and 1 (3) rates lower" in found.verdict
    assert found.outcomes().outcomes[0] is Outcome.ABOVE
    assert found.outcomes().outcomes[3] is Outcome.BELOW


def test_every_table_has_its_rows(found):
    tables = found.tables()
    assert [*tables] == ["raters", "things", "drift", "interaction"]
    assert len(tables["raters"]) == 4
    assert len(tables["things"]) == 120
    assert {"raw", "value", "lower", "upper"} <= set(tables["things"])
    assert len(tables["interaction"]) == 8


def test_dropping_a_rater_costs_reliability_and_turns_things(found):
    assert (found.reliability_without < found.reliability).all()
    assert found.turned[3] > found.turned[1]
    assert "without 3: reliability 0." in found.summary()


def test_corrected_ratings_lie_within_their_intervals(found):
    low, high = found.things.interval.T
    assert ((low <= found.things.value) & (found.things.value <= high)).all()
    assert np.corrcoef(found.things.value, found.raw_things)[0, 1] > 0.95


def test_many_raters_are_listed_at_both_ends():
    rng = np.random.default_rng(1)
    z = 1.5 * rng.standard_normal((60, 1)) - np.linspace(-1, 1, 14)
    many = psy.rater_severity((z + rng.logistic(size=z.shape) > 0).astype(int), rng=1)
    assert "4 more raters are in the table of raters" in many.findings().text()
