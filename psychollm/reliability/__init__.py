"""Floor 4: how far scores, raters and repeated runs can be relied on."""

from psychollm._base.lazy import load_lazily

load_lazily(__name__)
