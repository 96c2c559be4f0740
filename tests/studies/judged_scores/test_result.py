"""What is said of judged scores: table, remarks, page, families."""

import numpy as np
import pytest

from psychollm._base.errors import LabelError
from psychollm.estimates.reasons import Reason
from psychollm.studies.judged_scores.study import judged_scores
from tests.studies.judged_scores.tables import tables


@pytest.fixture(scope="module")
def found():
    _, judge, people = tables()
    return judged_scores(judge, people, rng=1)


def test_the_table_has_the_columns_that_programs_call(found) -> None:
    assert found.to_frame().columns.tolist() == [
        "model", "score", "lower", "upper", "raw", "bias", "n_labels",
    ]  # fmt: skip
    assert found.to_frame()["n_labels"].tolist() == [60, 60, 60]


def test_a_judge_that_errs_differently_from_model_to_model_is_named() -> None:
    truth, _, people = tables(n=120)
    rng = np.random.default_rng(1)
    lenient = truth.where(rng.random(truth.shape) >= np.array([[0.0], [0.0], [0.8]]), 1.0)
    found = judged_scores(lenient, people, rng=1)
    assert found.errs_differently.tolist() == [False, True, True]
    assert "bias differs between models in 2 of 3 pairs" in " ".join(found.remarks)
    assert "too lenient with c" in found.summary()
    assert not judged_scores(truth, people, rng=1).errs_differently.any()


def test_without_labels_there_is_a_raw_score_and_a_reason() -> None:
    _, judge, people = tables()
    none = judged_scores(judge, people * np.nan, rng=1)
    assert np.isnan(none.score.value).all()
    assert set(none.score.flags) == {Reason.NO_LABELS}
    assert none.raw.value == pytest.approx(judge.mean(axis=1))
    assert "cannot be corrected" in none.summary()
    assert none.plan(half_width=0.05).equal == pytest.approx([169.0] * 3, abs=5)
    some = judged_scores(judge, people.drop(index="b"), rng=1)
    assert np.isnan(some.to_frame()["score"]).tolist() == [False, True, False]
    assert some.tier.tolist() == [1, 0, 2]
    assert np.isnan(some.differences.value).tolist() == [True, False, True]


def test_families_are_compared() -> None:
    truth, _, people = tables(n=100)
    rng = np.random.default_rng(0)
    kind = truth.where(rng.random(truth.shape) >= np.array([[0.0], [0.0], [0.7]]), 1.0)
    found = judged_scores(kind, people, families=["x", "x", "y"], rng=1)
    assert found.family_bias.labels == ("x", "y")
    assert found.family_bias.value[0] == pytest.approx(found.bias.value[:2].mean())
    assert "Yes, in 1 of 1 pairs" in found.summary()
    with pytest.raises(LabelError, match="has only one family"):
        judged_scores(kind, people, families=["x"] * 3)


def test_a_page_says_what_people_would_say(found, tmp_path) -> None:
    page = found.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Scores by the judge and by people" in page
    assert found.summary().count("\n") < 20
