"""The decoder layers of a causal model, and the arguments of its forward pass.

No list of architectures is needed, because the layers are the module list whose length equals the
number of layers in the model's configuration. Layers are counted from 0, and "the state of layer
L" is the output of layer L, which is the input of layer L + 1. Some layers return their state as a
tensor, and others return a tuple that begins with the state.
"""

import inspect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from psychollm._base.errors import InputError, OptionError
from psychollm._base.optional import require

# Names of the argument with the key-value cache, in transformers 5.24 and in earlier versions.
CACHE_NAMES = ("cache", "past_key_values")
# Types of layers that access earlier tokens only through a cache of keys and values.
_PLAIN = frozenset({"attention", "full_attention", "sliding_attention"})


def torch() -> Any:
    """Return the library torch."""
    return require("torch", extra="steering", purpose="steering")


def transformers() -> Any:
    """Return the library transformers."""
    return require("transformers", extra="steering", purpose="steering")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Anatomy:
    """Properties of a model that can be read without running it."""

    model: Any  # the causal model without wrappers
    blocks: tuple[Any, ...]  # the model's decoder layers
    stem: Any  # the module with the layers, called with the tokens
    hidden_size: int
    accepts: frozenset[str]  # names of arguments of the model's forward pass
    cache: str | None  # name of the argument with the cache, None without a cache
    plain: bool  # whether earlier tokens act only through keys and values
    rotary: bool  # whether position_ids set the positions of tokens
    window: int | None  # largest number of earlier tokens that a layer attends to

    @property
    def n_layers(self) -> int:
        """Number of decoder layers."""
        return len(self.blocks)

    @property
    def hooked(self) -> bool:
        """Whether hooks (for example, those of `steer`) read or change the states."""
        watched = (self.stem, *self.blocks)
        return any(one._forward_hooks or one._forward_pre_hooks for one in watched)

    @property
    def name(self) -> str:
        """Name under which the model was loaded, or the name of its class."""
        given = getattr(self.model.config, "_name_or_path", "") or ""
        return given or type(self.model).__name__

    @property
    def device(self) -> Any:
        """Device of the input tokens."""
        return self.model.get_input_embeddings().weight.device

    def check_layers(self, layers: int | Sequence[int]) -> tuple[int, ...]:
        """Return the layers in the given order, after checking that they exist."""
        wanted: tuple[Any, ...] = tuple(layers) if isinstance(layers, Iterable) else (layers,)
        for layer in wanted:
            if isinstance(layer, bool) or not 0 <= layer < self.n_layers or layer % 1:
                msg = (
                    f"layer={layer!r} does not exist in {self.name}: "
                    f"use 0 to {self.n_layers - 1} (the state that the layer returns is steered)"
                )
                raise OptionError(msg)
        if not wanted:
            msg = "layers is empty: name at least one"
            raise OptionError(msg)
        return tuple(int(layer) for layer in wanted)


def decoder_layers(model: Any) -> tuple[Any, ...]:
    """Return the decoder layers of a causal language model from the transformers library.

    Parameters
    ----------
    model : transformers.PreTrainedModel
        Causal language model; a wrapper of the library peft is removed.

    Returns
    -------
    tuple of torch.nn.Module
        The decoder layers themselves, not copies.

    Raises
    ------
    InputError
        If no module list has as many elements as the model has layers.

    Examples
    --------
    >>> layers = decoder_layers(model)  # doctest: +SKIP
    >>> len(layers)  # doctest: +SKIP
    30
    """
    bare = _unwrapped(model)
    _, blocks = _stack(bare)
    return tuple(blocks)


def anatomy(model: Any) -> Anatomy:
    """Return the properties of a model that steering needs."""
    bare = _unwrapped(model)
    if model.training:
        msg = "the model is in training mode, where dropout adds noise: call model.eval()"
        raise InputError(msg)
    path, blocks = _stack(bare)
    config = _text_config(bare)
    accepts = frozenset(inspect.signature(bare.forward).parameters)
    kinds = set(getattr(config, "layer_types", None) or ())
    cache = next((name for name in CACHE_NAMES if name in accepts), None)
    plain = (
        kinds <= _PLAIN
        and not getattr(bare, "_is_stateful", False)
        and not getattr(config, "num_kv_shared_layers", 0)
        and cache is not None
    )
    return Anatomy(
        model=bare,
        blocks=tuple(blocks),
        stem=bare.get_submodule(path.rpartition(".")[0]),
        hidden_size=int(config.hidden_size),
        accepts=accepts,
        cache=cache,
        plain=plain,
        rotary="position_ids" in accepts and not getattr(config, "alibi", False),
        window=getattr(config, "sliding_window", None),
    )


def _unwrapped(model: Any) -> Any:
    """Return the causal model without wrappers."""
    bare = model.get_base_model() if hasattr(model, "get_base_model") else model
    if not hasattr(bare, "config") or not hasattr(bare, "named_modules"):
        msg = (
            f"model is a {type(model).__name__}: pass a causal language model of transformers, "
            "as AutoModelForCausalLM.from_pretrained returns it"
        )
        raise InputError(msg)
    return bare


def _text_config(model: Any) -> Any:
    config = model.config
    return config.get_text_config(decoder=True) if hasattr(config, "get_text_config") else config


def _stack(model: Any) -> tuple[str, Any]:
    """Return the path of the module list of decoder layers, and the list."""
    nn = torch().nn
    depth = int(_text_config(model).num_hidden_layers)
    stacks = [
        (path, module)
        for path, module in model.named_modules()
        if isinstance(module, nn.ModuleList)
        and len(module) == depth
        and not any(isinstance(block, nn.ModuleList) for block in module)
    ]
    if not stacks:
        msg = (
            f"no list of {depth} decoder layers was found in {type(model).__name__}: "
            "steering needs a causal model whose layers are in one torch.nn.ModuleList"
        )
        raise InputError(msg)
    # Lists of the same length at a deeper level are parts of a layer, such as experts. If two
    # lists are at the same level, the layers are in the list with more parameters.
    return min(stacks, key=lambda one: (one[0].count("."), -_size(one[1])))


def _size(module: Any) -> int:
    return sum(weight.numel() for weight in module.parameters())


def hidden_of(output: Any) -> Any:
    """Return the hidden state in the output of a layer."""
    return output[0] if isinstance(output, tuple | list) else output


def with_hidden(output: Any, hidden: Any) -> Any:
    """Return the output of a layer with its hidden state replaced."""
    return (hidden, *output[1:]) if isinstance(output, tuple | list) else hidden
