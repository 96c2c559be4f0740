"""Circles of models."""

import numpy as np

import psychollm as psy
from tests.studies.votes.tables import drawn

CALL = {"left": "left", "right": "right", "winner": "winner", "voter": "worker"}


def test_planted_circles_are_found():
    rng = np.random.default_rng(5)
    table = drawn(k=6, n=3000, voters=1, gap=0.2).drop(columns="worker")
    assert psy.bradley_terry(table, n_draws=100, rng=1).cycles(rng=1).p_value > 0.05
    beats = {("m0", "m1"), ("m1", "m2"), ("m2", "m0")}
    for a, b in beats:
        there = table["left"].eq(a) & table["right"].eq(b)
        table.loc[there, "winner"] = np.where(rng.random(there.sum()) < 0.8, "left", "right")
        back = table["left"].eq(b) & table["right"].eq(a)
        table.loc[back, "winner"] = np.where(rng.random(back.sum()) < 0.8, "right", "left")
    cycles = psy.bradley_terry(table, n_draws=100, rng=1).cycles(rng=1)
    assert cycles.p_value < 0.01
    assert {cycles.first[0], cycles.second[0], cycles.third[0]} == {"m0", "m1", "m2"}
    assert cycles.circles[0]
    assert cycles.adjusted[0] < 0.01 < 0.05 < cycles.adjusted[-1]


def test_what_adds_up_is_no_circle_and_two_models_have_none():
    found = psy.bradley_terry(drawn(k=6, n=3000, gap=1.0), **CALL, n_draws=100, rng=1)
    cycles = found.cycles(n_draws=500, rng=1)
    assert cycles.p_value > 0.05
    assert 0.3 < cycles.statistic < 2.0
    assert cycles.n_triangles == 20
    two = psy.bradley_terry([("a", "b", "left"), ("b", "a", "left")] * 20, rng=1).cycles()
    assert np.isnan(two.p_value)
    assert two.to_frame().empty
