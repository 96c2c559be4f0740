"""Every public function that takes responses takes sparse ones, or says that it needs dense ones.

The test finds the functions and their arguments itself. One that takes a sparse table gives what it
gives for the dense one, to the last bit; one that does not raises SparseError and nothing else.
"""

import inspect
import warnings
from typing import Any

import numpy as np
import pytest

from psychollm._base.errors import PsychollmError, SparseError
from psychollm._base.result import plain_data
from psychollm.data.responses import Responses
from tests.every_function import WITHOUT_EXAMPLE, example_call, public_functions
from tests.test_every_input import SLOW, thinned

# What takes a sparse table, at the cost of its answers: whoever drops out of here must say why.
TAKE_SPARSE = set()


def tables_of(name: str, call: dict[str, Any]) -> dict[str, Responses]:
    """Return the arguments of a call that are tables of responses, with a missing answer each."""
    tables = {}
    for parameter, value in call.items():
        annotation = str(
            inspect.signature(public_functions()[name]).parameters[parameter].annotation
        )
        if "Responses" not in annotation and not isinstance(value, Responses):
            continue
        try:
            table = Responses(thinned(value))
        except (PsychollmError, TypeError):  # a list of blocks, scores, ...
            continue
        if table.n_models > 1:
            tables[parameter] = table
    return tables


def outcome(name: str, call: dict[str, Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return plain_data(public_functions()[name](**call))
        except PsychollmError as error:
            return error


def walk() -> dict[str, str]:
    found = {}
    for name in sorted(set(public_functions()) - WITHOUT_EXAMPLE - SLOW):
        try:
            call = example_call(name)
        except ImportError:
            continue
        call = {k: thinned(v) for k, v in call.items()}
        for parameter, table in tables_of(name, call).items():
            dense = outcome(name, {**call, parameter: table})
            sparse = outcome(name, {**call, parameter: table.sparse()})
            if isinstance(sparse, SparseError):
                kind = "refused"
            elif isinstance(dense, Exception):
                kind = f"dense {type(dense).__name__} {dense} / {sparse!s:.200}"
            else:
                kind = (
                    "same"
                    if repr(sparse) == repr(dense)
                    else f"DIFFERENT {type(sparse)} {sparse!s:.300}"
                )
            found[f"{name}:{parameter}"] = kind
            print(name, parameter, kind, flush=True)
    return found


if __name__ == "__main__":
    walk()
