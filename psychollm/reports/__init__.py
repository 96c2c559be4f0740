"""Layer 7: reports of studies as self-contained HTML pages."""

from psychollm._base.lazy import load_lazily

load_lazily(__name__)
