"""Report page of semantic calibration."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.numbers import count, p_equals, percent
from psychollm.estimates.layout import Criterion, Fact, Layout, arguments, span
from psychollm.estimates.references import cite
from psychollm.estimates.verdict import SmallestEffects

if TYPE_CHECKING:
    from psychollm.studies.semantic_calibration.study import SemanticCalibration


_FREEDOM = 10.0  # degrees of freedom of a standard error with a CV of .2, about 1 / (2 * .2**2)


def _facts(study: "SemanticCalibration", smallest: SmallestEffects) -> tuple[Fact, ...]:
    p = study.p_adjusted
    least = float(np.nanmin(p)) if np.isfinite(p).any() else np.nan
    return (
        Fact(name="Accuracy", value=span(study.accuracy, 3)),
        Fact(name="Confidence", value=span(study.mean_confidence, 3)),
        Fact(name="smECE", value=span(study.smooth.value, 3)),
        Fact(name="smECE of calibrated models", value=span(study.expected, 3)),
        Fact(
            name="Excess smECE",
            value=span(study.excess, 3),
            detail=f"smallest {p_equals(least)}",
        ),
        Fact(
            name="Samples per question",
            value=count(float(np.median(study.confidence.n_samples))),
            detail=f"at least {int(study.confidence.n_samples.min())}",
        ),
    )


def _methods(study: "SemanticCalibration") -> tuple[str, ...]:
    return (
        f"<b>Semantic confidence.</b> Following {cite('nakkiran')[1:-1]}, each question is asked "
        "many times, and replies are grouped into classes of the same meaning. The proportion of "
        "the largest class is the confidence in its answer. The study compares the "
        f"{count(study.n_questions)} questions that all arms answered.",
        f"<b>Two nulls.</b> The smooth calibration error {cite('smece')} of a calibrated model "
        "is positive by chance. The page reports the expected error under two null hypotheses: "
        "calibrated confidences, and a calibrated model with the same number of samples. The two "
        "expectations differ because the largest observed proportion overestimates the "
        "probability of its class, especially if answers are diverse. Verdicts use p-values of "
        f"the second null hypothesis, adjusted for the number of arms {cite('holm')}.",
        f"<b>Uncertainty.</b> {percent(study.level)} intervals are computed by resampling "
        "questions; all arms share the resamples. An effect is equivalent to zero if its interval "
        f"is within ± the smallest effect of interest {cite('schuirmann')}.",
    )


def _wanted(study: "SemanticCalibration", smallest: SmallestEffects) -> Iterator[Criterion]:
    # The verdict uses one-sided p-values, adjusted by Holm over the arms. Standard errors of the
    # smooth error vary by about a fifth between studies of 150 to 600 questions.
    yield Criterion(
        what="excess error over a calibrated model",
        estimate=study.excess,
        smallest=smallest.calibration_error,
        null_se=study.spread,
        df=_FREEDOM,
        alpha=2.0 * (1.0 - study.level) / len(study.labels),
    )


def _call(study: "SemanticCalibration", source: str, options: str) -> str:
    made = source or "# scores: the samples of each arm, by name"
    given = arguments(study, ("baseline",)) if study.baseline != study.labels[0] else ""
    call = f"study = psy.semantic_calibration(scores{given}, {options})"
    return f"{made}\n{call}"


LAYOUT = Layout(
    title="Semantic calibration: does the frequency of an answer match its accuracy?",
    subtitle=lambda study: (
        f"{len(study.labels)} arms, {count(study.n_questions)} questions answered by all, "
        f"{percent(study.level)} intervals"
    ),
    facts=_facts,
    sections={
        "arms": "Is the most frequent answer right as often as it is given?",
        "verdict": "How large is the excess calibration error?",
        "contrasts": "",
    },
    methods=_methods,
    call=_call,
    wanted=_wanted,
)

PAGES = {"SemanticCalibration": LAYOUT}
