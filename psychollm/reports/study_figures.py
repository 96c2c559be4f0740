"""The figures of the study inside its report."""

from typing import TYPE_CHECKING

from psychollm.plots.shared_confidence import FIGURES
from psychollm.reports.figure import Figure, draw_figure
from psychollm.reports.study_marks import marks_of

if TYPE_CHECKING:
    from psychollm.studies.shared_confidence.study import SharedConfidence

TITLES = {
    "screen": "Yes rates and AUROC of yes for correctness, flagged models named",
    "f_beta": "F-beta of all models over beta",
    "between_models": "Yes rate over accuracy of all models",
    "factor_structure": "Loadings over thresholds, with the spectrum",
    "scree": "Eigenvalues beside two nulls",
    "second_factor": "Loadings of the second component beside one-factor replicates",
    "sensitivity": "Eigenvalue shares under each empty-cell rule",
    "correlation": "Tetrachoric correlations of all pairs of models",
    "individuation": "Areas under the ROC curve of own answers and of the shared score",
    "private_signal": "Correlation of confidence and correctness beyond the shared factor",
    "pairwise_calibration": "Observed over expected difference in correctness, pairs of models",
    "ensemble": "Gain of the mean vote over the best single answer",
    "residuals": "Residuals of all pairs of models after the shared factor",
}


def figure(study: "SharedConfidence", name: str, caption: str) -> Figure:
    """Draw one figure of the study as part of a page."""
    drawing = FIGURES[name]
    return draw_figure(
        lambda ax: drawing.draw(study, ax),
        size=drawing.size(len(study.labels)),
        caption=caption,
        title=TITLES[name],
        key=name.replace("_", "-"),
        marks=lambda drawn: marks_of(study, name, drawn.axes[0]),
    )
