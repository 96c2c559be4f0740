"""Floor 3: tetrachoric correlations of models or questions, their smoothing, their spectrum."""

from psychollm._base.lazy import load_lazily

load_lazily(__name__)
