"""Readings in the order of their prompts: what every scoring begins with."""

from collections.abc import Mapping, Sequence

from psychollm._base.errors import LabelError, ShapeError
from psychollm.data.labels import listed
from psychollm.instruments.prompt import Prompt
from psychollm.instruments.reading import Outcome, Reading

FAILED = Reading(outcome=Outcome.FAILED)


def in_order(
    prompts: Sequence[Prompt], readings: Mapping[str, Reading] | Sequence[Reading | None]
) -> list[Reading]:
    """Return one reading per prompt; what is absent or None is a failed call.

    Parameters
    ----------
    prompts : sequence of Prompt
        What was asked.
    readings : mapping or sequence
        By the key of the prompt, or one for each prompt in their order.

    Raises
    ------
    ShapeError
        If a sequence has another length.
    LabelError
        If a key belongs to no prompt.

    Examples
    --------
    >>> from psychollm.instruments.prompt import Message
    >>> prompt = Prompt(key="a", item="a", messages=(Message("user", "Well?"),), reply="text")
    >>> in_order([prompt], {})[0].outcome.value
    'failed'
    """
    if not isinstance(readings, Mapping):
        if len(readings) != len(prompts):
            msg = (
                f"readings holds {len(readings)} readings for {len(prompts)} prompts: pass one "
                "for each, None for a failed call"
            )
            raise ShapeError(msg)
        return [FAILED if reading is None else reading for reading in readings]
    unknown = sorted(set(readings) - {prompt.key for prompt in prompts})
    if unknown:
        msg = f"readings has keys of no prompt: {listed(unknown)}; use the instrument that asked"
        raise LabelError(msg)
    return [readings.get(prompt.key) or FAILED for prompt in prompts]
