"""Which tables each public function takes is said in docs/how_large.md, and holds.

The test finds the functions and their tables itself. One that takes filled cells gives what it
gives for the dense table, to the last bit, whether they are in memory or in a folder; one that
needs a dense table raises SparseError, and nothing else.
"""

import inspect
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from psychollm._base.errors import PsychollmError, ShapeError, SparseError
from psychollm._base.record import plain_data
from psychollm.data import pair_counts
from psychollm.data.cells import CellWriter
from psychollm.data.kept import Sparse
from psychollm.data.responses import Responses
from tests.every_function import WITHOUT_EXAMPLE, example_call, public_functions
from tests.test_every_input import SLOW, thinned

PAGE = Path(__file__).parents[1] / "docs" / "how_large.md"
# What reads the answers of a sparse table in another way, to the same optimum: see
# tests/irt/test_streamed.py.
TO_ROUNDING = {"ability", "fit_irt"}
NOT_TABLES = (PsychollmError, TypeError, ValueError)  # blocks, scores, one vector, ...
FUNCTIONS = sorted(set(public_functions()) - WITHOUT_EXAMPLE - (SLOW - {"dimensionality"}))


def said() -> dict[str, str]:
    """Return what the page says each table of a function is read as: "name:parameter"."""
    section = PAGE.read_text("utf-8").partition("## Which functions\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (cells|bits)\b.*\| (.+) \|$", section, flags=re.MULTILINE)
    return {
        f"{name}:{parameter}": need
        for need, listed in rows
        for name, parameters in re.findall(r"`([\w.]+)\(([\w, ]+)\)`", listed)
        for parameter in parameters.split(", ")
    }


SAID = said()


def tables_of(name: str, call: dict[str, Any]) -> Iterator[tuple[str, Responses]]:
    """Yield the arguments of a call that are tables of responses."""
    parameters = inspect.signature(public_functions()[name]).parameters
    for parameter, value in call.items():
        known = "Responses" in str(parameters[parameter].annotation)
        if not known and not isinstance(value, Responses):
            continue
        try:
            yield parameter, Responses(value)
        except NOT_TABLES:
            continue


def in_a_folder(table: Responses) -> Responses:
    """Return a table whose cells lie in a folder."""
    cells = table.sparse().cells
    rows = np.repeat(np.arange(table.n_questions), np.diff(cells.start))
    with CellWriter() as writer:
        writer.add(rows, cells.columns, cells.codes)
        kept = Sparse(writer.finish((table.n_questions, table.n_models)))
    kept._by_model.append(kept.sparse().by_model)
    return table._with(kept, {})


def outcome(name: str, call: dict[str, Any]) -> Any:
    """Return what a call gives in plain values, sparse tables as dense ones, or its error."""
    plain = Responses.to_dict
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = public_functions()[name](**call)
        except PsychollmError as error:
            return error
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Responses, "to_dict", lambda table: plain(table.dense()))
        return plain_data(found)


def without_bits(name: str, call: dict[str, Any]) -> Any:
    """Return what a call gives that may hold no bits in memory."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pair_counts, "MAX_BITS", 0)
        return outcome(name, call)


def need_of(found: Any) -> str:
    """Return what a function holds in memory of a sparse table, by what it gives without bits."""
    if isinstance(found, SparseError):
        return "dense"
    return "bits" if isinstance(found, ShapeError) and "as bits" in str(found) else "cells"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_table_is_taken_as_the_page_says(name: str) -> None:
    try:
        call = {key: thinned(value) for key, value in example_call(name).items()}
    except ImportError as error:  # an extra is not installed
        pytest.skip(str(error))
    for parameter, table in tables_of(name, call):
        sparse = {**call, parameter: table.sparse()}
        found = without_bits(name, sparse)
        need = need_of(found)
        assert need == SAID.get(f"{name}:{parameter}", "dense")
        if need == "dense":
            continue
        if need == "bits":
            found = outcome(name, sparse)
        assert repr(outcome(name, {**call, parameter: in_a_folder(table)})) == repr(found)
        if name in TO_ROUNDING:
            assert not isinstance(found, PsychollmError)
        else:
            assert repr(found) == repr(outcome(name, {**call, parameter: table}))


def test_the_page_names_functions_and_their_tables() -> None:
    for named in SAID:
        name, _, parameter = named.partition(":")
        if name != "PairCounts.count":
            assert parameter in inspect.signature(public_functions()[name]).parameters
