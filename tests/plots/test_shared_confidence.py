"""The study's figures by name."""

from typing import get_args

import pytest

import psychollm as psy
from psychollm.data.simulate_study import SimulatedStudy
from psychollm.plots.shared_confidence import FIGURES, FigureName
from psychollm.studies.shared_confidence.result import SharedConfidence


@pytest.fixture(scope="module")
def study(small: SimulatedStudy) -> SharedConfidence:
    return psy.shared_confidence(
        small.confidence, small.correctness, n_null=19, bootstrap=19, rng=0
    )


def test_names_are_those_offered() -> None:
    assert set(get_args(FigureName)) == {"overview", *FIGURES}


@pytest.mark.parametrize("name", get_args(FigureName))
def test_every_figure_is_drawn(name: str, study: SharedConfidence, pyplot: object) -> None:
    figure = study.plot(figure=name)
    figure.draw_without_rendering()
    assert len(figure.axes) >= (4 if name == "overview" else 1)


def test_an_unknown_figure_lists_those_there_are(study: SharedConfidence) -> None:
    with pytest.raises(psy.errors.OptionError, match="'factor_structure'"):
        study.plot(figure="factors")
