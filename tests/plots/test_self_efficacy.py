"""The plot of totals draws what the study holds."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes

from psychollm.plots.self_efficacy import plot_self_efficacy
from psychollm.studies.people.norm import HumanNorm
from psychollm.studies.self_efficacy.study import SelfEfficacyStudy, self_efficacy


@pytest.fixture(scope="module")
def frame(golden) -> pd.DataFrame:
    table = pd.read_csv(golden / "metacognition" / "gses_a.csv")
    return table.rename(columns={"rep": "repeat"})


@pytest.fixture(scope="module")
def study(frame) -> SelfEfficacyStudy:
    norm = HumanNorm(mean=29.5, sd=5.3)
    return self_efficacy(frame, people=norm, bootstrap=20, rng=0)


def test_every_mean_and_interval_is_drawn(study: SelfEfficacyStudy, ax: Axes) -> None:
    plot_self_efficacy(study, ax=ax)
    names = [text.get_text() for text in ax.get_yticklabels()]
    means = study.totals.groupby("model")["mean"].mean()
    assert names == list(means.sort_values(ascending=False).index)
    marks = {str(line.get_label()): line for line in ax.lines}
    for condition in study.conditions:
        own = study.totals[study.totals["condition"] == condition].set_index("model")
        assert marks[condition].get_xdata() == pytest.approx(own.loc[names, "mean"])
    drawn = [path for bars in ax.collections for path in bars.get_paths()]
    assert len(drawn) >= study.totals["lower"].notna().sum()
    assert "people, 29.5 ± 5.3" in marks
    assert ax.get_xlim()[0] < 10 < 40 < ax.get_xlim()[1]


def test_without_a_norm_and_with_nothing_known(frame: pd.DataFrame, ax: Axes) -> None:
    small = frame[frame["model"].isin(["m1", "m2"])].copy()
    small.loc[small["model"] == "m1", "i1"] = np.nan
    found = plot_self_efficacy(self_efficacy(small, bootstrap=20, rng=0), ax=ax)
    assert [text.get_text() for text in found.get_yticklabels()] == ["m2", "m1"]
    texts = [text.get_text() for text in found.get_legend().get_texts()]
    assert texts == ["none", "comp", "social", "summ"]


def test_a_figure_of_its_own(study: SelfEfficacyStudy, pyplot: object) -> None:
    assert plot_self_efficacy(study).figure.get_figheight() > 3
