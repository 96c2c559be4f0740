"""Floor 3: how confidence and correctness agree, within and between models."""

from psychollm._base.lazy import load_lazily

load_lazily(__name__)
