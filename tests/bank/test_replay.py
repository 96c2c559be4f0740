"""Replays: every design runs, says how it did, and refuses what it cannot do."""

import numpy as np
import pytest

import psychollm as psy
from psychollm._base.errors import LabelError, OptionError
from psychollm.bank import ItemBank
from psychollm.bank.designs import DESIGNS

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
