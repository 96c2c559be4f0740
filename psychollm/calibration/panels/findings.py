"""Findings of a panel: overconfidence, discrimination, selection, and model differences.

The printed summary, the report and JSON share the wording of each finding. The outcome of a
finding is significant, negligible or inconclusive (`psychollm.estimates.verdict`).
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
    every,
    futile,
    inconclusive,
    names_of,
    outcome,
    verdicts,
)

if TYPE_CHECKING:
    import pandas as pd

COMPARED = ("brier", "auroc")
UNDRAWN = (
    "At least one correctness is a probability between 0 and 1: curves that count correct and "
    "wrong answers are not drawn."
)


def verdict(estimates: Mapping[str, Estimate], smallest: SmallestEffects) -> Finding:
    """Report how many models are overconfident, and how many have discriminating confidence."""
    return Finding(key=VERDICT, statement=" ".join(verdict_sentences(estimates, smallest)))


def verdict_sentences(estimates: Mapping[str, Estimate], smallest: SmallestEffects) -> list[str]:
    """Return the sentences of the verdict."""
    parts = [
        sentence(worded(estimates[key], smallest)) for key, worded in _WORDED if key in estimates
    ]
    n = len(next(iter(estimates.values())).labels)
    k = len(estimates)
    return parts or [f"{n} model{'s' * (n > 1)}, {k} metric{'s' * (k > 1)}."]


def _bias(overconfidence: Estimate, smallest: SmallestEffects) -> str:
    judged = verdicts(overconfidence, smallest=smallest.share)
    unbiased = f"unbiased within {100.0 * smallest.share:g} points"
    words = {
        Outcome.ABOVE: ("is overconfident", "are overconfident"),
        Outcome.BELOW: ("is underconfident", "are underconfident"),
        Outcome.SMALL: (f"is {unbiased}", f"are {unbiased}"),
    }
    alike = len(set(judged.outcomes)) == 1 and judged.outcomes[0].shown
    points = extent(np.abs(100.0 * overconfidence.value), digits=0)
    size = f" by {points} points" if alike else ""
    if len(judged.labels) > 1:
        about = "whether they are over- or underconfident"
        return counted(judged, words, whether=about, named=None if alike else Outcome.BELOW) + size
    if judged.outcomes[0] is Outcome.OPEN:
        return "it is unclear whether the model is over- or underconfident"
    return f"the model {words[judged.outcomes[0]][0]}{size}"


def discrimination(auroc: Estimate, smallest: SmallestEffects) -> str:
    """Report for how many models confidence discriminates between right and wrong answers."""
    judged = verdicts(auroc, smallest=smallest.auroc, null=0.5)
    what = "confidence discriminates between correct and wrong answers"
    chance = f"within {smallest.auroc:g} of chance"
    n, several = len(judged.labels), len(judged.labels) > 1
    if not several:
        return {
            Outcome.ABOVE: what,
            Outcome.BELOW: "confidence is higher for wrong answers",
            Outcome.SMALL: f"discrimination is {chance}",
            Outcome.OPEN: f"it is unclear whether {what}",
        }[judged.outcomes[0]]
    above, open_ = judged.count(Outcome.ABOVE), judged.count(Outcome.OPEN)
    if open_ == n:
        return f"for {every(n, 'model')} it is unclear whether {what}"
    parts = [f"{what} in {every(n, 'model') if above == n else f'{above} of {n} models'}"]
    if below := judged.which(Outcome.BELOW):
        parts.append(f"it is higher for wrong answers in {len(below)} ({names_of(below)})")
    if small := judged.count(Outcome.SMALL):
        parts.append(f"discrimination is {chance} in {small}")
    return "; ".join([*parts, *([inconclusive(open_)] if open_ else [])])


def _ranks(auroc: Estimate, smallest: SmallestEffects) -> str:
    return f"{discrimination(auroc, smallest)} (AUROC {extent(auroc.value)})"


_WORDED = (("overconfidence", _bias), ("auroc", _ranks))


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Basis of the findings: estimates, curves and comparisons of models."""

    panel: Any  # a CalibrationPanel
    curves: PanelCurves
    comparisons: Mapping[str, Comparisons]  # all pairs of models, by metric key
    smallest: SmallestEffects

    @classmethod
    def of(cls, panel: Any, curves: PanelCurves, smallest: SmallestEffects) -> "Evidence":
        """Return the basis of a panel's findings, with comparisons of all pairs of models."""
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
        """Estimates of the panel by metric key."""
        estimates: Mapping[str, Estimate] = self.panel.estimates
        return estimates

    @property
    def outputs(self) -> Mapping[str, Output]:
        """Names and descriptions of the metrics by key."""
        outputs: Mapping[str, Output] = self.panel.outputs
        return outputs

    def listed(self, section: Section) -> list[str]:
        """Return the keys of the metrics that have a column in the table of a section."""
        words = self.outputs.items()
        return [key for key, one in words if one.listed and one.section == section]

    @property
    def labels(self) -> tuple[Any, ...]:
        """Labels of the models."""
        return self.curves.models

    @property
    def n(self) -> FloatArray:
        """Number of questions with confidence and correctness (models,)."""
        return self.curves.error.value.n

    @property
    def calibration_p(self) -> FloatArray:
        """P-values of calibration tests by binned error, adjusted for the number of models."""
        return adjust_p_values(self.curves.error.p_value.value)

    @property
    def miscalibrated(self) -> BoolArray:
        """Models whose calibration is rejected by both p-value and interval."""
        corrected = self.curves.error.corrected
        with np.errstate(invalid="ignore"):
            rejected = self.calibration_p < 1.0 - corrected.level
            return np.asarray(rejected & (corrected.interval[:, 0] > 0.0), dtype=np.bool_)

    def tables(self) -> "dict[str, pd.DataFrame]":
        """Return the comparisons and curves as tables, by name."""
        compared = {f"compare_{key}": one.to_frame() for key, one in self.comparisons.items()}
        return compared | self.curves.tables()

    def findings(self) -> Findings:
        """Return the findings, with the verdict first."""
        findings = [
            verdict(self.estimates, self.smallest),
            Finding(key="overview", question="Overview"),
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
        to_within = f"calibrated within {number(self.smallest.calibration_error)}"
        simulated, tested = self.curves.n_draws, int(np.isfinite(self.calibration_p).sum())
        enough, data, cannot = int(tested / (1.0 - error.value.level)), "answers", ""
        if simulated < enough:
            data = "simulated data sets"
            least_p = f"adjusted p-value can be below {number(tested / (simulated + 1))}"
            cannot = (
                f" {futile(simulated, data, least_p, enough)} (option --null, argument n_draws)."
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
            told = counted(judged, words, whether="whether they are calibrated")
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
                "it is unclear whether the model is calibrated",
            )
        return Finding(
            key="calibration",
            question="Are the models calibrated?",
            statement=(
                f"{sentence(told)}{cannot} The calibration error is "
                f"{extent(error.value.value, digits=3)}; for a calibrated model, "
                f"{extent(error.expected.value, digits=3)} is expected."
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
        asked = Finding(key="ranking", question="Does confidence discriminate?")
        roc = self.curves.roc
        if roc is None:
            return replace(asked, statement=UNDRAWN, reason=UNDRAWN)
        return replace(
            asked,
            statement=sentence(_ranks(roc.auroc, self.smallest)),
            numbers={"auroc": roc.auroc.value, "interval": roc.auroc.interval},
            outcome=verdicts(roc.auroc, smallest=self.smallest.auroc, null=0.5),
        )

    def _selection(self) -> Finding:
        asked = Finding(key="selection", question="Does abstention reduce errors?")
        curve = self.curves.risk_coverage
        if curve is None:
            return replace(asked, statement=UNDRAWN, reason=UNDRAWN)
        half = curve.risk[:, int(np.abs(curve.coverages - 0.5).argmin())]
        half = np.where(np.isfinite(curve.error_rate), half, np.nan)
        return replace(
            asked,
            statement=(
                f"The error rate is {extent(curve.error_rate)} among all answers of a model, and "
                f"{extent(half)} among the more confident half of them."
            ),
            numbers={"error_rate": curve.error_rate, "of_half": half},
        )

    def _compared(self, key: str) -> str:
        """Describe how many pairs differ on a metric, and which model is best."""
        words = {
            Outcome.ABOVE: ("differs significantly", "differ significantly"),
            Outcome.SMALL: ("is equivalent", "are equivalent"),
        }
        pairs, least = self._pairs(key), getattr(self.smallest, key, None)
        # The order of the two models in a pair is arbitrary, so differences in both directions
        # count.
        both = tuple(Outcome.ABOVE if one.shown else one for one in pairs.values())
        told = counted(Verdicts(tuple(pairs), both), words, kind="pair")
        alike = (
            "" if least is None else f"; differences within ±{number(least)} count as equivalent"
        )
        return (
            f"{self.outputs[key].heading}: {told} (p-values adjusted for multiple "
            f"comparisons{alike}). {self._front(key, pairs)}"
        ).strip()

    def _pairs(self, key: str) -> dict[tuple[Any, Any], Outcome]:
        """Return the outcome of each defined comparison of two models."""
        compared, estimate = self.comparisons[key], self.estimates[key]
        answers = dict(zip(estimate.labels, estimate.n, strict=True))
        # Without a smallest effect of interest, no difference can be called negligible.
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
        """Return the best model, the models equivalent to it, and inconclusive comparisons."""
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
            f"{words} {names_of(others[one])}"
            for one, words in (
                (Outcome.SMALL, "is equivalent to"),
                (Outcome.OPEN, "cannot be distinguished from"),
            )
            if one in others
        ]
        return f"{best} ranks first; it {', and '.join(told) or 'differs from all others'}."

    def _reservations(self) -> Finding:
        undefined = sum(int((~estimate.defined).sum()) for estimate in self.estimates.values())
        flagged = any(any(estimate.flags) for estimate in self.estimates.values()) or undefined
        total = len(self.labels) * len(self.estimates)
        return Finding(
            key="flags",
            question="Undefined and flagged values",
            statement=(
                f"{count(undefined)} of {count(total)} metric values are undefined."
                if flagged
                else "All metric values are defined, and none is flagged."
            ),
            numbers={"undefined": undefined, "values": total},
        )
