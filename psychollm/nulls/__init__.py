"""Floor 3: what a statistic looks like where there is nothing to find, or exactly one factor."""

from psychollm._base.lazy import load_lazily

load_lazily(__name__)
