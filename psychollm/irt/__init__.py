"""Layer 3: item response theory: items, abilities, information, fit, comparisons, short forms."""

from psychollm._base.lazy import load_lazily

load_lazily(__name__)
