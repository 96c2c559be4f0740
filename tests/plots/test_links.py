"""Ratings over another number, model by model."""

import pandas as pd
import pytest
from matplotlib.figure import Figure

from psychollm._base.errors import OptionError
from psychollm.plots import plot_links
from psychollm.studies import self_efficacy


@pytest.fixture(scope="module")
def links():
    rows = pd.DataFrame(
        {
            "model": [f"m{n}" for n in range(6)] * 2,
            "condition": ["none"] * 6 + ["social"] * 6,
            "i1": [1, 2, 2, 3, 4, 4, 4, 4, 4, 4, 4, 4],
        }
    )
    perplexity = {f"m{n}": 6.0 - n for n in range(5)}
    study = self_efficacy(rows, measures={"perplexity": perplexity}, bootstrap=20, rng=0)
    return study.links["perplexity"]


def test_each_condition_has_a_panel_and_each_model_a_point(links):
    figure = plot_links(links, figure=Figure())
    assert len(figure.axes) == 2
    for ax, one in zip(figure.axes, links.values(), strict=True):
        (drawn,) = ax.lines
        assert drawn.get_xdata().tolist() == one.other.tolist()
        assert drawn.get_ydata().tolist() == one.totals.tolist()
    words = [text.get_text() for text in figure.axes[0].texts]
    assert any("rank correlation −0.9" in text for text in words)
    assert "all values are equal" in [text.get_text() for text in figure.axes[1].texts]
    assert figure.get_supxlabel() == "perplexity"


def test_columns_are_checked(links):
    with pytest.raises(OptionError, match="columns"):
        plot_links(links, columns=0)
