"""Layer 6: plots. Each function draws a result and returns its Axes.

Every function draws numbers that the result also gives as a table, on new or given axes.
matplotlib is loaded at the first plot; no global settings change.
"""

from psychollm._base.lazy import load_lazily

load_lazily(__name__)
