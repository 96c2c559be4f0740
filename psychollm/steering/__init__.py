"""Annex: a causal model on this machine, its states, and what happens when they are moved.

`hidden_states` reads the states and the model's own answers, `difference_of_means` and its kin
make a `Direction` of them, `steer` adds it while the model runs, and `sweep` finds what the model
answers at many strengths for little more than one pass. Running a model needs torch and
transformers: ``pip install "psychollm[steering]"``; what was found is read without them.
"""

from psychollm._base.entry import entries
from psychollm.steering.anatomy import decoder_layers
from psychollm.steering.direction import Direction
from psychollm.steering.dose_response import DirectionScan, DoseResponse, LayerScan
from psychollm.steering.extract import (
    difference_of_means,
    logistic_probe,
    principal_component,
    random_direction,
    shuffled_direction,
)
from psychollm.steering.hooks import steer
from psychollm.steering.readout import answer_logits, hidden_states
from psychollm.steering.replies import ReplyLikelihood, reply_likelihood
from psychollm.steering.states import AnswerLogits, HiddenStates
from psychollm.steering.sweep import scan_layers, sweep, sweep_directions
from psychollm.steering.tokens import AnswerTokens, answer_tokens

__all__ = [
    "AnswerLogits",
    "AnswerTokens",
    "Direction",
    "DirectionScan",
    "DoseResponse",
    "HiddenStates",
    "LayerScan",
    "ReplyLikelihood",
    "answer_logits",
    "answer_tokens",
    "decoder_layers",
    "difference_of_means",
    "hidden_states",
    "logistic_probe",
    "principal_component",
    "random_direction",
    "reply_likelihood",
    "scan_layers",
    "shuffled_direction",
    "steer",
    "sweep",
    "sweep_directions",
]

entries(globals())
