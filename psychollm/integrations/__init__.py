"""Adaptive evaluation in other evaluation tools, such as Inspect AI.

With `stop_early`, an item bank selects the questions of an Inspect AI task until the confidence
interval is narrow enough. The integration requires ``pip install "psychollm[inspect]"``.
"""

from psychollm._base.lazy import load_lazily

load_lazily(__name__)
