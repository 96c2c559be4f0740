"""`confidence_gate`: confidence threshold above which the error rate has a guaranteed bound."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from psychollm._base.axes import Axes
from psychollm._base.checks import check_fraction, float_array, plain_array
from psychollm._base.entry import warn
from psychollm._base.errors import CodeError, LabelError, OptionError, ShapeError
from psychollm._base.numbers import count, number, percent
from psychollm._base.result import Result, drawn_by
from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.calibration.discrimination.ranking import scored_answers
from psychollm.calibration.gates.guarantee import fewest_answers, guaranteed_step, steps_of
from psychollm.data.labels import Labels, listed, numbered, unit_labels
from psychollm.data.responses import ResponsesLike
from psychollm.estimates.findings import Finding, Findings, Study, exhibit, further, sentence
from psychollm.estimates.reasons import Reason
from psychollm.estimates.verdict import SMALLEST, SmallestEffects

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes as Drawn

ALL = "all"  # label of the group if there are no groups
_SCALES = (1.0, 10.0, 100.0)
_SHOWN = 12  # number of gates that the summary lists


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ConfidenceGate(Study, Result):
    """Confidence thresholds above which the error rate has a guaranteed bound.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> confidence = rng.choice([0.6, 0.8, 0.95], 600)
    >>> gate = confidence_gate(confidence, rng.random(600) < confidence + 0.03)
    >>> gate.to_frame()[["threshold", "coverage", "promised"]].round(2)
       threshold  coverage  promised
    0       0.95      0.35      True
    >>> gate.decide([0.5, 0.97])
    array([False,  True])
    """

    threshold: FloatArray  # (models, groups) lowest accepted confidence; NaN without a gate
    coverage: FloatArray  # (models, groups) proportion of answers at or above the threshold
    error: FloatArray  # (models, groups) proportion of these answers that were wrong
    upper: FloatArray  # (models, groups) upper bound on the error rate
    promised: BoolArray  # (models, groups) whether a threshold meets the guarantee
    flags: tuple[tuple[Reason, ...], ...]  # (models, groups) reason if there is no threshold
    n: FloatArray  # (models, groups) number of answers with both values
    step_gate: IntArray  # (steps,) index of the gate to which each step belongs
    step_threshold: FloatArray  # (steps,) distinct confidences of each gate, decreasing
    step_coverage: FloatArray  # (steps,)
    step_error: FloatArray  # (steps,)
    step_upper: FloatArray  # (steps,)
    at_most: float
    certainty: float
    grouped: bool  # whether questions were grouped
    clustered: bool
    labels: Labels  # (models,)
    groups: Labels  # (groups,)

    _AXES = Axes(
        {"model": "labels", "group": "groups"},
        *("threshold", "coverage", "error", "upper", "promised"),
        arrays={"model group": "threshold coverage error upper promised n"},
    )

    def decide(
        self, confidence: ArrayLike, group: Any = None, *, model: Hashable | None = None
    ) -> BoolArray:
        """Return whether a model may answer without review, for each confidence that it states.

        Parameters
        ----------
        confidence : array_like
            One or more confidences, on the scale of the gate. NaN gives False.
        group : hashable or array_like, optional
            Group of each question, or one group for all questions. For a question of an unknown
            group, the result is False and a warning is issued.
        model : hashable, optional
            Label of a model, if the gate has several models.

        Returns
        -------
        ndarray of bool
            Whether the model may answer, as an array with the shape of `confidence`.

        Raises
        ------
        OptionError
            If the gate has groups and `group` is missing, or has several models and `model` is
            missing.
        LabelError
            If the model is unknown.
        CodeError
            If a confidence exceeds the scale of the gate.
        ShapeError
            If `group` and `confidence` differ in shape.

        Examples
        --------
        >>> confidence, right = np.tile([0.9, 0.5], 200), np.tile([1, 0], 200)
        >>> topic = np.repeat(["law", "art"], 200)
        >>> gate = confidence_gate(confidence, right, groups=topic)
        >>> gate.decide([0.9, 0.9, 0.5], ["law", "art", "art"])
        array([ True,  True, False])
        """
        row = self._row(model)
        values = float_array(confidence, "confidence")
        highest = float(np.nanmax(self.step_threshold)) if self.step_threshold.size else 0.0
        scale = next((one for one in _SCALES if highest <= one), np.inf)
        if np.nanmax(values, initial=-np.inf) > scale:
            msg = (
                f"confidence holds {np.nanmax(values):g}, but the gate's confidences are at "
                f"most "
                f"{highest:g}: use the same scale"
            )
            raise CodeError(msg)
        columns = self._columns(group, values.shape)
        cut = np.append(self.threshold[row], np.nan)[columns]
        given = np.asarray(confidence)
        if given.dtype in (np.float16, np.float32):  # use the same precision for thresholds
            cut = cut.astype(given.dtype).astype(np.float64)
        with np.errstate(invalid="ignore"):
            return np.asarray(values >= cut, dtype=np.bool_)

    def _row(self, model: Hashable | None) -> int:
        if model is None:
            if len(self.labels) > 1:
                msg = (
                    f"the gate holds {len(self.labels)} models: name one, model={self.labels[0]!r}"
                )
                raise OptionError(msg)
            return 0
        if model not in self.labels:
            msg = f"model={model!r} is not in the gate, which holds {listed(self.labels)}"
            raise LabelError(msg)
        return self.labels.index(model)

    def _columns(self, group: Any, shape: tuple[int, ...]) -> IntArray:
        """Return the index of the group of each confidence, -1 if unknown."""
        if group is None:
            if self.grouped:
                msg = f"the gate has groups: pass that of the questions, group={self.groups[0]!r}"
                raise OptionError(msg)
            return np.zeros(shape, dtype=np.int64)
        one = isinstance(group, str | tuple) or not np.ndim(group)
        names = [group] if one else plain_array(group, "group").astype(object).ravel().tolist()
        if not one and np.shape(group) != shape:
            msg = (
                f"group has shape {np.shape(group)} for confidence of shape {shape}: pass one each"
            )
            raise ShapeError(msg)
        place = {name: k for k, name in enumerate(self.groups)} if self.grouped else {}
        unseen = [name for name in dict.fromkeys(names) if name not in place]
        if unseen:
            warn(
                f"group {listed(unseen)} is unknown to the gate, so there is no guarantee and no "
                "question is answered without review: fit a gate to answers to such questions"
            )
        found = np.array([place.get(name, -1) for name in names], dtype=np.int64)
        return np.broadcast_to(found[0], shape) if one else found.reshape(shape)

    def curve(self) -> "pd.DataFrame":
        """Return coverage, error rate and upper bound, one row per gate and threshold."""
        import pandas as pd

        model, group = np.divmod(self.step_gate, len(self.groups))
        sides = {
            name: np.fromiter(labels, dtype=object, count=len(labels))[which]
            for name, labels, which in (
                ("model", self.labels, model),
                ("group", self.groups, group),
            )
        }
        steps = {
            name: getattr(self, f"step_{name}")
            for name in ("threshold", "coverage", "error", "upper")
        }
        return pd.DataFrame({**sides, **steps})

    def tables(self) -> "dict[str, pd.DataFrame]":
        """Return a table of gates, with reasons for missing gates, and a table of their curves."""
        flat = [str(flag) for row in self.flags for flag in row]
        gates = self.to_frame().assign(n=self.n.ravel().astype(int), flag=flat)
        return {"gates": gates, "curve": self.curve()}

    @property
    def fewest(self) -> int:
        """Number of correct answers needed for a guarantee."""
        return fewest_answers(self.at_most, self.certainty)

    def name(self, gate: int) -> str:
        """Return the model or group of one threshold, or both, as its name.

        Thresholds are numbered from 0, by model and then by group.
        """
        row, column = divmod(gate, len(self.groups))
        model, group = self.labels[row], self.groups[column]
        if not self.grouped:
            return str(model)
        return str(group) if len(self.labels) == 1 else f"{model}, {group}"

    def findings(self, *, smallest: SmallestEffects = SMALLEST) -> Findings:
        """Return the threshold of each model and its guarantee."""
        gates = range(self.promised.size)
        good = [gate for gate in gates if self.promised.flat[gate]]
        order = [*sorted(good, key=lambda gate: -self.coverage.flat[gate])]
        order += [gate for gate in gates if not self.promised.flat[gate]]
        more = len(order) - _SHOWN
        share, sure = (f"{100.0 * one:g} %" for one in (self.at_most, self.certainty))
        several = "for each group of each model" if self.grouped else "for each model"
        promise = (
            f"at most {share} of the answers are wrong (with a probability of at least {sure})"
        )
        rows = tuple(self._line(gate) for gate in order[:_SHOWN])
        rows += (further(more, "gates"),) if more > 0 else ()
        items = (
            Finding(
                statement=self._verdict(order, len(good), promise),
                numbers={"gate": {"at_most": self.at_most, "certainty": self.certainty}},
            ),
            Finding(
                key="gates",
                question="What are the thresholds?",
                rows=rows,
                explanation=(
                    f"A gate is the lowest confidence threshold at or above which {promise}. The "
                    f"guarantee holds {several} separately, and requires at least "
                    f"{count(self.fewest)} answers."
                ),
            ),
            Finding(
                key="unseen",
                question="Does the guarantee apply to other questions?",
                statement=(
                    "The guarantee applies only to questions from the same population. Other "
                    "kinds of questions need separate gates."
                ),
            ),
        )
        kinds = f", {len(self.groups)} groups of questions" * self.grouped
        number_of = len(self.labels)
        head = (
            f"{number_of} model{'s' * (number_of > 1)}{kinds}, {count(float(self.n.sum()))} "
            "answers with confidence and correctness."
        )
        return exhibit(Findings(items=items, head=head), self, smallest)

    def plot(self, *, ax: "Drawn | None" = None) -> "Drawn":
        """Draw the error rate by coverage with `psychollm.plots.plot_confidence_gate`."""
        return drawn_by("plot_confidence_gate")(self, ax=ax)

    def _verdict(self, order: list[int], good: int, promise: str) -> str:
        if self.promised.size == 1:
            row = sentence(self._line(order[0]))
            return f"{row} Above this confidence, {promise}." if good else row
        if not good:
            return f"No gate can be set: no confidence threshold guarantees that {promise}."
        return (
            f"{good} of {self.promised.size} gates guarantee that {promise}. "
            f"{self.name(order[0])} may answer the largest proportion of questions without "
            f"review, {percent(self.coverage.flat[order[0]])}."
        )

    def _line(self, gate: int) -> str:
        name = self.name(gate)
        if not self.promised.flat[gate]:
            flag = str([flag for row in self.flags for flag in row][gate])
            return f"{name}: no gate; {flag} ({count(float(self.n.flat[gate]))} answers)"
        wrong = number(100.0 * self.error.flat[gate], 1)
        bound = number(100.0 * self.upper.flat[gate], 1)
        return (
            f"{name} may answer without review from a confidence of "
            f"{self.threshold.flat[gate]:.4g} ({percent(self.coverage.flat[gate])} of the "
            f"questions): {wrong} % of these answers were wrong (upper bound {bound} %)"
        )


def confidence_gate(
    confidence: ResponsesLike,
    correct: ResponsesLike,
    at_most: float = 0.1,
    certainty: float = 0.9,
    groups: Any = None,
    *,
    clusters: ArrayLike | None = None,
) -> ConfidenceGate:
    """Find the confidence threshold above which a model's error rate has a guaranteed bound.

    Parameters
    ----------
    confidence : Responses, DataFrame, DataArray or array_like (models, questions) or (questions,)
        Real-valued scores; a higher score means that a correct answer is more likely. NaN marks a
        missing score.
    correct : Responses, DataFrame, DataArray or array_like (models, questions) or (questions,)
        Correctness of the answers: 1 = correct, 0 = wrong; NaN marks a missing value.
    at_most : float
        Largest tolerated proportion of wrong answers among the accepted answers.
    certainty : float
        Probability that the error rate above the threshold is at most `at_most`. With a certainty
        of .9, a gate has an error rate above `at_most` with a probability of at most 10 %.
    groups : array_like or mapping (questions,), optional
        Group of each question, such as its domain; each group has its own threshold.
    clusters : array_like or mapping (questions,), optional
        Cluster of each question, such as its passage. Clustered answers are dependent, so they
        count as fewer independent answers.

    Returns
    -------
    ConfidenceGate
        Gate with the method ``decide``, which applies the threshold to new answers. If no
        threshold meets the guarantee, the threshold is NaN with a reason in ``flags``, and no
        answer is accepted.

    Raises
    ------
    OptionError
        If `at_most` is not inside (0, 1), or `certainty` is not inside (.5, 1).
    ShapeError, LabelError
        If confidence, correctness, groups or clusters do not match.
    CodeError
        If correctness is not binary.

    Notes
    -----
    The method is Learn then Test with Clopper-Pearson bounds and a fixed sequence of thresholds
    (`psychollm.calibration.gates.guarantee`). The guarantee applies to each model and group
    separately, for questions from the same population.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> confidence = rng.choice([0.6, 0.8, 0.95], 600)
    >>> gate = confidence_gate(confidence, rng.random(600) < confidence + 0.03)
    >>> bool(gate.decide(0.95)), bool(gate.decide(0.9))
    (True, False)
    """
    at_most = check_fraction("at_most", at_most)
    certainty = check_fraction("certainty", certainty, low=0.5)
    answers = scored_answers(
        confidence, correct, clusters=clusters, names=("confidence", "correct")
    )
    codes = np.zeros(len(answers.questions), dtype=np.int64)
    kinds: Labels = (ALL,)
    if groups is not None:
        codes, kinds = numbered(unit_labels(groups, answers.questions, argument="groups"))
    shape = (len(answers.models), len(kinds))
    table = np.full((5, *shape), np.nan)  # threshold, coverage, error, upper, answers
    flags, curves = [], []
    for row in range(shape[0]):
        for column in range(shape[1]):
            here = np.flatnonzero(answers.present[row] & (codes == column))
            steps = steps_of(
                answers.confidence[row, here],
                1.0 - answers.correct[row, here],
                None if answers.clusters is None else answers.clusters[here],
                certainty,
            )
            step, flag = guaranteed_step(steps, at_most, certainty)
            told = np.stack([steps.threshold, steps.coverage, steps.error, steps.upper])
            table[:4, row, column] = told[:, step] if step >= 0 else [np.nan, 0.0, np.nan, np.nan]
            table[4, row, column] = here.size
            flags.append(flag)
            curves.append(told)
    gate_of = np.repeat(np.arange(len(curves)), [told.shape[1] for told in curves])
    steps_told = np.concatenate(curves, axis=1)
    return ConfidenceGate(
        threshold=table[0],
        coverage=table[1],
        error=table[2],
        upper=table[3],
        promised=np.isfinite(table[0]),
        flags=tuple(
            tuple(flags[row * shape[1] : (row + 1) * shape[1]]) for row in range(shape[0])
        ),
        n=table[4],
        step_gate=gate_of.astype(np.int64),
        step_threshold=steps_told[0],
        step_coverage=steps_told[1],
        step_error=steps_told[2],
        step_upper=steps_told[3],
        at_most=at_most,
        certainty=certainty,
        grouped=groups is not None,
        clustered=clusters is not None,
        labels=answers.models,
        groups=kinds,
    )
