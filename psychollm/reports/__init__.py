"""Layer 7: reports, which are self-contained HTML pages, one per study."""

from psychollm._base.lazy import load_lazily

load_lazily(__name__)
