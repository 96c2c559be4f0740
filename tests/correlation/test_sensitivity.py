"""Empty-cell rules beside each other."""

import numpy as np

from psychollm.correlation.tetrachoric import PairStatus, tetrachoric


def test_empty_cells_and_sensitivity():
    correlation = tetrachoric([[1, 1, 1, 0, 0, 0, 0, 0], [1, 1, 1, 1, 0, 0, 0, 0], [1, 0] * 4])
    assert correlation.status[0, 1] == PairStatus.ADJUSTED
    report = correlation.sensitivity()
    assert report.n_empty == 1
    assert report.spread[0, 1] > 0
    assert report.spread[0, 2] == 0
    assert report.to_frame().loc[0, "none"] == 1.0
    bound = tetrachoric(correlation.counts, empty_cells="none")
    assert bound.status[0, 1] == PairStatus.AT_BOUND
    assert np.isnan(bound.se[0, 1])
