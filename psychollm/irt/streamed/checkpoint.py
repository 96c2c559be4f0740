"""A file in which a long fit keeps where it is."""

import os
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from psychollm._base.errors import InputError
from psychollm._base.types import FloatArray
from psychollm.irt.climb import Steps
from psychollm.irt.streamed.climb import StreamedPoint
from psychollm.irt.streamed.posterior import StreamedAbilities


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Where a fit is kept after each cycle; None keeps nothing."""

    path: Path | None
    of: str  # what is fitted: another fit must not go on from there

    def keep(self, point: StreamedPoint, taken: int) -> None:
        """Write a point, whole or not at all."""
        if self.path is None:
            return
        beside = self.path.with_name(f"{self.path.name}.part")
        with beside.open("wb") as file:
            np.savez(
                file,
                parameters=point.parameters,
                centre=point.posterior.centre,
                width=point.posterior.width,
                taken=taken,
                of=self.of,
            )
            file.flush()
            os.fsync(file.fileno())
        beside.replace(self.path)

    def restored(
        self, begin: FloatArray, abilities: StreamedAbilities, steps: Steps
    ) -> tuple[FloatArray, StreamedAbilities]:
        """Return where the fit was, or the start where nothing is kept."""
        if self.path is None or not self.path.exists():
            return begin, abilities
        with np.load(self.path) as kept:
            if str(kept["of"]) != self.of or kept["parameters"].shape != begin.shape:
                msg = (
                    f"checkpoint: {self.path} belongs to another fit ({kept['of']}): name another "
                    "file, or delete it"
                )
                raise InputError(msg)
            steps.take(int(kept["taken"]))
            moved = replace(abilities, centre=kept["centre"], width=kept["width"])
            return kept["parameters"], moved
