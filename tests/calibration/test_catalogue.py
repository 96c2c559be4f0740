"""Metrics of the panel: their keys, and what is said where a key is unknown."""

import pytest

from psychollm._base.errors import OptionError
from psychollm.calibration.panels.catalogue import metric_keys, panel_metrics
from psychollm.calibration.panels.panel import calibration_panel
from tests.calibration.test_panel import simulated


def test_keys_are_unique_and_count_the_outputs() -> None:
    assert len(set(metric_keys())) == len(metric_keys())
    for metric in panel_metrics():
        assert len(metric.outputs) == len(metric.names)


def test_unknown_metrics_are_named_with_similar_ones() -> None:
    with pytest.raises(OptionError, match="'auc', which does not exist: use.*auroc"):
        calibration_panel(*simulated(), metrics=["auc"])
