"""The tokens that say yes and the tokens that say no.

A word has many tokens: with and without a space before it, in lower and upper case. All count, so
that the probability of "yes" is the sum over its forms. Forms of several tokens ("Y" + "ES") do
not: their first token begins other words too.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from psychollm._base.errors import InputError, OptionError

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
    for answer, found in forms.items():
        if not found:
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
