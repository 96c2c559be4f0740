"""Replays: every design runs, says how it did, and refuses what it cannot do."""

from functools import cache

import numpy as np
import pytest

import psychollm as psy
from psychollm._base.errors import LabelError, OptionError
from psychollm.bank import ItemBank, Replay
from psychollm.bank.designs import DESIGNS
from psychollm.bank.full_score import guarded

NO_INTERVAL = {"anchors", "gp_irt"}


def held_out(answers: np.ndarray) -> psy.Responses:
    return psy.Responses(answers[50:56].astype(int), models=list("abcdef"))


def test_every_design(bank: ItemBank, answers: np.ndarray) -> None:
    found = psy.replay(
        bank, held_out(answers), sizes=[60], designs=tuple(DESIGNS), n_repeats=2, rng=1
    )
    assert found.design == tuple(DESIGNS)
    assert (found.rmse < 0.1).all()
    assert (found.asked <= 60).all()
    for row, design in enumerate(found.design):
        assert np.isnan(found.coverage[row]) == (design in NO_INTERVAL)
    table = found.to_frame().set_index("design")
    assert table.loc["bank", "relative_width"] < 0.9
    assert table.loc["random", "relative_width"] == 1.0
    np.testing.assert_allclose(found.truth, answers[50:56].mean(axis=1))
    assert "no interval" in found.summary()


def test_sessions_that_stop(bank: ItemBank, answers: np.ndarray) -> None:
    found = psy.replay(bank, held_out(answers), sizes=(), half_widths=[0.07], n_repeats=2, rng=1)
    assert found.target == ("half-width 0.07",)
    assert (found.half_widths <= 0.07).all()
    assert found.asked[0] < 200


def test_errors(bank: ItemBank, answers: np.ndarray) -> None:
    with pytest.raises(OptionError, match="'atlas' unknown"):
        psy.replay(bank, held_out(answers), designs=["atlas"])
    with pytest.raises(OptionError, match="nothing to replay"):
        psy.replay(bank, held_out(answers), sizes=())
    with pytest.raises(OptionError, match="no model answered"):
        psy.replay(bank, held_out(answers), sizes=[590])
    with pytest.raises(LabelError, match="was calibrated on"):
        psy.replay(bank, answers[:3].astype(int), sizes=[50])


EASE = np.random.default_rng(5).normal(0.0, 1.5, 600)


def chance(ability: object) -> np.ndarray:
    return 1.0 / (1.0 + np.exp(-(np.asarray(ability)[:, None] + EASE)))


@cache
def bank_of_one_slope() -> ItemBank:
    rng = np.random.default_rng(6)
    answers = rng.random((30, 600)) < chance(rng.normal(size=30))
    return psy.item_bank(answers.astype(int), rng=1)


@pytest.mark.parametrize("truth", [0.065, 0.92])
def test_stopping_at_a_width_does_not_move_scores(
    truth: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The correction moves low scores up and high ones down, by less than chance moves them."""
    own = np.linspace(-8.0, 8.0, 4001)
    own = own[np.abs(chance(own).mean(axis=1) - truth).argmin()]
    new = (np.random.default_rng(7).random((6, 600)) < chance(np.full(6, own))).astype(int)
    responses = psy.Responses(new, models=list("abcdef"))

    def replayed(n_repeats: int) -> Replay:
        options = {"sizes": (), "half_widths": [0.05], "n_repeats": n_repeats, "rng": 1}
        return psy.replay(bank_of_one_slope(), responses, **options)

    found = replayed(15)
    error = found.estimates[0] - found.truth[:, None]
    assert abs(error.mean()) < 0.005
    assert found.coverage[0] > 0.92
    assert found.half_width[0] <= 0.05
    few = replayed(2).estimates[0]
    monkeypatch.setattr(
        "psychollm.bank.full_score.guarded", lambda *given: (guarded(*given)[0], 0.0)
    )
    moved = few - replayed(2).estimates[0]
    assert (np.sign(moved) == np.sign(0.5 - truth)).all()


def test_the_slope_of_the_questions_needed() -> None:
    """By differences of the questions that a width takes, the added answers among them."""
    rng = np.random.default_rng(2)
    predicted, error, z = rng.beta(1.0, 6.0, 500), rng.uniform(0.5, 1.5, 500), 1.96
    ahead = 1.0 / (1.0 + np.exp(-(np.log(predicted / (1 - predicted)) + 1e-4)))

    def needed(p: np.ndarray) -> float:
        """Solve n = c (sum of s at the moved score of n answers)^2."""
        low, high = 1.0, 1e6
        for _ in range(200):
            n = (low + high) / 2.0
            factor, _ = guarded(p, error, n, z)
            s = np.sqrt(error * p * (1.0 - p)).sum()
            low, high = (low, n) if n > 0.02 * factor * s**2 else (n, high)
        return n

    n = needed(predicted)
    slope = (np.log(needed(ahead)) - np.log(n)) / (ahead.mean() - predicted.mean())
    assert guarded(predicted, error, n, z)[1] == pytest.approx(slope, rel=0.02)
