"""A file in which a long fit keeps where it is, so that it can go on from there."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any
from zipfile import BadZipFile

import numpy as np

from psychollm._base.errors import InputError
from psychollm._base.types import FloatArray
from psychollm.irt.climb import Steps
from psychollm.irt.item_population import Items, Round
from psychollm.irt.streamed.climb import StreamedPoint
from psychollm.irt.streamed.posterior import StreamedAbilities


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Where a fit is kept after each of its cycles; without a path nothing is."""

    path: Path | None
    of: str  # what is fitted: another fit must not go on from there

    def write(self, values: Mapping[str, Any]) -> None:
        """Write what is to be kept, all of it or nothing."""
        if self.path is None:
            return
        beside = self.path.with_name(f"{self.path.name}.part")
        with beside.open("wb") as file:
            np.savez(file, of=self.of, **values)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(self.path)

    def read(self, *names: str) -> dict[str, Any] | None:
        """Return what was kept, or None."""
        if self.path is None or not self.path.exists():
            return None
        values = _loaded(self.path)
        if str(values["of"]) != self.of or not {*names, *_PEAKS} <= values.keys():
            msg = (
                f"checkpoint: {self.path} was left by another fit (other answers, model or "
                "priors): name another file, or delete it"
            )
            raise InputError(msg)
        return values

    def keep_point(self, point: StreamedPoint, taken: int) -> None:
        """Keep a point of a climb."""
        self.write({"parameters": point.parameters, "taken": taken} | _peaks(point.abilities))

    def restored_point(
        self, begin: FloatArray, abilities: StreamedAbilities, steps: Steps
    ) -> tuple[FloatArray, StreamedAbilities]:
        """Return where a climb was, or its start."""
        kept = self.read("parameters", "taken")
        if kept is None:
            return begin, abilities
        steps.take(int(kept["taken"]))
        return kept["parameters"], _with_peaks(abilities, kept)


@dataclass(frozen=True, slots=True)
class KeptRounds:
    """Rounds of `estimate_items` in a checkpoint."""

    checkpoint: Checkpoint

    def keep(self, at: Round[StreamedAbilities]) -> None:
        """Keep a round."""
        (items,) = at.every
        values = {name: getattr(at, name) for name in _NUMBERS}
        values |= {f"items_{name}": getattr(items, name) for name in _ITEMS}
        population = items.population
        values |= {"mean": population.mean, "covariance": population.covariance}
        values |= {"n_items": population.n_items}
        self.checkpoint.write(values | _peaks(at.abilities))

    def restored(self, start: Round[StreamedAbilities]) -> Round[StreamedAbilities]:
        """Return the round that was kept, or the start."""
        names = (f"items_{name}" for name in _ITEMS)
        kept = self.checkpoint.read(*_NUMBERS, *names, "mean", "covariance", "n_items")
        if kept is None:
            return start
        (items,) = start.every
        population = replace(
            items.population,
            mean=kept["mean"],
            covariance=kept["covariance"],
            n_items=int(kept["n_items"]),
        )
        fields = {name: kept[f"items_{name}"] for name in _ITEMS}
        fields["slope"] = float(fields["slope"])
        return Round(
            every=(Items(**fields, population=population),),
            abilities=_with_peaks(start.abilities, kept),
            taken=int(kept["taken"]),
            **{name: float(kept[name]) for name in _NUMBERS if name != "taken"},
        )


_NUMBERS = ("change", "height", "taken", "top", "reach")
_ITEMS = ("mean", "covariance", "weight", "step", "stride", "slope")
_PEAKS = ("centre", "width", "lost", "far")
# What numpy and zipfile raise of files that are something else, or damaged.
_UNREADABLE = (OSError, ValueError, TypeError, EOFError, KeyError, BadZipFile, NotImplementedError)


def place_of(checkpoint: str | PathLike[str] | None) -> Path | None:
    """Return its path; raise where it cannot be written, or holds something else."""
    if checkpoint is None:
        return None
    try:
        path = Path(checkpoint)
        with TemporaryFile(dir=path.parent):
            pass
    except (OSError, TypeError) as error:
        msg = f"checkpoint={checkpoint!r} is no file that can be written: {error}"
        raise InputError(msg) from error
    if path.exists():
        _loaded(path)
    return path


def _loaded(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file, np.load(file) as kept:
            values = dict(kept)
        values["of"]
    except _UNREADABLE as error:
        msg = f"checkpoint: {path} is no checkpoint of a fit: name another file"
        raise InputError(msg) from error
    return values


def _peaks(abilities: StreamedAbilities) -> dict[str, Any]:
    return {name: getattr(abilities, name) for name in _PEAKS}


def _with_peaks(abilities: StreamedAbilities, kept: Mapping[str, Any]) -> StreamedAbilities:
    arrays = {name: kept[name] for name in ("centre", "width", "lost")}
    return replace(abilities, far=bool(kept["far"]), **arrays)
