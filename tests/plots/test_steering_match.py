"""The figure of steering draws the numbers of the study."""

from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure

from psychollm.plots.steering_match import plot_steering_match
from psychollm.studies import SteeredAnswers, SteeringMatch, steering_match

mpl.use("Agg")


def made(*, scale: Any = "log_odds", targets: int = 6) -> SteeringMatch:
    rng = np.random.default_rng(0)
    score = rng.normal(size=80)
    strengths = np.linspace(-2, 2, 9)
    odds = score + rng.normal(size=80) + strengths[:, None]
    tau = np.linspace(-1, 1, targets)[:, None]
    answers = (score + rng.normal(size=(targets, 80)) > tau).astype(int)
    values = odds if scale == "log_odds" else (odds > 0).astype(int)
    steered = SteeredAnswers.from_array(values, strengths=strengths, scale=scale)
    other = SteeredAnswers.from_array(
        rng.normal(size=80) + strengths[:, None], strengths=strengths, scale="log_odds"
    )
    return steering_match(
        steered, answers, controls={"random": other}, n_null=39, bootstrap=30, rng=0
    )


@pytest.fixture(scope="module")
def study() -> SteeringMatch:
    return made()


def scattered(figure: Figure, axes: int, gid: str) -> np.ndarray:
    (found,) = [
        one
        for one in figure.axes[axes].collections
        if isinstance(one, PathCollection) and one.get_gid() == gid
    ]
    return np.asarray(found.get_offsets())


def test_numbers(study: SteeringMatch) -> None:
    figure = plot_steering_match(study, figure=Figure())
    frame = study.to_frame()
    order = np.argsort(frame["threshold"].to_numpy())
    held = scattered(figure, 1, "steered (held out)")[:, 0]
    assert held == pytest.approx(frame["held_out_agreement"].to_numpy()[order])
    constant = scattered(figure, 1, "constant answer")[:, 0]
    assert constant == pytest.approx(frame["constant"].to_numpy()[order])
    inside = frame[~frame["at_edge"]]
    points = scattered(figure, 0, "target, with its interval")
    assert points == pytest.approx(inside[["threshold", "strength"]].to_numpy())
    for axes, name in ((2, "r_squared"), (3, "held_out_kappa")):
        (line,) = [one for one in figure.axes[axes].lines if one.get_gid() == "direction"]
        assert line.get_xdata()[0] == study.headlines[name]
        control = scattered(figure, axes, "table")[:, 0]
        assert control == pytest.approx(getattr(study.controls[1], name))


def test_answers_alone_and_few_targets() -> None:
    figure = plot_steering_match(made(scale="answers", targets=2), figure=Figure())
    assert any("fewer than three" in text.get_text() for text in figure.axes[0].texts)
    assert not [one for one in figure.axes[3].collections if one.get_gid() == "cut-off"]


def test_a_figure_is_made_and_the_study_draws_itself(study: SteeringMatch) -> None:
    import matplotlib.pyplot as plt

    assert len(study.plot().axes) == 4
    plt.close("all")
