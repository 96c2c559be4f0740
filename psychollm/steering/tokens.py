"""Tokenized prompts, padded on the left, with the position of every token.

Token positions are always passed to the model. If positions were not passed, a model with learned
positions would count the padding, and the answer to a prompt would depend on the other prompts of
the batch.

A word corresponds to several tokens, with and without a leading space, in lower and upper case.
The probability of "yes" is the sum of the probabilities of all tokens that are forms of "yes".
Forms with several tokens ("Y" + "ES") do not count, because their first token also begins other
words.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from psychollm._base.errors import InputError, OptionError
from psychollm.instruments.prompt import Prompt
from psychollm.steering.anatomy import torch

Rows: TypeAlias = Sequence[Sequence[int]]
_PREFIX = 8  # tokens; a separate pass for a shorter prefix saves no time


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoded:
    """Tokenized prompts."""

    rows: tuple[tuple[int, ...], ...]  # token ids of each prompt
    labels: tuple[Any, ...]  # items or keys of prompts, indices of strings
    prefix: int  # length of the common prefix, less than the length of the shortest prompt


def encode(tokenizer: Any, prompts: Sequence[str | Prompt]) -> Encoded:
    """Return prompts as token ids."""
    # The tokenizer's chat template is applied to conversations. Strings are used unchanged, except
    # that the tokenizer's beginning-of-text token is added if it is missing.
    rows, labels = rows_and_labels(tokenizer, prompts)
    _check_ends(rows, labels, tokenizer)
    return Encoded(rows=rows, labels=labels, prefix=_common(rows))


def rows_and_labels(
    tokenizer: Any, prompts: Sequence[str | Prompt]
) -> tuple[tuple[tuple[int, ...], ...], tuple[Any, ...]]:
    """Return the tokens and the label of each prompt."""
    if isinstance(prompts, str | Prompt) or not len(prompts):
        msg = "prompts must be a sequence of strings or of instrument prompts, at least one"
        raise InputError(msg)
    kinds = {isinstance(prompt, Prompt) for prompt in prompts}
    if len(kinds) > 1:
        msg = "prompts mixes strings and conversations: answers compare only within one template"
        raise InputError(msg)
    labels: tuple[Any, ...] = tuple(range(len(prompts)))
    if kinds == {True}:
        # If each question occurs once, use the labels of questions, so that answers can be aligned
        # with other tables.
        items = tuple(prompt.item for prompt in prompts if isinstance(prompt, Prompt))
        keys = tuple(prompt.key for prompt in prompts if isinstance(prompt, Prompt))
        labels = items if len(set(items)) == len(items) else keys
    rows = tuple(tuple(_ids(tokenizer, prompt)) for prompt in prompts)
    for label, row in zip(labels, rows, strict=True):
        if not row:
            msg = f"prompt {label!r} is empty: it has no token to answer from"
            raise InputError(msg)
    return rows, labels


def _ids(tokenizer: Any, prompt: str | Prompt) -> list[int]:
    text, opened = (prompt, False) if isinstance(prompt, str) else _conversation(tokenizer, prompt)
    opening = getattr(tokenizer, "bos_token", None)
    opened = opened or bool(opening and text.startswith(opening))
    ids: list[int] = tokenizer(text, add_special_tokens=not opened)["input_ids"]
    return ids


def _conversation(tokenizer: Any, prompt: Prompt) -> tuple[str, bool]:
    """Return a conversation as one text, and whether a chat template was applied."""
    turns = [{"role": turn.role, "content": turn.content} for turn in prompt.messages]
    if getattr(tokenizer, "chat_template", None):
        text = tokenizer.apply_chat_template(turns, add_generation_prompt=True, tokenize=False)
        return str(text), True
    return "\n\n".join(turn["content"] for turn in turns), False


def _check_ends(rows: Rows, labels: Sequence[Any], tokenizer: Any) -> None:
    for label, row in zip(labels, rows, strict=True):
        if row[-1] != rows[0][-1]:
            ends = [tokenizer.decode([one[-1]]) for one in (row, rows[0])]
            msg = (
                f"prompt {label!r} ends with {ends[0]!r}, prompt {labels[0]!r} with {ends[1]!r}: "
                "use one template for all questions, so that answers follow the same token"
            )
            raise InputError(msg)


def _common(rows: Rows) -> int:
    """Return the length of the common prefix of all rows, excluding the last token of each row."""
    if len(rows) < 2:
        return 0
    low, high = min(map(tuple, rows)), max(map(tuple, rows))
    most = min(map(len, rows)) - 1
    shared = next((i for i in range(most) if low[i] != high[i]), most)
    return shared if shared >= _PREFIX else 0


def batches(rows: Rows, size: int) -> Iterator[list[int]]:
    """Yield indices of rows of similar length, `size` at a time."""
    order = sorted(range(len(rows)), key=lambda row: len(rows[row]))
    for start in range(0, len(order), size):
        yield order[start : start + size]


def left_padded(rows: Rows, device: Any) -> tuple[Any, Any]:
    """Return token ids and the mask of tokens that are not padding, both (rows, tokens)."""
    t = torch()
    width = max(map(len, rows))
    # Any token can be used for padding, because padding is masked.
    ids = [[row[-1]] * (width - len(row)) + list(row) for row in rows]
    mask = [[0] * (width - len(row)) + [1] * len(row) for row in rows]
    return t.tensor(ids, device=device), t.tensor(mask, device=device)


def positions_of(mask: Any) -> Any:
    """Return the position of every token, not counting padding."""
    return (mask.cumsum(-1) - 1).clamp(min=0)


YES, NO = ("yes",), ("no",)


@dataclass(frozen=True, slots=True)
class AnswerTokens:
    """Ids of the tokens that are forms of yes, and of the tokens that are forms of no."""

    yes: tuple[int, ...]
    no: tuple[int, ...]


def answer_tokens(
    tokenizer: Any, *, yes: Sequence[str] = YES, no: Sequence[str] = NO
) -> AnswerTokens:
    """Return the tokens that are forms of yes and the tokens that are forms of no.

    Parameters
    ----------
    tokenizer : transformers.PreTrainedTokenizerBase
        Tokenizer of the model.
    yes, no : sequence of str
        Words for each answer, in any case.

    Returns
    -------
    AnswerTokens
        Ids of the tokens in ascending order.

    Raises
    ------
    InputError
        If no word of one answer is a single token of the tokenizer.
    OptionError
        If a word belongs to both answers.

    Examples
    --------
    >>> class Words:
    ...     def get_vocab(self):
    ...         return {"Yes": 0, "\u0120yes": 1, "No": 2, "Nowhere": 3}
    >>> answer_tokens(Words())
    AnswerTokens(yes=(0, 1), no=(2,))
    """
    words = {"yes": _words("yes", yes), "no": _words("no", no)}
    if both := words["yes"] & words["no"]:
        msg = f"{sorted(both)[0]!r} is in yes and in no: each word may belong to one answer only"
        raise OptionError(msg)
    forms: dict[str, list[int]] = {"yes": [], "no": []}
    for text, token in tokenizer.get_vocab().items():
        for answer, known in words.items():
            if _word(text) in known:
                forms[answer].append(token)
    for answer, ways in forms.items():
        if not ways:
            msg = (
                f"the tokenizer has none of {sorted(words[answer])} as a single token: "
                f"use words that it has, such as {answer}=('{_example(tokenizer)}',)"
            )
            raise InputError(msg)
    return AnswerTokens(tuple(sorted(forms["yes"])), tuple(sorted(forms["no"])))


def _words(name: str, given: Sequence[str]) -> set[str]:
    words = {given} if isinstance(given, str) else set(given)
    if not words or not all(isinstance(word, str) and word.strip() for word in words):
        msg = f"{name}={given!r} must hold at least one word"
        raise OptionError(msg)
    return {word.strip().casefold() for word in words}


def _word(text: Any) -> str:
    """Return the word in a token without the space marks of tokenizers."""
    plain = text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)
    return plain.strip(" \t\r\n\u2581\u0120\u010a").removesuffix("</w>").casefold()


def _example(tokenizer: Any) -> str:
    """Return an example of a word that is a single token, for an error message."""
    words = (_word(text) for text in tokenizer.get_vocab())
    return next((word for word in words if word.isalpha() and len(word) > 1), "ja")
