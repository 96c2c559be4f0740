"""Readings in the order of the prompts they belong to."""

from collections.abc import Mapping, Sequence

from psychollm._base.errors import LabelError, ShapeError
from psychollm.data.labels import listed
from psychollm.instruments.prompt import Prompt
from psychollm.instruments.reading import Outcome, Reading, ReadingsLike

_FAILED = Reading(outcome=Outcome.FAILED)


def aligned(prompts: Sequence[Prompt], readings: ReadingsLike) -> list[Reading]:
    """Return one reading per prompt, in their order; failed where there is none."""
    if not isinstance(readings, Mapping):
        if len(readings) != len(prompts):
            msg = (
                f"readings holds {len(readings)} readings for {len(prompts)} prompts: pass one "
                "for each, None for a failed call"
            )
            raise ShapeError(msg)
        return [_FAILED if reading is None else reading for reading in readings]
    unknown = sorted(set(readings) - {prompt.key for prompt in prompts})
    if unknown:
        msg = f"readings has keys of no prompt: {listed(unknown)}; use the instrument that asked"
        raise LabelError(msg)
    return [readings.get(prompt.key) or _FAILED for prompt in prompts]
