"""Which engine computes a sweep: the fastest that agrees with whole passes."""

from dataclasses import replace
from typing import Literal, TypeAlias

import numpy as np

from psychollm._base.errors import InputError, OptionError
from psychollm._base.types import FloatArray
from psychollm.steering.engines import Engine, LastToken, Steering, UpperLayers, Whole

EngineName: TypeAlias = Literal["auto", "last_token", "upper_layers", "whole"]
# Largest difference from whole passes that rounding explains, relative to 1 + |log P|.
_TOLERANCE = {"float32": 1e-3, "float64": 1e-6}
_COARSE = 0.2  # in sixteen bits
# What a forward pass raises that cannot begin at a layer.
_UNFIT = (RuntimeError, ValueError, TypeError, AttributeError, IndexError, KeyError)


def chosen(steering: Steering, strengths: FloatArray, engine: EngineName) -> tuple[Engine, float]:
    """Return the fastest engine that agrees with whole passes, and by how much it differs."""
    # The lowest and the highest layer stand for all: what fails, fails there.
    ends = sorted(range(len(steering.layers)), key=lambda site: steering.layers[site])
    tried = sorted({ends[0], ends[-1]})
    few = replace(
        steering,
        layers=tuple(steering.layers[site] for site in tried),
        vectors=tuple(steering.vectors[site] for site in tried),
    )
    makers: dict[str, type[LastToken] | type[UpperLayers]] = {
        "last_token": LastToken,
        "upper_layers": UpperLayers,
    }
    if engine == "last_token" and not LastToken.possible(steering):
        msg = (
            "engine='last_token' needs positions='prompt_last' and a model with position_ids and "
            "eager or sdpa attention that looks back over the whole prompt: use 'auto'"
        )
        raise OptionError(msg)
    if engine == "auto":
        names = ["last_token"] if LastToken.possible(steering) else []
        names.append("upper_layers")
    else:
        names = [engine]
    if engine == "whole" or steering.asked.body.hooked:
        names = []
    for name in names:
        error = _difference(makers[name](few), Whole(few), strengths)
        if error <= _tolerance(steering):
            return makers[name](steering), error
        if engine != "auto":
            msg = (
                f"engine={engine!r} differs from whole passes by {error:.2g} on "
                f"{steering.asked.body.name}: use engine='auto'"
            )
            raise InputError(msg)
    return Whole(steering), 0.0


def _tolerance(steering: Steering) -> float:
    kind = str(next(steering.asked.body.model.parameters()).dtype).rpartition(".")[2]
    return _TOLERANCE.get(kind, _COARSE)


def _difference(runner: Engine, whole: Whole, strengths: FloatArray) -> float:
    """Return the largest difference on the shortest and the longest prompt; inf if it fails."""
    rows = whole.steering.asked.encoded.rows
    lengths = [len(row) for row in rows]
    places = sorted({int(np.argmin(lengths)), int(np.argmax(lengths))})
    # Not the largest: there a broken model turns rounding into anything.
    by_size = strengths[np.argsort(np.abs(strengths), kind="stable")]
    tried = by_size[[0, len(by_size) // 2]] if len(by_size) > 1 else by_size
    expected = whole.answer(places, tried)
    try:
        found = runner.answer(places, tried)
    except _UNFIT:
        return float("inf")
    if np.isnan(found).any() and not np.isnan(expected).any():
        return float("inf")
    return float(np.nanmax(np.abs(found - expected) / (1.0 + np.abs(expected)), initial=0.0))
