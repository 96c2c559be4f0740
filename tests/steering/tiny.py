"""Tiny models of many architectures, made from their configurations, and a tokenizer for them."""

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="steering needs torch")
transformers = pytest.importorskip("transformers", reason="steering needs transformers")
tokenizers = pytest.importorskip("tokenizers")

torch.set_num_threads(1)

WORDS = ("[pad]", "[start]", "yes", "Yes", "no", "No", ":", "?", *(f"w{i}" for i in range(40)))
SMALL = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 4}
HEADS = {"num_attention_heads": 4, "num_key_value_heads": 2}
COMMON: dict[str, Any] = {"vocab_size": len(WORDS), "max_position_embeddings": 128}

ARCHITECTURES: dict[str, Callable[[], Any]] = {
    "llama": lambda: transformers.LlamaConfig(**SMALL, **HEADS, **COMMON),
    "mistral": lambda: transformers.MistralConfig(**SMALL, **HEADS, **COMMON),
    "qwen2": lambda: transformers.Qwen2Config(**SMALL, **HEADS, **COMMON),
    "qwen3": lambda: transformers.Qwen3Config(**SMALL, **HEADS, **COMMON, head_dim=8),
    "gemma": lambda: transformers.GemmaConfig(**SMALL, **HEADS, **COMMON, head_dim=8),
    "gemma2": lambda: transformers.Gemma2Config(
        **SMALL, **HEADS, **COMMON, head_dim=8, sliding_window=64
    ),
    "phi": lambda: transformers.PhiConfig(**SMALL, num_attention_heads=4, **COMMON),
    "gpt2": lambda: transformers.GPT2Config(
        n_embd=32, n_layer=4, n_head=4, vocab_size=len(WORDS), n_positions=128
    ),
    "gpt_neox": lambda: transformers.GPTNeoXConfig(**SMALL, num_attention_heads=4, **COMMON),
    "opt": lambda: transformers.OPTConfig(
        hidden_size=32,
        ffn_dim=48,
        word_embed_proj_dim=32,
        num_hidden_layers=4,
        num_attention_heads=4,
        **COMMON,
    ),
    "bloom": lambda: transformers.BloomConfig(
        hidden_size=32, n_layer=4, n_head=4, vocab_size=len(WORDS)
    ),
    "mixtral": lambda: transformers.MixtralConfig(
        **SMALL, **HEADS, **COMMON, num_local_experts=4, num_experts_per_tok=2
    ),
}


def made(name: str, *, seed: int = 0) -> Any:
    """Return a model with random weights, large enough that what is said depends on the prompt."""
    config = ARCHITECTURES[name]()
    for part in ("pad_token_id", "bos_token_id", "eos_token_id"):
        setattr(config, part, 0)
    torch.manual_seed(seed)
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    with torch.no_grad():
        for weight in model.parameters():
            if weight.ndim > 1:
                weight.mul_(4.0)
    return model


def tokenizer() -> Any:
    """Return a tokenizer of whole words."""
    known = {word: place for place, word in enumerate(WORDS)}
    inner = tokenizers.Tokenizer(tokenizers.models.WordLevel(known, unk_token="[pad]"))  # noqa: S106
    inner.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    return transformers.PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="[pad]")  # noqa: S106


def prompts(n: int = 7, *, shared: int = 12) -> list[str]:
    """Return prompts of different lengths that begin and end alike."""
    opening = " ".join(f"w{i % 7}" for i in range(shared))
    middle = [" ".join(f"w{(3 * i + j * j) % 40}" for j in range(1 + i % 5)) for i in range(n)]
    return [f"{opening} {text} :".strip() for text in middle]
