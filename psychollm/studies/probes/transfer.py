"""Transfer of probes between topics."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.errors import LabelError
from psychollm._base.numbers import number
from psychollm._base.result import Result
from psychollm._base.types import FloatArray, IntArray, RandomState
from psychollm.calibration.discrimination.ranking import auroc
from psychollm.data.labels import numbered, unit_labels
from psychollm.estimates.findings import Finding, Findings, Study
from psychollm.estimates.verdict import (
    SMALLEST,
    Outcome,
    SmallestEffects,
    Verdicts,
    counted,
    outcome,
)
from psychollm.studies.probes.folds import (
    features_of,
    fitted,
    folds_of,
    groups_of,
    out_of_fold,
    outcome_of,
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ProbeTransfer(Study, Result):
    """AUROC of probes fitted on one topic and tested on another."""

    auroc: FloatArray  # (topics, topics) fitted on the topic of the row, tested on the column's
    lower: FloatArray  # (topics, topics)
    upper: FloatArray  # (topics, topics)
    topics: tuple[Any, ...]
    n: IntArray  # (topics,) number of questions

    _AXES = Axes(
        {"made_on": "topics", "tried_on": "topics"},
        "auroc",
        ("auroc_{bound}", lambda found: np.stack([found.lower, found.upper], axis=-1)),
        "n",
    )

    @property
    def within(self) -> float:
        """Mean cross-validated AUROC on the topic that the probe was fitted on."""
        return float(np.nanmean(np.diag(self.auroc)))

    @property
    def across(self) -> float:
        """Mean AUROC on other topics."""
        return float(np.nanmean(self.auroc[~np.eye(len(self.topics), dtype=bool)]))

    def findings(self, *, smallest: SmallestEffects = SMALLEST) -> Findings:
        """Return how many probes transfer; `smallest.auroc` is the smallest effect of interest."""
        pairs = [
            (i, j) for i in range(len(self.topics)) for j in range(len(self.topics)) if i != j
        ]
        judged = Verdicts(
            tuple(f"{self.topics[i]} on {self.topics[j]}" for i, j in pairs),
            tuple(
                outcome((self.lower[ij], self.upper[ij]), smallest=smallest.auroc, null=0.5)
                for ij in pairs
            ),
        )
        little = f"within {smallest.auroc:g} of chance"
        words = {
            Outcome.ABOVE: ("predicts better than chance", "predict better than chance"),
            Outcome.BELOW: ("predicts worse than chance", "predict worse than chance"),
            Outcome.SMALL: (f"is {little}", f"are {little}"),
        }
        told = counted(judged, words, kind="transfer")
        return Finding(
            statement=(
                f"The mean AUROC of probes is {number(self.across)} on other topics and "
                f"{number(self.within)} on their own. When applied to other topics, {told}."
            ),
            numbers={"within": self.within, "across": self.across},
            outcome=judged,
        ).alone


def probe_transfer(
    states: Any,
    outcome: Any,
    topics: Any,
    *,
    layer: int | None = None,
    groups: Any = None,
    n_folds: int = 5,
    penalty: float = 10.0,
    level: float = 0.95,
    rng: RandomState = 0,
) -> ProbeTransfer:
    """Fit a probe on each topic and test it on every other topic.

    Parameters
    ----------
    states : HiddenStates or array_like (questions, layers, hidden)
        Result of `psychollm.steering.hidden_states`, or an array.
    outcome : array_like (questions,)
        Outcome of each question: 1 if the answer is correct (or the model says yes), otherwise 0;
        NaN if unknown.
    topics : array_like (questions,)
        Topic of each question.
    layer : int, optional
        Layer to probe; required if the states have several layers.
    groups : array_like (questions,), optional
        Group of each question, such as its template. Folds and resamples keep groups whole. By
        default each question is a group.
    n_folds : int
        Number of folds within a topic.
    penalty : float
        Penalty weight on the squared coefficients of standardised features.
    level : float
        Coverage of the intervals, between 0 and 1.
    rng : Generator or int
        Random generator or seed for folds and resamples.

    Returns
    -------
    ProbeTransfer
        AUROC is NaN if a topic has only one outcome.

    Raises
    ------
    InputError, ShapeError, LabelError, OptionError
        If the tables do not match, a value is not a number, or the outcome does not vary. A
        LabelError is also raised if there are several layers and none is named, or if there is
        only one topic.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> states, topics = rng.normal(size=(120, 4)), np.repeat(["a", "b"], 60)
    >>> correct = (states[:, 0] > 0).astype(float)
    >>> probe_transfer(states, correct, topics).auroc.min() > 0.9
    np.True_
    """
    features = features_of(states, None if layer is None else (layer,), None)
    if len(features.tables) > 1:
        msg = f"states has {len(features.tables)} layers: choose one with layer="
        raise LabelError(msg)
    (table,) = features.tables.values()
    values, known = outcome_of(outcome, features.n)
    topic, names = numbered(unit_labels(topics, tuple(range(features.n)), argument="topics"))
    if len(names) < 2:
        msg = "topics has one label: transfer needs at least two"
        raise LabelError(msg)
    clusters = groups_of(groups, features.n)
    areas = np.full((3, len(names), len(names)), np.nan)
    for i in range(len(names)):
        made_on = known & (topic == i)
        predict = fitted(table, values, made_on, penalty) if made_on.any() else None
        inside = np.full(features.n, np.nan)
        if np.unique(clusters[made_on]).size >= n_folds:
            parts = np.full(features.n, -1)
            own = np.unique(clusters[made_on], return_inverse=True)[1]
            parts[made_on] = folds_of(own, n_folds, rng)
            inside = out_of_fold(table, values, made_on, parts, penalty)
        for j in range(len(names)):
            tried = known & (topic == j)
            if predict is None or np.unique(values[tried]).size < 2:
                continue
            chance = inside[tried] if i == j else predict(table[tried])
            if np.isnan(chance).any():
                continue
            areas[:, i, j] = _area(chance, values[tried], clusters[tried], level)
    return ProbeTransfer(
        auroc=areas[0],
        lower=areas[1],
        upper=areas[2],
        topics=names,
        n=np.array([(known & (topic == j)).sum() for j in range(len(names))]),
    )


def _area(
    chance: FloatArray, outcome: FloatArray, clusters: IntArray, level: float
) -> tuple[float, float, float]:
    """Return the AUROC and the bounds of its interval."""
    area = auroc(chance[None], outcome[None], clusters=clusters, level=level, rng=0)
    return float(area.value[0]), float(area.interval[0, 0]), float(area.interval[0, 1])
