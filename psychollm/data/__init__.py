"""Layer 2: tables of responses, and functions that read, check, count and simulate them."""

from psychollm._base.lazy import load_lazily

load_lazily(__name__)
