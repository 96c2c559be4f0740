"""Codes, spans and checks of every trace, as one coder gave them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.result import Result
from psychollm._base.types import FloatArray, IntArray
from psychollm.instruments.coding.spans import Coded, entropy
from psychollm.instruments.reading import Outcome

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CodingScores(Result):
    """What one coder found in every trace; NaN where it gave no code.

    Examples
    --------
    >>> from psychollm.instruments.coding import Coding
    >>> found = Coding(transcripts={"a": "Let me check. Yes."}).by_rules()
    >>> found.codes[0], found.diversity
    (array([0., 0., 0., 0., 2.]), array([0.]))
    """

    transcripts: tuple[str, ...]  # (rows,) their keys
    models: tuple[str, ...]
    items: tuple[str, ...]
    runs: tuple[int, ...]  # from 1
    arms: tuple[str, ...]
    structures: tuple[str, ...]
    coders: tuple[str, ...]
    outcomes: tuple[Outcome, ...]
    categories: tuple[str, ...]
    correct: FloatArray  # (rows,) whether the trace's answer is right
    codes: FloatArray  # (rows, categories) 0, 1, 2
    counts: FloatArray  # (rows, categories) spans
    tokens: FloatArray  # (rows,)
    verified: FloatArray  # (rows,) checks in the trace, by rule
    repeated: FloatArray  # (rows,) checks of what was checked before
    lost: IntArray  # (rows,) quotations that are not in the trace
    coded: tuple[Coded, ...]  # (rows,) with the spans themselves

    @property
    def density(self) -> FloatArray:
        """Spans of each category per 1,000 tokens (rows, categories)."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(1000.0 * self.counts / self.tokens[:, None], dtype=np.float64)

    @property
    def diversity(self) -> FloatArray:
        """Entropy of the categories of the spans in bits (rows,), NaN without spans or codes."""
        return np.array(
            [entropy(row) if np.isfinite(row).all() else np.nan for row in self.counts],
            dtype=np.float64,
        )

    @property
    def repetition(self) -> FloatArray:
        """Share of checks that repeat an earlier one (rows,), NaN without checks."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(self.verified > 0, self.repeated / self.verified, np.nan)

    def to_frame(self) -> "pd.DataFrame":
        """Return one row per trace and category: the long table of `metacognitive_skill`."""
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
        """Return one row per span: the words that codes rest on."""
        import pandas as pd

        columns = ("transcript", "coder", "category", "cue", "start", "end", "words")
        rows = [
            (key, coder, span.category, span.cue, span.start, span.end, span.words)
            for key, coder, one in zip(self.transcripts, self.coders, self.coded, strict=True)
            for span in one.spans
        ]
        return pd.DataFrame(rows, columns=list(columns))

    def summary(self) -> str:
        """Return one line per category."""
        lines = []
        for place, name in enumerate(self.categories):
            codes = self.codes[:, place]
            known = codes[np.isfinite(codes)]
            if known.size:
                text = f"in {int((known > 0).sum())} of {known.size} traces"
                missing = codes.size - known.size
                lines.append(f"{name}: {text}" + (f"; {missing} without a code" * bool(missing)))
            else:
                lines.append(f"{name}: no trace has a code")
        return "\n".join(lines)
