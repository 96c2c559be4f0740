"""Layer 7: one self-contained HTML page per study."""

from psychollm._base.lazy import load_lazily

load_lazily(__name__)
