"""What a study does with its tables before it computes."""

from collections.abc import Hashable

import numpy as np

from psychollm._base.errors import ShapeError
from psychollm.data.coerce import check_binary
from psychollm.data.pair_counts import PairCounts
from psychollm.data.responses import Responses, ResponsesLike, as_responses
from psychollm.data.screen import Screen


def pair_tables(
    confidence: ResponsesLike, correctness: ResponsesLike
) -> tuple[Responses, Responses]:
    """Return both tables as binary `Responses`, correctness in the order of confidence."""
    said = as_responses(confidence, argument="confidence")
    right = as_responses(correctness, argument="correctness", like=said)
    check_binary(said, argument="confidence")
    check_binary(right, argument="correctness")
    return said, right


def unusable(validity: Screen) -> dict[Hashable, str]:
    """Return the models that are not usable, each with its reasons; raise if none is usable."""
    rows = zip(validity.models, validity.usable, validity.reasons, strict=True)
    dropped = {model: "; ".join(reasons) for model, usable, reasons in rows if not usable}
    if len(dropped) == len(validity.models):
        why = "; ".join(f"{model!r}: {reason}" for model, reason in dropped.items())
        msg = f'no model is usable, so screen="drop" leaves nothing to study: {why}'
        raise ShapeError(msg)
    return dropped


def uncorrelatable(said: Responses, validity: Screen) -> dict[Hashable, str]:
    """Return the models that cannot take part in correlations, each with the reason."""
    # Those whose answers do not vary, those with too few answers, and then, the worst first,
    # those that share no question with another model on which both vary.
    screened = zip(
        validity.models, validity.too_few, validity.constant, validity.reasons, strict=True
    )
    # Of a model's reasons the first are that it has too few answers, then that they do not vary.
    found: dict[Hashable, str] = {
        model: "; ".join(reasons[: int(few) + int(constant)])
        for model, few, constant, reasons in screened
        if (few or constant) and model in said.models
    }
    rest = [model for model in said.models if model not in found]
    return found | _without_partners(said.select(models=rest)) if len(rest) > 1 else found


def _without_partners(said: Responses) -> dict[Hashable, str]:
    """Return the fewest models, found greedily, without which every pair has a correlation."""
    counts = PairCounts.count(said)
    varies = (counts.yes > 0) & (counts.yes < counts.n)
    undefined = ~(varies & varies.T)
    found: dict[Hashable, str] = {}
    while undefined.any():
        worst = int(np.argmax(undefined.sum(axis=1) - np.diagonal(counts.n) / said.n_questions))
        partner = said.models[int(np.argmax(undefined[worst]))]
        found[said.models[worst]] = (
            f"shares no questions with {partner!r} on which the answers of both vary"
        )
        undefined[worst, :] = undefined[:, worst] = False
    return found
