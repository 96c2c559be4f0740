"""Three methods for computing answers at many steering strengths, from slowest to fastest.

`Whole` runs one full forward pass per strength. `UpperLayers` and `LastToken` reuse results that
do not depend on the strength.

`UpperLayers` computes the state at the steered layer once and displaces it by each strength, so
that only the layers above are computed again. The common prefix of all prompts passes through the
model once per strength.

`LastToken` requires that only the last token is steered, so that all earlier tokens keep their
keys and values in every layer. With `LastToken`, each strength has its own copy of the last token
at the same position. A copy attends to the earlier tokens and itself, but not to other copies, so
one pass computes many strengths.

`UpperLayers` and `LastToken` are exact up to rounding, and are compared with full passes before
use.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np

from psychollm._base.errors import InputError, OptionError
from psychollm._base.types import AnyArray, FloatArray
from psychollm.steering.anatomy import hidden_of, torch, with_hidden
from psychollm.steering.hooks import Positions, added
from psychollm.steering.passes import (
    Opened,
    Pairs,
    Prefix,
    cache_of,
    forward,
    pairs_of,
    read_answers,
    resumed,
    spread,
)
from psychollm.steering.readout import Asked
from psychollm.steering.tokens import positions_of

EngineName: TypeAlias = Literal["auto", "last_token", "upper_layers", "whole"]
# Largest difference from full passes that rounding can explain, relative to 1 + |log P|.
_TOLERANCE = {"float32": 1e-3, "float64": 1e-6}
_COARSE = 0.2  # tolerance for states with 16 bits
# Errors raised if a model's forward pass cannot begin at a layer.
_UNFIT = (RuntimeError, ValueError, TypeError, AttributeError, IndexError, KeyError)
_AT_ONCE = 32  # number of strengths per pass for each prompt of a batch


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Steering:
    """The sites to steer (each a layer and a vector), which are steered one at a time."""

    asked: Asked
    layers: tuple[int, ...]  # (sites,)
    vectors: tuple[AnyArray, ...]  # (sites,) displacements (hidden,) at strength one
    positions: Positions

    @property
    def watched(self) -> tuple[int, ...]:
        """The distinct layers of all sites."""
        return tuple(dict.fromkeys(self.layers))

    def vector(self, site: int, like: Any) -> Any:
        """Return the displacement at strength one, on the device of a state."""
        return torch().tensor(self.vectors[site], device=like.device)


class Engine(Protocol):
    """A method that answers prompts at several strengths."""

    name: str

    def answer(self, prompts: Sequence[int], strengths: FloatArray) -> FloatArray:
        """Return log P(yes) and log P(no) (sites, 2, strengths, prompts)."""

    def unsteered(self, prompts: Sequence[int]) -> FloatArray:
        """Return log P(yes) and log P(no) (2, prompts) of the last batch without steering."""


class Whole:
    """Method that runs one full forward pass per strength."""

    name = "whole"

    def __init__(self, steering: Steering) -> None:
        self.steering = steering

    def answer(self, prompts: Sequence[int], strengths: FloatArray) -> FloatArray:
        """Return log P(yes) and log P(no) (sites, 2, strengths, prompts)."""
        logs = np.empty((len(self.steering.layers), 2, len(strengths), len(prompts)))
        for i, layer in enumerate(self.steering.layers):
            for j, strength in enumerate(strengths):
                logs[i, :, j] = self._pass(
                    prompts, layer, float(strength) * self.steering.vectors[i]
                )
        return logs

    def unsteered(self, prompts: Sequence[int]) -> FloatArray:
        """Return log P(yes) and log P(no) (2, prompts) without steering."""
        nothing = np.zeros_like(self.steering.vectors[0])
        return self._pass(prompts, self.steering.layers[0], nothing)

    def _pass(self, prompts: Sequence[int], layer: int, vector: AnyArray) -> FloatArray:
        it, move_by = self.steering, torch().tensor(vector)
        last_only = it.positions == "prompt_last"

        def move(module: Any, args: Any, output: Any) -> Any:
            state = hidden_of(output)
            mask = _columns(state) if last_only else None
            return with_hidden(output, added(state, move_by.to(state.device), mask))

        handle = it.asked.body.blocks[layer].register_forward_hook(move)
        try:
            opened = it.asked.open(prompts, (), prefix=None, cached=False)
        finally:
            handle.remove()
        return _numbers(it.asked, opened.logits)


@dataclass(slots=True, eq=False)
class UpperLayers:
    """Method that computes only the layers above the steered layer for each strength."""

    it: Steering
    name: str = "upper_layers"
    _prefix: Prefix | None = None
    _begun: bool = False
    _steered: dict[tuple[int, float], Pairs] = field(default_factory=dict)
    _base: FloatArray | None = None

    def answer(self, prompts: Sequence[int], strengths: FloatArray) -> FloatArray:
        """Return log P(yes) and log P(no) (sites, 2, strengths, prompts)."""
        if not self._begun:
            self._prefix, self._begun = self.it.asked.open_prefix(self.it.watched), True
        prefix = self._prefix
        cached = prefix is not None
        opened = self.it.asked.open(prompts, self.it.watched, prefix=prefix, cached=cached)
        self._base = _numbers(self.it.asked, opened.logits)
        logs = np.empty((len(self.it.layers), 2, len(strengths), len(prompts)))
        for i in range(len(self.it.layers)):
            for j, strength in enumerate(strengths):
                logs[i, :, j] = self._above(opened, i, float(strength))
        return logs

    def unsteered(self, prompts: Sequence[int]) -> FloatArray:
        """Return log P(yes) and log P(no) (2, prompts) of the last batch without steering."""
        return np.empty((2, len(prompts))) if self._base is None else self._base

    def _above(self, opened: Opened, site: int, strength: float) -> FloatArray:
        body, prefix, layer = self.it.asked.body, self._prefix, self.it.layers[site]
        output = opened.outputs[layer]
        state = hidden_of(output)
        mask = _columns(state) if self.it.positions == "prompt_last" else None
        moved = added(state, strength * self.it.vector(site, state), mask)
        skipped = len(prefix.ids) if prefix else 0
        positions = positions_of(opened.mask)[:, skipped:]
        cache = None
        if prefix:
            cache = cache_of(spread(self._before(prefix, site, strength), len(state)))
        with resumed(body, layer, moved, output):
            logits = forward(body, opened.tail, opened.mask, positions, cache=cache)
        return _numbers(self.it.asked, logits[:, -1])

    def _before(self, prefix: Prefix, site: int, strength: float) -> Pairs:
        """Return keys and values of the common prefix, steered with a given strength."""
        if self.it.positions == "prompt_last":
            return prefix.pairs
        if (site, strength) not in self._steered:
            t, body, layer = torch(), self.it.asked.body, self.it.layers[site]
            output = prefix.outputs[layer]
            state = hidden_of(output)
            moved = added(state, strength * self.it.vector(site, state))
            ids = t.tensor([list(prefix.ids)], device=body.device)
            mask = t.ones_like(ids)
            cache = cache_of(())
            with resumed(body, layer, moved, output):
                forward(body, ids, mask, positions_of(mask), cache=cache)
            above = pairs_of(cache)[layer + 1 :]
            self._steered[site, strength] = [*prefix.pairs[: layer + 1], *above]
        return self._steered[site, strength]


@dataclass(slots=True, eq=False)
class LastToken:
    """Method that computes only the last token, with a separate copy for each strength."""

    it: Steering
    name: str = "last_token"
    _prefix: Prefix | None = None
    _begun: bool = False
    _base: FloatArray | None = None

    @staticmethod
    def possible(steering: Steering) -> bool:
        """Return whether the model and the options allow this method, before any run."""
        body = steering.asked.body
        longest = max(map(len, steering.asked.encoded.rows))
        far = body.window is not None and longest >= body.window
        attention = getattr(body.model.config, "_attn_implementation", None)
        whole = attention not in {None, "eager", "sdpa"} or body.hooked or far
        return steering.positions == "prompt_last" and body.plain and body.rotary and not whole

    def answer(self, prompts: Sequence[int], strengths: FloatArray) -> FloatArray:
        """Return log P(yes) and log P(no) (sites, 2, strengths, prompts)."""
        if not self._begun:
            self._prefix, self._begun = self.it.asked.open_prefix(()), True
        opened = self.it.asked.open(prompts, self.it.watched, prefix=self._prefix, cached=True)
        self._base = _numbers(self.it.asked, opened.logits)
        earlier = [(keys[:, :, :-1], values[:, :, :-1]) for keys, values in opened.pairs]
        n_parts = -(-len(strengths) // _AT_ONCE)
        logs = np.empty((len(self.it.layers), 2, len(strengths), len(prompts)))
        for i in range(len(self.it.layers)):
            for part in np.array_split(np.arange(len(strengths)), n_parts):
                logs[i][:, part] = self._fan(opened, earlier, i, strengths[part])
        return logs

    def unsteered(self, prompts: Sequence[int]) -> FloatArray:
        """Return log P(yes) and log P(no) (2, prompts) of the last batch without steering."""
        return np.empty((2, len(prompts))) if self._base is None else self._base

    def _fan(self, opened: Opened, earlier: Pairs, site: int, strengths: FloatArray) -> FloatArray:
        """Return the answers (2, strengths, prompts) from a single pass."""
        t, body, layer = torch(), self.it.asked.body, self.it.layers[site]
        output = opened.outputs[layer]
        state = hidden_of(output)[:, -1:]
        factors = t.tensor(strengths, dtype=t.float32, device=state.device)
        moved = added(state, factors[None, :, None] * self.it.vector(site, state))
        rows, n = len(state), len(strengths)
        ids = opened.tail[:, -1:].expand(rows, n)
        positions = positions_of(opened.mask)[:, -1:].expand(rows, n)
        mask = _apart(opened.mask, n, state.dtype)
        with resumed(body, layer, moved, output):
            logits = forward(body, ids, mask, positions, cache=cache_of(earlier), keep=n)
        return _numbers(self.it.asked, logits).swapaxes(1, 2)


def _columns(state: Any) -> Any:
    """Return a mask (1, tokens) that selects the last column."""
    t = torch()
    mask = t.zeros(1, state.shape[1], device=state.device)
    mask[:, -1] = 1.0
    return mask


def _apart(mask: Any, n: int, dtype: Any) -> Any:
    """Return an attention mask under which `n` copies of the last token ignore each other."""
    # The mask (rows, 1, n, tokens - 1 + n) is 0 for visible tokens, and the lowest number for the
    # others.
    t = torch()
    before = mask[:, None, None, :-1].bool().expand(-1, 1, n, -1)
    own = t.eye(n, dtype=t.bool, device=mask.device).expand(len(mask), 1, n, n)
    seen = t.cat([before, own], dim=-1)
    hidden = t.full((), t.finfo(dtype).min, dtype=dtype, device=mask.device)
    return t.where(seen, t.zeros((), dtype=dtype, device=mask.device), hidden)


def _numbers(asked: Asked, logits: Any) -> FloatArray:
    """Return an array with log P(yes) and log P(no) as its two rows."""
    answers = read_answers(logits, asked.tokens)
    return np.stack([values.cpu().numpy().astype(np.float64) for values in answers])


def chosen(steering: Steering, strengths: FloatArray, engine: EngineName) -> tuple[Engine, float]:
    """Return the fastest engine that agrees with full passes, and its largest deviation."""
    # Only the lowest and the highest layer are checked, because errors appear there first.
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
            "eager or sdpa attention over the whole prompt: use 'auto'"
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
    """Return the largest deviation from full passes in two prompts; inf on failure."""
    rows = whole.steering.asked.encoded.rows
    lengths = [len(row) for row in rows]
    prompts = sorted({int(np.argmin(lengths)), int(np.argmax(lengths))})
    # Do not compare the largest strength, because rounding errors are unbounded if the model
    # collapses.
    by_size = strengths[np.argsort(np.abs(strengths), kind="stable")]
    tried = by_size[[0, len(by_size) // 2]] if len(by_size) > 1 else by_size
    expected = whole.answer(prompts, tried)
    try:
        logs = runner.answer(prompts, tried)
    except _UNFIT:
        return float("inf")
    if np.isnan(logs).any() and not np.isnan(expected).any():
        return float("inf")
    return float(np.nanmax(np.abs(logs - expected) / (1.0 + np.abs(expected)), initial=0.0))
