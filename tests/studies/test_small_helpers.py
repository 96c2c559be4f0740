"""What the studies are built of, tried by what it returns."""

import numpy as np
import pandas as pd
import pytest

from psychollm.calibration.decisions.two_by_two import ratio
from psychollm.calibration.stated import paired_answers
from psychollm.data.responses import Responses, as_responses
from psychollm.data.sampled import SampledAnswers
from psychollm.estimates.resampling import Resampling
from psychollm.studies.metacognitive_skill.arms import coder_agreement, prompting, scaffolding
from psychollm.studies.metacognitive_skill.deployment import deployment, register_deployment
from psychollm.studies.metacognitive_skill.structure import (
    register_structures,
    structure_contrast,
    structures_of,
)
from psychollm.studies.metacognitive_skill.traces import Panel, as_traces, fixed
from psychollm.studies.self_efficacy.effects import feedback_shift
from psychollm.studies.self_efficacy.links import measure_links, performance_links
from psychollm.studies.self_efficacy.measures import as_measures
from psychollm.studies.self_efficacy.table import by_model, efficacy_table
from psychollm.studies.semantic_calibration.arms import Arms, answered
from psychollm.studies.semantic_calibration.null import exchanged, sample_curve
from psychollm.studies.shared_confidence.private_likelihood import Evidence, Likelihood
from psychollm.studies.shared_confidence.private_signal import climb
from psychollm.studies.shared_confidence.result import spread_over
from psychollm.studies.steering_match.best_strengths import plain_thresholds, r_squared
from psychollm.studies.steering_match.evidence import cut_offs
from psychollm.studies.steering_match.grid import count, grid_of, kappa_of, profiles_of
from psychollm.studies.steering_match.reconstruction import mean_defined
from psychollm.studies.steering_match.steered_answers import SteeredAnswers


def test_a_single_coder_agrees_with_nobody() -> None:
    table = pd.DataFrame({"model": "m", "item": [1, 2], "category": "a", "code": [0, 1]})
    assert coder_agreement(table, Resampling(n=20, rng=0)) is None


def test_sums_of_right_answers_and_of_structures() -> None:
    table = pd.DataFrame({"model": "m", "item": [1, 2], "category": "x", "code": [0, 2]})
    panel = Panel(("m",), Resampling(n=9, rng=0))
    traces = as_traces(table.assign(correct=[0, 1], structure=["a", "b"]))
    register_deployment(panel, traces, traces.where("model", "m"), 1)
    assert panel.size("right shown x").tolist() == [1.0]
    register_structures(panel, traces, traces.where("model", "m"), 1)
    assert panel.size("shown@b x").tolist() == [1.0]
    assert structures_of(traces) == ["a", "b"]
    assert structure_contrast(panel, as_traces(table), None) is None


def test_sums_of_a_panel() -> None:
    panel = Panel(("m",), Resampling(n=20, rng=0))
    panel.add("hits", np.array([[1.0, 0, 1, 1]]))
    panel.add("n", np.ones((1, 4)))
    assert panel.ratio("share", "hits", "n").value.tolist() == [0.75]
    assert isinstance(fixed(Resampling(n=9, rng=0)).rng, int)


def test_nothing_to_divide_by() -> None:
    found = ratio(np.array([1.0, 0.0]), np.array([2.0, 0.0]))
    np.testing.assert_array_equal(found, [0.5, np.nan])


def test_feedback_brings_ratings_nearer() -> None:
    rows = pd.DataFrame(
        {
            "model": ["a", "a"],
            "condition": "social",
            "feedback": ["", "true"],
            "correct": [None, 0],
            "n_tasks": 6,
            "i1": [4, 2],
        }
    )
    shift = feedback_shift(efficacy_table(rows, None), Resampling(n=20, rng=0))
    assert shift is not None
    assert shift.value.round(2).tolist() == [0.67]


def test_links_of_totals() -> None:
    rows = pd.DataFrame({"model": list("abc"), "condition": "none", "i1": [1, 2, 3]})
    links = performance_links(
        efficacy_table(rows, rows.assign(correct=1.0)), Resampling(n=20, rng=0)
    )
    assert links is not None
    assert links["none"].ceiling
    assert links["none"].flag.name == "ALL_TIED"
    nll = as_measures({"mean NLL": {"a": 3.0, "b": 2.0, "c": 1.0}})
    found = measure_links(efficacy_table(rows, None), nll, Resampling(n=20, rng=0))
    assert found["mean NLL"]["none"].value == pytest.approx(-1.0)


def test_totals_and_means_by_model() -> None:
    rows = pd.DataFrame({"model": ["a", "b"], "condition": "none", "i1": [1, 4], "i2": [2, 4]})
    assert efficacy_table(rows, None).rows["total"].tolist() == [3.0, 8.0]
    rows = pd.DataFrame({"model": list("bba"), "condition": list("xyx"), "v": [1.0, 2, 3]})
    assert by_model(rows, "v", "condition").columns.tolist() == ["x", "y"]


def test_what_semantic_samples_may_show() -> None:
    found = exchanged(np.array([[0, 0, 1]]), np.array([[1.0, 1.0, 0.0]]))
    assert found.chance.round(2).tolist() == [[0.75, 0.25]]
    assert found.confidence.round(2).tolist() == [[0.67, 1.0]]
    assert found.correct.tolist() == [[1.0, 0.0]]
    codes, right = np.array([[0, 1]] * 4), np.array([[1.0, 0.0]] * 4)
    curve = sample_curve(codes, right, np.full(4, 0.5), np.full(4, 0.5), n=99, rng=0)
    np.testing.assert_array_equal(curve.accuracy, [0.5, np.nan])


def test_questions_that_every_arm_answered() -> None:
    samples = SampledAnswers.from_array([["a", "b"], [None, None]], gold=["a", "a"])
    assert answered(samples)[0].questions == (0,)


def test_values_in_the_place_of_models() -> None:
    found = spread_over(("a", "b"), ("b",), np.array([1.0]))
    np.testing.assert_array_equal(found, [np.nan, 1.0])


def test_thresholds_and_their_line() -> None:
    found = plain_thresholds(np.array([0.5, 0.975, 1.0])).round(2)
    np.testing.assert_array_equal(found, [0.0, -1.96, np.nan])
    found = r_squared(np.array([1.0, 2.0, 3.0]), np.array([[2.0, 4.0, 6.0], [1.0, 1.0, 1.0]]))
    np.testing.assert_allclose(found, [1.0, np.nan])
    found = mean_defined(np.array([[1.0, np.nan], [np.nan, np.nan]]))
    np.testing.assert_array_equal(found, [1.0, np.nan])


def test_counts_of_a_grid() -> None:
    table = SteeredAnswers.from_array([[0, 0, 1], [1, 1, 1]], strengths=[0, 1], scale="answers")
    counts = count(grid_of(table, steps=1), profiles_of(Responses([[0, 1, 1]])))
    assert counts.agreement.round(2).tolist() == [[0.67, 0.67]]
    assert profiles_of(as_responses([[1, 0, None]])).answered.tolist() == [[1, 1, 0]]
    assert kappa_of(np.array([0.75]), np.array([0.5]), np.array([0.5])).tolist() == [0.5]
    table = SteeredAnswers.from_array([[0.0, 2.0], [1.0, 3.0]], strengths=[0, 1], scale="log_odds")
    moved = cut_offs(table)
    assert moved is not None
    assert moved.yes.sum(axis=1).tolist() == [0.0, 1.0, 2.0]


def test_what_an_arm_does_to_answers_and_behaviours() -> None:
    table = pd.DataFrame({"model": "m", "item": 1, "arm": ["own", "led"], "correct": [1, 0]})
    table["category"] = "evaluation"
    found = scaffolding(as_traces(table.assign(code=1)), "own", "led")
    assert found.harmed.value.tolist() == [1.0]
    shown = prompting(as_traces(table.assign(code=[0, 2])), "own", "led")
    assert shown["evaluation"].value.tolist() == [1.0]


def test_a_behaviour_beside_right_answers() -> None:
    panel = Panel(("m",), Resampling(n=9, rng=0))
    sums = {"graded shown": 1, "graded n": 2, "right shown": 1, "right n": 1}
    sums |= {"wrong shown": 0, "wrong n": 1}
    for key, value in sums.items():
        panel.add(f"{key} x", np.array([[float(value)]]))
    assert deployment(panel, "x").gap.value.tolist() == [0.5]


def test_accuracy_of_arms() -> None:
    samples = SampledAnswers.from_array([["a", "b"], ["a", "a"]], gold=["a", "a"])
    found = Arms(samples, None, Resampling(n=20, rng=0), 19, 10).parts()
    assert found["accuracy"].value.tolist() == [0.75]


def test_a_likelihood_and_its_top() -> None:
    said = Responses([[1, 0, 1], [1, 1, 0], [0, 0, 1]])
    paired = paired_answers(said, said)
    evidence = Evidence.of(paired, np.stack([np.full(3, 0.5), np.zeros(3)]))
    assert evidence.without(0, np.array([0])).sum() == pytest.approx(1.0)
    likelihood = Likelihood.of(paired, evidence, 0)
    assert likelihood.value(np.zeros(7)) == pytest.approx(3 * np.log(0.25))
    said = Responses([[1, 0, 1, 0], [1, 1, 0, 0], [0, 0, 1, 0]])
    paired = paired_answers(said, said)
    evidence = Evidence.of(paired, np.stack([np.full(3, 0.5), np.zeros(3)]))
    likelihood = Likelihood.of(paired, evidence, 0)
    theta = np.zeros(7)
    assert climb(likelihood, theta, likelihood.information(theta), free=4).converged
