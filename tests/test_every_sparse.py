"""Every public function that takes responses takes sparse ones, or says that it needs dense ones.

The test finds the functions and their tables itself. One that takes a sparse table gives what it
gives for the dense one, to the last bit; one that does not raises SparseError, and nothing else.
"""

import inspect
import warnings
from typing import Any

import pytest

from psychollm._base.errors import PsychollmError, SparseError
from psychollm._base.record import plain_data
from psychollm.data.responses import Responses
from psychollm.data.sparse import SparseResponses
from tests.every_function import WITHOUT_EXAMPLE, example_call, public_functions
from tests.test_every_input import SLOW, thinned

# What takes a sparse table, at the cost of its answers.
_TAKE = """
data.align:first data.align:second data.as_responses:data
factor.exploratory_pairwise_likelihood:responses factor.pair_residuals:responses
factor.pairwise_likelihood:responses factor.residual_test:responses
factor.second_share_test:responses studies.residual_structure:correctness tetrachoric:data
validity_screen:confidence validity_screen:correctness
"""
TAKE = set(_TAKE.split())
# What reads the answers of a sparse table in another way, to the same optimum: see
# tests/irt/test_streamed.py.
TO_ROUNDING = {"ability", "fit_irt"}
NOT_TABLES = (PsychollmError, TypeError, ValueError)  # blocks, scores, one vector, ...


def tables_of(name: str, call: dict[str, Any]) -> dict[str, Responses]:
    """Return the arguments of a call that are tables of responses."""
    tables = {}
    parameters = inspect.signature(public_functions()[name]).parameters
    for parameter, value in call.items():
        said = "Responses" in str(parameters[parameter].annotation)
        if not said and not isinstance(value, Responses):
            continue
        try:
            tables[parameter] = Responses(value)
        except NOT_TABLES:
            continue
    return tables


def outcome(name: str, call: dict[str, Any]) -> Any:
    """Return what a call gives in plain values, sparse tables as dense ones, or its error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = public_functions()[name](**call)
        except PsychollmError as error:
            return error
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SparseResponses, "to_dict", lambda table: table.dense().to_dict())
        return plain_data(found)


@pytest.mark.parametrize("name", sorted(set(public_functions()) - WITHOUT_EXAMPLE - SLOW))
def test_a_sparse_table_is_taken_or_refused(name: str) -> None:
    try:
        call = {key: thinned(value) for key, value in example_call(name).items()}
    except ImportError as error:  # an extra is not installed
        pytest.skip(str(error))
    for parameter, table in tables_of(name, call).items():
        sparse = outcome(name, {**call, parameter: table.sparse()})
        if isinstance(sparse, SparseError):
            assert f"{name}:{parameter}" not in TAKE
        elif name in TO_ROUNDING:
            assert not isinstance(sparse, PsychollmError)
        else:
            assert repr(sparse) == repr(outcome(name, {**call, parameter: table}))
