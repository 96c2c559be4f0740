"""Layer 3: factor analysis: extraction, rotation, confirmatory models, scores."""

from psychollm._base.lazy import load_lazily

load_lazily(__name__)
