"""Meta-information of trials: definitions by the letter, degenerate trials, options."""

import json

import numpy as np
import pandas as pd
import pytest

from psychollm._base.errors import OptionError
from psychollm.calibration.two_choice.meta_information_trials import (
    gaussian_meta_information,
    meta_information,
)
from psychollm.data.simulate import simulate_meta_d
from psychollm.estimates.reasons import Reason
from tests.oracles import meta_d_slow as slow

FIELDS = {
    "meta_I": "meta_i",
    "meta_Ir1": "meta_i1",
    "meta_Ir1_acc": "meta_i1_accuracy",
    "meta_Ir2": "meta_i2",
    "RMI": "rmi",
}


@pytest.mark.parametrize("case", ["metad_trials_a", "metad_trials_b"])
def test_golden_statconfr(golden, case):
    folder = golden / "metacognition"
    frame = pd.read_csv(folder / f"{case}.csv")
    block = json.loads((folder / f"{case}.expected.json").read_text())["blocks"][1]
    columns = ("stimulus", "response", "rating")
    wide = [frame.pivot_table(index="model", columns="trial", values=name) for name in columns]
    found = meta_information(*wide, definition="report", corrected=False, bootstrap=2, rng=0)
    for i, peer in enumerate(block["values"]["statConfR_metaI"]):
        assert set(peer) == {"participant", *FIELDS}
        for key, field in FIELDS.items():
            # They sum a grid of 5,000 points: far closer than the block's tolerance.
            assert getattr(found, field).value[i] == pytest.approx(peer[key], abs=1e-9)


@pytest.mark.parametrize("d", [0.1, 1.0, 2.5, 5.0])
def test_gaussian_observer(d):
    found = float(gaussian_meta_information(d))
    assert found == pytest.approx(slow.gaussian_meta_information(d), abs=2e-6)


DEFINITIONS = ["confidence", "added", "report"]


@pytest.mark.parametrize("definition", DEFINITIONS)
def test_definitions_by_the_letter(definition):
    made = simulate_meta_d(d_prime=[1.2], criterion=0.4, n_questions=300, rng=5)
    found = meta_information(
        made.stimulus,
        made.response,
        made.rating,
        definition=definition,
        corrected=False,
        bootstrap=2,
        rng=0,
    )
    stimulus, response = list(made.stimulus), list(made.response[0])
    rating, correct = list(made.rating[0]), list(made.correct[0])
    report = list(zip(response, rating, strict=True))
    if definition == "confidence":
        truth = slow.information(correct, rating)
    elif definition == "added":
        truth = slow.information(stimulus, report) - slow.information(stimulus, response)
    else:
        best = 0
        for value in set(report):
            ones = sum(s for s, r in zip(stimulus, report, strict=True) if r == value)
            best += max(ones, report.count(value) - ones)
        bound = slow.entropy([sum(stimulus), 300 - sum(stimulus)]) - slow.entropy(
            [best, 300 - best]
        )
        truth = slow.information(stimulus, report) - bound
    assert found.meta_i.value[0] == pytest.approx(truth, abs=1e-12)
    accuracy = sum(correct) / 300
    if definition != "report":
        assert found.meta_i2.value[0] == pytest.approx(
            truth / slow.entropy([sum(correct), 300 - sum(correct)])
        )
        most = slow.entropy([sum(correct), 300 - sum(correct)]) - 2 * (1 - accuracy)
        assert found.rmi.value[0] == pytest.approx(truth / most)


@pytest.mark.parametrize("definition", DEFINITIONS)
def test_degenerate_trials(definition):
    stimulus = np.tile([0, 1], 40)
    rating = np.tile([1, 1, 2, 2, 3, 3], 14)[:80]
    right = stimulus.copy()
    some = np.where(np.arange(80) % 5 == 0, 1 - stimulus, stimulus)
    below = 1 - some
    response = np.stack([right, 1 - right, some, some, below])
    ratings = np.stack([rating, rating, rating, np.full(80, 2), rating])
    found = meta_information(
        stimulus, response, ratings, definition=definition, bootstrap=10, rng=0
    )
    assert found.meta_i2.flags[0] == Reason.NO_WRONG
    assert found.meta_i.flags[1] == Reason.NO_CORRECT
    assert found.meta_i1.flags[2] == Reason.NONE
    assert found.meta_i.flags[3] == Reason.CONSTANT
    assert found.meta_i.value[3] == pytest.approx(0.0, abs=1e-12)
    if definition != "report":  # there a best guess is never below chance
        assert found.rmi.flags[4] == found.meta_i1.flags[4] == Reason.LOW_SENSITIVITY
    for field in FIELDS.values():
        estimate = getattr(found, field)
        for value, flag in zip(estimate.value, estimate.flags, strict=True):
            assert np.isfinite(value) == (flag in {Reason.NONE, Reason.CONSTANT, Reason.UNSTABLE})
    assert list(found.to_frame()["model"]) == [0, 1, 2, 3, 4]


def test_trials_options():
    made = simulate_meta_d(d_prime=[1.5, 1.5], m_ratio=[1.0, 0.2], n_questions=600, rng=6)
    trials = made.stimulus, made.response, made.rating
    plain = meta_information(*trials, bootstrap=100, rng=0)
    assert plain.meta_i.difference(0, 1).p_value < 0.05
    assert plain.meta_i.method == "normal, standard error from the bootstrap over questions"
    raw = meta_information(*trials, corrected=False, bootstrap=100, rng=0)
    assert (raw.meta_i.value > plain.meta_i.value).all()
    alone = meta_information(*trials, clusters=["a"] * 600, bootstrap=5, rng=0)
    assert alone.meta_i.flags == (Reason.ONE_CLUSTER,) * 2
    assert np.isnan(alone.rmi.interval).all()
    doubled = [np.concatenate([values, values], axis=-1) for values in trials]
    pairs = np.tile(np.arange(600), 2)
    twice = meta_information(*doubled, corrected=False, clusters=pairs, bootstrap=100, rng=0)
    np.testing.assert_allclose(twice.meta_i.draws, raw.meta_i.draws, atol=1e-9)
    with pytest.raises(OptionError, match="'confidence', 'added', 'report'"):
        meta_information(*trials, definition="dayan")
