"""Every interval of a public function holds its estimate, or a flag says why it does not.

Functions are found by themselves: each is called as its docstring shows, with the values of its
tables drawn anew from those that occur, so that answers are tied, rare or all the same.
"""

import dataclasses
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from psychollm._base.errors import PsychollmError
from psychollm._base.result import Result
from psychollm.calibration import auroc, brier, calibration_panel
from psychollm.estimates import Estimate
from psychollm.reliability import cohen_kappa, intraclass
from tests.every_function import WITHOUT_EXAMPLE, example_call, public_functions

ROOMS = ("calibration", "estimates", "reliability")
# Of the parameters named so, values are tables of answers that may be drawn anew.
TABLES = {
    "answers", "confidence", "correctness", "first", "ratings", "runs", "scores", "second",
    "own", "shared", "items", "abstained", "rating", "stimulus", "response",
}  # fmt: skip
RANGES = {
    "Brier score": (0.0, 1.0), "AUROC": (0.0, 1.0), "gamma": (-1.0, 1.0), "tau-b": (-1.0, 1.0),
    "Somers' d": (-1.0, 1.0), "average precision": (0.0, 1.0), "ECE": (0.0, 1.0),
    "Cohen's kappa": (-1.0, 1.0), "Fleiss' kappa": (-1.0, 1.0), "Gwet's AC1": (-1.0, 1.0),
    "accuracy": (0.0, 1.0), "precision": (0.0, 1.0), "AURC": (0.0, 1.0), "phi": (-1.0, 1.0),
    "overconfidence": (-1.0, 1.0), "MCB": (0.0, 1.0), "smECE": (0.0, 1.0),
}  # fmt: skip


def estimates_in(value: Any) -> Iterator[Estimate]:
    """Go through all estimates that a result holds."""
    if isinstance(value, Estimate):
        yield value
    elif isinstance(value, Result):
        for field in dataclasses.fields(value):  # type: ignore[arg-type]
            yield from estimates_in(getattr(value, field.name))
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from estimates_in(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from estimates_in(part)


def check(found: Estimate) -> None:
    """Hold an estimate to the rule."""
    if found.method.startswith("none"):
        assert np.isnan(found.interval).all()
        return
    low, high = found.interval.T
    for value, below, above, flag, label in zip(
        found.value, low, high, found.flags, found.labels, strict=True
    ):
        where = f"{found.name} of {label!r}: {value} in [{below}, {above}], flag {flag!r}"
        if np.isnan(value):
            assert flag or np.isnan(below), where
            continue
        near = 1e-7 * max(1.0, abs(value))
        assert below - near <= value <= above + near or flag, where
        if found.name in RANGES and not np.isnan(below):
            least, most = RANGES[found.name]
            assert least - 1e-9 <= below <= above <= most + 1e-9, where


def drawn(value: Any, rng: np.random.Generator) -> Any:
    """Return a table of the same shape with values drawn anew, some of them often."""
    if isinstance(value, pd.DataFrame):
        return pd.DataFrame(drawn(value.to_numpy(), rng), index=value.index, columns=value.columns)
    try:
        table = np.asarray(value)
    except ValueError:  # rows of different lengths
        return value
    if table.ndim == 0 or table.dtype.kind not in "bifO":
        return value
    cells = table.ravel().tolist()
    known = list(dict.fromkeys(cells))
    chances = rng.dirichlet(np.full(len(known), 0.4))
    places = rng.choice(len(known), size=len(cells), p=chances)
    made = np.empty(len(cells), dtype=table.dtype)
    made[:] = [known[place] for place in places]
    return made.reshape(table.shape)


def with_intervals() -> list[str]:
    """Return the functions of the rooms that have an example."""
    return sorted(
        name
        for name in public_functions()
        if public_functions()[name].__module__.split(".")[1] in ROOMS
        and name not in WITHOUT_EXAMPLE
    )


@pytest.mark.parametrize("name", with_intervals())
@settings(max_examples=5, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32 - 1))
def test_every_interval_holds_its_estimate(name: str, seed: int) -> None:
    function = public_functions()[name]
    try:
        arguments = example_call(name)
    except ImportError as error:  # an extra is not installed
        pytest.skip(str(error))
    rng = np.random.default_rng(seed)
    arguments = {
        key: drawn(value, rng) if key in TABLES else value for key, value in arguments.items()
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = function(**arguments)
        except PsychollmError:
            return
    for found in estimates_in(result):
        check(found)


@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(
    n=st.integers(2, 10),
    rate=st.sampled_from([0.02, 0.1, 0.5, 0.98]),
    clusters=st.sampled_from([None, 2, 3]),
    seed=st.integers(0, 2**32 - 1),
)
def test_every_metric_of_the_panel_on_a_handful_of_questions(n, rate, clusters, seed) -> None:
    rng = np.random.default_rng(seed)
    said = rng.choice([0.0, 0.5, 0.9, 1.0], (2, n))
    right = (rng.random((2, n)) < rate) * 1.0
    codes = None if clusters is None else np.arange(n) % clusters
    panel = calibration_panel(said, right, clusters=codes, bootstrap=40, rng=0)
    for found in panel.estimates.values():
        check(found)
    check(cohen_kappa(right[0], rng.permutation(right[0]), bootstrap=5, rng=0))


def test_a_negative_intraclass_correlation_lies_in_its_interval() -> None:
    found = intraclass([[4, 1], [2, 3], [4, 0]]).icc
    low, high = found.interval[1]
    assert low <= found.value[1] <= high


def test_closed_forms_need_no_resamples() -> None:
    said, right = [[0.9, 0.4, 0.8, 0.2, 0.7]], [[1, 0, 1, 1, 0]]
    for metric in (auroc, brier):
        check(metric(said, right, bootstrap=0))
