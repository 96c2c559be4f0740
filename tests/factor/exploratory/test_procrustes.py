"""`procrustes`: targets and what is left of them."""

import numpy as np
import pandas as pd
import pytest

from psychollm._base.errors import (
    LabelError,
    ShapeError,
)
from psychollm.factor.exploratory.factor_analysis import factor_analysis
from psychollm.factor.exploratory.procrustes import procrustes
from tests.oracles import factor_analysis_slow as slow


def random_correlation(k, m, seed, n=200):
    rng = np.random.default_rng(seed)
    L = rng.uniform(-0.2, 0.9, (k, m)) / np.sqrt(m)
    data = rng.normal(size=(n, m)) @ L.T + rng.normal(size=(n, k)) * 0.6
    return np.corrcoef(data, rowvar=False)


def test_procrustes():
    rng = np.random.default_rng(3)
    A, H = rng.normal(size=(6, 2)), rng.normal(size=(6, 2))
    found = procrustes(A, H)
    assert found.criterion == pytest.approx(slow.best_orthogonal(A, H), rel=1e-5)
    np.testing.assert_allclose(found.factor_correlation, np.eye(2), atol=1e-12)
    oblique = procrustes(A, H, oblique=True)
    assert oblique.criterion <= found.criterion
    np.testing.assert_allclose(np.diagonal(oblique.factor_correlation), 1.0)
    frame = factor_analysis(random_correlation(6, 2, 0), 2)
    again = procrustes(frame, frame)
    np.testing.assert_allclose(again.loadings, frame.loadings, atol=1e-9)
    with pytest.raises(ShapeError, match=r"\(5, 2\)"):
        procrustes(A, H[:5])
    named = factor_analysis(
        pd.DataFrame(random_correlation(6, 2, 0), list("abcdef"), list("abcdef")), 1
    )
    with pytest.raises(LabelError, match="rows that loadings lack"):
        procrustes(named, factor_analysis(random_correlation(6, 1, 0), 1))
