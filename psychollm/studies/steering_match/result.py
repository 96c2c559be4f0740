"""What `steering_match` returns: strengths, reconstructions, nulls and controls of one sweep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from psychollm._base.axes import Axes, dataset
from psychollm._base.multiplicity import adjust_p_values
from psychollm._base.result import Result
from psychollm._base.types import AnyArray
from psychollm._base.views import view
from psychollm.data.responses import Responses
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.findings import Findings, Study
from psychollm.estimates.null import Null
from psychollm.estimates.verdict import SMALLEST, SmallestEffects
from psychollm.studies.steering_match.best_strengths import (
    BestStrengths,
)
from psychollm.studies.steering_match.evidence import (
    HEADLINES,
    Control,
    controls_frame,
)
from psychollm.studies.steering_match.findings import findings, verdict
from psychollm.studies.steering_match.grid import Grid, count, profiles_of
from psychollm.studies.steering_match.reconstruction import (
    Answers,
    Reconstruction,
)
from psychollm.studies.steering_match.steered_answers import SteeredAnswers
from psychollm.studies.steering_match.steered_input import ratio

if TYPE_CHECKING:
    import pandas as pd

Choice = Literal["agreement", "kappa"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SteeringMatch(Study, Result):
    """How well one steered model reproduces the targets, and what the numbers are worth.

    Attributes
    ----------
    matches : mapping of str to BestStrengths
        Best strengths by "agreement", by "kappa" and, where log odds are known, by "likelihood".
    criterion : str
        The one that everything else rests on.
    at_best : Reconstruction
        At the best strength, on the questions that chose it: flattering.
    held_out, held_out_for_kappa : Reconstruction
        At strengths chosen on the other half of the questions, for agreement and for kappa.
    from_threshold : Reconstruction
        At the strength that the line through the *other* targets gives for the target's
        threshold: one scalar, nothing else of the target.
    constant, unsteered : Reconstruction
        Baselines: always the target's more frequent answer; the model without steering.
    lift : Estimate
        Held-out agreement less that of the constant answer.
    null, kappa_null : Null
        With questions exchanged: of the five headline numbers, of each target's held-out kappa.
    controls : tuple of Control
        The cut-off on the unsteered log odds, and the tables that were passed.
    steered : SteeredAnswers
        The table, with its collapsed strengths.
    targets : Responses
        The answers to be reproduced.

    Examples
    --------
    >>> import numpy as np
    >>> from psychollm.studies.steering_match import SteeredAnswers, steering_match
    >>> rng = np.random.default_rng(0)
    >>> ease, strengths = rng.normal(size=90), np.linspace(-2, 2, 9)
    >>> steered = SteeredAnswers.from_array(ease + strengths[:, None], strengths=strengths,
    ...                                     scale="log_odds")
    >>> targets = (ease + rng.normal(size=(5, 90)) > np.linspace(-1, 1, 5)[:, None]).astype(int)
    >>> study = steering_match(steered, targets, n_null=39, bootstrap=20, rng=0)
    >>> list(study.matches), study.headlines["r_squared"] > 0.8
    (['agreement', 'kappa', 'likelihood'], True)
    """

    matches: Mapping[str, BestStrengths]
    criterion: Choice
    at_best: Reconstruction
    held_out: Reconstruction
    held_out_for_kappa: Reconstruction
    from_threshold: Reconstruction
    constant: Reconstruction
    unsteered: Reconstruction
    lift: Estimate
    null: Null
    kappa_null: Null
    controls: tuple[Control, ...]
    steered: SteeredAnswers
    targets: Responses
    level: float
    _answers: Mapping[str, Answers]
    _grid: Grid

    _AXES = Axes(
        {},
        "*=best",
        "held_out_agreement=held_out.agreement.value",
        "held_out_kappa=held_out_for_kappa.kappa.value",
        "kappa_p=kappa_null.p_value",
        ("kappa_p_adjusted", lambda match: adjust_p_values(match.kappa_null.p_value)),
        "from_threshold_agreement=from_threshold.agreement.value",
        "from_threshold_kappa=from_threshold.kappa.value",
        "constant=constant.agreement.value",
        "rate_matched=held_out.chance",
        "unsteered=unsteered.agreement.value",
        "lift",
        "n=held_out.agreement.n",
        "flag=best.strength.flags",
    )

    def findings(self, *, smallest: SmallestEffects = SMALLEST) -> Findings:
        """Return the verdict, and a finding per question asked of the data."""
        return findings(self, smallest)

    verdict = verdict

    @property
    def best(self) -> BestStrengths:
        """Best strengths by the criterion of the study."""
        return self.matches[self.criterion]

    @property
    def headlines(self) -> dict[str, float]:
        """R squared and the means over targets of agreement and kappa, in sample and held out."""
        return dict(zip(HEADLINES, map(float, self.null.observed), strict=True))

    @property
    def p_values(self) -> dict[str, float]:
        """P-values of the headline numbers, questions exchanged."""
        return dict(zip(HEADLINES, map(float, self.null.p_value), strict=True))

    def to_xarray(self) -> Any:
        """Return steered answers (strengths, questions) beside those of the targets.

        ``answers`` (targets, questions) is NaN where there is none; ``hits``, ``said``, ``truth``
        and ``scored`` (way, target, question) count, for each way in which a strength was chosen,
        how often as the target, how often yes, how often the target yes, and how often both.

        Raises
        ------
        MissingPackageError
            If xarray is not installed.
        """
        counted = ("way", "target", "question")
        variables: dict[str, tuple[tuple[str, ...], AnyArray | None]] = {
            "yes": (("strength", "question"), self.steered.yes),
            "log_odds": (("strength", "question"), self.steered.log_odds),
            "answers": (("target", "question"), self.targets.values),
        }
        for name in ("hits", "said", "truth", "scored"):
            held = [getattr(one, name) for one in self._answers.values()]
            variables[name] = (counted, np.array(held))
        coords = {
            "strength": self.steered.strengths,
            "question": self.targets.questions,
            "target": self.targets.models,
            "way": list(self._answers),
        }
        return dataset(variables, coords, of=self)

    def controls_frame(self) -> pd.DataFrame:
        """Return the headline numbers of the direction, each control, and exchanged questions."""
        return controls_frame(self.headlines, self.controls, self.null)

    def profile(self, target: Any) -> pd.DataFrame:
        """Return the answers of a target beside their reconstruction, one row per question.

        Raises
        ------
        LabelError
            If there is no such target.
        """
        import pandas as pd

        row = self.best.strength.place(target)
        answered = ~self.targets.missing[row]
        columns: dict[str, Any] = {
            "question": list(self.targets.questions),
            "target": np.where(answered, self.targets.codes[row], np.nan),
        }
        for name, found in self._answers.items():
            columns[name] = ratio(found.said[row], found.scored[row])
        return pd.DataFrame(columns)

    def curve(self, target: Any) -> pd.DataFrame:
        """Return agreement, kappa and the steered yes-rate over all strengths for a target.

        Raises
        ------
        LabelError
            If there is no such target.
        """
        row = self.best.strength.place(target)
        return _curve_frame(self._grid, count(self._grid, profiles_of(self.targets)), row)

    def plot(self) -> Any:
        """Draw the figure with its controls; needs the extra ``plot``."""
        return view("plots.steering_match", "plot_steering_match")(self)

    def __repr__(self) -> str:
        return (
            f"SteeringMatch of {self.targets.n_models} targets on "
            f"{self.targets.n_questions:,} questions: {self.verdict()}"
        )


def _curve_frame(grid: Grid, counts: Any, row: int) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(
        {
            "strength": grid.strengths,
            "agreement": counts.agreement[row],
            "kappa": counts.kappa[row],
            "yes_rate": ratio(counts.steered[row], counts.n[row]),
        }
    )
