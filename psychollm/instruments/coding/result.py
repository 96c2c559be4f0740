r"""Codes, spans and checks of every trace, as assigned by one coder.

The diversity of a trace is the entropy, equation (1), in bits, where :math:`p_c` is the proportion
of category c among the spans of the trace.

.. math:: H = -\sum_c p_c \log_2 p_c.                                                    \quad (1)

Diversity is 0 for a single category and :math:`\log_2 k` for k equally frequent categories.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.result import Result
from psychollm._base.types import FloatArray, IntArray
from psychollm.instruments.reading import Outcome

if TYPE_CHECKING:
    import pandas as pd


import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*|[^\w\s]")
_QUOTED = "\"'“”‘’«»` \t\n….,;:"


@dataclass(frozen=True, slots=True)
class Span:
    """A passage of a trace that shows a behaviour."""

    category: str
    start: int
    end: int
    words: str
    cue: str = ""  # name of the cue that matched, if coded by rules


@dataclass(frozen=True, slots=True, kw_only=True)
class Coded:
    """A coded trace."""

    codes: Mapping[str, int | None]  # 0, 1, 2; None without a code
    spans: tuple[Span, ...]
    words: int  # number of words and punctuation marks of the trace
    lost: int = 0  # number of quotations that do not occur in the trace

    @property
    def counts(self) -> dict[str, int]:
        """Number of spans of each category."""
        counts = Counter(span.category for span in self.spans)
        return {name: counts[name] for name in self.codes}

    @property
    def density(self) -> float:
        """Number of spans per 1,000 words; NaN for an empty trace."""
        return 1000.0 * len(self.spans) / self.words if self.words else math.nan

    @property
    def diversity(self) -> float:
        """Entropy, in bits, of the categories of the spans; NaN if there are no spans."""
        return entropy(self.counts.values())


def entropy(counts: Iterable[float]) -> float:
    """Return the entropy of counts in bits; NaN if all counts are zero."""
    there = [count for count in counts if count > 0]
    total = math.fsum(there)
    if not total:
        return math.nan
    return max(0.0, -math.fsum(n / total * math.log2(n / total) for n in there))


def n_words(text: str) -> int:
    """Count words and punctuation marks of a text, to approximate its number of tokens."""
    return sum(1 for _ in _WORD.finditer(text))


def locate(quotation: str, text: str) -> tuple[int, int] | None:
    """Return the span of a quotation in a text, or None if the text does not contain it."""
    # The quotation may differ from the text in case, white space and quotation marks.
    wanted = quotation.strip(_QUOTED).replace("’", "'")
    if not wanted:
        return None
    text = text.replace("’", "'")
    start = text.find(wanted)
    if start >= 0:
        return start, start + len(wanted)
    pattern = r"\s+".join(re.escape(word) for word in wanted.split())
    match = re.search(pattern, text, re.IGNORECASE)
    return match.span() if match else None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CodingScores(Result):
    """The codes of one coder for every trace; NaN marks a missing code.

    Examples
    --------
    >>> from psychollm.instruments.coding import Coding
    >>> found = Coding(transcripts={"a": "Let me check. Yes."}).by_rules()
    >>> found.codes[0], found.diversity
    (array([0., 0., 0., 0., 2.]), array([0.]))
    """

    transcripts: tuple[str, ...]  # (rows,) keys of the traces
    models: tuple[str, ...]
    items: tuple[str, ...]
    runs: tuple[int, ...]  # number of the trace within its question, from 1
    arms: tuple[str, ...]
    structures: tuple[str, ...]
    coders: tuple[str, ...]
    outcomes: tuple[Outcome, ...]
    categories: tuple[str, ...]
    correct: FloatArray  # (rows,) whether the trace's answer is right
    codes: FloatArray  # (rows, categories) 0, 1, 2
    counts: FloatArray  # (rows, categories) numbers of spans
    tokens: FloatArray  # (rows,)
    verified: FloatArray  # (rows,) number of checking sentences in the trace, by rule
    repeated: FloatArray  # (rows,) number of checks of an already checked claim
    lost: IntArray  # (rows,) number of quotations that do not occur in the trace
    coded: tuple[Coded, ...]  # (rows,) coded traces, with their spans

    @property
    def density(self) -> FloatArray:
        """Number of spans of each category per 1,000 tokens (rows, categories)."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(1000.0 * self.counts / self.tokens[:, None], dtype=np.float64)

    @property
    def diversity(self) -> FloatArray:
        """Entropy of the span categories in bits (rows,); NaN if there are no spans or codes."""
        return np.array(
            [entropy(row) if np.isfinite(row).all() else np.nan for row in self.counts],
            dtype=np.float64,
        )

    @property
    def repetition(self) -> FloatArray:
        """Proportion of checks that repeat an earlier check (rows,); NaN if there are none."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(self.verified > 0, self.repeated / self.verified, np.nan)

    def to_frame(self) -> "pd.DataFrame":
        """Return a table with one row per trace and category, for `metacognitive_skill`."""
        import pandas as pd

        n, k = self.codes.shape
        rows = np.repeat(np.arange(n), k)
        per_row: dict[str, tuple[Any, ...]] = {
            "transcript": self.transcripts,
            "model": self.models,
            "item": self.items,
            "run": self.runs,
            "arm": self.arms,
            "structure": self.structures,
            "coder": self.coders,
            "outcome": tuple(str(one) for one in self.outcomes),
        }
        table: dict[str, Any] = {
            name: [values[row] for row in rows] for name, values in per_row.items()
        }
        return pd.DataFrame(
            table
            | {"category": list(self.categories) * n}
            | {"code": self.codes.ravel(), "spans": self.counts.ravel()}
            | {
                name: getattr(self, name)[rows]
                for name in ("correct", "tokens", "verified", "repeated", "lost")
            }
        )

    def spans_frame(self) -> "pd.DataFrame":
        """Return the words that support the codes, one row per span."""
        import pandas as pd

        columns = ("transcript", "coder", "category", "cue", "start", "end", "words")
        rows = [
            (key, coder, span.category, span.cue, span.start, span.end, span.words)
            for key, coder, one in zip(self.transcripts, self.coders, self.coded, strict=True)
            for span in one.spans
        ]
        return pd.DataFrame(rows, columns=list(columns))

    def by_model(self) -> dict[str, dict[str, float]]:
        """Return the mean code of each category by model, for `measures` of `self_efficacy`.

        Examples
        --------
        >>> from psychollm.instruments import Coding
        >>> said = {"key": "a", "text": "I can always solve it.", "model": "m"}
        >>> Coding(transcripts=[said], scheme="stance").by_rules().by_model()
        {'assertion': {'m': 2.0}, 'anthropomorphism': {'m': 0.0}}
        """
        rows = {one: np.array([two == one for two in self.models]) for one in self.models}
        return {
            name: {
                model: float(np.mean(known))
                for model, own in rows.items()
                if (known := codes[own & np.isfinite(codes)]).size
            }
            for name, codes in zip(self.categories, self.codes.T, strict=True)
        }

    def summary(self) -> str:
        """Return a summary with one line per category."""
        lines = []
        for column, name in enumerate(self.categories):
            codes = self.codes[:, column]
            known = codes[np.isfinite(codes)]
            if known.size:
                text = f"in {int((known > 0).sum())} of {known.size} traces"
                missing = codes.size - known.size
                lines.append(f"{name}: {text}" + (f"; {missing} without a code" * bool(missing)))
            else:
                lines.append(f"{name}: no trace has a code")
        return "\n".join(lines)
