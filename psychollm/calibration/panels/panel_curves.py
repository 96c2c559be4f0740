"""Curves of a panel: reliability, risk against coverage, and type-2 ROC."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.checks import check_generator
from psychollm._base.result import Result
from psychollm._base.types import FloatArray
from psychollm.calibration.discrimination.type2_roc import Type2ROC, type2_roc
from psychollm.calibration.errors.binned import BinnedCalibrationError, calibration_error
from psychollm.calibration.scores.corp import Corp, corp
from psychollm.calibration.selection.risk_coverage import RiskCoverage, risk_coverage
from psychollm.calibration.stated import StatedAnswers
from psychollm.data.labels import Labels
from psychollm.estimates.resampling import Resampling

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PanelCurves(Result):
    """Result of `CalibrationPanel.curves`: one curve of each kind."""

    reliability: Corp
    error: BinnedCalibrationError
    risk_coverage: RiskCoverage | None  # None for fractional correctness
    roc: Type2ROC | None
    models: Labels
    n_draws: int  # number of data sets simulated under calibration

    def tables(self) -> "dict[str, pd.DataFrame]":
        """Return all curves as tables, by name."""
        import pandas as pd

        frames = {
            "reliability": pd.concat(
                [curve.to_frame() for curve in self.reliability.curves], ignore_index=True
            ),
            "bins": self.error.bins.to_frame(),
            "calibration_error": self.error.to_frame(),
            "corp": self.reliability.to_frame(),
        }
        if self.risk_coverage is not None:
            frames["risk_coverage"] = self.risk_coverage.to_frame()
        if self.roc is not None:
            frames["roc"] = self.roc.criteria_frame()
        return frames


def panel_curves(
    answers: StatedAnswers, options: Resampling, *, n_draws: int | None
) -> PanelCurves:
    """Compute all curves of the same answers."""
    confidence, correct = _frames(answers)
    source = check_generator(options.rng)
    # Each curve has its own seed, so that it does not depend on the other curves.
    shared: dict[str, Any] = {
        "clusters": answers.clusters,
        "weights": answers.weights if answers.weighted else None,
        "bootstrap": options,
        "level": options.level,
        "rng": int(source.integers(2**63)),
    }
    known = answers.correct[answers.present]
    certain = bool(((known == 0.0) | (known == 1.0)).all())
    n_bands = n_null = 1000 if n_draws is None else n_draws
    if n_draws is None:  # makes the smallest adjusted p-value alpha / 5
        n_null = max(n_null, round(5 * len(answers.models) / (1.0 - options.level)))
    return PanelCurves(
        reliability=corp(confidence, correct, n_bands=n_bands, **shared),
        error=calibration_error(confidence, correct, n_null=n_null, **shared),
        risk_coverage=risk_coverage(confidence, correct, **shared) if certain else None,
        roc=type2_roc(confidence, correct, **shared) if certain else None,
        models=answers.models,
        n_draws=n_null,
    )


def _frames(answers: StatedAnswers) -> "tuple[pd.DataFrame, pd.DataFrame]":
    """Return both tables with labels; a value missing from one table is removed from both."""
    import pandas as pd

    rows = pd.Index(answers.models, tupleize_cols=False)
    columns = pd.Index(answers.questions, tupleize_cols=False)

    def frame(values: FloatArray) -> "pd.DataFrame":
        return pd.DataFrame(np.where(answers.present, values, np.nan), index=rows, columns=columns)

    return frame(answers.confidence), frame(answers.correct)
