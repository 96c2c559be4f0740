"""Layer 5: banks of calibrated questions, which estimate full scores from few answers."""

from psychollm._base.lazy import load_lazily

load_lazily(__name__)
