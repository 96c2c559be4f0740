r"""A coded trace: a code per category, and the words that it rests on.

Over the spans of a trace, with :math:`p_c` the share of category c, its diversity is

.. math:: H = -\sum_c p_c \log_2 p_c                                                     \quad (1)

in bits: 0 where all are of one category, :math:`\log_2 k` where all k are equally frequent.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*|[^\w\s]")
_QUOTED = "\"'“”‘’«»` \t\n….,;:"


@dataclass(frozen=True, slots=True)
class Span:
    """Words of a trace that show a behaviour."""

    category: str
    start: int
    end: int
    words: str
    cue: str = ""  # name of the cue, where a rule found it


@dataclass(frozen=True, slots=True, kw_only=True)
class Coded:
    """A coded trace."""

    codes: Mapping[str, int | None]  # 0, 1, 2; None where the coder gave none
    spans: tuple[Span, ...]
    words: int  # of the trace, and its punctuation: what densities refer to
    lost: int = 0  # quotations that are not in the trace

    @property
    def counts(self) -> dict[str, int]:
        """Spans of each category."""
        found = Counter(span.category for span in self.spans)
        return {name: found[name] for name in self.codes}

    @property
    def density(self) -> float:
        """Spans per 1,000 words, NaN for an empty trace."""
        return 1000.0 * len(self.spans) / self.words if self.words else math.nan

    @property
    def diversity(self) -> float:
        """Entropy of the categories of the spans in bits (1), NaN without spans."""
        return entropy(self.counts.values())


def entropy(counts: Iterable[float]) -> float:
    """Return the entropy of counts in bits, NaN if there are none."""
    there = [count for count in counts if count > 0]
    total = math.fsum(there)
    if not total:
        return math.nan
    return max(0.0, -math.fsum(n / total * math.log2(n / total) for n in there))


def n_words(text: str) -> int:
    """Return the words and marks of punctuation of a text: about as many as a model's tokens."""
    return sum(1 for _ in _WORD.finditer(text))


def locate(quotation: str, text: str) -> tuple[int, int] | None:
    """Return where a quotation stands in a text, None if it does not."""
    # Case, white space and quotation marks may differ; nothing else.
    wanted = quotation.strip(_QUOTED).replace("’", "'")
    if not wanted:
        return None
    text = text.replace("’", "'")
    place = text.find(wanted)
    if place >= 0:
        return place, place + len(wanted)
    pattern = r"\s+".join(re.escape(word) for word in wanted.split())
    found = re.search(pattern, text, re.IGNORECASE)
    return found.span() if found else None
