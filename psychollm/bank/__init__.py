"""Floor 5: Banks of calibrated questions: a full score is estimated from few answers."""

from psychollm._base.lazy import load_lazily

load_lazily(__name__)
