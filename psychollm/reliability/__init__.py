"""Layer 4: reliability of scores, raters and repeated runs."""

from psychollm._base.lazy import load_lazily

load_lazily(__name__)
