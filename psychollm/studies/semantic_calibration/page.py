"""The page of semantic calibration."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.numbers import count, p_equals, percent
from psychollm.estimates.layout import Criterion, Fact, Layout, arguments, span
from psychollm.estimates.references import cite
from psychollm.estimates.verdict import SmallestEffects

if TYPE_CHECKING:
    from psychollm.studies.semantic_calibration.study import SemanticCalibration


_FREEDOM = 10.0  # of a standard error that varies by a fifth, 1 / (2 * .2**2) or so


def _facts(study: "SemanticCalibration", smallest: SmallestEffects) -> tuple[Fact, ...]:
    p = study.p_adjusted
    least = float(np.nanmin(p)) if np.isfinite(p).any() else np.nan
    return (
        Fact(name="Right", value=span(study.accuracy, 3)),
        Fact(name="Sure", value=span(study.mean_confidence, 3)),
        Fact(name="smECE", value=span(study.smooth.value, 3)),
        Fact(name="smECE of calibrated models", value=span(study.expected, 3)),
        Fact(
            name="smECE beyond that of calibrated models",
            value=span(study.excess, 3),
            detail=f"smallest {p_equals(least)}",
        ),
        Fact(
            name="Samples a question",
            value=count(float(np.median(study.confidence.n_samples))),
            detail=f"at least {int(study.confidence.n_samples.min())}",
        ),
    )


def _methods(study: "SemanticCalibration") -> tuple[str, ...]:
    return (
        f"<b>Confidence in meaning.</b> After {cite('nakkiran')[1:-1]}: each question is asked "
        "many times, the replies are put into classes of one meaning, and the share of the "
        "largest class is the confidence that its answer is right. Only questions that all arms "
        f"answered are compared: {count(study.n_questions)}.",
        f"<b>Two nulls.</b> The smooth calibration error {cite('smece')} is above zero by chance "
        "alone. Beside it stand its expectation if answers were right as often as confidences "
        "say, and if the model were calibrated but its shares came from as many samples: the "
        "largest of several shares overstates the chance of its class, the more so the more "
        "diverse answers are. Verdicts rest on the second, adjusted for the number of arms "
        f"{cite('holm')}.",
        f"<b>Uncertainty.</b> Questions were resampled, the same for all arms, for intervals that "
        f"cover {percent(study.level)}; an effect is called small where its interval lies within "
        f"the smallest that matters {cite('schuirmann')}.",
    )


def _wanted(study: "SemanticCalibration", smallest: SmallestEffects) -> Iterator[Criterion]:
    # An error is shown by its p-value, of errors that are larger, by Holm over the arms. Standard
    # errors of the smooth error vary by about a fifth between studies of 150 to 600 questions.
    yield Criterion(
        what="error beyond a calibrated model",
        estimate=study.excess,
        smallest=smallest.calibration_error,
        null_se=study.spread,
        df=_FREEDOM,
        alpha=2.0 * (1.0 - study.level) / len(study.labels),
    )


def _call(study: "SemanticCalibration", source: str, options: str) -> str:
    made = source or "# scores: the samples of each arm, by its name"
    given = arguments(study, ("baseline",)) if study.baseline != study.labels[0] else ""
    call = f"study = psy.semantic_calibration(scores{given}, {options})"
    return f"{made}\n{call}"


LAYOUT = Layout(
    title="Semantic calibration: are the models as sure of what they say as they are right?",
    subtitle=lambda study: (
        f"{len(study.labels)} arms, {count(study.n_questions)} questions that all of them "
        f"answered, {percent(study.level)} intervals"
    ),
    facts=_facts,
    sections={
        "arms": "Is the most frequent answer as often right as it is frequent?",
        "verdict": "How far from calibrated in meaning?",
        "contrasts": "",
    },
    methods=_methods,
    call=_call,
    wanted=_wanted,
)

PAGES = {"SemanticCalibration": LAYOUT}
