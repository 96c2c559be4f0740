"""`FactorSolution`: what it says of common variance and of local minima."""

import json
from pathlib import Path

import numpy as np
import pytest

from psychollm.factor.exploratory.factor_analysis import factor_analysis
from validation.extraction_minima import simulated_correlation

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "psychometrics"


def test_others_explain_all_common_variance():
    R, m = simulated_correlation(np.random.default_rng(0), weak=False)
    for method in ("minres", "ml", "principal_axis"):
        assert factor_analysis(R, m, method=method).explained_common_variance == pytest.approx(1)


def test_minima_of_extraction_are_said():
    R = np.array(json.loads((GOLDEN / "harman_political.json").read_text())["R"])
    found = factor_analysis(R, 2, method="ml", n=147)
    assert found.extraction_minima == 2
    assert "The extraction has 2 local minima; the solution is the lowest." in found.summary()
    assert "local minima" not in factor_analysis(R, 2, n=147).summary()
