"""Layer 5: studies, each of which combines the subpackages below to answer one question."""

from psychollm._base.lazy import load_lazily

load_lazily(__name__)
