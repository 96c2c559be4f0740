"""What a sweep has done so far, on disk: interrupted at any moment, it goes on where it was."""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from psychollm._base.errors import InputError
from psychollm._base.types import BoolArray, FloatArray
from psychollm.steering.engines import Steering


@dataclass(slots=True, eq=False)
class Ledger:
    """Answers found so far.

    Parameters
    ----------
    logs : ndarray (sites, 2, strengths, questions)
        Log probabilities of yes and of no.
    base : ndarray (2, questions)
        The same without steering.
    done : ndarray (questions,)
        Which are there.
    path : Path or None
        Where they are kept.
    mark : str
        Tells one sweep from another.
    """

    logs: FloatArray
    base: FloatArray
    done: BoolArray
    path: Path | None
    mark: str

    @classmethod
    def open(cls, path: Path | None, steering: Steering, strengths: FloatArray) -> "Ledger":
        """Return what is on disk, or an empty one."""
        n = len(steering.asked.encoded.rows)
        logs = np.full((len(steering.layers), 2, len(strengths), n), np.nan)
        new = cls(
            logs, np.full((2, n), np.nan), np.zeros(n, bool), path, _mark(steering, strengths)
        )
        if path is None or not path.exists():
            return new
        with np.load(path, allow_pickle=False) as held:
            if "mark" not in held or str(held["mark"]) != new.mark:
                msg = (
                    f"checkpoint={str(path)!r} belongs to another sweep (other prompts, "
                    "strengths, direction, layer or model): name another file, or remove it"
                )
                raise InputError(msg)
            return cls(held["logs"], held["base"], held["done"], path, new.mark)

    def keep(self, places: list[int], logs: FloatArray, base: FloatArray) -> None:
        """Enter the answers to some questions, and write all to disk."""
        self.logs[..., places] = logs
        self.base[:, places] = base
        self.done[places] = True
        if self.path is None:
            return
        part = self.path.with_name(self.path.name + ".part")
        with part.open("wb") as file:
            np.savez(file, logs=self.logs, base=self.base, done=self.done, mark=self.mark)
        os.replace(part, self.path)  # noqa: PTH105 -- whole or not at all


def _mark(steering: Steering, strengths: FloatArray) -> str:
    """Return a digest of all that the answers depend on and that can be seen cheaply."""
    asked = steering.asked
    said = (
        asked.body.name,
        str(next(asked.body.model.parameters()).dtype),
        steering.layers,
        steering.positions,
        asked.tokens,
        asked.encoded.rows,
    )
    digest = hashlib.sha256(repr(said).encode())
    digest.update(strengths.tobytes())
    for vector in steering.vectors:
        digest.update(vector.tobytes())
    return digest.hexdigest()
