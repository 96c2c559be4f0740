"""Sessions: what is drawn, what is recorded, when they end, and that they can be resumed."""

from pathlib import Path

import numpy as np
import pytest

from psychollm._base.errors import CodeError, InputError, LabelError, OptionError
from psychollm.bank import ItemBank, Session


def run(session: Session, row: np.ndarray, k: int = 1) -> Session:
    while not session.done:
        for question in session.next(k):
            session.record(question, row[question])
    return session


def test_same_seed_same_questions(bank: ItemBank, answers: np.ndarray) -> None:
    one, two = (run(bank.session(size=60, rng=5), answers[50]) for _ in range(2))
    assert one.asked == two.asked
    assert len(set(one.asked)) == 60
    np.testing.assert_array_equal(one.estimate().interval, two.estimate().interval)
    assert run(bank.session(size=60, rng=6), answers[50]).asked != one.asked


def test_stops_when_narrow_enough(bank: ItemBank, answers: np.ndarray) -> None:
    session = run(bank.session(half_width=0.06, rng=1), answers[45])
    low, high = session.estimate().interval[0]
    assert (high - low) / 2 <= 0.06
    assert 20 <= len(session.asked) < 600
    assert session.why == "the margin of error is at most 0.06"
    assert session.next() == ()


def test_stops_when_decided(bank: ItemBank, answers: np.ndarray) -> None:
    row = answers[41 + answers[41:].mean(axis=1).argmax()]
    session = run(bank.session(better_than=0.2, rng=1), row)
    assert session.why == "the score is significantly above 0.2"
    fixed = bank.session(size=len(session.asked), rng=1)
    for question in fixed.next(len(session.asked)):
        fixed.record(question, row[question])
    width, narrow = (np.ptp(s.estimate().interval) for s in (session, fixed))
    assert width > 1.2 * narrow  # it holds at all times at once


def test_all_questions_give_the_score(bank: ItemBank, answers: np.ndarray) -> None:
    session = run(bank.session(rng=1), answers[55], k=200)
    assert session.why == "all 600 questions of the bank are answered"
    score = session.estimate()
    assert score.value[0] == pytest.approx(answers[55].mean(), abs=1e-12)
    np.testing.assert_allclose(score.interval[0], answers[55].mean(), atol=1e-12)


def test_fast_answers_wait_for_those_before_them(bank: ItemBank, answers: np.ndarray) -> None:
    session = bank.session(size=40, rng=1)
    drawn = session.next(20)
    for question in drawn[1:]:
        session.record(question, answers[50, question])
    assert session.n_used == 0
    assert session.waiting == drawn[:1]
    assert np.isnan(session.estimate().value[0])
    session.record(drawn[0], answers[50, drawn[0]])
    assert session.n_used == 20
    assert session.waiting == ()


def test_missing_answers_are_said(bank: ItemBank, answers: np.ndarray) -> None:
    session = bank.session(size=60, rng=1)
    for k, question in enumerate(session.next(60)):
        session.record(question, np.nan if k % 6 == 0 else answers[50, question])
    score = session.estimate()
    assert score.flags[0].name == "MISSING_ANSWERS"
    assert score.n[0] == 50
    assert abs(score.value[0] - answers[50].mean()) < 0.15


@pytest.mark.parametrize("select", ["random", "information"])
def test_resumed_in_the_middle(
    bank: ItemBank, answers: np.ndarray, tmp_path: Path, select: str
) -> None:
    whole = run(bank.session(size=70, select=select, rng=3), answers[52])
    part = bank.session(size=70, select=select, rng=3)
    for question in whole.asked[:33]:
        assert part.next() == (question,)
        part.record(question, answers[52, question])
    assert part.next() == (whole.asked[33],)  # drawn, its answer lost
    again = bank.resume(part.save(tmp_path / "session.json"))
    assert again.waiting == (whole.asked[33],)
    again.record(whole.asked[33], answers[52, whole.asked[33]])
    run(again, answers[52])
    assert again.asked == whole.asked
    np.testing.assert_array_equal(again.estimate().interval, whole.estimate().interval)


def test_information_is_flagged_and_deterministic(bank: ItemBank, answers: np.ndarray) -> None:
    one, two = (
        run(bank.session(size=40, select="information", rng=seed), answers[50]) for seed in (1, 2)
    )
    assert one.asked == two.asked
    score = one.estimate()
    assert score.used == "model"
    assert score.flags[0].name == "NOT_DRAWN"
    with pytest.raises(OptionError, match="drawn at random"):
        one.estimate("assisted")


def test_errors(bank: ItemBank, tmp_path: Path) -> None:
    session = bank.session(size=30, rng=1)
    first, second = session.next(2)
    with pytest.raises(LabelError, match="not drawn"):
        session.record(-1, 1.0)
    with pytest.raises(CodeError, match="between 0 and 1"):
        session.record(first, 2.0)
    session.record(first, 1.0)
    session.record(first, 1.0)
    with pytest.raises(LabelError, match="already has the answer 1"):
        session.record(first, 0.0)
    session.record(second, np.nan)
    with pytest.raises(OptionError, match="size=601"):
        bank.session(size=601)
    with pytest.raises(OptionError, match="half_width"):
        bank.session(half_width=3.0)
    path = session.save(tmp_path / "session.json")
    path.write_text(path.read_text().replace(bank.digest, "0" * 16))
    with pytest.raises(InputError, match="session of the bank 0000"):
        bank.resume(path)
    path.write_text("{}")
    with pytest.raises(InputError, match="not a saved session"):
        bank.resume(path)
    with pytest.raises(InputError, match="not a readable session"):
        bank.resume(tmp_path / "absent.json")


def test_where_every_call_fails_it_knows_nothing_and_goes_on(bank: ItemBank) -> None:
    for options in ({"half_width": 0.06}, {"better_than": 0.5}):
        session = bank.session(size=60, rng=1, **options)
        assert np.isnan([session.value, *session.interval]).all()
        for question in session.next(40):
            session.record(question, np.nan)
        assert not session.done
        assert np.isnan([session.value, *session.interval]).all()
        assert session.estimate().flags[0].name == "UNSCORED"
        run(session, np.full(600, np.nan))
        assert session.why == "all 60 questions of the budget are answered"
