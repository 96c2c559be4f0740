"""Asking a model for its answers and its states, without letting it speak."""

from collections.abc import Sequence
from typing import Any

from psychollm._base.errors import OptionError
from psychollm.instruments.prompt import Prompt
from psychollm.steering.answer_words import NO, YES
from psychollm.steering.asked import Asked
from psychollm.steering.states import AnswerLogits, HiddenStates


def answer_logits(
    model: Any,
    tokenizer: Any,
    prompts: Sequence[str | Prompt],
    *,
    yes: Sequence[str] = YES,
    no: Sequence[str] = NO,
    batch_size: int = 16,
    progress: bool = False,
) -> AnswerLogits:
    """Return the probabilities of yes and no after each prompt.

    Parameters
    ----------
    model : transformers.PreTrainedModel
        A causal model, not in training mode.
    tokenizer : transformers.PreTrainedTokenizerBase
        That of the model.
    prompts : sequence of str or Prompt
        Texts as they stand, or conversations of an instrument, put into the chat template.
    yes, no : sequence of str
        Words for each answer; all their forms that are one token count.
    batch_size : int
        Prompts in one pass.
    progress : bool
        Whether to draw a progress bar.

    Returns
    -------
    AnswerLogits
        In the order of `prompts`.

    Raises
    ------
    InputError
        If the tokenizer has no token for an answer, prompts differ in their template, the model
        is in training mode, or a state is not a number.

    Notes
    -----
    What all prompts begin with goes through the model once, where the model allows it.

    Examples
    --------
    >>> answers = answer_logits(model, tokenizer, ["Is 7 prime? Answer:"])  # doctest: +SKIP
    >>> answers.mass  # doctest: +SKIP
    array([0.93])
    """
    asked = Asked.of(model, tokenizer, prompts, yes=yes, no=no, batch_size=batch_size)
    return asked.read((), token=-1, progress=progress)[1]


def hidden_states(
    model: Any,
    tokenizer: Any,
    prompts: Sequence[str | Prompt],
    *,
    layers: Sequence[int] | None = None,
    token: int = -1,
    yes: Sequence[str] = YES,
    no: Sequence[str] = NO,
    batch_size: int = 16,
    progress: bool = False,
) -> HiddenStates:
    """Return the states of layers at one token of each prompt, and the model's answers.

    Parameters
    ----------
    model, tokenizer, prompts, yes, no, batch_size, progress
        As in `answer_logits`.
    layers : sequence of int, optional
        Which; all of them by default.
    token : int
        Which token, counted from the end of the prompt: -1 is the last.

    Returns
    -------
    HiddenStates
        In float32, whatever the model computes in.

    Raises
    ------
    OptionError
        If there is no such layer or token.
    InputError
        As in `answer_logits`.

    Examples
    --------
    >>> states = hidden_states(model, tokenizer, prompts, layers=[15, 20])  # doctest: +SKIP
    >>> states.states.shape  # doctest: +SKIP
    (300, 2, 576)
    """
    asked = Asked.of(model, tokenizer, prompts, yes=yes, no=no, batch_size=batch_size)
    wanted = asked.body.check_layers(range(asked.body.n_layers) if layers is None else layers)
    shortest = min(map(len, asked.encoded.rows))
    if not -shortest <= token <= -1:
        msg = f"token={token} is counted from the end: use -{shortest} (the shortest prompt) to -1"
        raise OptionError(msg)
    states, answers = asked.read(wanted, token=token, progress=progress)
    return HiddenStates(
        states=states, layers=wanted, token=token, answers=answers, model=asked.body.name
    )
