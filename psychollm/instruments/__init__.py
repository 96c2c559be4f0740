"""Floor 3: what to ask models, and how to read and score what they reply; no network.

Each instrument is a room of its own; its class and its scores stand here, the rest there.
"""

from psychollm._base.lazy import load_lazily

load_lazily(__name__)
