"""Catalogue of all metrics for panels, which each metric describes in its own module.

A panel has four sections. Ranking measures how well confidence discriminates, and scores measure
how well it is calibrated. Selection and decisions measure the consequences of acting on
confidence.
"""

import pkgutil
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, get_args

import numpy as np

from psychollm._base.types import IntArray
from psychollm.calibration.metric import Metric, Output, Section

if TYPE_CHECKING:
    from psychollm.estimates.estimate import Estimate

MAIN = ("overconfidence", "corp_mcb", "auroc", "aurc_normalised", "brier")


@cache
def panel_metrics() -> tuple[Metric, ...]:
    """Return the metrics of all modules of this subpackage that are part of panels, in order."""
    home = __name__.rpartition(".panels.")[0]
    modules = pkgutil.walk_packages(import_module(home).__path__, f"{home}.")
    held = [value for module in modules for value in vars(import_module(module.name)).values()]
    metrics = {id(one): one for one in held if isinstance(one, Metric) and one.outputs}
    order = get_args(Section)
    return tuple(
        sorted(metrics.values(), key=lambda one: (order.index(one.outputs[0].section), one.rank))
    )


@cache
def panel_outputs() -> dict[str, Output]:
    """Return the description of every output of a panel, by key."""
    return {one.key: one for metric in panel_metrics() for one in metric.outputs}


def metric_keys() -> list[str]:
    """Return the keys of all metrics of a panel.

    Examples
    --------
    >>> metric_keys()[:3]
    ['auroc', 'gamma', 'somers_d']
    """
    return list(panel_outputs())


def rank_order(output: Output, estimate: "Estimate") -> IntArray:
    """Return the indices of models from best to worst; undefined values are last."""
    value = estimate.value
    neutral = 0.0 if output.neutral is None else output.neutral
    distance = {"lower": value, "near": np.abs(value - neutral)}.get(output.better, -value)
    return np.argsort(np.where(np.isfinite(distance), distance, np.inf), kind="stable")
