"""Bins: edges, ties, few confidences, and the table of a reliability diagram."""

import numpy as np
import pandas as pd
import pytest

from psychollm.calibration.errors.binned import (
    ECE,
    calibration_error,
)
from psychollm.calibration.errors.bins import (
    Binning,
    Bins,
    bins_of,
    levels,
    mass_index,
    reliability_bins,
)
from psychollm.calibration.stated import (
    stated_answers,
)
from psychollm.calibration.tally import Tally, tallies
from tests.calibration.test_binned import QUICK, SIZES, outputs, simulated
from tests.oracles import binned_slow as slow


@pytest.mark.parametrize("n_bins", SIZES)
@pytest.mark.parametrize("closed", ["right", "left"])
@pytest.mark.parametrize(
    "written",
    [
        lambda k: k / 20,
        lambda k: k * 0.05,
        lambda k: sum([0.05] * k),
        lambda k: 1.0 - (20 - k) * 0.05,
        lambda k: float(np.float32(k / 20)),
        lambda k: (k * 0.7) / 14,
    ],
)
def test_edges_are_the_decimals_that_were_meant(n_bins, closed, written) -> None:
    values = np.clip([written(k) for k in range(21)], 0.0, 1.0)
    bins = bins_of(values, np.ones(21), Binning(kind="width", n_bins=n_bins, closed=closed))
    found = bins.edges[bins.index, 0] * n_bins
    expected = [slow.width_bin(k / 20, n_bins, closed) for k in range(21)]
    assert np.rint(found).astype(int).tolist() == expected


def test_one_confidence_written_two_ways_is_one() -> None:
    assert levels(np.array([0.3, 0.1 + 0.2, float(np.float32(0.3))])).tolist() == [0, 0, 0]
    confidence = [0.3, 0.1 + 0.2, 0.3, 0.1 + 0.2]
    assert outputs(ECE, confidence, [1, 0, 0, 0])[0] == pytest.approx(0.05, abs=1e-12)


@pytest.mark.parametrize("closed", ["right", "left"])
def test_ties_are_never_split(closed) -> None:
    values, counts = np.array([0.1, 0.5, 0.9]), np.array([1.0, 8.0, 1.0])
    bins = bins_of(values, counts, Binning(kind="mass", n_bins=5, closed=closed))
    expected = slow.mass_bins([0.1] + [0.5] * 8 + [0.9], 5, closed)
    assert (
        bins.index.tolist() == pd.factorize(np.array(expected)[[0, 1, 9]], sort=True)[0].tolist()
    )


def test_few_confidences_are_bins_of_their_own() -> None:
    for n, kind in ((20, "discrete"), (21, "width")):
        assert bins_of(np.linspace(0, 1, n), np.ones(n), Binning()).kind == kind


def test_table_gives_the_error() -> None:
    confidence, correct = simulated(200, 8, 9, 2.0)
    found = calibration_error([confidence, 1 - confidence], [correct, correct], **QUICK)
    table = found.bins.to_frame()
    gap = (table.accuracy - table.confidence).abs() * table.n
    assert (gap.groupby(table.model).sum() / 200).to_numpy() == pytest.approx(found.value.value)
    inside = (table.lower < table.confidence) & (table.confidence <= table.upper)
    assert inside.all()
    assert (table.accuracy_lower <= table.accuracy).all()
    assert (table.accuracy <= table.accuracy_upper).all()
    assert found.bins.n.sum() == 400


def test_clusters_widen_the_bars_of_the_table() -> None:
    confidence, correct = np.repeat([0.4, 0.8], 40), np.repeat([1, 0, 0, 1, 1, 1, 0, 1], 10)
    alone = calibration_error(confidence, correct, **QUICK).bins
    together = calibration_error(
        confidence, correct, clusters=np.repeat(range(8), 10), **QUICK
    ).bins
    assert (np.diff(together.interval) > 1.5 * np.diff(alone.interval)).all()
    unanimous = calibration_error([0.9] * 20, [1] * 20, clusters=[0, 1] * 10, **QUICK).bins
    assert unanimous.interval[0, 0] == pytest.approx(0.342, abs=1e-3)  # Wilson, two of two


@pytest.mark.parametrize(
    ("counts", "left", "index"),
    [([1.0, 2.0, 2.0, 1.0], False, [0, 0, 1, 1]), ([1.0, 4.0, 1.0], True, [0, 1, 1])],
)
def test_bins_of_equal_mass(counts: list[float], left: bool, index: list[int]) -> None:
    found = mass_index(np.arange(len(counts)), np.array(counts), 2, left=left)
    assert found.tolist() == index


def test_bins_of_a_diagram() -> None:
    def one(tally: Tally) -> Bins:
        return bins_of(tally.values, np.ones(2), Binning(kind="mass", n_bins=1))

    answers = stated_answers([[0.9, 0.9, 0.2]], [[1, 0, 0]])
    assert reliability_bins(answers, tallies(answers), one, level=0.95).n.tolist() == [3.0]
