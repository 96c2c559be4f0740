"""Floor 2: the table of responses, and all that reads, checks, counts or simulates one."""

from psychollm._base.lazy import load_lazily

load_lazily(__name__)
