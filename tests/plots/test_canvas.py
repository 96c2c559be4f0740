"""Axes: made if none are given, never changed beyond them."""

import html
import subprocess
import sys
from io import StringIO
from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import psychollm as psy
from psychollm import plots
from psychollm._base.result import Result
from psychollm.plots.canvas import open_axes, open_figure


def test_a_figure_is_made_if_none_is_given(pyplot: object) -> None:
    ax = plots.plot_matrix(np.eye(3), "abc", name="r", limits=(-1, 1))
    assert ax.figure in map(pyplot.figure, pyplot.get_fignums())  # type: ignore[attr-defined]


def test_nothing_global_is_set(ax: Axes) -> None:
    before = dict(mpl.rcParams)
    plots.plot_matrix(np.eye(3), "abc", name="r", limits=(-1, 1), ax=ax)
    assert dict(mpl.rcParams) == before


def test_what_is_not_axes_is_refused() -> None:
    with pytest.raises(psy.errors.OptionError, match="not a matplotlib Axes"):
        open_axes("here")  # type: ignore[arg-type]


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(psy.errors.MissingPackageError, match=r'pip install "psychollm\[plot\]"'):
        plots.plot_matrix(np.eye(3), "abc", name="r", limits=(-1, 1))


def test_importing_plots_loads_no_matplotlib() -> None:
    program = "import sys, psychollm.plots; print('matplotlib' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.stdout.strip() == "False", run.stderr


@pytest.mark.parametrize(("backend", "left"), [("inline", 0), ("agg", 1)])
def test_a_notebook_shows_a_figure_once(
    backend: str, left: int, pyplot: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """IPython shows the value of a cell, and what pyplot still holds at its end."""
    shown: list[Figure] = []
    display = SimpleNamespace(display=shown.append)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    monkeypatch.setattr(pyplot, "get_backend", lambda: backend)
    figure = open_figure(None, size=(2.0, 2.0))
    figure._ipython_display_()  # type: ignore[attr-defined]
    assert shown == [figure]
    assert len(pyplot.get_fignums()) == left  # type: ignore[attr-defined]
    assert not hasattr(figure, "_ipython_display_")  # from now on as any figure


NEED_MORE = {"integrations", "steering"}  # need other packages, and have nothing to draw


def all_results(kind: type[Result] = Result) -> list[type[Result]]:
    return [kind, *(one for below in kind.__subclasses__() for one in all_results(below))]


def test_what_plot_returns_is_declared() -> None:
    rooms = [getattr(psy, name) for name in set(psy._SUBMODULES) - {"errors", *NEED_MORE}]
    assert all(getattr(room, name) for room in rooms for name in room.__all__)  # loads them
    found = {one for one in all_results() if "plot" in vars(one)}
    returned = {one.__name__: str(vars(one)["plot"].__annotations__["return"]) for one in found}
    assert {"Correlation", "IRTFit", "Abilities", "FactorSolution"} <= set(returned)
    assert {name.strip("'\"") for name in returned.values()} == {"Drawn", "Figure"}, returned


# Many axes at once: these return figures.
FIGURES = {
    "plot_calibration_panel",
    "plot_links",
    "plot_reliability_grid",
    "plot_risk_coverage_grid",
    "plot_semantic_calibration",
    "plot_shared_confidence",
    "plot_steering_match",
}


@pytest.mark.parametrize("name", sorted(set(plots.__all__) - FIGURES))
def test_every_plot_takes_axes_by_keyword(name: str) -> None:
    import inspect

    parameter = inspect.signature(getattr(plots, name)).parameters["ax"]
    assert parameter.kind is parameter.KEYWORD_ONLY
    assert parameter.default is None


HOSTILE = (r"m $\x$", "$a_$", "$$", r"a \$ b", "<script>", "a $b$ c")


@pytest.mark.parametrize("given", [True, False])
def test_labels_are_shown_as_they_stand(given: bool, pyplot: object) -> None:
    """A dollar in a name is no formula; a report ended with an error of matplotlib's parser."""
    rng = np.random.default_rng(0)
    values = rng.random((len(HOSTILE), 40))
    right = rng.random((len(HOSTILE), 40)) < values
    table = pd.DataFrame(values, index=list(HOSTILE))
    found = psy.calibration.brier(table, pd.DataFrame(right, index=table.index), bootstrap=9)
    ax = plots.plot_forest(found, ax=Figure().subplots() if given else None)
    written = StringIO()
    with mpl.rc_context({"svg.fonttype": "none"}):
        ax.figure.savefig(written, format="svg")
    for name in HOSTILE:
        assert html.escape(name, quote=False) in written.getvalue()


@pytest.mark.parametrize("name", [name for name in plots.__all__ if name.startswith("plot_")])
def test_every_plot_shows_text_as_it_stands(name: str) -> None:
    assert hasattr(getattr(plots, name), "__wrapped__"), "decorate it with plain_text"
