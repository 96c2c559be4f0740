"""What a study does with its tables before it computes."""

from collections.abc import Hashable

import numpy as np

from psychollm._base.errors import ShapeError
from psychollm.data.coerce import check_binary
from psychollm.data.responses import Responses, ResponsesLike, as_responses
from psychollm.data.screen import Screen


def pair_tables(
    confidence: ResponsesLike, correctness: ResponsesLike
) -> tuple[Responses, Responses]:
    """Return both tables as binary `Responses`, correctness in the order of confidence.

    Raises
    ------
    LabelError
        If they do not hold the same models and questions.
    CodeError
        If they are not binary.

    Examples
    --------
    >>> said, right = pair_tables([[1, 0]], [[1, 1]])
    >>> right.codes
    array([[1, 1]], dtype=int16)
    """
    said = as_responses(confidence, argument="confidence")
    right = as_responses(correctness, argument="correctness")
    check_binary(said, argument="confidence")
    check_binary(right, argument="correctness")
    return said, said.align(right)


def unusable(validity: Screen) -> dict[Hashable, str]:
    """Return the models that are not usable, each with its reasons.

    Raises
    ------
    ShapeError
        If no model is usable.

    Examples
    --------
    >>> from psychollm.data.screen import validity_screen
    >>> unusable(validity_screen([[1, 0] * 20, [1, 1] * 20]))
    {1: 'always says yes (40 answers)'}
    """
    rows = zip(validity.models, validity.usable, validity.reasons, strict=True)
    dropped = {model: "; ".join(reasons) for model, usable, reasons in rows if not usable}
    if len(dropped) == len(validity.models):
        why = "; ".join(f"{model!r}: {reason}" for model, reason in dropped.items())
        msg = f'no model is usable, so screen="drop" leaves nothing to study: {why}'
        raise ShapeError(msg)
    return dropped


def constant_models(said: Responses) -> dict[Hashable, str]:
    """Return the models whose answers do not vary, each with the reason.

    Examples
    --------
    >>> constant_models(as_responses([[1, 0], [1, 1]]))
    {1: 'always says yes'}
    """
    found: dict[Hashable, str] = {}
    for model, rate in zip(said.models, said.yes_rates, strict=True):
        if np.isnan(rate):
            found[model] = "gave no answer"
        elif rate in {0.0, 1.0}:
            found[model] = f"always says {'yes' if rate else 'no'}"
    return found
