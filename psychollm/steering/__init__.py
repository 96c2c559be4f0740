"""Hidden states of a local causal language model, and the effects of steering them.

`hidden_states` returns the states and the model's own answers. `difference_of_means` and similar
functions estimate a `Direction` from hidden states. `steer` adds a direction while the model runs,
and `sweep` computes the model's answers at many strengths for little more than the cost of one
pass. Running a model requires torch and transformers (``pip install "psychollm[steering]"``), but
reading results does not.
"""

from psychollm._base.lazy import load_lazily

load_lazily(__name__)
