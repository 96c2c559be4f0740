"""Floor 3: factor solutions without empty-cell rules, and the scores of questions."""

from psychollm._base.lazy import load_lazily

load_lazily(__name__)
