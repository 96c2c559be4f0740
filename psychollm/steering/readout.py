"""Computation of a model's answer probabilities and states without generating text."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from psychollm._base.checks import check_count
from psychollm._base.errors import InputError, OptionError
from psychollm._base.replicate import progress_bar
from psychollm._base.types import AnyArray, FloatArray
from psychollm.instruments.prompt import Prompt
from psychollm.steering.anatomy import Anatomy, anatomy, hidden_of, torch
from psychollm.steering.passes import (
    Opened,
    Prefix,
    open_batch,
    open_prefix,
    read_answers,
    rows_of,
)
from psychollm.steering.states import AnswerLogits, HiddenStates
from psychollm.steering.tokens import (
    NO,
    YES,
    AnswerTokens,
    Encoded,
    answer_tokens,
    batches,
    encode,
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Asked:
    """Tokenized prompts, with the model that answers them."""

    body: Anatomy
    encoded: Encoded
    tokens: AnswerTokens
    batch_size: int

    @classmethod
    def of(
        cls,
        model: Any,
        tokenizer: Any,
        prompts: Sequence[str | Prompt],
        *,
        yes: Sequence[str],
        no: Sequence[str],
        batch_size: int,
    ) -> "Asked":
        """Tokenize prompts, after checking the model and the words for yes and no."""
        return cls(
            body=anatomy(model),
            encoded=encode(tokenizer, prompts),
            tokens=answer_tokens(tokenizer, yes=yes, no=no),
            batch_size=check_count("batch_size", batch_size),
        )

    @property
    def prefix(self) -> tuple[int, ...]:
        """The common prefix of all prompts, if the model can continue from it."""
        body, rows = self.body, self.encoded.rows
        longest = max(map(len, rows))
        # With a limited attention window, padding after the prefix could push the prefix out of
        # the window.
        far = body.window is not None and longest >= body.window
        # Hooks may depend on token positions, so they require full prompts.
        usable = body.plain and body.rotary and not far and not body.hooked
        return rows[0][: self.encoded.prefix] if usable else ()

    def open_prefix(self, layers: Sequence[int]) -> Prefix | None:
        """Pass the common prefix, if there is one, through the model."""
        return open_prefix(self.body, self.prefix, layers) if self.prefix else None

    def read(
        self, layers: Sequence[int], *, token: int, progress: bool
    ) -> tuple[AnyArray, AnswerLogits]:
        """Return states (prompts, layers, hidden) and answers of the model."""
        rows = self.encoded.rows
        states = np.zeros((len(rows), len(layers), self.body.hidden_size), dtype=np.float32)
        logs = np.zeros((2, len(rows)))
        bar = progress_bar(show=progress, total=len(rows), label="answers")
        # Use no prefix if the requested token may be in it.
        short = min(map(len, rows)) - len(self.prefix) < -token
        with torch().inference_mode():
            prefix = None if short else self.open_prefix(())
            for prompts in batches(rows, self.batch_size):
                opened = self.open(prompts, layers, prefix=prefix, cached=prefix is not None)
                for i, layer in enumerate(layers):
                    states[prompts, i] = (
                        hidden_of(opened.outputs[layer])[:, token].float().cpu().numpy()
                    )
                for out, values in zip(
                    logs, read_answers(opened.logits, self.tokens), strict=True
                ):
                    out[prompts] = values.cpu().numpy()
                self._check_finite(states, logs, prompts, layers)
                bar.update(len(prompts))
        bar.close()
        return states, self.answers(logs[0], logs[1])

    def open(
        self, prompts: Sequence[int], layers: Sequence[int], *, prefix: Prefix | None, cached: bool
    ) -> Opened:
        """Pass the selected prompts through the model."""
        rows = rows_of(self.encoded.rows, prompts)
        return open_batch(self.body, rows, layers, prefix=prefix, cached=cached)

    def answers(self, log_yes: FloatArray, log_no: FloatArray) -> AnswerLogits:
        """Return log probabilities as `AnswerLogits` with the labels of the prompts."""
        return AnswerLogits(
            log_yes=log_yes,
            log_no=log_no,
            labels=self.encoded.labels,
            n_tokens=np.array([len(row) for row in self.encoded.rows]),
            tokens=self.tokens,
        )

    def _check_finite(
        self, states: AnyArray, logs: FloatArray, prompts: Sequence[int], layers: Sequence[int]
    ) -> None:
        for prompt in prompts:
            bad = [
                layer for i, layer in enumerate(layers) if not np.isfinite(states[prompt, i]).all()
            ]
            if bad or np.isnan(logs[:, prompt]).any():
                where = f"the state of layer {bad[0]}" if bad else "the answer"
                msg = (
                    f"prompt {self.encoded.labels[prompt]!r}: {where} is not a number; load the "
                    "model in float32 or bfloat16 (float16 overflows), and check its weights"
                )
                raise InputError(msg)


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
        Causal language model, not in training mode.
    tokenizer : transformers.PreTrainedTokenizerBase
        Tokenizer of the model.
    prompts : sequence of str or Prompt
        Texts, or an instrument's conversations, to which the chat template is applied.
    yes, no : sequence of str
        Words for each answer; every form of these words that is a single token counts.
    batch_size : int
        Number of prompts per forward pass.
    progress : bool
        Whether to show a progress bar.

    Returns
    -------
    AnswerLogits
        Probabilities in the order of `prompts`.

    Raises
    ------
    InputError
        If the tokenizer has no token for an answer, if only some prompts use a chat template, if
        the model is in training mode, or if a state is not a number.

    Notes
    -----
    The common prefix of all prompts passes through the model only once, if possible.

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
    """Return hidden states of layers at one token of each prompt, and the model's answers.

    Parameters
    ----------
    model : transformers.PreTrainedModel
        Causal language model, not in training mode.
    tokenizer : transformers.PreTrainedTokenizerBase
        Tokenizer of the model.
    prompts : sequence of str or Prompt
        Texts, or an instrument's conversations, to which the chat template is applied.
    layers : sequence of int, optional
        Layers to return; all layers by default.
    token : int
        Position of the token, counted from the end of the prompt; -1 is the last token.
    yes, no : sequence of str
        Words for each answer; every form of these words that is a single token counts.
    batch_size : int
        Number of prompts per forward pass.
    progress : bool
        Whether to show a progress bar.

    Returns
    -------
    HiddenStates
        States in float32, even if the model has another data type.

    Raises
    ------
    OptionError
        If a layer or token does not exist.
    InputError
        If the tokenizer has no token for an answer, if only some prompts use a chat template, if
        the model is in training mode, or if a state is not a number.

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
        msg = f"token={token} must count from the end: use -{shortest} (the shortest prompt) to -1"
        raise OptionError(msg)
    states, answers = asked.read(wanted, token=token, progress=progress)
    return HiddenStates(
        states=states, layers=wanted, token=token, answers=answers, model=asked.body.name
    )
