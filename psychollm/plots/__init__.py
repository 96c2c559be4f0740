"""Layer 6: plots of results, on new or given matplotlib Axes.

Every function draws numbers that the result also returns as a table. matplotlib is loaded at the
first plot, and no global settings change.
"""

from psychollm._base.lazy import load_lazily

load_lazily(__name__)
