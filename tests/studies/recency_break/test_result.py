"""What recency shows: the table, the page."""

import numpy as np
import pytest

import psychollm as psy
from tests.studies.recency_break.seen import CUT, drawn


@pytest.fixture(scope="module")
def seen():
    """Eight models of which the first has seen the earlier questions."""
    scores, dates = drawn(np.random.default_rng(3), seen=2.5)
    return scores, dates, psy.recency_break(scores, published=dates, cutoff=CUT, n_null=199, rng=1)


def test_the_model_that_has_seen_the_questions_alarms_alone(seen):
    scores, _, found = seen
    assert found.alarms == ("m0",)
    frame = found.to_frame()
    assert [*frame] == [
        "model", "lineage", "cutoff", "change", "lower", "upper", "raw", "expected", "before",
        "after", "z", "p_value", "adjusted", "alarm", "flag",
    ]  # fmt: skip
    assert frame.loc[0, "upper"] < 0
    assert frame["alarm"].tolist() == [True, *[False] * 7]
    # Later questions are harder, so that every model drops.
    assert (frame["raw"] < 0).sum() >= 6
    assert "in 1 of 8 tested models: m0 (change -" in " ".join(found.summary().split())
    assert frame["raw"].to_numpy() == pytest.approx(
        (frame["change"] + frame["expected"]).to_numpy()
    )
    assert found.by_model.before[0] + found.by_model.after[0] == scores.shape[1]


def test_the_page_shows_changes(seen, tmp_path):
    path = tmp_path / "page.html"
    seen[2].report(path)
    assert "Have models seen the questions?" in path.read_text(encoding="utf-8")
