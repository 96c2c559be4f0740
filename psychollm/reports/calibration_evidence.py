"""What the report of a panel rests on, computed once: metrics, curves, comparisons."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.errors import OptionError
from psychollm._base.multiplicity import adjust_p_values
from psychollm._base.types import BoolArray, FloatArray
from psychollm.estimates.comparisons import Comparisons, compare_all
from psychollm.estimates.verdict import SMALLEST, SmallestEffects, Verdicts, verdicts

if TYPE_CHECKING:
    from psychollm.calibration.panels.panel import CalibrationPanel
    from psychollm.calibration.panels.panel_curves import PanelCurves

COMPARED = ("brier", "auroc")


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A panel, its curves, and every pair of models compared on the main metrics."""

    panel: "CalibrationPanel"
    curves: "PanelCurves"
    comparisons: Mapping[str, Comparisons]  # by the key of the metric
    smallest: SmallestEffects

    @property
    def labels(self) -> tuple[Any, ...]:
        """The models."""
        return self.panel.models

    def held(self, *keys: str) -> list[str]:
        """Return those of the metrics that the panel holds."""
        return [key for key in keys if key in self.panel.estimates]

    @property
    def calibration_p(self) -> FloatArray:
        """P-values of calibration by the binned error, adjusted for the number of models."""
        return adjust_p_values(self.curves.error.p_value.value)

    @property
    def miscalibrated(self) -> BoolArray:
        """Models whose calibration is rejected, by p-value and by the interval beside it."""
        lower = self.curves.error.corrected.interval[:, 0]
        with np.errstate(invalid="ignore"):
            rejected = (self.calibration_p < 1.0 - self.panel.level) & (lower > 0.0)
        return np.asarray(rejected, dtype=np.bool_)

    @property
    def calibrated(self) -> Verdicts:
        """What the error beyond chance shows of each model."""
        return verdicts(
            self.curves.error.corrected,
            smallest=self.smallest.calibration_error,
            rejected=self.miscalibrated.tolist(),
        )


def gather(
    panel: "CalibrationPanel",
    curves: "PanelCurves | None",
    *,
    smallest: SmallestEffects = SMALLEST,
) -> Evidence:
    """Return the evidence; curves that are not at hand are computed."""
    if not hasattr(panel, "curves"):
        msg = f"there is no report of a {type(panel).__name__}: pass what calibration_panel gives"
        raise OptionError(msg)
    compared = [key for key in COMPARED if key in panel.estimates] or list(panel)[:1]
    return Evidence(
        panel=panel,
        curves=panel.curves() if curves is None else curves,
        comparisons={
            key: compare_all(panel[key], adjustment="max_t")
            for key in compared
            if len(panel.models) > 1 and panel[key].defined.sum() > 1
        },
        smallest=smallest,
    )
