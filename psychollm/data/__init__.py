"""Layer 2: tables of responses, with reading, checking, counting and simulation."""

from psychollm._base.lazy import load_lazily

load_lazily(__name__)
