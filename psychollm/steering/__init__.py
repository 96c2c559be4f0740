"""Annex: a causal model on this machine, its states, and what happens when they are moved.

`hidden_states` reads the states and the model's own answers, `difference_of_means` and its kin
make a `Direction` of them, `steer` adds it while the model runs, and `sweep` finds what the model
answers at many strengths for little more than one pass. Running a model needs torch and
transformers: ``pip install "psychollm[steering]"``; what was found is read without them.
"""

from psychollm._base.lazy import load_lazily

load_lazily(__name__)
