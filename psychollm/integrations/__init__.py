"""Annex: live evaluations inside the tools that people run already.

`stop_early` has a task of Inspect AI ask what an item bank draws, until the interval is narrow
enough: ``pip install "psychollm[inspect]"``.
"""

from psychollm._base.lazy import load_lazily

load_lazily(__name__)
