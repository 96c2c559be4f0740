"""Banks: what they choose, how they read answers, and that they are saved whole."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import psychollm as psy
from psychollm._base.errors import CodeError, LabelError, OptionError, ShapeError
from psychollm.bank import ItemBank


def test_it_describes_itself(bank: ItemBank) -> None:
    text = bank.summary()
    assert bank.digest in text
    assert "600 questions, 2 domains, 40 models" in text
    assert bank.predictor in text
    errors = bank.calibration.squared_error
    assert errors[1] < 0.9 * errors[0]  # abilities predict better than means do
    assert len(bank.to_frame()) == 600


def test_saved_and_loaded(bank: ItemBank, answers: np.ndarray, tmp_path: Path) -> None:
    again = psy.load(bank.save(tmp_path / "bank.psy"))
    assert isinstance(again, ItemBank)
    assert again.digest == bank.digest
    asked = {q: answers[50, q] for q in range(80)}
    np.testing.assert_array_equal(
        again.full_score(asked).interval, bank.full_score(asked).interval
    )


def test_forms_of_answers(bank: ItemBank, answers: np.ndarray) -> None:
    asked = list(range(0, 600, 6))
    mapping = {q: answers[50, q] for q in asked}
    score = bank.full_score(mapping)
    as_series = bank.full_score(pd.Series(mapping, name="new"))
    table = pd.DataFrame(answers[50:53][:, asked], index=["a", "b", "c"], columns=asked)
    as_table = bank.full_score(table)
    as_responses = bank.full_score(psy.Responses(table.astype(int)))
    assert as_series.labels == ("new",)
    assert as_table.labels == as_responses.labels == ("a", "b", "c")
    for other in (as_series, as_table, as_responses):
        assert other.value[0] == pytest.approx(score.value[0])
    assert as_table.interval.shape == (3, 2)
    assert score.used == "model"
    assert score.flags[0].name == "NOT_DRAWN"
    drawn = bank.full_score(mapping, drawn="random")
    assert drawn.used == "assisted"
    assert not drawn.flags[0]
    assert "valid for any model" in drawn.summary()


def test_domains(bank: ItemBank, answers: np.ndarray) -> None:
    session = bank.session(size=200, rng=1)
    for question in session.next(200):
        session.record(question, answers[50, question])
    for domain, where in (("arithmetic", slice(0, 200)), ("history", slice(200, 600))):
        score = session.estimate(domain=domain)
        assert score.n_questions == where.stop - where.start
        truth = answers[50, where].mean()
        assert abs(score.value[0] - truth) < 4 * score.se[0]
    with pytest.raises(LabelError, match="domain 'art' is not in the bank"):
        session.estimate(domain="art")


def test_partial_credit(answers: np.ndarray) -> None:
    half = np.where(answers > 0, 1.0, 0.5)
    bank = psy.item_bank(half[:40], rng=1)
    score = bank.full_score(dict(enumerate(half[50, :100])), drawn="random")
    assert abs(score.value[0] - half[50].mean()) < 4 * score.se[0]
    assert score.se[0] < 0.04


def test_plan_is_kept(bank: ItemBank, answers: np.ndarray) -> None:
    plan = bank.plan(half_width=0.06, sizes=(60, 100, 5000))
    assert tuple(plan.sizes) == (60, 100)
    assert (plan.half_widths[:, 0] > plan.half_widths[:, 1]).all()
    widths = []
    for row in answers[40:]:
        session = bank.session(size=100, rng=1)
        while not session.done:
            for question in session.next(10):
                session.record(question, row[question])
        widths.append(np.ptp(session.estimate().interval) / 2)
    assert np.mean(widths) == pytest.approx(plan.half_widths[:, 1].mean(), rel=0.15)
    assert "of 600 questions" in plan.summary()
    assert "(median model of the bank: " in plan.summary()


def test_errors(bank: ItemBank, answers: np.ndarray) -> None:
    with pytest.raises(ShapeError, match="3 models and 600 questions"):
        psy.item_bank(answers[:3])
    with pytest.raises(CodeError, match="between 0 and 1"):
        psy.item_bank(answers[:10] * 2)
    with pytest.raises(ShapeError, match="nobody answered"):
        psy.item_bank(np.where(np.arange(600) == 7, np.nan, answers[:10]))
    with pytest.raises(ShapeError, match="only one family"):
        psy.item_bank(answers[:10], families=["a"] * 10)
    with pytest.raises(LabelError, match="families has no entry"):
        psy.item_bank(answers[:10], families={0: "a"})
    with pytest.raises(LabelError, match="not in the bank"):
        bank.full_score({"q": 1})
    with pytest.raises(CodeError, match=r"model 'model' has 2 on question 0"):
        bank.full_score({0: 2})
    with pytest.raises(CodeError, match="numbers from 0 to 1"):
        bank.full_score({0: "yes"})
    with pytest.raises(OptionError, match="known inclusion probabilities"):
        bank.full_score({0: 1}, method="assisted")


@pytest.mark.parametrize("score", [0.0, 0.5, 1.0, np.nan])
def test_a_saturated_table_is_one_error(score: float) -> None:
    scores = np.full((10, 40), score)
    if np.isnan(score):  # right where there is an answer
        scores = np.where(np.arange(40) % 10 == np.arange(10)[:, None], np.nan, 1.0)
    with pytest.raises(ShapeError, match=r"every score is [\d.]+: calibration needs"):
        psy.item_bank(scores, rng=1)


def test_a_table_that_hardly_varies_makes_a_bank() -> None:
    """One wrong answer, models that differ alone, questions that differ alone."""
    one, models = np.ones((10, 40)), np.tile(np.arange(10.0)[:, None] % 2, 40)
    one[0, 0] = 0.0
    questions = np.tile(np.arange(40.0) % 2, (10, 1))
    for scores in (one, models, questions):
        session = psy.item_bank(scores, rng=1).session(size=20, rng=1)
        for question in session.next(20):
            session.record(question, scores[1, question])
        low, high = session.estimate().interval[0]
        assert low <= scores[1].mean() <= high
