"""Layer 3: null distributions of statistics, under permutation or under exactly one factor."""

from psychollm._base.lazy import load_lazily

load_lazily(__name__)
