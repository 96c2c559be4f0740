"""Numbers of the study in running text."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from psychollm.reports.page import sentence_list

_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def names(labels: Sequence[Any], which: Iterable[Any], *, most: int = 6) -> str:
    """Return the labels of some models as in a sentence, safe inside a page.

    Examples
    --------
    >>> names(("a", "<b>", "c"), [False, True, True])
    '&lt;b&gt; and c'
    """
    chosen = [escape(str(label)) for label, keep in zip(labels, which, strict=True) if keep]
    return sentence_list(chosen, most=most)


def models(n: int) -> str:
    """Return a number of models with the word.

    Examples
    --------
    >>> models(1), models(3), models(0)
    ('one model', 'three models', 'no model')
    """
    if n < len(_WORDS):
        return f"{_WORDS[n]} model{'' if n < 2 else 's'}"
    return f"{n} models"
