"""Scores of one model on every question about abstention."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.types import FloatArray
from psychollm.instruments.reading import Outcome, Scores

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AbstentionScores(Scores):
    """Scores of one model's replies: abstention, correctness, and confidence of the answers.

    NaN marks replies that are unreadable, missing or not judged.

    Examples
    --------
    >>> from psychollm.instruments.abstention import Abstention
    >>> asked = Abstention(n_pairs=1, scenarios=("nonsense_entity",))
    >>> readings = [asked.read(one, "Answer: There is no such thing.") for one in asked.prompts()]
    >>> asked.score(readings).abstained
    array([1., 1.])
    """

    _AXES = Axes(
        None, "item=items", "run=runs", "scenario=scenarios", "pair=pairs", "dataset=datasets",
        "outcome=outcomes",
        "should_abstain", "abstained", "correct", "confident", "doubting", "mismatch",
        "abstained_judged", "abstained_judged_whole", "confident_judged", "confident_judged_whole",
        "doubting_judged", "mismatch_judged", "mismatch_judged_whole",
    )  # fmt: skip

    models: tuple[str, ...]  # model names given to a judge, otherwise ""
    items: tuple[str, ...]
    scenarios: tuple[str, ...]
    pairs: tuple[str, ...]
    datasets: tuple[str, ...]
    runs: tuple[int, ...]  # number of the administration, from 1
    outcomes: tuple[Outcome, ...]
    should_abstain: FloatArray  # (replies,)
    abstained: FloatArray  # (replies,) whether the reply abstains, by rule
    correct: FloatArray  # (replies,) NaN if it abstained or cannot be graded
    confident: FloatArray  # (replies,) whether the answer shows no doubt, by rule
    doubting: FloatArray  # (replies,) whether the reasoning shows doubt, by rule
    abstained_judged: FloatArray  # (replies,) abstention, by a judge who sees the answer
    abstained_judged_whole: FloatArray  # (replies,) abstention, by a judge who also sees reasoning
    confident_judged: FloatArray  # (replies,)
    confident_judged_whole: FloatArray  # (replies,)
    doubting_judged: FloatArray  # (replies,)

    @property
    def mismatch(self) -> FloatArray:
        """Whether a confident answer follows doubting reasoning, by rule (replies,)."""
        return _mismatch(self.doubting, self.confident, self.abstained)

    @property
    def mismatch_judged(self) -> FloatArray:
        """Whether a confident answer, judged without its reasoning, follows doubt (replies,)."""
        return _mismatch(self.doubting_judged, self.confident_judged, self.abstained_judged)

    @property
    def mismatch_judged_whole(self) -> FloatArray:
        """Whether a confident answer, judged with its reasoning, follows doubt (replies,)."""
        return _mismatch(
            self.doubting_judged, self.confident_judged_whole, self.abstained_judged_whole
        )

    def to_frame(self, model: Any = "model") -> "pd.DataFrame":
        """Return a table with one row per reply, for `abstention_skill`.

        Parameters
        ----------
        model : hashable
            Label of the model in rows of replies that have no model name.
        """
        frame = Scores.to_frame(self, model)
        frame["model"] = [one or model for one in self.models]
        return frame

    def summary(self) -> str:
        """Return a summary with one sentence per scenario."""
        known = list(dict.fromkeys(self.scenarios))
        return "\n".join(self._sentence(one) for one in known)

    def _sentence(self, scenario: str) -> str:
        here = np.array([one == scenario for one in self.scenarios], dtype=np.bool_)
        counts = []
        for due in (1.0, 0.0):
            made = self.abstained[here & (self.should_abstain == due)]
            made = made[np.isfinite(made)]
            counts.append(f"{int(made.sum())} of {made.size}")
        missing = int(np.isnan(self.abstained[here]).sum())
        text = (
            f"{scenario or 'all'}: abstains on {counts[0]} unanswerable and on {counts[1]} "
            "answerable questions"
        )
        return text + (
            f"; {missing} {'answer is' if missing == 1 else 'answers are'} missing"
            if missing
            else ""
        )


def _mismatch(doubting: FloatArray, confident: FloatArray, abstained: FloatArray) -> FloatArray:
    known = np.isfinite(doubting) & np.isfinite(confident) & np.isfinite(abstained)
    disagrees = (doubting == 1.0) & (confident == 1.0) & (abstained == 0.0)
    return np.where(known, disagrees.astype(np.float64), np.nan)
