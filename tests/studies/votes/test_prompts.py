"""Strengths that vary between prompts: the estimated variation, and its effect on strengths."""

import numpy as np
import pandas as pd
import pytest

import psychollm as psy

CALL = {"left": "left", "right": "right", "winner": "winner", "n_draws": 200, "rng": 1}
STRENGTH = np.linspace(-1.5, 1.5, 6)


def drawn(sd: float, n: int = 12_000, n_prompts: int = 60, seed: int = 0) -> pd.DataFrame:
    """Return votes on models whose strengths vary between prompts."""
    rng = np.random.default_rng(seed)
    left = rng.integers(0, 6, n)
    right = (left + rng.integers(1, 6, n)) % 6
    prompt = rng.integers(0, n_prompts, n)
    on = STRENGTH + rng.normal(0.0, sd, (n_prompts, 6))
    won = rng.logistic(size=n) < on[prompt, left] - on[prompt, right]
    winner = np.where(won, "left", "right")
    return pd.DataFrame({"left": left, "right": right, "winner": winner, "prompt": prompt})


def slope(found) -> float:
    """Return the slope of estimated on true strengths."""
    true = STRENGTH[np.array(found.labels)]
    return float(found.strengths.value @ true / (true @ true))


@pytest.mark.parametrize("sd", [0.6, 1.0])
def test_strengths_are_those_on_a_typical_prompt(sd):
    votes = drawn(sd)
    found = psy.bradley_terry(votes, **CALL)
    assert found.fit.prompt_sd == pytest.approx(sd, rel=0.15)
    assert slope(found) == pytest.approx(1.0, abs=0.1)
    averaged = psy.bradley_terry(votes.drop(columns="prompt"), **CALL)
    assert averaged.fit.prompt_sd is None
    assert slope(averaged) < slope(found) - 0.5 * sd**2 * 0.3
    assert "SD of strengths between prompts" in found.summary()
    assert "between prompts" not in averaged.summary()


def test_predictions_are_averages_over_prompts():
    votes = drawn(1.0)
    found = psy.bradley_terry(votes, **CALL)
    averaged = psy.bradley_terry(votes.drop(columns="prompt"), **CALL)
    i, j = np.triu_indices(6, 1)
    of_both = [one.predict(i, j) for one in (found, averaged)]
    np.testing.assert_allclose(*of_both, atol=1e-6)
    rates = [one.win_rates for one in (found, averaged)]
    order = [np.argsort(one.labels) for one in rates]
    np.testing.assert_allclose(rates[0].value[order[0]], rates[1].value[order[1]], atol=1e-6)


@pytest.mark.parametrize("n_prompts", [30, 12_000])
def test_without_variation_strengths_remain(n_prompts):
    votes = drawn(0.0, n_prompts=n_prompts)
    found = psy.bradley_terry(votes, **CALL)
    assert found.fit.prompt_sd < 0.15
    assert slope(found) == pytest.approx(1.0, abs=0.05)


def test_products_by_pairs_of_votes():
    from psychollm.studies.votes.fit import fit_votes
    from psychollm.studies.votes.prompts import _products
    from psychollm.studies.votes.table import Options, Votes

    votes = drawn(0.5, n=60, n_prompts=7)
    left, right, prompt = (votes[one].to_numpy() for one in ("left", "right", "prompt"))
    won = (votes["winner"] == "left").to_numpy(dtype=float)
    none = np.empty(0, dtype=np.int64)
    table = Votes(
        left=left, right=right, wins=np.stack([won, np.zeros(60), 1.0 - won]), voter=none,
        prompt=prompt, own=np.full(60, -1), x=np.zeros((60, 0)), k=6, n_voters=0, n_own=0,
    )  # fmt: skip
    fit = fit_votes(table, Options(side=False, ties=False, prior=2.0))
    product, information = _products(table, fit.scores[0], fit.weight)
    side = np.zeros((60, 6))
    side[np.arange(60), left], side[np.arange(60), right] = 1.0, -1.0
    share = np.bincount(prompt, fit.weight) / fit.weight.sum()
    for p in range(7):
        own = np.flatnonzero(prompt == p)
        both = [(v, u) for v in own for u in own if v != u]
        scores = [side[v] * fit.scores[0, v] for v in range(60)]
        networks = [fit.weight[v] * np.outer(side[v], side[v]) for v in range(60)]
        expected = sum(scores[v] @ scores[u] for v, u in both)
        expected += 2.0 * share[p] * fit.weight[own].sum()
        assert product[p] == pytest.approx(expected)
        trace = sum(np.trace(networks[v] @ networks[u]) for v, u in both) * (1.0 - share[p])
        assert information[p] == pytest.approx(trace)
