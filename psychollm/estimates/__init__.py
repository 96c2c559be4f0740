"""Layer 2: estimates, with value, standard error, interval, n and flags."""

from psychollm._base.lazy import load_lazily

load_lazily(__name__)
