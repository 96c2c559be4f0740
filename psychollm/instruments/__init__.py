"""Layer 3: prompts for models, parsers of their replies, and scoring; no network.

Each instrument is a subpackage. The class and the scores of every instrument can be imported from
this package.
"""

from psychollm._base.lazy import load_lazily

load_lazily(__name__)
