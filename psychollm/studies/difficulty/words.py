r"""Features of the text of a question: terms and surface features.

Terms are words and pairs of neighbouring words, in lower case. The digits of a number are replaced
by zeros, because the number of digits is more informative than the value. The weight of a term t
in a text depends on its count c in the text and on the number :math:`f_t` of the n texts that
contain the term:

.. math:: (1 + \log c) \left(\log\frac{1 + n}{1 + f_t} + 1\right).                        \quad (1)

The weights of a text are then scaled to norm one. Fitted models require no package besides NumPy.

References
----------
Salton, G., & Buckley, C. (1988). Term-weighting approaches in automatic text retrieval.
Information Processing & Management, 24, 513-523. https://doi.org/10.1016/0306-4573(88)90021-0
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

from psychollm._base.errors import InputError
from psychollm._base.result import Result
from psychollm._base.types import FloatArray

_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"\d+")

SURFACE = (
    "log letters",
    "log words",
    "mean length of words",
    "longest word",
    "numbers",
    "longest number",
    "share of digits",
    "capitalised words",
    "rare letters",
    "punctuation",
    "operators",
    "repeated words",
)


def terms(text: str) -> Counter[str]:
    """Count words and pairs of neighbouring words."""
    words = _WORD.findall(_NUMBER.sub(lambda found: "0" * len(found[0]), text.lower()))
    return Counter([*words, *(f"{a} {b}" for a, b in pairwise(words))])


@lru_cache(maxsize=1 << 14)  # cross-validation measures each question once per fold
def surface(text: str) -> tuple[float, ...]:
    """Return the features named in `SURFACE`."""
    words = _WORD.findall(text)
    numbers = _NUMBER.findall(text)
    lengths = [len(word) for word in words] or [0]
    letters = max(len(text), 1)
    return (
        float(np.log1p(len(text))),
        float(np.log1p(len(words))),
        float(np.mean(lengths)),
        float(max(lengths)),
        float(len(numbers)),
        float(max(map(len, numbers), default=0)),
        sum(map(len, numbers)) / letters,
        float(sum(word[0].isupper() for word in words[1:])),
        sum(letter in "jqxzJQXZ" or ord(letter) > 127 for letter in text) / letters,
        float(sum(letter in ",;:.\"'()?!" for letter in text)),
        float(sum(letter in "+-*/=^%×÷−" for letter in text)),
        1.0 - len({word.lower() for word in words}) / max(len(words), 1),
    )


def surface_table(texts: Sequence[str]) -> FloatArray:
    """Return the surface features of several texts (texts, features)."""
    return np.array([surface(text) for text in texts], dtype=np.float64).reshape(-1, len(SURFACE))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Words(Result):
    """Terms with their weights, and the scaling of the surface features."""

    terms: tuple[str, ...]
    rarity: FloatArray  # (terms,) second factor of (1)
    mean: FloatArray  # (surface features,)
    scale: FloatArray  # (surface features,) standard deviations, inf for constant features
    features: tuple[str, ...] = SURFACE  # surface features, in the same order as `mean`

    def __post_init__(self) -> None:
        if self.features != SURFACE:
            msg = (
                "this version of psychollm uses other text features than the one that fitted "
                "these words: fit them again"
            )
            raise InputError(msg)
        Result.__post_init__(self)

    def measure(self, texts: Sequence[str]) -> FloatArray:
        """Return weights of terms and standardised surface features (texts, terms + features)."""
        # Both parts of a row are scaled to a norm of about one, so that neither dominates.
        column_of = {term: column for column, term in enumerate(self.terms)}
        weights = np.zeros((len(texts), len(self.terms)))
        for row, text in enumerate(texts):
            for term, count in terms(text).items():
                if (column := column_of.get(term)) is not None:
                    weights[row, column] = (1.0 + np.log(count)) * self.rarity[column]
        length = np.linalg.norm(weights, axis=1, keepdims=True)
        weights /= np.where(length > 0, length, 1.0)
        standard = (surface_table(texts) - self.mean) / self.scale
        return np.concatenate([weights, standard / np.sqrt(len(SURFACE))], axis=1)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of `measure`."""
        return (*self.terms, *(f"[{name}]" for name in SURFACE))


def learn_words(texts: Sequence[str], *, min_count: int = 2, max_terms: int = 3000) -> Words:
    """Return the most frequent terms that occur in at least `min_count` texts, with weights."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(set(terms(text)))
    often = [(count, term) for term, count in counts.items() if count >= min_count]
    chosen = sorted(
        term for _, term in sorted(often, key=lambda one: (-one[0], one[1]))[:max_terms]
    )
    frequency = np.array([counts[term] for term in chosen], dtype=np.float64)
    table = surface_table(texts)
    scale = table.std(axis=0)
    return Words(
        terms=tuple(chosen),
        rarity=np.log((1.0 + len(texts)) / (1.0 + frequency)) + 1.0,
        mean=table.mean(axis=0),
        scale=np.where(scale > 1e-12, scale, np.inf),
    )
