"""Capability against monitoring: SciPy's coefficient, its interval, what is left undefined."""

import numpy as np
import pandas as pd
import pytest

from psychollm.estimates.reasons import Reason
from psychollm.studies.inference_boundary.monitoring_link import monitoring_link, rank_link
from psychollm.studies.inference_boundary.study import inference_boundary


def test_scipy_agrees() -> None:
    from scipy.stats import spearmanr

    rng = np.random.default_rng(0)
    for n in (4, 9, 30):
        x, y = rng.integers(0, 8, n).astype(float), rng.normal(size=n)
        found = rank_link(x, y, tuple(range(n)), rng=0)
        assert found.value == pytest.approx(spearmanr(x, y).statistic)
        assert found.interval[0] < found.value < found.interval[1]
    # Large samples: the t approximation that SciPy uses is close.
    assert found.p_value == pytest.approx(spearmanr(x, y).pvalue, abs=0.03)


def test_reference_models_and_scores_of_elsewhere(golden) -> None:
    frame = pd.read_csv(golden / "metacognition" / "vornish_a.csv")
    study = inference_boundary(frame, bootstrap=20, rng=0)
    found = monitoring_link(study, rng=0)
    rates = frame.pivot_table(index="model", columns="type", values="score")
    assert found.value == pytest.approx(rates["A"].corr(rates["C"], method="spearman"))
    assert len(found.labels) == 9
    other = monitoring_link(study, {"m1": 1.0, "m2": 3.0, "m3": 2.0, "none": 9.0}, rng=0)
    assert other.labels == ("m1", "m2", "m3")
    assert np.isnan(other.interval).all()


def test_what_cannot_be_said() -> None:
    tied = rank_link(np.ones(5), np.arange(5.0), tuple("abcde"))
    assert (tied.flag, np.isnan(tied.value), np.isnan(tied.p_value)) == (
        Reason.ALL_TIED,
        True,
        True,
    )
    assert rank_link(np.ones(1), np.ones(1), ("a",)).flag is Reason.TOO_FEW
    assert rank_link(np.ones(0), np.ones(0), ()).flag is Reason.TOO_FEW
    perfect = rank_link(np.arange(5.0), np.arange(5.0), tuple("abcde"))
    assert perfect.value == pytest.approx(1.0)
    assert np.isnan(perfect.interval).all()
