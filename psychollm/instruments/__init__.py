"""Layer 3: prompts for models, parsers of their replies, and scoring; no network.

Each instrument is a subpackage. Its class and its scores can be imported from here.
"""

from psychollm._base.lazy import load_lazily

load_lazily(__name__)
