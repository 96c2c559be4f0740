"""Shares of responses with simultaneous intervals."""

import numpy as np
import pytest

from psychollm.estimates.reasons import Reason
from psychollm.reliability.raters.response_shares import response_shares


def test_goodman_of_single_answers() -> None:
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    answers = np.array(["a"] * 20 + ["b"] * 7 + ["c"] * 3)[:, None]
    found = response_shares(answers)
    wanted = proportion.multinomial_proportions_confint([20, 7, 3], alpha=0.05, method="goodman")
    assert found.interval[0] == pytest.approx(wanted, abs=1e-12)
    assert found.effective_n[0] == pytest.approx([30.0] * 3)


def test_runs_that_repeat_each_other_add_nothing_to_shares() -> None:
    answers = np.array(["a"] * 20 + ["b"] * 7 + ["c"] * 3)[:, None]
    once, thrice = response_shares(answers), response_shares(np.repeat(answers, 3, axis=1))
    assert thrice.interval == pytest.approx(once.interval, abs=1e-12)
    assert thrice.n[0] == 90


def test_shares_among_some_categories() -> None:
    table = [["ok", "lost", "ok", "ok"], ["late", "lost", None, "ok"]]
    found = response_shares(table, among=["lost", "late"])
    assert found.categories == ("lost", "late")
    assert found.value[0] == pytest.approx([2 / 3, 1 / 3])
    assert found.count[0].tolist() == [2.0, 1.0]
    frame = found.to_frame()
    assert frame["share"].tolist() == found.value[0].tolist()


def test_shares_of_nothing() -> None:
    found = response_shares([[1, 2], [1, 1]], among=[2])
    assert found.value.tolist() == [[1.0]]
    silent = np.full((2, 2, 5), np.nan)
    silent[:, 0] = 1.0
    found = response_shares(silent)
    assert found.flags == (Reason.NONE, Reason.NO_RATINGS)
    assert np.isnan(found.value[1]).all()
    assert np.isnan(found.interval[1]).all()
