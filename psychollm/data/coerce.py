"""What a function does with its data first: make it `Responses`, check that they will do."""

from typing import TYPE_CHECKING, Any, TypeAlias, Union

from psychollm._base.checks import check_choice
from psychollm._base.errors import CodeError, OptionError, ShapeError
from psychollm._base.types import Axis
from psychollm.data.responses import Responses
from psychollm.data.table import as_table

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike

ResponsesLike: TypeAlias = Union[Responses, "pd.DataFrame", "ArrayLike", Any]


def as_responses(data: ResponsesLike, *, argument: str = "responses") -> Responses:
    """Return `data` as `Responses`: the one door of every public function.

    Parameters
    ----------
    data : Responses, DataFrame, DataArray or array-like (models, questions)
        Responses are returned as they are.
    argument : str
        Name of the argument, for messages.

    Raises
    ------
    InputError
        As in `Responses.from_array`.

    Examples
    --------
    >>> as_responses([[1, 0], [0, 0]]).n_models
    2
    """
    if isinstance(data, Responses):
        return data
    if data is None or isinstance(data, str | bytes) or hasattr(data, "__fspath__"):
        msg = (
            f"{argument}={data!r} is not a table of models x questions: pass Responses, a "
            "DataFrame, a DataArray or an array; files are read by read_responses(path)"
        )
        raise OptionError(msg)
    return Responses.from_table(as_table(data, argument=argument), codes=None, argument=argument)


def check_correlatable(responses: Responses, of: Axis, *, argument: str = "responses") -> None:
    """Raise unless there are two rows to correlate (``of="models"``) or two columns.

    Raises
    ------
    ShapeError
        If there is only one model (or question); it is named.

    Examples
    --------
    >>> check_correlatable(Responses.from_array([[1, 0], [0, 1]]), "models")
    """
    check_choice("of", of, Axis)
    labels = responses.models if of == "models" else responses.questions
    if len(labels) < 2:
        msg = (
            f"{argument} holds one {of[:-1]} only ({labels[0]!r}): a correlation of {of} needs "
            "at least two"
        )
        raise ShapeError(msg)


def check_binary(responses: Responses, *, argument: str = "responses") -> None:
    """Raise unless all codes are 0 or 1.

    Raises
    ------
    CodeError
        If a code is larger; the first such model and question are named.

    Examples
    --------
    >>> check_binary(Responses.from_array([[1, 0]]))
    """
    if responses.is_binary:
        return
    row, column = (int(places[0]) for places in (responses.codes > 1).nonzero())
    msg = (
        f"{argument}: model {responses.models[row]!r}, question "
        f"{responses.questions[column]!r} has code {responses.codes[row, column]}, but yes/no "
        "answers (1/0) are needed: split graded answers with Responses.from_confidence"
    )
    raise CodeError(msg)
