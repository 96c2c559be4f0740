r"""A model's answer probabilities, and its hidden states at the same token.

A model assigns one probability to yes and one to no. Let :math:`Y` be the set of tokens that are
forms of yes, :math:`N` the set of tokens that are forms of no, and :math:`p_t` the probability of
token :math:`t` after the prompt. Equation (1) defines the log probability of yes, the mass and the
margin.

.. math::
    \text{log_yes} = \log \sum_{t \in Y} p_t, \qquad
    \text{mass} = \sum_{t \in Y \cup N} p_t, \qquad
    \text{margin} = \text{log_yes} - \text{log_no}.                                  \tag{1}

If the mass is small, the model's reply usually begins with other words, and the margin is not
meaningful.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import float_array
from psychollm._base.errors import InputError, LabelError, ShapeError
from psychollm._base.result import Result
from psychollm._base.types import AnyArray, BoolArray, FloatArray
from psychollm.steering.tokens import AnswerTokens


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AnswerLogits(Result):
    """Probabilities of yes and no after each prompt.

    Examples
    --------
    >>> answers = AnswerLogits(log_yes=np.log([0.6, 0.1]), log_no=np.log([0.3, 0.8]),
    ...                        labels=("a", "b"), n_tokens=np.array([9, 9]),
    ...                        tokens=AnswerTokens((1,), (2,)))
    >>> answers.says_yes.tolist(), answers.mass.round(2).tolist()
    ([True, False], [0.9, 0.9])
    """

    log_yes: FloatArray  # (prompts,)
    log_no: FloatArray  # (prompts,)
    labels: tuple[Any, ...]  # (prompts,) items or keys of prompts, or indices
    n_tokens: AnyArray  # (prompts,) number of tokens in each prompt
    tokens: AnswerTokens  # tokens that count as yes and no

    _AXES = Axes({"prompt": "labels"}, "log_yes", "log_no", "margin", "mass", "says_yes")

    @property
    def margin(self) -> FloatArray:
        """Log odds of yes versus no (prompts,)."""
        return np.asarray(self.log_yes - self.log_no, dtype=np.float64)

    @property
    def mass(self) -> FloatArray:
        """Probability that the reply begins with yes or no (prompts,)."""
        return np.asarray(np.exp(self.log_yes) + np.exp(self.log_no), dtype=np.float64)

    @property
    def p_yes(self) -> FloatArray:
        """Probability of yes divided by the probability of yes or no (prompts,)."""
        return np.asarray(1.0 / (1.0 + np.exp(-self.margin)), dtype=np.float64)

    @property
    def says_yes(self) -> BoolArray:
        """Whether yes is more probable than no (prompts,)."""
        return np.asarray(self.margin > 0, dtype=np.bool_)

    def take(self, rows: Any) -> "AnswerLogits":
        """Return the answers to the prompts that an index or mask selects."""
        chosen = np.arange(len(self.labels))[rows]
        return replace(
            self,
            log_yes=self.log_yes[chosen],
            log_no=self.log_no[chosen],
            labels=tuple(self.labels[row] for row in chosen),
            n_tokens=self.n_tokens[chosen],
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HiddenStates(Result):
    """States of layers at one token of each prompt, and the model's answers at that token.

    Examples
    --------
    >>> states = HiddenStates(states=np.ones((3, 2, 4), dtype=np.float32), layers=(5, 6))
    >>> states.hidden_norms.tolist(), states.layer(6).shape
    ([2.0, 2.0], (3, 4))
    """

    states: AnyArray  # (prompts, layers, hidden) float32
    layers: tuple[int, ...]
    token: int = -1  # position of the token, counted from the end of the prompt
    answers: AnswerLogits | None = None  # the model's own answers; None for external states
    model: str = ""

    _AXES = Axes(labels={"layer": "layers"}, arrays={"prompt layer hidden": "states"})

    @property
    def hidden_norms(self) -> FloatArray:
        """Mean norm of the state of each layer (layers,)."""
        lengths = np.linalg.norm(self.states.astype(np.float64), axis=2)
        return np.asarray(lengths.mean(axis=0), dtype=np.float64)

    def layer(self, layer: int) -> AnyArray:
        """Return the states of one layer (prompts, hidden).

        Raises
        ------
        LabelError
            If the states do not include the layer.
        """
        if layer not in self.layers:
            msg = f"the states of layer {layer} are not included: choose from {self.layers}"
            raise LabelError(msg)
        return self.states[:, self.layers.index(layer)]

    def take(self, rows: Any) -> "HiddenStates":
        """Return the states of the prompts that an index or mask selects."""
        answers = None if self.answers is None else self.answers.take(rows)
        return replace(self, states=self.states[rows], answers=answers)


def as_states(states: HiddenStates | AnyArray) -> HiddenStates:
    """Convert an array (prompts, layers, hidden) or (prompts, hidden) to `HiddenStates`."""
    if isinstance(states, HiddenStates):
        hidden = states
    else:
        array = float_array(states, "states", most=1e38).astype(np.float32)
        array = array[:, None] if array.ndim == 2 else array
        if array.ndim != 3:
            msg = f"states must be (prompts, layers, hidden), got shape {array.shape}"
            raise ShapeError(msg)
        hidden = HiddenStates(states=array, layers=tuple(range(array.shape[1])))
    if not hidden.states.size:
        msg = f"states is empty: its shape (prompts, layers, hidden) is {hidden.states.shape}"
        raise ShapeError(msg)
    bad = np.argwhere(~np.isfinite(hidden.states).all(axis=2))
    if bad.size:
        msg = (
            f"states: prompt {bad[0, 0]}, layer {hidden.layers[bad[0, 1]]} holds NaN or infinity; "
            "load the model in float32 or bfloat16, and check its weights"
        )
        raise InputError(msg)
    return hidden
