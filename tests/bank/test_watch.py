"""Watches: evidence that holds at any time, state in a file."""

import json
from itertools import product

import numpy as np
import pandas as pd
import pytest

from psychollm._base.errors import CodeError, InputError, LabelError, ShapeError
from psychollm.bank import item_bank
from psychollm.bank.evidence import Counted, Evidence, bets, needed_from, windows
from psychollm.data.responses import Responses

J = 120


@pytest.fixture(scope="module")
def bank():
    return item_bank(np.random.default_rng(0).integers(0, 2, (8, J)), rng=1)


def of(values):
    values = np.asarray(values, dtype=np.float64)
    there = np.isfinite(values)
    known = np.nan_to_num(values)
    return Counted(np.stack([there * 1.0, known, known**2]))


def drawn(rng, chance):
    return (rng.random(chance.size) < chance).astype(np.float64)


@pytest.mark.parametrize(("looks", "start"), [(2, 1), (3, 1), (3, 2), (4, 1), (4, 2), (5, 2)])
def test_bets_have_a_mean_of_one_whatever_the_chance(looks, start):
    """By all answers to one question, weighted by their probability."""
    for p in (0.03, 0.4, 0.9):
        mean = np.zeros(3)
        for answers in product((0.0, 1.0), repeat=looks):
            parts = [of([one]) for one in answers]
            before, inside = parts[0], parts[start]
            for part in parts[1:start]:
                before = before + part
            for part in parts[start + 1 :]:
                inside = inside + part
            chance = np.prod([p if one else 1.0 - p for one in answers])
            mean += chance * np.exp(bets(before, inside))
        np.testing.assert_allclose(mean, 1.0, rtol=1e-12)


def test_bets_of_unequal_numbers_of_answers_have_a_mean_of_one():
    first = product((0.0, 1.0), repeat=3)
    mean = np.zeros(3)
    for a, b, c in first:
        for d, e in product((0.0, 1.0), repeat=2):
            one, two = (0.3, 0.8)
            chance = np.prod([one if y else 1 - one for y in (a, b, c)])
            chance *= np.prod([two if y else 1 - two for y in (d, e)])
            mean += chance * np.exp(bets(of([a, d]), of([b, e]) + of([c, np.nan])))
    np.testing.assert_allclose(mean, 1.0, rtol=1e-12)


def test_stakes_add_up_to_at_most_one_and_windows_find_what_they_need():
    total, kept = 0.5, {0}
    for t in range(1, 3000):
        for start, stake in windows(t):
            assert start in kept
            total += stake
        kept = (kept | {t}) & set(needed_from(t))
        assert t in kept
    assert 0.9 < total <= 1.0
    assert len(kept) < 40


def test_no_change_seldom_alarms():
    rng = np.random.default_rng(5)
    alarms = 0
    for _ in range(25):
        chance = rng.beta(0.5, 0.4, 60)
        evidence = Evidence({0: of(drawn(rng, chance))})
        top = 0.0
        for _ in range(40):
            evidence.add(of(drawn(rng, chance)))
            top = max(top, evidence.log)
        alarms += top >= np.log(20.0)
    assert alarms <= 3


def test_changes_in_both_directions_are_seen(bank):
    rng = np.random.default_rng(2)
    chance = rng.choice([0.1, 0.9], J)
    for shift, name in ((-0.25, "worse"), (0.25, "better")):
        watch = bank.watch(dict(enumerate(drawn(rng, chance))))
        for day in range(4):
            watch.update(dict(enumerate(drawn(rng, np.clip(chance + shift, 0, 1)))), look=day)
        assert watch.alarm
        assert watch.direction == name
        assert "ALARM since look" in watch.summary()


def test_other_answers_that_are_as_often_right_are_seen(bank):
    rng = np.random.default_rng(3)
    chance = rng.choice([0.03, 0.97], J)
    other = np.where(rng.random(J) < 0.25, 1.0 - chance, chance)
    watch = bank.watch(dict(enumerate(drawn(rng, chance))))
    for _ in range(12):
        watch.update(dict(enumerate(drawn(rng, other))))
    assert watch.alarm


def test_a_late_change_is_seen_and_the_alarm_stays(bank):
    rng = np.random.default_rng(4)
    chance = rng.choice([0.1, 0.9], J)
    watch = bank.watch(dict(enumerate(drawn(rng, chance))))
    for _ in range(40):
        watch.update(dict(enumerate(drawn(rng, chance))))
    assert not watch.alarm
    for _ in range(10):
        watch.update(dict(enumerate(drawn(rng, np.clip(chance - 0.15, 0, 1)))))
    assert watch.alarm
    for _ in range(3):
        watch.update(dict(enumerate(drawn(rng, chance))))
    assert watch.alarm


def test_the_same_answers_again_say_nothing(bank):
    right = dict(enumerate(drawn(np.random.default_rng(1), np.full(J, 0.7))))
    watch = bank.watch(right)
    for _ in range(20):
        assert not watch.update(right)
    assert watch.evidence < 1.0


def test_a_saved_watch_goes_on_to_the_last_bit(bank, tmp_path):
    rng = np.random.default_rng(6)
    chance = rng.beta(0.5, 0.5, J)
    watch = bank.watch(dict(enumerate(drawn(rng, chance))), alpha=0.1)
    file = tmp_path / "my.watch"
    for day in range(9):
        answers = dict(enumerate(drawn(rng, chance)))
        watch.update(answers, look=f"day {day}")
        file = watch.save(file)
        watch = bank.resume_watch(file)
        before = watch.evidence
        watch.update(answers, look=f"day {day}")  # the job runs again
        assert watch.evidence == before
        assert watch.look == day + 1
    again = bank.watch(dict(enumerate(np.zeros(J))))
    assert again.alpha == 0.05
    assert watch.alpha == 0.1
    assert [*tmp_path.iterdir()] == [file]
    other = item_bank(np.random.default_rng(9).integers(0, 2, (8, J)), rng=1)
    with pytest.raises(InputError, match="not of "):
        other.resume_watch(file)
    state = json.loads(file.read_text())
    del state["evidence"]["first"]
    file.write_text(json.dumps(state))
    with pytest.raises(InputError, match="damaged"):
        bank.resume_watch(file)
    with pytest.raises(InputError, match="not a saved session"):
        bank.resume(file)


def test_what_answers_may_be(bank):
    right = drawn(np.random.default_rng(1), np.full(J, 0.7))
    plain = bank.watch(dict(enumerate(right)))
    forms = [
        pd.Series(right),
        pd.DataFrame([right], index=["m"]),
        Responses(right[None].astype(int)),
        {question: [score] for question, score in enumerate(right)},
        {question: bool(score) for question, score in enumerate(right)},
    ]
    new = {3: 0, 4: 1.0, 5: None, 6: 0.5}
    plain.update(new)
    for form in forms:
        watch = bank.watch(form)
        watch.update(new)
        assert watch.evidence == plain.evidence
    twice = bank.watch(pd.Series([1.0, 0.0], index=[7, 7]))
    assert twice._evidence.past[0].table[:, 7].tolist() == [2.0, 1.0, 1.0]


def test_a_model_of_the_bank_may_be_the_baseline(bank):
    watch = bank.watch(3)
    watch.update(dict(enumerate(bank.scores[3])))
    assert watch.to_frame().loc[0, "baseline"] == pytest.approx(bank.scores[3].mean())


@pytest.mark.parametrize(
    ("baseline", "error", "message"),
    [
        ({"no": 1}, LabelError, "baseline: 'no' not in the bank"),
        ({0: 2}, CodeError, "baseline"),
        ({0: None}, ShapeError, "baseline has no answers"),
        ({}, ShapeError, "baseline has no answers"),
        ("gpt", LabelError, "not a model of the bank"),
        (np.ones((2, J)), ShapeError, "2 models"),
    ],
)
def test_bad_baselines_are_named(bank, baseline, error, message):
    with pytest.raises(error, match=message):
        bank.watch(baseline)
