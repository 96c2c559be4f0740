r"""Likelihood of a reply under a model, as log-likelihood per token and as perplexity.

Equation (1) defines the log-likelihood per token and the perplexity of a reply of tokens
:math:`t_1, \dots, t_n` after a prompt.

.. math::
    \ell = \frac{1}{n} \sum_i \log p(t_i \mid \text{prompt}, t_1, \dots, t_{i-1}), \qquad
    \text{perplexity} = e^{-\ell}.                                                  \tag{1}
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import check_count
from psychollm._base.errors import InputError
from psychollm._base.replicate import progress_bar
from psychollm._base.result import Result
from psychollm._base.types import AnyArray, FloatArray
from psychollm.instruments.prompt import Prompt
from psychollm.steering.anatomy import anatomy, torch
from psychollm.steering.passes import forward
from psychollm.steering.tokens import batches, left_padded, positions_of, rows_and_labels


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReplyLikelihood(Result):
    """Log-likelihoods of replies, one per prompt.

    Examples
    --------
    >>> found = ReplyLikelihood(total=np.array([-2.0]), n_tokens=np.array([4]), labels=("a",))
    >>> found.mean.tolist(), found.perplexity.round(3).tolist()
    ([-0.5], [1.649])
    """

    total: FloatArray  # (prompts,) log-likelihood of the whole reply
    n_tokens: AnyArray  # (prompts,) number of reply tokens
    labels: tuple[Any, ...]

    _AXES = Axes({"prompt": "labels"}, "n_tokens", "total", "mean", "perplexity")

    @property
    def mean(self) -> FloatArray:
        """Mean log-likelihood per token (prompts,)."""
        return np.asarray(self.total / self.n_tokens, dtype=np.float64)

    @property
    def perplexity(self) -> FloatArray:
        """Perplexity (prompts,), which is 1 if every token had probability 1."""
        return np.asarray(np.exp(-self.mean), dtype=np.float64)


def reply_likelihood(
    model: Any,
    tokenizer: Any,
    prompts: Sequence[str | Prompt],
    replies: Sequence[str],
    *,
    batch_size: int = 16,
    progress: bool = False,
) -> ReplyLikelihood:
    """Return the likelihood of a reply to each prompt.

    Parameters
    ----------
    model : transformers.PreTrainedModel
        Causal language model, not in training mode.
    tokenizer : transformers.PreTrainedTokenizerBase
        Tokenizer of the model.
    prompts : sequence of str or Prompt
        Texts, or an instrument's conversations, to which the chat template is applied. Prompts may
        have different endings.
    replies : sequence of str
        One reply per prompt, exactly as it follows the prompt. If a space separates prompt and
        reply, the reply begins with this space.
    batch_size : int
        Number of prompts per forward pass.
    progress : bool
        Whether to show a progress bar.

    Returns
    -------
    ReplyLikelihood
        Likelihoods in the order of `prompts`.

    Raises
    ------
    InputError
        If the numbers of replies and prompts differ, if a reply is empty, or if the model is in
        training mode.

    Examples
    --------
    >>> found = reply_likelihood(model, tokenizer, ["2 + 2 ="], [" 4"])  # doctest: +SKIP
    >>> found.perplexity  # doctest: +SKIP
    array([1.2])
    """
    body = anatomy(model)
    rows, labels = rows_and_labels(tokenizer, prompts)
    tails = _tails(tokenizer, replies, labels)
    whole = [[*row, *tail] for row, tail in zip(rows, tails, strict=True)]
    total = np.zeros(len(rows))
    bar = progress_bar(show=progress, total=len(rows), label="replies")
    with torch().inference_mode():
        for batch in batches(whole, check_count("batch_size", batch_size)):
            ids, mask = left_padded([whole[i] for i in batch], body.device)
            keep = max(len(tails[i]) for i in batch) + 1
            logits = forward(body, ids, mask, positions_of(mask), keep=keep)
            logs = logits[:, :-1].float().log_softmax(-1)
            words = ids[:, -(keep - 1) :].to(logs.device)
            each = logs.gather(-1, words[..., None])[..., 0].cpu().numpy()
            for row, i in zip(each, batch, strict=True):
                total[i] = row[-len(tails[i]) :].sum(dtype=np.float64)
            bar.update(len(batch))
    bar.close()
    return ReplyLikelihood(
        total=total, n_tokens=np.array([len(tail) for tail in tails]), labels=labels
    )


def _tails(tokenizer: Any, replies: Sequence[str], labels: Sequence[Any]) -> list[list[int]]:
    """Return the replies as token ids."""
    if isinstance(replies, str) or len(replies) != len(labels):
        msg = f"replies must hold one text per prompt ({len(labels)})"
        raise InputError(msg)
    tails = [tokenizer(reply, add_special_tokens=False)["input_ids"] for reply in replies]
    for label, tail in zip(labels, tails, strict=True):
        if not tail:
            msg = f"the reply to prompt {label!r} is empty: it has no likelihood"
            raise InputError(msg)
    return tails
