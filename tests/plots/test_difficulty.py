"""The figure of difficulty draws the numbers of the study."""

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes

from psychollm.plots.difficulty import plot_difficulty
from psychollm.studies import difficulty

mpl.use("Agg")


def test_numbers(ax: Axes) -> None:
    texts = [f"What is {'7' * (1 + n % 9)} + 1?" for n in range(60)]
    study = difficulty(texts, [float(-(n % 9)) for n in range(60)], bootstrap=20, rng=0)
    plot_difficulty(study, ax=ax)
    (points,) = [one for one in ax.collections if one.get_gid() == "questions"]
    expected = study.to_frame()[["predicted", "score"]].to_numpy()
    assert np.asarray(points.get_offsets()) == pytest.approx(expected)
    assert f"{study.r_squared.value[0]:.2f}" in ax.texts[0].get_text()
