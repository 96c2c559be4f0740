"""Floor 2: what an estimate is made of: value, standard error, interval, n, and its flags."""

from psychollm._base.lazy import load_lazily

load_lazily(__name__)
