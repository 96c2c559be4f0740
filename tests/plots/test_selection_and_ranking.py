"""Risk-coverage and type-2 ROC plots draw what their results hold."""

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import psychollm as psy
from psychollm import plots
from psychollm.calibration.discrimination.type2_roc import Type2ROC, type2_roc
from psychollm.calibration.selection.risk_coverage import RiskCoverage, risk_coverage
from psychollm.plots.canvas import BLUE
from psychollm.plots.labels import MOST_NAMES, emphasised, name_ends

Tables = tuple[np.ndarray, np.ndarray]


@pytest.fixture(scope="module")
def tables() -> Tables:
    """Five models: the third is always right, the fourth has no answers."""
    rng = np.random.default_rng(1)
    said = np.round(rng.beta(3, 2, size=(5, 150)), 1)
    right = (rng.uniform(size=said.shape) < said).astype(float)
    right[2], said[3] = 1.0, np.nan
    return said, right


@pytest.fixture(scope="module")
def risk(tables: Tables) -> RiskCoverage:
    return risk_coverage(*tables, bootstrap=20, rng=0)


@pytest.fixture(scope="module")
def roc(tables: Tables) -> Type2ROC:
    return type2_roc(*tables, bootstrap=20, rng=0)


def line(ax: Axes, name: str) -> np.ndarray:
    (found,) = [line for line in ax.lines if line.get_gid() == name]
    return np.column_stack(found.get_data())


def words(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.texts]


def legend_of(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_risks_are_those_of_the_frame(ax: Axes, risk: RiskCoverage) -> None:
    plots.plot_risk_coverage(risk, ax=ax)
    frame = risk.to_frame()
    for label in risk.labels:
        expected = frame.loc[frame["model"] == label, ["coverage", "risk"]]
        if label != 3:
            assert np.array_equal(line(ax, f"curve {label}"), expected)
    assert np.isnan(line(ax, "curve 3")[:, 1]).all()
    # A model without answers has no end to be named.
    assert set(words(ax)) == {"0", "1", "2", "4"}
    assert not [c for c in ax.collections if c.get_paths()]  # five models: no bands


def test_baselines_of_many_models_are_those_of_the_best(ax: Axes, risk: RiskCoverage) -> None:
    plots.plot_risk_coverage(risk, ax=ax)
    best = int(np.nanargmin(risk.aurc.value))
    assert np.array_equal(line(ax, f"best {best}")[:, 1], risk.best[best])
    assert [line.get_gid() for line in ax.lines if str(line.get_gid()).startswith("best")] == [
        f"best {best}"
    ]
    assert legend_of(ax) == [f"random order, {best}", f"optimal order, {best}"]


def test_few_models_have_bands_and_baselines(ax: Axes, risk: RiskCoverage) -> None:
    plots.plot_risk_coverage(risk, models=[4, 0], ax=ax)
    for label in (4, 0):
        assert np.array_equal(line(ax, f"best {label}")[:, 1], risk.best[label])
    assert len(ax.collections) == 2
    assert legend_of(ax) == ["random order", "optimal order"]
    level = [line.get_ydata() for line in ax.lines if len(set(line.get_ydata())) == 1]
    assert any(np.isclose(y[0], risk.error_rate[0]) for y in level if len(y))


def test_the_risk_grid_says_what_is_undefined(risk: RiskCoverage) -> None:
    figure = plots.plot_risk_coverage_grid(risk, columns=3, figure=Figure(layout="constrained"))
    assert len(figure.axes) == 5
    said = " ".join(" ".join(words(figure.axes[3])).split())
    assert "no question has both confidence and correctness" in said
    assert np.isnan(line(figure.axes[3], "curve 3")[:, 1]).all()
    assert f"AURC {risk.aurc.value[0]:.3f}" in words(figure.axes[0])[0]
    assert np.array_equal(line(figure.axes[1], "curve 1")[:, 1], risk.risk[1])
    assert len({ax.get_ylim() for ax in figure.axes}) == 1
    figure.draw_without_rendering()


def test_roc_curves_go_through_every_criterion(ax: Axes, roc: Type2ROC) -> None:
    plots.plot_type2_roc(roc, ax=ax)
    frame = roc.criteria_frame()
    for label in (0, 1, 4):
        expected = frame.loc[frame["model"] == label, ["false_alarm_rate", "hit_rate"]]
        drawn = line(ax, f"curve {label}")
        assert np.array_equal(drawn[0], [0.0, 0.0])
        assert np.array_equal(drawn[1:], expected)
    assert np.array_equal(line(ax, "chance"), [[0, 0], [1, 1]])
    assert line(ax, "curve 2").shape == line(ax, "curve 3").shape == (0, 2)


def test_the_roc_legend_sorts_areas_and_says_what_is_undefined(ax: Axes, roc: Type2ROC) -> None:
    plots.plot_type2_roc(roc, ax=ax)
    shown = legend_of(ax)
    value = roc.auroc.value
    order = sorted((0, 1, 4), key=lambda model: -value[model])
    assert [text.split("] ")[-1] for text in shown[:3]] == [str(model) for model in order]
    assert shown[0].startswith(f"{value[order[0]]:.2f} [")
    assert set(shown[3:]) == {
        "2: never wrong",
        "3: no question has both confidence and correctness",
    }


def test_few_roc_curves_have_bands(ax: Axes, roc: Type2ROC) -> None:
    plots.plot_type2_roc(roc, models=[1], ax=ax)
    (band,) = ax.collections
    corners = band.get_paths()[0].vertices
    assert np.nanmax(roc.interval[1]) == pytest.approx(corners[:, 1].max())


def test_unknown_models_are_refused(ax: Axes, risk: RiskCoverage, roc: Type2ROC) -> None:
    for draw in (
        lambda: plots.plot_risk_coverage(risk, models=[9], ax=ax),
        lambda: plots.plot_risk_coverage(risk, highlight=[9], ax=ax),
        lambda: plots.plot_type2_roc(roc, models=[9], ax=ax),
        lambda: plots.plot_risk_coverage_grid(risk, models=[9], figure=Figure()),
    ):
        with pytest.raises(psy.errors.LabelError, match="model 9 does not exist"):
            draw()


def test_many_models_leave_all_but_a_few_grey() -> None:
    names = [f"m{i}" for i in range(12)]
    value = np.arange(12.0)[::-1]
    value[3] = np.nan
    assert list(emphasised(names, value)) == [11, 10, 9, 8, 7]
    assert emphasised(names, value, ["m3"]) == {3: BLUE}
    assert len(emphasised(names[:10], value[:10])) == 9  # the undefined one has no curve


def test_of_many_ends_only_the_coloured_are_named(ax: Axes) -> None:
    n = MOST_NAMES + 1
    ax.set_ylim(0.0, 2.0)
    name_ends(ax, np.linspace(0.0, 2.0, n), [f"m{i}" for i in range(n)], {4: BLUE, 2: BLUE})
    assert words(ax) == ["m2", "m4"]
