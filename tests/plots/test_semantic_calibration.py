"""Reliability diagrams of arms: they draw the numbers of the study."""

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

from psychollm._base.errors import LabelError, OptionError
from psychollm.data.sampled import SampledAnswers
from psychollm.plots.semantic_calibration import plot_semantic_calibration
from psychollm.studies.semantic_calibration.study import SemanticCalibration, semantic_calibration

mpl.use("Agg")


@pytest.fixture(scope="module")
def study() -> SemanticCalibration:
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 3, (2, 60, 5))
    samples = SampledAnswers.from_array(
        classes, gold=rng.integers(0, 3, 60).tolist(), models=["base", "instruct"]
    )
    return semantic_calibration(samples, n_null=99, bootstrap=50, rng=0)


def test_panels_hold_the_numbers(study: SemanticCalibration) -> None:
    figure = plot_semantic_calibration(study, figure=Figure())
    assert len(figure.axes) == 2
    table = study.curves()
    for ax, label in zip(figure.axes, study.labels, strict=True):
        own = table[(table["arm"] == label) & (table["n"] > 0)]
        (rings,) = [one for one in ax.collections if one.get_gid() == f"rings {label}"]
        expected = own[["confidence", "accuracy"]].to_numpy()
        assert np.asarray(rings.get_offsets()) == pytest.approx(expected)
        (line,) = [one for one in ax.lines if one.get_gid() == f"observed {label}"]
        assert line.get_ydata() == pytest.approx(own.loc[own["n"] >= 3, "accuracy"].to_numpy())
        assert any(text.get_text() == str(label) for text in ax.texts)


def test_arms_can_be_chosen(study: SemanticCalibration) -> None:
    assert len(plot_semantic_calibration(study, arms=["instruct"], figure=Figure()).axes) == 1
    with pytest.raises(LabelError, match="arm 'none' does not exist"):
        plot_semantic_calibration(study, arms=["none"])
    with pytest.raises(OptionError):
        plot_semantic_calibration(study, columns=0, figure=Figure())


def test_curves_sum_to_all_questions(study: SemanticCalibration) -> None:
    table = study.curves()
    for row, label in enumerate(study.labels):
        own = table[table["arm"] == label]
        assert own["n"].sum() == study.n_questions
        right = (own["n"] * own["accuracy"].fillna(0.0)).sum() / study.n_questions
        assert right == pytest.approx(study.accuracy.value[row])
        low, high = own["expected_lower"], own["expected_upper"]
        assert ((low <= high) | low.isna()).all()


def test_many_shares_are_put_into_ten_bins() -> None:
    rng = np.random.default_rng(1)
    classes = (rng.random((1, 150, 40)) < rng.random((1, 150, 1))).astype(int)
    samples = SampledAnswers.from_array(classes, gold=rng.integers(0, 2, 150).tolist())
    found = semantic_calibration(samples, n_null=99, bootstrap=50, rng=0)
    assert found.diagrams[0].n.size <= 10
