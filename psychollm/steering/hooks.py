"""Steering of a model while it runs.

A token's position in the text determines whether it is steered, even if the text is passed in
parts or with a cache of keys and values. Therefore, each pass is inspected before it begins, and
its columns are numbered from the first token of the text.
"""

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, TypeAlias

from psychollm._base.checks import check_choice
from psychollm._base.errors import OptionError, ShapeError
from psychollm.steering.anatomy import (
    CACHE_NAMES,
    Anatomy,
    anatomy,
    hidden_of,
    torch,
    with_hidden,
)
from psychollm.steering.direction import Direction

Positions: TypeAlias = Literal["prompt_last", "generated", "all"]


@contextmanager
def steer(
    model: Any,
    direction: Direction,
    *,
    layer: int | Sequence[int],
    positions: Positions = "prompt_last",
) -> Iterator[Any]:
    """Add a direction to the state of a layer within a context.

    Parameters
    ----------
    model : transformers.PreTrainedModel
        Causal language model in evaluation mode. The model is not copied, wrapped or changed.
    direction : Direction
        Direction to add, multiplied by the dose. If the direction has length one, ``0.2 *
        direction`` adds a fifth of the mean norm of the state.
    layer : int or sequence of int
        Layers whose output is steered, counted from 0.
    positions : {"prompt_last", "generated", "all"}
        Tokens to steer: the last token of the prompt, the tokens after the prompt, or all tokens.
        A forward pass counts as a prompt if it is the first in the context or does not continue an
        earlier pass.

    Yields
    ------
    transformers.PreTrainedModel
        The same model; hooks steer it until the context ends.

    Raises
    ------
    OptionError
        If a layer does not exist, or if the direction has no vector for a layer.
    ShapeError
        If the direction was made from a model with another hidden size.
    InputError
        If the model is not a causal transformers model, or is in training mode.

    Notes
    -----
    The state and the displacement are added in float32, because in bfloat16 a dose of
    0.05 would become 0.051. The sum is returned in the data type of the state. The directions of
    nested contexts are summed.

    Examples
    --------
    >>> with steer(model, 0.2 * direction, layer=15):  # doctest: +SKIP
    ...     reply = model.generate(**inputs)
    """
    body = anatomy(model)
    layers = body.check_layers(layer)
    check_choice("positions", positions, Positions)
    check_fit(body, direction, layers)
    if positions != "all" and not body.plain:
        msg = (
            f"positions={positions!r} needs a model that accesses earlier tokens through keys and "
            f"values; {body.name} does not: use positions='all'"
        )
        raise OptionError(msg)
    columns = Columns(positions)
    handles = [body.stem.register_forward_pre_hook(columns.look(body.stem), with_kwargs=True)]
    try:
        for one in layers:
            hook = _adding(direction, one, columns)
            handles.append(body.blocks[one].register_forward_hook(hook))
        yield model
    finally:
        for handle in handles:
            handle.remove()


def check_fit(body: Anatomy, direction: Direction, layers: Sequence[int]) -> None:
    """Raise an error unless a direction has the hidden size and the layers of a model."""
    if direction.hidden_size != body.hidden_size:
        msg = (
            f"the direction has {direction.hidden_size} components, the states of {body.name} "
            f"have {body.hidden_size}: use a direction made from the same model"
        )
        raise ShapeError(msg)
    for layer in layers:
        direction.place(layer)


def added(state: Any, displacement: Any, mask: Any = None) -> Any:
    """Return the sum of a state and a displacement, computed in float32."""
    move = displacement if mask is None else displacement * mask.unsqueeze(-1)
    return (state.float() + move).to(state.dtype)


def _adding(direction: Direction, layer: int, columns: "Columns") -> Callable[..., Any]:
    """Return a hook that adds a displacement to the output of a layer."""
    t = torch()
    vector = t.tensor(direction.displacement(layer))

    def move(module: Any, args: Any, output: Any) -> Any:
        state = hidden_of(output)
        mask = columns.now
        mask = None if mask is None else mask.to(state.device)
        return with_hidden(output, added(state, vector.to(state.device), mask))

    return move


class Columns:
    """Columns (tokens) to steer in each pass, determined from their positions in the text."""

    def __init__(self, positions: Positions) -> None:
        self._positions = positions
        self._prompt: Any = None  # token ids by which the prompt is recognised
        self._width = 0  # number of columns of the prompt
        self._last: Any = None  # (rows or 1, 1) column of the last prompt token
        self.now: Any = None  # mask of steered columns (rows or 1, columns); None for all

    def look(self, stem: Any) -> Callable[..., None]:
        """Return a hook that inspects each forward pass before it begins."""
        signature = inspect.signature(stem.forward)

        def look(module: Any, args: Any, options: Any) -> None:
            if self._positions != "all":
                given = signature.bind_partial(*args, **options).arguments
                self._see({**given, **given.get("kwargs", {})})

        return look

    def _see(self, given: dict[str, Any]) -> None:
        ids, embeds = given.get("input_ids"), given.get("inputs_embeds")
        fed: Any = ids if ids is not None else embeds
        cache = next((given[name] for name in CACHE_NAMES if given.get(name) is not None), None)
        past = int(cache.get_seq_length()) if cache is not None else 0
        if not self._goes_on(ids, past):
            self._start(fed, ids, past, given.get("attention_mask"))
        t = torch()
        columns = t.arange(past, past + fed.shape[1], device=fed.device)[None]
        last = self._last.to(fed.device)
        self.now = columns == last if self._positions == "prompt_last" else columns > last

    def _goes_on(self, ids: Any, past: int) -> bool:
        """Return whether a pass continues the last prompt."""
        if self._last is None:
            return False
        if past:
            return past >= self._width
        old = self._prompt
        if ids is None or old is None or ids.shape[1] <= self._width or len(ids) != len(old):
            return False
        return bool((ids[:, : self._width] == old).all())

    def _start(self, fed: Any, ids: Any, past: int, mask: Any) -> None:
        """Store the state of the current forward pass as a new prompt."""
        t = torch()
        self._width = past + fed.shape[1]
        self._prompt = ids if ids is not None and not past else None
        last = t.full((1, 1), self._width - 1)
        if mask is not None and mask.ndim == 2 and mask.shape[1] == self._width:
            # With padding on the right, the column of the prompt's last token differs between
            # rows.
            ends = self._width - 1 - mask.bool().flip(1).int().argmax(1, keepdim=True)
            last = ends[:1] if bool((ends == ends[0]).all()) else ends
        self._last = last
