"""Floor 5: verdicts: each study combines the subpackages below into answers to one question."""

from psychollm._base.lazy import load_lazily

load_lazily(__name__)
