"""Tables of steered answers, and what they refuse."""

from typing import Any

import numpy as np
import pytest

from psychollm._base.errors import CodeError, InputError, LabelError, OptionError, ShapeError
from psychollm.calibration import confidence_gate
from psychollm.studies import SteeredAnswers, steering_match
from tests.studies.steering_match.conftest import FEW, STRENGTHS, simulated


def test_probabilities_and_log_odds_are_one_table() -> None:
    steered, _ = simulated(0.6)
    shares = 1.0 / (1.0 + np.exp(-np.array(steered.log_odds)))
    table = SteeredAnswers.from_array(shares, strengths=STRENGTHS, scale="probability")
    assert table.log_odds == pytest.approx(steered.log_odds)
    assert table.yes == pytest.approx(steered.yes)


def test_a_sweep_of_the_steering_room_is_taken_as_it_is() -> None:
    from psychollm.steering.dose_response import DoseResponse

    steered, targets = simulated(0.8)
    odds = np.array(steered.log_odds)
    total = np.where(np.abs(STRENGTHS) > 0.9, 0.01, 0.9)[:, None]
    share = 1.0 / (1.0 + np.exp(-odds))
    base = 1.0 / (1.0 + np.exp(-np.array(steered.unsteered)))
    sweep = DoseResponse(
        strengths=STRENGTHS,
        doses=STRENGTHS,
        log_yes=np.log(total * share),
        log_no=np.log(total * (1 - share)),
        base_yes=np.log(0.9 * base),
        base_no=np.log(0.9 * (1 - base)),
        labels=targets.questions,
        layer=3,
    )
    table = SteeredAnswers.from_sweep(sweep)
    assert table.collapsed.tolist() == sweep.collapsed.tolist()
    found = steering_match(sweep, targets, controls={"same": sweep}, **FEW)
    assert "2 collapsed" in found.summary()
    assert found.controls[1].ahead.value == 0.0


def table(**options: Any) -> SteeredAnswers:
    given_as: dict[str, Any] = {
        "values": np.zeros((3, 4)),
        "strengths": [-1, 0, 1],
        "scale": "answers",
    }
    given_as |= options
    return SteeredAnswers.from_array(given_as.pop("values"), **given_as)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"values": np.zeros(3)}, ShapeError, "table"),
        ({"values": [["a", "b"]] * 3}, CodeError, "numbers"),
        ({"values": np.full((3, 4), 2)}, CodeError, "strength -1, question 0: 2.0"),
        ({"values": np.full((3, 4), 2), "scale": "probability"}, CodeError, "scale 'probability'"),
        ({"values": np.full((3, 4), np.inf), "scale": "log_odds"}, CodeError, "inf"),
        ({"scale": "odds"}, OptionError, "scale='odds'"),
        ({"strengths": [0, 1]}, ShapeError, "one number per row"),
        ({"strengths": [0, 1, np.nan]}, OptionError, "finite"),
        ({"strengths": [0, 1, 1]}, LabelError, "unique"),
        ({"mass": [1.0, 1.0]}, ShapeError, "mass"),
        ({"mass": [0.01, 1.0, 0.01]}, InputError, "collapsed"),
        ({"mass": [np.nan] * 3}, InputError, "collapsed"),
        ({"values": np.full((3, 4), np.nan)}, InputError, "fewer than two"),
        ({"questions": ["a"]}, ShapeError, "questions holds 1"),
        ({"unsteered": [1.0], "scale": "log_odds"}, ShapeError, "unsteered"),
    ],
)
def test_bad_tables(options: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        table(**options)


def test_the_strength_from_which_the_answer_is_yes():
    yes = [[0, 1, 0, 1, 0], [1, 0, 0, 1, np.nan], [1, 1, 0, 1, 1]]
    table = SteeredAnswers.from_array(yes, strengths=[-1, 0, 2], scale="answers")
    np.testing.assert_array_equal(table.yes_from, [0, 2, np.nan, -1, 2])


def test_a_gate_on_that_strength_answers_where_the_model_says_yes():
    rng, strengths = np.random.default_rng(2), np.linspace(-3, 3, 25)
    ease = rng.normal(size=800)
    correct = rng.random(800) < 1 / (1 + np.exp(-3 * ease))
    odds = ease + strengths[:, None]
    table = SteeredAnswers.from_array(odds, strengths=strengths, scale="log_odds")
    gate = confidence_gate(-table.yes_from, correct, at_most=0.1)
    chosen = gate.to_frame()["threshold"][0]
    said = table.yes[table.strengths == -chosen][0] == 1
    assert said.mean() == pytest.approx(gate.to_frame()["coverage"][0])
    assert 1 - correct[said].mean() < 0.1
