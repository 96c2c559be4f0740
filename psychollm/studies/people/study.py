"""Comparison of models with people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.result import Result
from psychollm.data.labels import Labels
from psychollm.estimates.findings import Finding, Findings, Study, exhibit, further, sentence_list
from psychollm.estimates.verdict import SMALLEST, Outcome, SmallestEffects, Verdicts
from psychollm.studies.people.score import PeopleScore

if TYPE_CHECKING:
    import pandas as pd

_SHOWN = 8  # number of models that the text lists
WORDS = {
    Outcome.ABOVE: "above people",
    Outcome.BELOW: "below people",
    Outcome.SMALL: "equivalent to people",
    Outcome.OPEN: "inconclusive",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BesidePeople(Study, Result):
    """Models compared with people: differences, and percentile ranks.

    Examples
    --------
    >>> from psychollm.studies import beside_people
    >>> people = np.random.default_rng(1).random((12, 40)) < 0.6
    >>> print(beside_people(np.ones((1, 40)), people.astype(int)).summary())
    12 people score 0.61 [0.55, 0.67], SD 0.08. Above people: 0.
      0: 1.00 [0.91, 1.00], difference +0.39 [+0.28, +0.45]; above 100 % [76, 100] of people
      with 12 people, intervals are too short if a small group scores very differently
    """

    parts: Mapping[str, PeopleScore]  # scores by measure, and by condition if there are several
    level: float

    @property
    def labels(self) -> Labels:
        """The models."""
        return tuple(dict.fromkeys(label for one in self.parts.values() for label in one.labels))

    def findings(self, *, smallest: SmallestEffects = SMALLEST) -> Findings:
        """Return the scores of people, and the models above and below them."""
        one = self._finding(smallest)
        return exhibit(Findings(items=(one,)), self, smallest)

    def beside(self, smallest: SmallestEffects) -> Finding:
        """Return the finding for inclusion in another study."""
        found = self.findings(smallest=smallest).items[0]
        return Finding(
            key="people",
            question="How do models compare with people?",
            **{
                name: getattr(found, name)
                for name in ("statement", "rows", "explanation", "numbers", "outcome", "exhibits")
            },
        )

    def _finding(self, smallest: SmallestEffects) -> Finding:
        judged = {name: part.outcomes(smallest) for name, part in self.parts.items()}
        rows = []
        for name, part in self.parts.items():
            lead = f"{name}, " if len(self.parts) > 1 else ""
            order = np.argsort(-np.nan_to_num(part.score.value, nan=-np.inf), kind="stable")
            shown = max(_SHOWN // len(self.parts), 2)
            rows += [f"{lead}{part.row(row)}" for row in order[:shown]]
            more = order.size - shown
            rows += [f"{lead}{further(more, 'models')}"] if more > 0 else []
        rows += dict.fromkeys(part.warning for part in self.parts.values() if part.warning)
        every = tuple((name, own) for name, own in judged.items())
        return Finding(
            statement=" ".join(self._statement(name, judged[name]) for name in self.parts),
            rows=tuple(rows),
            explanation=(
                "Intervals account for the sampling of people and of questions. They are not "
                "simultaneous. The percentage of people below a model is computed on the same "
                "questions; people with the same score count half."
            ),
            numbers={
                name: {
                    "people": part.baseline,
                    "difference": part.difference,
                    "place": part.place,
                }
                for name, part in self.parts.items()
            },
            outcome=Verdicts(
                tuple(f"{name}: {label}" for name, own in every for label in own.labels),
                tuple(one for _, own in every for one in own.outcomes),
            ),
        )

    def _statement(self, name: str, judged: Verdicts) -> str:
        part = self.parts[name]
        lead = f"{name[:1].upper()}{name[1:]}: " if len(self.parts) > 1 else ""
        if not np.isfinite(part.baseline.interval).all() and part.baseline.flags[0]:
            return f"{lead}{part.told()} ({part.baseline.flags[0]})."
        said = [
            f"{words}: {sentence_list(judged.which(one))}"
            for one, words in WORDS.items()
            if judged.count(one)
        ]
        text = "; ".join(said)
        return f"{lead}{part.told()}. {text[:1].upper()}{text[1:]}.{part.on_average()}"

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the tables of the study, by name."""
        return {"people": self.to_frame()}

    def to_frame(self) -> pd.DataFrame:
        """Return one row per score and model."""
        import pandas as pd

        rows: list[dict[str, Any]] = []
        for name, part in self.parts.items():
            base: dict[str, Any] = {"people": part.baseline.value[0]}
            base["people_lower"], base["people_upper"] = part.baseline.interval[0]
            for row, label in enumerate(part.labels):
                one: dict[str, Any] = {"part": name, "model": label}
                for column in ("score", "difference", "place"):
                    estimate = getattr(part, column)
                    one[column] = estimate.value[row]
                    one[f"{column}_lower"], one[f"{column}_upper"] = estimate.interval[row]
                more = {"sd_people": part.sd, "n_people": part.baseline.n[0]}
                sizes = {"n_questions": part.difference.n[row], "flag": part.difference.flags[row]}
                rows.append(one | base | more | sizes)
        return pd.DataFrame(rows)
