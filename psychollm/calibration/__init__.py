"""Layer 3: calibration: agreement of confidence and correctness, within and between models."""

from psychollm._base.lazy import load_lazily

load_lazily(__name__)
