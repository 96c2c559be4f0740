"""Linear probes of hidden states for correctness, or for the model's own answer.

A linear probe predicts from the state of one layer whether the model's answer is correct, or
whether it says yes. Predictions are out of fold, with groups of questions held out whole. A good
prediction alone is not informative: it must be better than the predictions of external predictors.
Examples of external predictors are the kind and length of the question, the model's own P(yes),
and the likelihood of its answer. Pass external predictors as controls, which are evaluated in the
same way as the states.

References
----------
A. Zhang et al. (2025). Reasoning models know when they're right: probing hidden states for
self-verification. arXiv:2504.05419.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.numbers import with_interval
from psychollm._base.result import Result
from psychollm._base.types import FloatArray, IntArray, RandomState
from psychollm.calibration.discrimination.ranking import auroc
from psychollm.calibration.errors.binned import calibration_error
from psychollm.calibration.scores.proper_scores import brier
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.findings import (
    Finding,
    Findings,
    Study,
    estimate_rows,
)
from psychollm.estimates.resampling import Bootstrap
from psychollm.estimates.verdict import SMALLEST, Outcome, SmallestEffects, outcome
from psychollm.studies.probes.folds import (
    features_of,
    folds_of,
    groups_of,
    out_of_fold,
    outcome_of,
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StateProbe(Study, Result):
    """Accuracy with which each layer and control predicts an outcome."""

    probabilities: FloatArray  # (predictors, questions) out-of-fold probability of 1
    outcome: FloatArray  # (questions,) NaN where unknown
    folds: IntArray  # (questions,)
    auroc: Estimate  # AUROC of each predictor
    ece: Estimate
    brier: Estimate
    n_groups: int

    _AXES = Axes({"predictor": "labels"}, "auroc", "ece", "brier")

    @property
    def labels(self) -> tuple[Any, ...]:
        """Names of the predictors."""
        return self.auroc.labels

    @property
    def best_layer(self) -> str:
        """Layer with the highest AUROC, which is biased upwards by the selection."""
        layers = [i for i, label in enumerate(self.labels) if _is_layer(label)]
        return str(self.labels[max(layers, key=lambda i: self.auroc.value[i])])

    def findings(self, *, smallest: SmallestEffects = SMALLEST) -> Findings:
        """Return whether hidden states predict better than external predictors.

        The best layer is compared with the best control, or with chance if there is none;
        `smallest.auroc` is the smallest effect of interest.
        """
        layer, area = self.best_layer, self.auroc
        controls = [i for i, label in enumerate(self.labels) if not _is_layer(label)]
        if controls:
            rival = self.labels[max(controls, key=lambda i: area.value[i])]
            lead = area.difference(layer, rival)
            shown = outcome(lead.interval, smallest=smallest.auroc)
            ahead = with_interval(lead.value, lead.interval, signed=True)
            against = f"the best control, {rival} (difference {ahead})"
        else:
            bounds = area.interval[area.place(layer)]
            shown = outcome(bounds, smallest=smallest.auroc, null=0.5)
            against = "chance"
        judged = {
            Outcome.ABOVE: "predicts the outcome better than",
            Outcome.BELOW: "predicts the outcome worse than",
            Outcome.SMALL: f"is equivalent (±{smallest.auroc:g}) to",
            Outcome.OPEN: "does not differ significantly from",
        }[shown]
        n_layers = len(self.labels) - len(controls)
        return Finding(
            statement=(
                f"The best layer, {layer}, {judged} {against}. Its AUROC is "
                f"{area.text(area.place(layer))}, the highest of {n_layers} layers. "
                f"The questions form {self.n_groups} groups."
            ),
            rows=estimate_rows(area, signed=False),
            numbers={"auroc": area, "ece": self.ece, "brier": self.brier},
            outcome=shown,
        ).alone


def _is_layer(label: Any) -> bool:
    return str(label).startswith("layer ")


def state_probe(
    states: Any,
    outcome: Any,
    *,
    groups: Any = None,
    controls: Mapping[str, Any] | None = None,
    layers: Sequence[int] | None = None,
    n_folds: int = 5,
    penalty: float = 10.0,
    bootstrap: Bootstrap | int = 1000,
    level: float = 0.95,
    rng: RandomState = 0,
) -> StateProbe:
    """Predict correctness, or the model's own answer, from hidden states.

    Parameters
    ----------
    states : HiddenStates or array_like (questions, layers, hidden)
        Result of `psychollm.steering.hidden_states`, or an array.
    outcome : array_like (questions,)
        Outcome of each question: 1 if the answer is correct (or the model says yes), otherwise 0;
        NaN if unknown.
    groups : array_like (questions,), optional
        Group of each question, such as its topic or template. Folds and resamples keep groups
        whole. By default each question is a group.
    controls : mapping of str to array_like (questions,) or (questions, features), optional
        Features of external predictors.
    layers : sequence of int, optional
        Layers to probe; all layers by default.
    n_folds : int
        Number of cross-validation folds.
    penalty : float
        Penalty weight on the squared coefficients of standardised features.
    bootstrap : int or Bootstrap
        Number of resamples for the intervals.
    level : float
        Coverage of the intervals, between 0 and 1.
    rng : Generator or int
        Random generator or seed for folds and resamples.

    Returns
    -------
    StateProbe
        Accuracy of one predictor per layer and control.

    Raises
    ------
    InputError, ShapeError, LabelError, OptionError
        If the tables do not match, a value is not a number, or the outcome does not vary.
    MissingPackageError
        If scikit-learn is not installed.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> states = rng.normal(size=(80, 2, 5))
    >>> correct = (states[:, 1, 0] + 0.3 * rng.normal(size=80) > 0).astype(float)
    >>> found = state_probe(states, correct, controls={"length": rng.normal(size=80)},
    ...                     bootstrap=50)
    >>> found.best_layer, bool(found.auroc.value[1] > 0.9)
    ('layer 1', True)
    """
    features = features_of(states, layers, controls)
    values, known = outcome_of(outcome, features.n)
    clusters = groups_of(groups, features.n)
    fold = folds_of(clusters, n_folds, rng)
    chances = np.array(
        [out_of_fold(table, values, known, fold, penalty) for table in features.tables.values()]
    )
    stated, correct = _labelled(chances[:, known], values[known], features.labels)
    shared: dict[str, Any] = {"clusters": clusters[known], "level": level}
    ece = calibration_error(
        stated, correct, bootstrap=bootstrap, n_null=100, rng=0, **shared
    ).value
    return StateProbe(
        probabilities=chances,
        outcome=values,
        folds=fold,
        auroc=_named(auroc(stated, correct, bootstrap=bootstrap, rng=0, **shared)),
        ece=_named(ece),
        brier=_named(brier(stated, correct, bootstrap=bootstrap, rng=0, **shared)),
        n_groups=int(np.unique(clusters[known]).size),
    )


def _labelled(chances: FloatArray, outcome: FloatArray, labels: tuple[Any, ...]) -> Any:
    """Return probabilities and outcomes, with a row per predictor."""
    import pandas as pd

    table = pd.DataFrame(chances, index=list(labels))
    correct = pd.DataFrame(np.tile(outcome, (len(labels), 1)), index=list(labels))
    return table, correct


def _named(estimate: Estimate) -> Estimate:
    return replace(estimate, axis="predictor")
