"""Studies to report, computed once."""

import numpy as np
import pytest

pytest.importorskip("matplotlib")

import psychollm as psy
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
