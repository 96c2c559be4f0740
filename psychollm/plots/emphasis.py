"""Which of many models stand out by colour; the others stay grey."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from psychollm._base.types import FloatArray
from psychollm.data.labels import positions
from psychollm.plots.palette import SEQUENCE, colour_of

MOST_COLOURS = len(SEQUENCE)
_BEST = 5


def emphasised(
    labels: Sequence[Any], value: FloatArray, highlight: Sequence[Any] | None = None
) -> dict[int, str]:
    """Return the colour of each model that stands out, by row."""
    if highlight is not None:
        chosen = positions("model", tuple(labels), list(highlight)).tolist()
    else:
        order = np.argsort(np.where(np.isfinite(value), value, np.inf), kind="stable")
        known = [int(place) for place in order if np.isfinite(value[place])]
        chosen = known if len(known) <= MOST_COLOURS else known[:_BEST]
    return {place: colour_of(rank) for rank, place in enumerate(chosen)}
