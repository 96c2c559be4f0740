"""Layer 2: the table of responses: reading, checking, counting and simulation."""

from psychollm._base.lazy import load_lazily

load_lazily(__name__)
