"""Layer 3: latent correlations of models or questions: estimation, smoothing, spectrum."""

from psychollm._base.lazy import load_lazily

load_lazily(__name__)
