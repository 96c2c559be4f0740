"""Floor 5: banks of calibrated questions, from which a full score is estimated by few answers."""

from psychollm._base.lazy import load_lazily

load_lazily(__name__)
