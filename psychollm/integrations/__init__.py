"""Annex: adaptive evaluation inside other evaluation tools.

`stop_early` lets an item bank select the questions of an Inspect AI task, until the interval is
narrow enough: ``pip install "psychollm[inspect]"``.
"""

from psychollm._base.lazy import load_lazily

load_lazily(__name__)
