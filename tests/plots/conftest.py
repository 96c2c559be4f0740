"""Results to draw, computed once."""

from collections.abc import Iterator

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from matplotlib.axes import Axes
from matplotlib.figure import Figure

import psychollm as psy
from psychollm.data.examples import Example
from psychollm.data.simulate_study import SimulatedStudy, simulate_study
from psychollm.studies.dimensionality.study import Dimensionality


@pytest.fixture
def ax() -> Axes:
    return Figure(figsize=(6.5, 4.5), layout="constrained").subplots()


@pytest.fixture
def pyplot() -> Iterator[object]:
    import matplotlib.pyplot as plt

    yield plt
    plt.close("all")


@pytest.fixture(scope="session")
def example() -> Example:
    return psy.load_example("shared_confidence")


@pytest.fixture(scope="session")
def small() -> SimulatedStudy:
    return simulate_study(n_models=7, n_questions=300, rng=0)


@pytest.fixture(scope="session")
def verdict() -> Dimensionality:
    tau = np.linspace(-2.0, 2.0, 9)
    answers = psy.simulate_factor(
        loadings=[0.9] * 9, thresholds=tau, n_questions=400, rng=2
    ).responses
    return psy.dimensionality(answers, empty_cells="add_half", n_null=40, rng=0)
