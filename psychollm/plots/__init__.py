"""Layer 6: plots of results, on new or existing matplotlib Axes.

Every function plots numbers that the result object also returns as a table. matplotlib is loaded
at the first plot, and no global settings change.
"""

from psychollm._base.lazy import load_lazily

load_lazily(__name__)
