"""Layer 5: banks of calibrated questions, for estimating full scores from few answers."""

from psychollm._base.lazy import load_lazily

load_lazily(__name__)
