"""Shared confidence by groups of questions: verdicts, the test over all, tables and page."""

import json

import numpy as np
import pytest

import psychollm as psy
from psychollm._base.errors import LabelError, ShapeError
from psychollm.estimates.verdict import Outcome
from tests.factor.one_factor.test_common_loadings import LOADINGS, drawn

OPTIONS = {"n_null": 39, "bootstrap": 40, "rng": 1}


@pytest.fixture(scope="module")
def each():
    """Facts and code, a factor in each; of the third group hardly anything is known."""
    said = np.hstack([drawn(LOADINGS, 500, 1), drawn(LOADINGS[::-1], 500, 2), np.ones((8, 20))])
    right = (np.random.default_rng(3).random(said.shape) < 0.4 + 0.3 * said).astype(int)
    domain = np.repeat(["facts", "code", "sums"], [500, 500, 20])
    return psy.shared_confidence_by(said, right, domain, **OPTIONS)


def test_a_factor_in_each_group_is_told(each):
    found = each.findings()
    assert found.items[0].outcome is Outcome.ABOVE
    assert "different factors in the groups (facts and code)" in found.verdict
    assert each.results["facts"].findings().verdict == found["group facts"].statement


def test_a_group_that_cannot_be_studied_says_why(each):
    assert list(each.results) == ["facts", "code"]
    assert "Not studied: confidence: 0 of 8 models" in each.findings()["group sums"].statement
    assert each.to_frame()["reason"].str.len().gt(0).tolist() == [False, False, True]


def test_each_group_is_the_study_of_its_questions(each):
    assert each.results["code"].n_questions == 500
    assert set(each.tables()) == {"groups", "models", "loadings", "pairs"}
    assert len(each.tables()["loadings"]) == 16
    assert json.loads(each.findings().to_json())["items"][0]["numbers"]["p"] < 0.05


def test_the_page_shows_loadings_and_groups(each, tmp_path):
    text = each.report(tmp_path / "page.html").read_text(encoding="utf-8")
    for words in ("Does one factor fit all groups?", "Groups of questions", "facts, code"):
        assert words in text


def test_one_factor_over_all_groups():
    said = np.hstack([drawn(LOADINGS, 2500, 1), drawn(LOADINGS, 2500, 2, mean=-0.3)])
    right = (np.random.default_rng(3).random(said.shape) < 0.5).astype(int)
    found = psy.shared_confidence_by(said, right, np.arange(5000) // 2500, **OPTIONS)
    assert found.findings().verdict.startswith("One factor fits all groups (0 and 1)")
    assert found.congruence > 0.98


def test_groups_that_do_not_fit_are_refused():
    said = drawn(LOADINGS, 60, 1)
    with pytest.raises(LabelError, match="only one label"):
        psy.shared_confidence_by(said, said, ["a"] * 60)
    with pytest.raises(ShapeError, match="no group can be studied"):
        psy.shared_confidence_by(said[:3], said[:3], ["a", "b"] * 30, **OPTIONS)
