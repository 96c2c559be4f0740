"""Error detection, self-correction and yielding to pressure of several models.

The study reports rates with intervals, and the effect of each arm on accuracy. Self-correction
means that revised answers are more accurate than answers to the repeated question. If revised
answers were compared with the first answers alone, sampling noise would count as correction.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.checks import check_fraction
from psychollm._base.errors import InputError
from psychollm._base.result import Result
from psychollm.data.labels import Labels
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.findings import Finding, Findings, Study, exhibit
from psychollm.estimates.reasons import Reason, first_reason
from psychollm.estimates.verdict import SMALLEST, Outcome, SmallestEffects, verdicts
from psychollm.instruments.revision.result import RevisionScores
from psychollm.studies.people.study import BesidePeople
from psychollm.studies.people.table import Measure, beside

if TYPE_CHECKING:
    import pandas as pd

CONTROLLED = "revised minus again"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RevisionSkill(Study, Result):
    """Rates of error detection, correction and yielding to pressure.

    Examples
    --------
    >>> from psychollm.instruments.revision import Revision
    >>> asked = Revision(questions=[{"question": "2 + 2?", "answer": "4"}], arms=("again",))
    >>> scores = asked.score([asked.read(one, "4") for one in asked.prompts()])
    >>> revision_skill({"a": scores, "b": scores}).differences["again minus first"].value
    array([0., 0.])
    """

    rates: Mapping[str, Estimate]  # rates by name, such as error_catch or sycophantic_flip
    # paired differences in accuracy, such as revised minus first answers
    differences: Mapping[str, Estimate]
    informativeness: Estimate  # rejection rate of wrong answers minus rejection rate of right ones
    bits: tuple[float, ...]  # (models,) information of reviews about correctness; NaN if unknown
    labels: Labels  # (models,)
    people: BesidePeople | None = None

    def to_frame(self) -> pd.DataFrame:
        """Return one row per model and rate or difference."""
        import pandas as pd

        named = {**self.rates, **self.differences, "informativeness": self.informativeness}
        frames = [each.to_frame().assign(measure=name) for name, each in named.items()]
        columns = ["measure", "model", "value", "se", "lower", "upper", "n", "flag"]
        return pd.concat(frames, ignore_index=True)[columns]

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the table of revisions."""
        return {"revision": self.to_frame()}

    def findings(self, *, smallest: SmallestEffects = SMALLEST) -> Findings:
        """Return one finding; `smallest.share` is the smallest effect of interest."""
        judged = verdicts(self.differences[CONTROLLED], smallest=smallest.share)
        words = {
            Outcome.ABOVE: "is significantly higher than",
            Outcome.BELOW: "is significantly lower than",
            Outcome.SMALL: f"is equivalent (±{smallest.share:g}) to",
            Outcome.OPEN: "does not differ significantly from",
        }
        rows = (self._sentence(row, words[one]) for row, one in enumerate(judged.outcomes))
        found = Finding(
            question="Do models improve their answers by reviewing them?",
            rows=tuple(rows),
            numbers={**self.rates, **self.differences},
            outcome=judged,
        )
        return exhibit(found.alone, self, smallest, by="of_revision")

    def _sentence(self, row: int, compared: str) -> str:
        rates, control = self.rates, self.differences[CONTROLLED]
        text = (
            f"{self.labels[row]}: the model's review rejects a proportion of "
            f"{rates['error_catch'].text(row)} of wrong and {rates['false_alarm'].text(row)} of "
            f"right answers; revision corrects {rates['correction'].text(row)} of wrong answers "
            f"and makes {rates['miscorrection'].text(row)} of right answers wrong"
        )
        if control.defined[row]:
            text += (
                f"; accuracy after revision {compared} accuracy of a second answer without "
                f"review (difference {control.text(row, signed=True)})"
            )
        flips = rates["sycophantic_flip"]
        if flips.defined[row]:
            text += (
                f"; if the user insists on a wrong answer, the model gives up {flips.text(row)} "
                "of right answers"
            )
        return text


def revision_skill(
    scores: Mapping[Hashable, RevisionScores], *, people: Any = None, level: float = 0.95
) -> RevisionSkill:
    """Compare how models review and revise their own answers.

    Parameters
    ----------
    scores : mapping of label to RevisionScores
        Revision scores of each model.
    people : DataFrame or path, optional
        Correct answers of people at the same stages, as returned by `read_people`.
    level : float
        Coverage of the intervals.

    Returns
    -------
    RevisionSkill
        Undefined rates, such as rates among errors of a model without errors, are NaN with a
        reason.

    Raises
    ------
    InputError
        If no model is passed.

    Examples
    --------
    >>> from psychollm.instruments.revision import Revision
    >>> asked = Revision(questions=[{"question": "2 + 2?", "answer": "4"}])
    >>> revision_skill({"a": asked.score({})}).rates["error_catch"].flags[0].name
    'TOO_FEW'
    """
    check_fraction("level", level)
    if not scores:
        msg = "scores holds no model: pass {label: RevisionScores}"
        raise InputError(msg)
    informative = {label: one.informativeness(level=level) for label, one in scores.items()}
    return RevisionSkill(
        rates=_stacked(scores, lambda one: one.rates(level=level)),
        differences=_stacked(scores, lambda one: one.differences(level=level)),
        informativeness=Estimate(
            name="informativeness of reviews",
            value=np.array([one.youden for one in informative.values()], dtype=np.float64),
            se=np.full(len(informative), np.nan),
            interval=np.array([one.interval for one in informative.values()], dtype=np.float64),
            n=np.array(
                [one.n_wrong + one.n_right for one in informative.values()], dtype=np.float64
            ),
            flags=first_reason(
                (np.array([not one.n_wrong for one in informative.values()]), Reason.NO_WRONG),
                (np.array([not one.n_right for one in informative.values()]), Reason.NO_CORRECT),
            ),
            method="Newcombe's joined Wilson intervals",
            level=level,
            labels=tuple(scores),
        ),
        bits=tuple(one.bits for one in informative.values()),
        labels=tuple(scores),
        people=_beside(scores, people, level),
    )


def _beside(
    scores: Mapping[Hashable, RevisionScores], people: Any, level: float
) -> BesidePeople | None:
    import pandas as pd

    if people is None:
        return None
    rows = pd.concat([one.to_frame(label) for label, one in scores.items()], ignore_index=True)
    measure = Measure(name="accuracy", value="correct", by="stage")
    return beside(rows, people, [measure], level=level)


def _stacked(
    scores: Mapping[Any, RevisionScores], estimate: Callable[[RevisionScores], Estimate]
) -> dict[str, Estimate]:
    """Combine the estimates of single models: one estimate per label, with a row per model."""
    each = [estimate(one) for one in scores.values()]
    return {
        name: Estimate(
            name=str(name),
            value=np.array([one.value[row] for one in each], dtype=np.float64),
            se=np.array([one.se[row] for one in each], dtype=np.float64),
            interval=np.array([one.interval[row] for one in each], dtype=np.float64),
            n=np.array([one.n[row] for one in each], dtype=np.float64),
            flags=tuple(one.flags[row] for one in each),
            method=each[0].method,
            level=each[0].level,
            labels=tuple(scores),
        )
        for row, name in enumerate(each[0].labels)
    }
