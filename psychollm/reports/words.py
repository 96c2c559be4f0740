"""Numbers of the study in running text."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.numbers import UNDEFINED, number, with_interval
from psychollm.estimates.verdict import SMALLEST, Outcome, SmallestEffects
from psychollm.reports.page import sentence_list
from psychollm.studies.shared_confidence.text import private_verdicts

if TYPE_CHECKING:
    from psychollm.estimates.estimate import Estimate
    from psychollm.studies.shared_confidence.study import SharedConfidence


_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def at(values: "Estimate", place: int, *, digits: int = 2) -> str:
    """Return one value of an estimate with its interval.

    Examples
    --------
    >>> from psychollm.calibration.decisions.confusion import confusion
    >>> at(confusion([[1, 1, 0, 0]], [[1, 0, 0, 0]]).precision, 0)
    '0.50 [0.09, 0.91]'
    """
    return with_interval(float(values.value[place]), values.interval[place], digits)


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


def beyond_factor(
    study: "SharedConfidence", smallest: SmallestEffects = SMALLEST
) -> tuple[list[bool], list[bool]]:
    """Return which models know something beyond the shared factor, and which are against it."""
    found = private_verdicts(study, smallest).outcomes
    return [one is Outcome.ABOVE for one in found], [one is Outcome.BELOW for one in found]


def ahead(value: float, bounds: Any, *, digits: int = 3) -> str:
    """Return a difference as "ahead by" or "behind by", with the interval of the difference.

    Examples
    --------
    >>> ahead(-0.25, (-0.5, 0.0), digits=2)
    'behind by 0.25 (difference -0.25 [-0.50, 0.00])'
    """
    if np.isnan(value):
        return f"ahead by {UNDEFINED}"
    way = "ahead" if value >= 0 else "behind"
    whole = with_interval(value, bounds, digits)
    return f"{way} by {number(abs(value), digits)} (difference {whole})"


def sentence(text: str) -> str:
    """Begin with a capital and end with a full stop.

    Examples
    --------
    >>> sentence("one factor")
    'One factor.'
    """
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")
