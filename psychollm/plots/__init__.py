"""Floor 6: Plots: each function draws a result and returns Axes.

Every function draws numbers that the result also gives as a table, on axes of its own or on those
passed. matplotlib is loaded at the first plot; nothing global is set.
"""

from psychollm._base.lazy import load_lazily

load_lazily(__name__)
