"""Prompts in tokens: one row each, padded on the left, with the position of every token.

Positions are always passed. Without them a model with learned positions counts the padding too,
and the same prompt gets another answer in another batch.

A word has many tokens: with and without a space before it, in lower and upper case. All count, so
that the probability of "yes" is the sum over its forms. Forms of several tokens ("Y" + "ES") do
not: their first token begins other words too.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from psychollm._base.errors import InputError, OptionError
from psychollm.instruments.prompt import Prompt
from psychollm.steering.anatomy import torch

Rows: TypeAlias = Sequence[Sequence[int]]
_PREFIX = 8  # a shorter common beginning is not worth a pass of its own


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoded:
    """Prompts in tokens."""

    rows: tuple[tuple[int, ...], ...]  # ids of each prompt
    labels: tuple[Any, ...]  # items or keys of prompts, positions of strings
    prefix: int  # how many tokens all begin with, less than the shortest has


def encode(tokenizer: Any, prompts: Sequence[str | Prompt]) -> Encoded:
    """Return prompts in tokens."""
    # Conversations go through the chat template of the tokenizer; a string is taken as it stands,
    # and gets the token that opens a text if the tokenizer has one and the string does not.
    rows, labels = rows_and_labels(tokenizer, prompts)
    _check_ends(rows, labels, tokenizer)
    return Encoded(rows=rows, labels=labels, prefix=_common(rows))


def rows_and_labels(
    tokenizer: Any, prompts: Sequence[str | Prompt]
) -> tuple[tuple[tuple[int, ...], ...], tuple[Any, ...]]:
    """Return the tokens of each prompt, and what it is called."""
    if isinstance(prompts, str | Prompt) or not len(prompts):
        msg = "prompts must be a sequence of strings or of instrument prompts, at least one"
        raise InputError(msg)
    kinds = {isinstance(prompt, Prompt) for prompt in prompts}
    if len(kinds) > 1:
        msg = "prompts holds strings and conversations: answers compare only within one template"
        raise InputError(msg)
    labels: tuple[Any, ...] = tuple(range(len(prompts)))
    if kinds == {True}:
        # The question, where each is asked once: then answers line up with other tables.
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
    """Return a conversation as one text, and whether the template opened it."""
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
                "put all questions into one template, so that the same token is answered from"
            )
            raise InputError(msg)


def _common(rows: Rows) -> int:
    """Return how many tokens all rows begin with; the last token of each stays its own."""
    if len(rows) < 2:
        return 0
    low, high = min(map(tuple, rows)), max(map(tuple, rows))
    most = min(map(len, rows)) - 1
    shared = next((i for i in range(most) if low[i] != high[i]), most)
    return shared if shared >= _PREFIX else 0


def batches(rows: Rows, size: int) -> Iterator[list[int]]:
    """Yield places of rows of similar length, `size` at a time."""
    order = sorted(range(len(rows)), key=lambda row: len(rows[row]))
    for start in range(0, len(order), size):
        yield order[start : start + size]


def left_padded(rows: Rows, device: Any) -> tuple[Any, Any]:
    """Return token ids and the mask of tokens that are no padding, both (rows, tokens)."""
    t = torch()
    width = max(map(len, rows))
    # What stands in the padding is never looked at: any token will do.
    ids = [[row[-1]] * (width - len(row)) + list(row) for row in rows]
    mask = [[0] * (width - len(row)) + [1] * len(row) for row in rows]
    return t.tensor(ids, device=device), t.tensor(mask, device=device)


def positions_of(mask: Any) -> Any:
    """Return the position of every token, counted without padding."""
    return (mask.cumsum(-1) - 1).clamp(min=0)


YES, NO = ("yes",), ("no",)


@dataclass(frozen=True, slots=True)
class AnswerTokens:
    """Ids of the tokens that are a form of yes, and of no."""

    yes: tuple[int, ...]
    no: tuple[int, ...]


def answer_tokens(
    tokenizer: Any, *, yes: Sequence[str] = YES, no: Sequence[str] = NO
) -> AnswerTokens:
    """Return the tokens that are a form of yes and those that are a form of no.

    Parameters
    ----------
    tokenizer : transformers.PreTrainedTokenizerBase
        That of the model.
    yes, no : sequence of str
        Words for each answer, in any case.

    Returns
    -------
    AnswerTokens
        The ids, ascending.

    Raises
    ------
    InputError
        If the tokenizer has a word for one answer in no single token.
    OptionError
        If a word stands for both answers.

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
        msg = f"{sorted(both)[0]!r} is in yes and in no: each word stands for one answer"
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
                f"ask for words that it has, as in {answer}=('{_example(tokenizer)}',)"
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
    """Return the word in a token, without the marks that tokenizers put for a space."""
    plain = text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)
    return plain.strip(" \t\r\n\u2581\u0120\u010a").removesuffix("</w>").casefold()


def _example(tokenizer: Any) -> str:
    """Return a word that the tokenizer has, for a message."""
    words = (_word(text) for text in tokenizer.get_vocab())
    return next((word for word in words if word.isalpha() and len(word) > 1), "ja")
