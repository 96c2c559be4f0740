"""Layer 5: studies, which each combine subpackages of lower layers to answer one question."""

from psychollm._base.lazy import load_lazily

load_lazily(__name__)
