"""Studies to report, computed once."""

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("matplotlib")

import psychollm as psy
from psychollm.calibration.panels.panel import CalibrationPanel
from psychollm.data.simulate_study import simulate_study
from psychollm.reports import report_text
from psychollm.studies.shared_confidence.result import SharedConfidence


@pytest.fixture(scope="session")
def study() -> SharedConfidence:
    made = simulate_study(n_models=8, n_questions=300, rng=0)
    return psy.shared_confidence(made.confidence, made.correctness, n_null=39, bootstrap=39, rng=1)


@pytest.fixture(scope="session")
def study_page(study: SharedConfidence) -> str:
    return report_text(study)


@pytest.fixture(scope="session")
def awkward() -> SharedConfidence:
    """Constant and inverted models, missing answers, names that are markup."""
    made = simulate_study(n_models=8, n_questions=300, rng=0)
    said, right = made.confidence.values.copy(), made.correctness.values.copy()
    said[0] = 1.0
    said[1] = 1.0 - right[1]
    right[2] = 1.0
    said[3, :30] = np.nan
    names = ["<always>", "a&b", *(f"m{i}" for i in range(2, 8))]
    return psy.shared_confidence(
        psy.Responses(said, models=names),
        psy.Responses(right, models=names),
        n_null=39,
        bootstrap=39,
        rng=1,
    )


def page_of_panel(panel: CalibrationPanel, *, source: str = "") -> str:
    return report_text(panel, source=source, details={"curves": panel.curves(n_draws=30)})


def answers_as_stated(models: int, questions: int) -> tuple[np.ndarray, np.ndarray]:
    """Return confidence, and answers that are right as often as is stated."""
    rng = np.random.default_rng(5)
    said = np.round(rng.beta(4, 2, (models, questions)), 1)
    return said, (rng.uniform(size=said.shape) < said).astype(float)


@pytest.fixture(scope="session")
def awkward_panel() -> CalibrationPanel:
    """Always and never right, constant, inverted, silent; names that are markup; clusters."""
    said, right = answers_as_stated(6, 120)
    right[0], right[1], said[2], said[4] = 1.0, 0.0, 0.5, np.nan
    said[3] = 1.0 - right[3]
    names = ["<always>", "a&b", "constant", "inverted", "silent", "plain"]
    return psy.calibration_panel(
        pd.DataFrame(said, index=names),
        pd.DataFrame(right, index=names),
        clusters=np.arange(120) // 3,
        rng=0,
        bootstrap=40,
    )


@pytest.fixture(scope="session")
def awkward_panel_page(awkward_panel: CalibrationPanel) -> str:
    return page_of_panel(awkward_panel)
