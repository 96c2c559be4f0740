"""A gate beside other rules that answer as many questions."""

from typing import Any

import numpy as np
import pytest

from psychollm._base.numbers import with_interval
from psychollm.studies import fit_gate
from psychollm.studies.difficulty.gating import _AsOften

FEW: dict[str, Any] = {"n_folds": 5, "bootstrap": 100, "rng": 0}


def slow_risk(score: np.ndarray, right: np.ndarray, n: int) -> float:
    """Return the share of wrong answers among the n highest, on average over orders of ties."""
    wrong, left = 0.0, n
    for value in sorted(set(score.tolist()), reverse=True):
        own = score == value
        taken = min(left, int(own.sum()))
        wrong += taken * (1 - right[own].mean())
        left -= taken
    return wrong / n


def test_rules_are_compared_at_the_models_own_share(
    texts: list[str], easy: np.ndarray, right: np.ndarray
) -> None:
    own = np.where(np.arange(right.size) % 4 == 0, 1 - right, right)
    own[0] = np.nan
    found = fit_gate(texts, right, risk=0.2, scores=easy, own=own, **FEW)
    risks, known = found.at_own_share, np.isfinite(own)
    assert risks is not None
    assert risks.labels == ("own yes/no", "gate", "shared score", "always answer")
    expected = [1 - right[own == 1].mean()]
    expected += [
        slow_risk(score[known], right[known], int(own[known].sum()))
        for score in (found.probability, easy)
    ]
    assert risks.value == pytest.approx([*expected, 1 - right[known].mean()])
    told = found.findings()
    assert [one.key for one in told] == ["verdict", "shared", "always"]
    lead = risks.difference("gate", "own yes/no")
    assert with_interval(lead.value, lead.interval, 3, signed=True) in told.verdict
    assert told["always"].statement == fit_gate(texts, right, risk=0.2, scores=easy, **FEW).verdict


def test_each_resample_has_a_cut_of_its_own() -> None:
    rng = np.random.default_rng(3)
    score = rng.integers(0, 6, 40).astype(float)
    right, known = (rng.random(40) < 0.6).astype(float), rng.random(40) < 0.9
    counts = rng.multinomial(40, np.full(40, 1 / 40), size=5).astype(float)
    own = np.where(known, rng.random(40) < 0.5, 0.0)
    answered = counts @ own
    solved = _AsOften.of(score, known, right).right(counts, answered)
    for row, n, found in zip(
        counts.astype(int) * known, answered.astype(int), solved, strict=True
    ):
        again = slow_risk(np.repeat(score, row), np.repeat(right, row), int(n))
        assert 1 - found / n == pytest.approx(again)


def test_tied_scores_share_what_is_left_and_silence_has_no_risk(right: np.ndarray) -> None:
    own = (np.arange(right.size) < 20).astype(float)
    found = fit_gate(["Same question?"] * right.size, right, f_beta=1.0, own=own, **FEW)
    assert found.at_own_share is not None
    values = found.at_own_share.value
    # Only folds tell the questions apart: the expected risk lies near that of all.
    assert values[0] == pytest.approx(1 - right[:20].mean())
    assert 0.0 < values[1] < 1.0
    silent = fit_gate(["Same question?"] * right.size, right, f_beta=1.0, own=0 * own, **FEW)
    assert silent.at_own_share is not None
    assert np.isnan(silent.at_own_share.value[:2]).all()
    assert "does not differ significantly" in silent.verdict
