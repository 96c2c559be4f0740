"""What a panel shows, in sentences: who claims too much, who knows what it knows.

Each finding is worded once, for the summary on the screen, the report and JSON. What an interval
neither shows nor rules out is left open (`psychollm.estimates.verdict`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.multiplicity import adjust_p_values
from psychollm._base.numbers import count, extent, number
from psychollm._base.types import BoolArray, FloatArray
from psychollm.calibration.metric import Output, Section
from psychollm.calibration.panels.panel_curves import PanelCurves
from psychollm.estimates.comparisons import Comparisons, compare_all
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.findings import VERDICT, Finding, Findings, exhibit, sentence
from psychollm.estimates.verdict import (
    FEWEST,
    Outcome,
    SmallestEffects,
    Verdicts,
    counted,
    futile,
    names_of,
    outcome,
    verdicts,
)

if TYPE_CHECKING:
    import pandas as pd

COMPARED = ("brier", "auroc")
UNDRAWN = (
    "Correctness is a chance here, not 1 or 0, for at least one answer: curves that count correct "
    "and wrong answers are not drawn."
)


def verdict(estimates: Mapping[str, Estimate], smallest: SmallestEffects) -> Finding:
    """Say how many models are overconfident, and how many know what they know."""
    parts = [
        worded(estimates[key], smallest)
        for key, worded in (("overconfidence", _claims), ("auroc", told_apart))
        if key in estimates
    ]
    if parts:
        return Finding(key=VERDICT, statement=sentence("; ".join(parts)))
    n = len(next(iter(estimates.values())).labels)
    told = f"{n} model{'s' * (n > 1)} on {len(estimates)} metrics."
    return Finding(key=VERDICT, statement=told)


def _claims(overconfidence: Estimate, smallest: SmallestEffects) -> str:
    judged = verdicts(overconfidence, smallest=smallest.share)
    neither = f"neither over- nor underconfident by {smallest.share:g} or more"
    words = {
        Outcome.ABOVE: ("is overconfident", "are overconfident"),
        Outcome.BELOW: ("is underconfident", "are underconfident"),
        Outcome.SMALL: (f"is {neither}", f"are {neither}"),
    }
    if len(judged.labels) > 1:
        return counted(judged, words, whether="whether they are over- or underconfident")
    if judged.outcomes[0] is Outcome.OPEN:
        return "too few answers to say whether the model is over- or underconfident"
    return f"the model {words[judged.outcomes[0]][0]}"


def told_apart(auroc: Estimate, smallest: SmallestEffects) -> str:
    """Say whether confidence tells correct from wrong answers, in one model or in how many."""
    judged = verdicts(auroc, smallest=smallest.auroc, null=0.5)
    little = f"apart as chance does, to within {smallest.auroc:g}"
    if len(judged.labels) > 1:
        words = {
            Outcome.ABOVE: (
                "tells correct from wrong answers by its confidence",
                "tell correct from wrong answers by their confidence",
            ),
            Outcome.BELOW: ("is surer where it is wrong", "are surer where they are wrong"),
            Outcome.SMALL: (f"tells them {little}", f"tell them {little}"),
        }
        about = "whether confidence tells correct from wrong answers"
        return counted(judged, words, whether=about)
    return {
        Outcome.ABOVE: "its confidence tells correct from wrong answers",
        Outcome.BELOW: "its confidence runs against its correctness",
        Outcome.SMALL: f"its confidence tells correct from wrong answers {little}",
        Outcome.OPEN: "too few answers to say whether its confidence tells right from wrong",
    }[judged.outcomes[0]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What the findings rest on: estimates, curves, and models compared on the main metrics."""

    panel: Any  # the CalibrationPanel
    curves: PanelCurves
    comparisons: Mapping[str, Comparisons]  # every pair of models, by the key of the metric
    smallest: SmallestEffects

    @classmethod
    def of(cls, panel: Any, curves: PanelCurves, smallest: SmallestEffects) -> "Evidence":
        """Compare the models."""
        estimates: Mapping[str, Estimate] = panel.estimates
        compared = [key for key in COMPARED if key in estimates] or list(estimates)[:1]
        comparisons = {
            key: compare_all(estimates[key], adjustment="max_t")
            for key in compared
            if estimates[key].defined.sum() > 1
        }
        return cls(panel=panel, curves=curves, comparisons=comparisons, smallest=smallest)

    @property
    def estimates(self) -> Mapping[str, Estimate]:
        """The numbers of the panel, by the key of the metric."""
        estimates: Mapping[str, Estimate] = self.panel.estimates
        return estimates

    @property
    def outputs(self) -> Mapping[str, Output]:
        """What is said of each."""
        outputs: Mapping[str, Output] = self.panel.outputs
        return outputs

    def listed(self, section: Section) -> list[str]:
        """Return the keys of a section that have a column in its table."""
        words = self.outputs.items()
        return [key for key, one in words if one.listed and one.section == section]

    @property
    def labels(self) -> tuple[Any, ...]:
        """The models."""
        return self.curves.models

    @property
    def n(self) -> FloatArray:
        """Questions with confidence and correctness (models,)."""
        return self.curves.error.value.n

    @property
    def calibration_p(self) -> FloatArray:
        """P-values of calibration by the binned error, adjusted for the number of models."""
        return adjust_p_values(self.curves.error.p_value.value)

    @property
    def miscalibrated(self) -> BoolArray:
        """Models whose calibration is rejected, by p-value and by the interval beside it."""
        corrected = self.curves.error.corrected
        with np.errstate(invalid="ignore"):
            rejected = self.calibration_p < 1.0 - corrected.level
            return np.asarray(rejected & (corrected.interval[:, 0] > 0.0), dtype=np.bool_)

    def tables(self) -> "dict[str, pd.DataFrame]":
        """Return the comparisons and curves as tables, by name."""
        compared = {f"compare_{key}": one.to_frame() for key, one in self.comparisons.items()}
        return compared | self.curves.tables()

    def findings(self) -> Findings:
        """Return what was found, the verdict first."""
        findings = [
            verdict(self.estimates, self.smallest),
            Finding(key="overview", question="What do the numbers say?"),
            self._calibration(),
            self._ranking(),
            self._selection(),
        ]
        if self.comparisons:
            rows = tuple(self._compared(key) for key in self.comparisons)
            findings.append(Finding(key="comparisons", question="Which models differ?", rows=rows))
        found = Findings(items=(*findings, self._reservations()))
        return exhibit(found, self, self.smallest)

    def _calibration(self) -> Finding:
        error = self.curves.error
        to_within = f"calibrated to within {number(self.smallest.calibration_error)}"
        simulated, tested = self.curves.n_draws, int(np.isfinite(self.calibration_p).sum())
        enough, data, cannot = int(tested / (1.0 - error.value.level)), "answers", ""
        if simulated < enough:
            data = "simulated data sets"
            least_p = f"adjusted p can be below {number(tested / (simulated + 1))}"
            cannot = (
                f" {futile(f'{count(simulated)} {data}', least_p, enough)} (--null, n_draws=)."
            )
        judged = verdicts(
            error.corrected,
            smallest=self.smallest.calibration_error,
            rejected=self.miscalibrated.tolist(),
        )
        if len(judged.labels) > 1:
            words = {
                Outcome.ABOVE: ("is not calibrated", "are not calibrated"),
                Outcome.SMALL: (f"is {to_within}", f"are {to_within}"),
            }
            told = counted(judged, words, data=data, whether="whether they are calibrated")
            n = len(judged.labels)
            if judged.count(Outcome.ABOVE) == n:
                who = "neither model" if n == 2 else f"none of the {n} models"
                told = f"{who} is calibrated"
        else:
            told = {
                Outcome.ABOVE: "calibration is rejected",
                Outcome.SMALL: f"the model is {to_within}",
            }.get(
                judged.outcomes[0],
                f"there are too few {data} to say whether the model is calibrated",
            )
        return Finding(
            key="calibration",
            question="Does what is stated come true?",
            statement=(
                f"{sentence(told)}{cannot} The calibration error is "
                f"{extent(error.value.value, digits=3)}; calibrated models with the same "
                f"confidences would show {extent(error.expected.value, digits=3)}."
            ),
            numbers={
                "error": error.value.value,
                "corrected": error.corrected.value,
                "interval": error.corrected.interval,
                "p_adjusted": self.calibration_p,
            },
            outcome=judged,
        )

    def _ranking(self) -> Finding:
        asked = Finding(key="ranking", question="Does confidence tell correct from wrong answers?")
        roc = self.curves.roc
        if roc is None:
            return replace(asked, statement=UNDRAWN, reason=UNDRAWN)
        told = sentence(told_apart(roc.auroc, self.smallest))[:-1]
        return replace(
            asked,
            statement=f"{told} (AUROC {extent(roc.auroc.value)}).",
            numbers={"auroc": roc.auroc.value, "interval": roc.auroc.interval},
            outcome=verdicts(roc.auroc, smallest=self.smallest.auroc, null=0.5),
        )

    def _selection(self) -> Finding:
        asked = Finding(
            key="selection", question="What is gained by answering only where confident?"
        )
        curve = self.curves.risk_coverage
        if curve is None:
            return replace(asked, statement=UNDRAWN, reason=UNDRAWN)
        half = curve.risk[:, int(np.abs(curve.coverages - 0.5).argmin())]
        half = np.where(np.isfinite(curve.error_rate), half, np.nan)
        return replace(
            asked,
            statement=(
                f"Answering everything, the error rate is {extent(curve.error_rate)}; answering "
                f"the more confident half, {extent(half)}."
            ),
            numbers={"error_rate": curve.error_rate, "of_half": half},
        )

    def _compared(self, key: str) -> str:
        """Say how many pairs differ on a metric, and which model is best."""
        words = {
            Outcome.ABOVE: ("differs", "differ"),
            Outcome.SMALL: ("is alike", "are alike"),
        }
        pairs, least = self._pairs(key), getattr(self.smallest, key, None)
        # Which of a pair is named first means nothing: both directions are a difference.
        both = tuple(Outcome.ABOVE if one.shown else one for one in pairs.values())
        told = sentence(counted(Verdicts(tuple(pairs), both), words, kind="pair"))[:-1]
        alike = "" if least is None else f"; alike: to within {number(least)}"
        return (
            f"{self.outputs[key].heading}: {told} (after adjustment for their number{alike}). "
            f"{self._front(key, pairs)}"
        ).strip()

    def _pairs(self, key: str) -> dict[tuple[Any, Any], Outcome]:
        """Return what the comparison of each pair of models shows, where it is defined."""
        compared, estimate = self.comparisons[key], self.estimates[key]
        answers = dict(zip(estimate.labels, estimate.n, strict=True))
        # Without a smallest effect of interest, no value can be shown to be negligible.
        least = getattr(self.smallest, key, 0.0)
        return {
            (first, second): outcome(
                compared.interval[pair],
                smallest=least,
                rejected=bool(compared.differ[pair]),
                enough=min(answers[first], answers[second]) >= FEWEST,
            )
            for pair, (first, second) in enumerate(
                zip(compared.first, compared.second, strict=True)
            )
            if np.isfinite(compared.adjusted[pair])
        }

    def _front(self, key: str, pairs: Mapping[tuple[Any, Any], Outcome]) -> str:
        """Name the best model, those as good, and those that cannot be told from it."""
        estimate, better = self.estimates[key], self.outputs[key].better
        if better not in {"higher", "lower"}:
            return ""
        value = estimate.value if better == "higher" else -estimate.value
        best = estimate.labels[int(np.nanargmax(value))]
        others: dict[Outcome, list[str]] = {}
        for pair, comparison in pairs.items():
            if best in pair:
                others.setdefault(comparison, []).append(str(pair[pair[0] == best]))
        told = [
            f"{words}: {names_of(others[one], most=6)}"
            for one, words in (
                (Outcome.SMALL, "as good"),
                (Outcome.OPEN, "too few answers to tell from it"),
            )
            if one in others
        ]
        return f"Best is {best}, {'; '.join(told) if told else 'apart from all others'}."

    def _reservations(self) -> Finding:
        undefined = sum(int((~estimate.defined).sum()) for estimate in self.estimates.values())
        flagged = any(any(estimate.flags) for estimate in self.estimates.values()) or undefined
        total = len(self.labels) * len(self.estimates)
        return Finding(
            key="flags",
            question="What is undefined, and what needs a reservation?",
            statement=(
                f"{count(undefined)} of {count(total)} values are undefined."
                if flagged
                else "Every value is defined, and none needs a reservation."
            ),
            numbers={"undefined": undefined, "values": total},
        )
