"""Figures of the shared-confidence study, by name."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from psychollm._base.checks import check_choice
from psychollm.estimates.null import Null
from psychollm.estimates.verdict import Outcome
from psychollm.plots.between_models import plot_between_models
from psychollm.plots.canvas import names_width, note, open_axes, open_figure, plain_text
from psychollm.plots.correlation import plot_correlation, plot_residuals, plot_sensitivity
from psychollm.plots.f_beta import plot_f_beta
from psychollm.plots.factor_structure import plot_factor_structure
from psychollm.plots.forest import plot_forest
from psychollm.plots.pairwise_calibration import plot_individuation, plot_pairwise_calibration
from psychollm.plots.scree import plot_scree
from psychollm.plots.screen import plot_screen
from psychollm.plots.second_factor import plot_second_factor

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from psychollm.studies.shared_confidence.result import SharedConfidence

FigureName: TypeAlias = Literal[
    "overview",
    "screen",
    "f_beta",
    "between_models",
    "factor_structure",
    "scree",
    "second_factor",
    "sensitivity",
    "correlation",
    "individuation",
    "private_signal",
    "pairwise_calibration",
    "ensemble",
    "residuals",
]


@dataclass(frozen=True, slots=True)
class Drawing:
    """Function that draws a figure, with the size of the figure in inches."""

    draw: Callable[["SharedConfidence", "Axes"], object]
    width: float
    height: float
    per_model: float = 0.0
    tallest: float = 24.0

    def size(self, labels: Sequence[Any]) -> tuple[float, float]:
        """Return width and height, with space for one row per model if needed."""
        beside = names_width(labels) if self.per_model else 0.0
        height = self.height + self.per_model * len(labels)
        return round(self.width + beside, 2), min(height, self.tallest)


@plain_text()
def plot_shared_confidence(
    result: "SharedConfidence", *, figure: FigureName = "overview"
) -> "Figure":
    """Draw the four main figures of the study, or one figure by name.

    Parameters
    ----------
    result : SharedConfidence
        Result of `shared_confidence`.
    figure : str
        Name of a figure, or "overview" for the four main figures.

    Returns
    -------
    Figure
        Figure created with pyplot.

    Raises
    ------
    OptionError
        If no figure has the given name.

    Examples
    --------
    >>> import psychollm as psy
    >>> from psychollm.data.simulate_study import simulate_study
    >>> made = simulate_study(n_models=6, n_questions=200, rng=0)
    >>> study = psy.shared_confidence(
    ...     made.confidence, made.correctness, n_null=19, bootstrap=19, rng=0)
    >>> len(plot_shared_confidence(study, figure="f_beta").axes)
    1
    """
    check_choice("figure", figure, FigureName)
    if figure == "overview":
        made = open_figure(None, size=(14.0, 11.0))
        for name, ax in zip(_OVERVIEW, made.subplots(2, 2).flat, strict=True):
            FIGURES[name].draw(result, ax)
    else:
        drawing = FIGURES[figure]
        made = open_figure(None, size=drawing.size(result.labels))
        drawing.draw(result, made.subplots())
    return made


def _second_factor(result: "SharedConfidence", ax: "Axes") -> None:
    plain = result.dimensionality.spectrum
    null = Null.compare(
        plain.second_loadings,
        plain.second_replicates,
        scheme="one_factor",
        statistic="second_loadings",
        alternative="two-sided",
    )
    plot_second_factor(
        null, thresholds=plain.correlation.thresholds, names=plain.correlation.labels, ax=ax
    )


def _residuals(result: "SharedConfidence", ax: "Axes") -> None:
    dimensions = result.dimensionality
    plot_residuals(dimensions.residuals, order=dimensions.spectrum.correlation.thresholds, ax=ax)


def differs_from_shared(result: "SharedConfidence") -> list[bool]:
    """Return whether each model's confidence predicts correctness beyond the common factor."""
    return [one is Outcome.ABOVE for one in result.private_signal.verdicts().outcomes]


def _private_signal(result: "SharedConfidence", ax: "Axes") -> None:
    plot_forest(
        result.private_signal.correlation,
        names=["correlation"],
        reference=0.0,
        strong=differs_from_shared(result),
        x="correlation of confidence and correctness beyond the common factor",
        ax=ax,
    )


def _ensemble(result: "SharedConfidence", ax: "Axes") -> None:
    gain = result.ensemble
    if not np.isfinite(gain.gain.value).any():
        note(open_axes(ax), "correctness of no model could be predicted")
        return
    plot_forest(
        [gain.gain_at_equal_rate, gain.gain],
        names=["at the single model's yes rate", "original vote"],
        reference=0.0,
        x="AUROC of the mean vote minus that of the best single model",
        ax=ax,
    )


_OVERVIEW = ("f_beta", "between_models", "factor_structure", "individuation")

FIGURES: Mapping[str, Drawing] = {
    "screen": Drawing(lambda r, ax: plot_screen(r.screen, ax=ax), 6.6, 4.2),
    "f_beta": Drawing(lambda r, ax: plot_f_beta(r.f_beta, ax=ax), 7.4, 4.9),
    "between_models": Drawing(
        lambda r, ax: plot_between_models(r.between, rates=r.confusion, ax=ax), 6.6, 5.2
    ),
    "factor_structure": Drawing(
        lambda r, ax: plot_factor_structure(r.dimensionality, ax=ax), 7.4, 6.6
    ),
    "scree": Drawing(
        lambda r, ax: plot_scree(
            [r.dimensionality.spectrum.permutation, r.dimensionality.spectrum.one_factor], ax=ax
        ),
        6.4,
        4.0,
    ),
    "second_factor": Drawing(_second_factor, 6.6, 4.0),
    "sensitivity": Drawing(
        lambda r, ax: plot_sensitivity(r.dimensionality.spectrum.sensitivity, ax=ax), 6.6, 3.0
    ),
    "correlation": Drawing(
        lambda r, ax: plot_correlation(
            r.dimensionality.spectrum.correlation, order="threshold", ax=ax
        ),
        6.6,
        3.4,
        0.115,
        5.7,
    ),
    "individuation": Drawing(
        lambda r, ax: plot_individuation(r.individuation, strong=differs_from_shared(r), ax=ax),
        6.8,
        1.5,
        0.25,
    ),
    "private_signal": Drawing(_private_signal, 6.4, 1.2, 0.21),
    "pairwise_calibration": Drawing(
        lambda r, ax: plot_pairwise_calibration(r.pairwise, ax=ax), 5.8, 4.9
    ),
    "ensemble": Drawing(_ensemble, 6.6, 1.5, 0.23),
    "residuals": Drawing(_residuals, 6.6, 3.4, 0.115, 5.7),
}
