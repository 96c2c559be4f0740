"""Every interval of a public function holds its estimate, or a flag says why it does not.

Functions are found by themselves: each is called as its docstring shows, with the values of its
tables drawn anew from those that occur, so that answers are tied, rare or all the same.
"""

import dataclasses
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from psychollm._base.errors import PsychollmError
from psychollm._base.result import Result
from psychollm.calibration import auroc, brier, calibration_panel
from psychollm.data.responses import Responses
from psychollm.estimates import Estimate
from psychollm.reliability import (
    agreement,
    cohen_kappa,
    consistency,
    intraclass,
    item_statistics,
    mean_score,
    omega,
    omega_categorical,
)
from psychollm.reliability.omegas.omega import NAMES as OMEGAS
from tests.every_function import WITHOUT_EXAMPLE, example_call, public_functions

ROOMS = ("calibration", "estimates", "reliability")
MORE_ROOMS = ("irt", "studies")  # which take longer: tables at the edge only
# Of the parameters named so, values are tables of answers that may be drawn anew.
TABLES = {
    "answers", "confidence", "correctness", "first", "ratings", "runs", "scores", "second",
    "own", "shared", "items", "abstained", "rating", "stimulus", "response", "responses",
    "outcome", "predicted", "targets", "states",
}  # fmt: skip
RANGES = {
    "Brier score": (0.0, 1.0), "AUROC": (0.0, 1.0), "gamma": (-1.0, 1.0), "tau-b": (-1.0, 1.0),
    "Somers' d": (-1.0, 1.0), "average precision": (0.0, 1.0), "ECE": (0.0, 1.0),
    "Cohen's kappa": (-1.0, 1.0), "Fleiss' kappa": (-1.0, 1.0), "Gwet's AC1": (-1.0, 1.0),
    "accuracy": (0.0, 1.0), "precision": (0.0, 1.0), "AURC": (0.0, 1.0), "phi": (-1.0, 1.0),
    "overconfidence": (-1.0, 1.0), "MCB": (0.0, 1.0), "smECE": (0.0, 1.0),
}  # fmt: skip
RANGES |= dict.fromkeys(set(OMEGAS.values()) - {"standardised alpha", "lambda 6"}, (0.0, 1.0))
RANGES |= dict.fromkeys(("rate", "rate by majority", "pairwise agreement"), (0.0, 1.0))
ABOVE_NOTHING = ("alpha", "standardised alpha", "lambda 6", "intraclass", "Krippendorff")


def range_of(name: str) -> tuple[float, float]:
    """Return where the parameter behind an estimate lies."""
    if name in RANGES:
        return RANGES[name]
    return (-np.inf, 1.0 if name.startswith(ABOVE_NOTHING) else np.inf)


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
        if np.isnan(below) and found.name.startswith("p-value"):  # has none
            continue
        near = 1e-7 * max(1.0, abs(value))
        assert below - near <= value <= above + near or flag, where
        if not np.isnan(below):
            least, most = range_of(found.name)
            assert least - 1e-9 <= below <= above <= most + 1e-9, where


def of_cells(value: Any, change: Callable[[np.ndarray], np.ndarray]) -> Any:
    """Return a table of the same labels with its cells changed; what is no table stays."""
    if isinstance(value, Responses):
        return Responses(change(value.values), models=value.models, questions=value.questions)
    if isinstance(value, pd.DataFrame):
        numbers = value.select_dtypes("number").columns
        if 0 < len(numbers) < value.shape[1]:  # one row per answer
            return value.assign(**{name: change(value[name].to_numpy()) for name in numbers})
        return pd.DataFrame(change(value.to_numpy()), index=value.index, columns=value.columns)
    if isinstance(value, dict):
        return {key: of_cells(part, change) for key, part in value.items()}
    try:
        cells = np.asarray(value)
    except ValueError:  # rows of different lengths
        return value
    if cells.ndim == 0 or cells.dtype.kind not in "bifO" or not cells.size:
        return value
    return change(cells)


def drawn(cells: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return values drawn anew from those that occur, some of them often."""
    known = list(dict.fromkeys(cells.ravel().tolist()))
    chances = rng.dirichlet(np.full(len(known), 0.4))
    places = rng.choice(len(known), size=cells.size, p=chances)
    made = np.empty(cells.size, dtype=cells.dtype)
    made[:] = [known[place] for place in places]
    return made.reshape(cells.shape)


def one_factor(cells: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the cells in the order of one factor: rows differ, and columns tell it."""
    table = cells.reshape(len(cells), -1)
    order = rng.standard_normal((len(table), 1)) + 0.5 * rng.standard_normal(table.shape)
    sorted_cells = sorted(table.ravel().tolist(), key=lambda cell: (cell is not None, cell))
    made = np.empty(table.size, dtype=cells.dtype)
    made[np.argsort(order, axis=None)] = sorted_cells
    return made.reshape(cells.shape)


KINDS: dict[str, Callable[[np.ndarray, np.random.Generator], np.ndarray]] = {
    "one factor": one_factor,
    "saturated": lambda cells, _: np.broadcast_to(cells[:1], cells.shape).copy(),
    "same in each row": lambda cells, _: np.repeat(cells[..., :1], cells.shape[-1], axis=-1),
    "one value": lambda cells, _: np.full(cells.shape, cells.flat[0], dtype=cells.dtype),
}


def shaped(cells: np.ndarray, kind: str, rng: np.random.Generator) -> np.ndarray:
    """Return cells of another kind."""
    try:
        return KINDS[kind](cells, rng)
    except TypeError:  # cells that have no order
        return cells


def few(value: Any) -> Any:
    """Return the first six models of a study: what its edges do shows in those."""
    if isinstance(value, Responses) and value.n_models > 6:
        return value.select(models=value.models[:6])
    return value


def with_intervals(rooms: tuple[str, ...] = ROOMS) -> list[str]:
    """Return the functions of the rooms that have an example."""
    return sorted(
        name
        for name in public_functions()
        if public_functions()[name].__module__.split(".")[1] in rooms
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
        key: of_cells(value, lambda cells: drawn(cells, rng)) if key in TABLES else value
        for key, value in arguments.items()
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = function(**arguments)
        except PsychollmError:
            return
    for found in estimates_in(result):
        check(found)


@pytest.mark.parametrize("name", with_intervals(ROOMS + MORE_ROOMS))
@pytest.mark.parametrize("kind", KINDS)
def test_intervals_of_tables_at_the_edge(name: str, kind: str) -> None:
    rng = np.random.default_rng(0)
    try:
        arguments = example_call(name)
    except ImportError as error:  # an extra is not installed
        pytest.skip(str(error))
    arguments = {
        key: of_cells(few(value), lambda cells: shaped(cells, kind, rng))
        if key in TABLES
        else value
        for key, value in arguments.items()
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = public_functions()[name](**arguments)
        except PsychollmError:
            return
    for found in estimates_in(result):
        check(found)
        unflagged = np.array([not flag for flag in found.flags], dtype=bool)
        assert not np.isnan(found.value[unflagged]).any()


@pytest.mark.parametrize("n", [2, 3, 5, 12])
@pytest.mark.parametrize("k", [2, 4, 9])
@pytest.mark.parametrize("scores", ["one factor", "noise", "binary", "copies"])
def test_scales_and_raters_of_a_few_respondents(n: int, k: int, scores: str) -> None:
    rng = np.random.default_rng(n * k)
    table = {
        "one factor": rng.normal(size=(n, 1)) + 0.7 * rng.normal(size=(n, k)),
        "noise": rng.normal(size=(n, k)),
        "binary": (rng.normal(size=(n, 1)) + rng.normal(size=(n, k)) > 0) * 1.0,
        "copies": np.repeat(rng.integers(0, 4, size=(n, 1)), k, axis=1) * 1.0,
    }[scores]
    quick: dict[str, Any] = {"bootstrap": 20, "rng": 0}
    calls: list[Callable[[], Any]] = [
        lambda: omega(table, **quick),
        lambda: omega(table, n_factors=2, **quick),
        lambda: omega(table, n_factors=1, **quick),
        lambda: consistency(table, **quick),
        lambda: item_statistics(table, **quick),
        lambda: intraclass(table),
        lambda: agreement(table, metric="interval", **quick),
        lambda: mean_score(table, **quick),
        lambda: omega_categorical(table, **quick),
    ]
    for call in calls:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                result = call()
            except PsychollmError:
                continue
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
