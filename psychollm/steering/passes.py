"""Forward passes of a model, which may continue from a prefix or start at a layer.

A pass starts at a layer if all layers up to this layer are replaced by their known output. The
model's own forward pass is then called, with its embedding, masks, rotary position encoding, final
norm and output head. The layers are restored afterwards, even after an error.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

from psychollm.steering.anatomy import Anatomy, torch, transformers, with_hidden
from psychollm.steering.tokens import AnswerTokens, Rows, left_padded, positions_of

Pairs: TypeAlias = Sequence[tuple[Any, Any]]  # keys and values of each layer


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefix:
    """The common prefix of all prompts, passed through the model once."""

    ids: tuple[int, ...]
    pairs: Pairs  # keys and values (1, heads, tokens, size)
    outputs: Mapping[int, Any]  # output of each layer, whose state is (1, tokens, hidden)


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A batch of prompts, passed through the model once."""

    mask: Any  # (rows, prefix + tokens), 0 for padding
    tail: Any  # (rows, tokens) ids after the prefix
    pairs: Pairs  # keys and values of all tokens; empty if the model has no cache
    outputs: Mapping[int, Any]  # output of each layer, whose state is (rows, tokens, hidden)
    logits: Any  # (rows, vocabulary) logits after the last token


def forward(
    body: Anatomy,
    ids: Any,
    mask: Any,
    positions: Any,
    *,
    cache: Any = None,
    keep: int = 1,
) -> Any:
    """Return logits (rows, keep, vocabulary) of the last `keep` tokens."""
    given = {
        "input_ids": ids,
        "attention_mask": mask,
        "position_ids": positions,
        body.cache: cache,
        "use_cache": cache is not None,
        "logits_to_keep": keep,
    }
    known = {name: value for name, value in given.items() if name in body.accepts}
    return body.model(**known, return_dict=True).logits[:, -keep:]


def cache_of(pairs: Pairs) -> Any:
    """Return an extensible cache that leaves the given keys and values unchanged."""
    cache = transformers().DynamicCache()
    for layer, (keys, values) in enumerate(pairs):
        cache.update(keys, values, layer)
    return cache


def pairs_of(cache: Any) -> Pairs:
    """Return the keys and values stored in a cache."""
    return [(layer.keys, layer.values) for layer in cache.layers]


def open_prefix(body: Anatomy, ids: Sequence[int], layers: Sequence[int]) -> Prefix:
    """Pass the common prefix through the model."""
    t = torch()
    tokens = t.tensor([list(ids)], device=body.device)
    mask = t.ones_like(tokens)
    cache = cache_of(())
    with recording(body, layers) as outputs:
        forward(body, tokens, mask, positions_of(mask), cache=cache)
    return Prefix(ids=tuple(ids), pairs=pairs_of(cache), outputs=outputs)


def open_batch(
    body: Anatomy, rows: Rows, layers: Sequence[int], *, prefix: Prefix | None, cached: bool
) -> Opened:
    """Pass a batch of prompts, without their common prefix, through the model."""
    t = torch()
    skipped = len(prefix.ids) if prefix else 0
    tail, mask = left_padded([row[skipped:] for row in rows], body.device)
    if prefix:
        before = mask.new_ones(len(rows), skipped)
        mask = t.cat([before, mask], dim=1)
    cache = cache_of(spread(prefix.pairs if prefix else (), len(rows))) if cached else None
    positions = positions_of(mask)[:, skipped:]
    with recording(body, layers) as outputs:
        logits = forward(body, tail, mask, positions, cache=cache)
    pairs = pairs_of(cache) if cached else ()
    return Opened(mask=mask, tail=tail, pairs=pairs, outputs=outputs, logits=logits[:, -1])


def spread(pairs: Pairs, rows: int) -> Pairs:
    """Expand keys and values of one row to several rows without copying."""
    return [(k.expand(rows, -1, -1, -1), v.expand(rows, -1, -1, -1)) for k, v in pairs]


@contextmanager
def recording(body: Anatomy, layers: Sequence[int]) -> Iterator[dict[int, Any]]:
    """Record the outputs of layers within a context."""
    outputs: dict[int, Any] = {}

    def keeper(layer: int) -> Callable[..., None]:
        def keep(module: Any, args: Any, output: Any) -> None:
            outputs[layer] = output

        return keep

    handles = [body.blocks[layer].register_forward_hook(keeper(layer)) for layer in layers]
    try:
        yield outputs
    finally:
        for handle in handles:
            handle.remove()


@contextmanager
def resumed(body: Anatomy, layer: int, state: Any, output: Any) -> Iterator[None]:
    """Within a context, make all layers up to `layer` return a known state."""
    blocks = body.blocks[: layer + 1]
    # Restore the layer's own forward method, which a library such as accelerate may have set.
    before = [vars(block).get("forward") for block in blocks]
    try:
        for block in blocks:
            block.forward = lambda *args, **options: with_hidden(output, state)
        yield
    finally:
        for block, own in zip(blocks, before, strict=True):
            if own is not None:
                block.forward = own
            else:
                vars(block).pop("forward", None)


def read_answers(logits: Any, tokens: AnswerTokens) -> tuple[Any, Any]:
    """Return the log probabilities of yes and of no, computed in float32."""
    values = logits.float()
    total = values.logsumexp(-1)
    yes = values[..., list(tokens.yes)].logsumexp(-1) - total
    no = values[..., list(tokens.no)].logsumexp(-1) - total
    return yes, no


def rows_of(rows: Rows, prompts: Sequence[int]) -> Rows:
    """Return the selected rows of an opened batch."""
    return [rows[prompt] for prompt in prompts]
