"""`shared_confidence` in a screen of plain sentences, every number with its interval."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.numbers import extent, p_equals, signed, with_interval
from psychollm._base.types import BoolArray
from psychollm.estimates.verdict import (
    SMALLEST,
    Outcome,
    SmallestEffects,
    Verdicts,
    counted,
    verdicts,
)

if TYPE_CHECKING:
    from psychollm.calibration.consensus.between_models import Line
    from psychollm.studies.shared_confidence.study import SharedConfidence

WIDTH = 96


def summary(study: SharedConfidence, *, smallest: SmallestEffects = SMALLEST) -> str:
    """Return the findings in sentences, one paragraph per question asked of the data."""
    parts = (
        ("Verdict", f"{_sentence(verdict(study, smallest=smallest))}."),
        ("One signal?", _factors(study)),
        ("Whose signal?", _own(study, smallest)),
        ("Good for what?", _classifier(study)),
        ("Calibrated?", _calibration(study, smallest)),
        ("Better together?", _together(study)),
        ("Left over", _residuals(study)),
        ("Validity", _validity(study)),
        ("To repeat", f"{study.call}; {_versions(study)}."),
    )
    return "\n".join([_head(study), *(_paragraph(name, text) for name, text in parts)])


def verdict(study: SharedConfidence, *, smallest: SmallestEffects = SMALLEST) -> str:
    """Return in one sentence whether confidence is shared, and whether it is more than that."""
    count, private = study.dimensionality.n_factors, private_verdicts(study, smallest)
    knows = private.which(Outcome.ABOVE)
    if count == 0:
        return f"no shared signal is shown in {study.n_questions:,} questions"
    minor = study.dimensionality.second_is_minor
    shared = "one shared signal" if count == 1 or minor else "more than one shared signal"
    if minor:
        shared += " and a little beside it"
    if count > 1 and knows:
        return (
            f"{shared}; the confidence of {_these(knows)} goes with correctness beyond the first, "
            "which may be the second signal or the model's own knowledge"
        )
    if knows:
        return f"{shared}; beyond it the confidence of {_these(knows)} knows its own correctness"
    return f"{shared}; {beyond(private, smallest)}"


def beyond(private: Verdicts, smallest: SmallestEffects) -> str:
    """Say what confidence knows beyond the shared factor, in how many models.

    Examples
    --------
    >>> beyond(Verdicts(("a", "b"), (Outcome.OPEN, Outcome.SMALL)), SMALLEST)[:57]
    'beyond it 1 of 2 models knows its own correctness by less'
    """
    little = f"by less than a correlation of {smallest.correlation:g}"
    words = {
        Outcome.ABOVE: ("knows its own correctness", "know their own correctness"),
        Outcome.BELOW: ("is confident against it", "are confident against it"),
        Outcome.SMALL: (
            f"knows its own correctness {little}",
            f"know their own correctness {little}",
        ),
    }
    return f"beyond it {counted(private, words)}"


def private_verdicts(study: SharedConfidence, smallest: SmallestEffects) -> Verdicts:
    """Return of each model whether its confidence knows more than the shared factor."""
    private = study.private_signal
    found = [bool(p <= 1.0 - study.level) for p in private.p_adjusted]
    return verdicts(private.correlation, smallest=smallest.correlation, rejected=found)


def _these(models: list[str]) -> str:
    """Name up to three models, or say how many there are."""
    if len(models) > 3:
        return f"{len(models)} models"
    return " and ".join(models)


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]


def _paragraph(name: str, text: str) -> str:
    return fill(f"{name:<17}{text}", WIDTH, subsequent_indent=" " * 17, break_long_words=False)


def _head(study: SharedConfidence) -> str:
    simulated = "SIMULATED DATA. " if study.simulated else ""
    return (
        f"{simulated}Confidence and correctness of {len(study.labels)} models on "
        f"{study.n_questions:,} questions; intervals {study.level:.0%}"
    )


def _factors(study: SharedConfidence) -> str:
    loadings, thresholds = study.loadings, study.thresholds
    return (
        f"{_sentence(study.dimensionality.verdict)}. Loadings {extent(loadings)}, "
        f"thresholds {extent(thresholds)} (high = cautious); the score of a question is known "
        f"with reliability {study.scores.reliability:.2f}."
    )


def _own(study: SharedConfidence, smallest: SmallestEffects) -> str:
    own, private = study.individuation, study.private_signal
    average = dict(zip(own.average.labels, range(len(own.average.labels)), strict=True))
    shared, mine = (own.average.text(average[name], 3) for name in ("shared", "own"))
    ahead = own.average.text(average["own_minus_cut"], 3, signed=True)
    naive = _count(own.p_adjusted <= 1.0 - study.level)
    tested = int(np.isfinite(private.p_value).sum())
    return (
        f"For a model's correctness the shared score (made without it) has a mean AUROC of "
        f"{shared}, its own answer {mine}; at equal yes rates the own answer differs by {ahead}. "
        "Own answers add to the "
        f"shared score in {naive} of {tested} models if that score is taken as exact. With its "
        f"error allowed for, {beyond(private_verdicts(study, smallest), smallest)}. "
        f"{_privileged(study, smallest)}Mean private correlation "
        f"{with_interval(private.mean, private.mean_interval, 3, signed=True)} "
        f"({p_equals(private.mean_p)})."
    )


def _privileged(study: SharedConfidence, smallest: SmallestEffects) -> str:
    """Name the models whose confidence knows more than the shared factor, strongest first."""
    rho, outcomes = study.private_signal.correlation, private_verdicts(study, smallest).outcomes
    found = np.array([m for m, one in enumerate(outcomes) if one.shown], dtype=np.int64)
    order = found[np.argsort(-np.abs(rho.value[found]))]
    named = [f"{study.labels[m]} {rho.text(m, 3, signed=True)}" for m in order[:4]]
    more = f" and {len(found) - 4} more" if len(found) > 4 else ""
    return f"Those are {', '.join(named)}{more}. " if named else ""


def _classifier(study: SharedConfidence) -> str:
    sweep = study.f_beta
    one = int(np.abs(np.log(sweep.betas)).argmin())
    beats = _count(sweep.beats_all_yes[:, one] >= 0.5 * (1.0 + study.level))
    return (
        f"F1 of confidence as a classifier of correctness: {extent(sweep.value[:, one])}; "
        f"{beats} of {len(study.labels)} models are clearly above saying yes to everything "
        f"({extent(sweep.all_yes[:, one])}). {_leaders(study)}"
    )


def _leaders(study: SharedConfidence) -> str:
    sweep = study.f_beta
    if not len(sweep.leaders):
        return "No model is ever right when it says yes."
    names = [str(study.labels[m]) for m in sweep.leaders]
    if len(names) == 1:
        return f"{names[0]} is best for every beta."
    turns = [
        f"{name} from {beta:.2g}"
        for beta, name in list(zip(sweep.crossings, names[1:], strict=True))[:5]
    ]
    more = len(names) - 1 - len(turns)
    rest = f" and {more} more" if more > 0 else ""
    return f"Best by beta: {names[0]}, then {', '.join(turns)}{rest}."


def says_yes(study: SharedConfidence, smallest: SmallestEffects) -> str:
    """Say how many models say yes more, and less, often than they are correct."""
    often = f"as often as correct, to within {smallest.share:g}"
    words = {
        Outcome.ABOVE: ("says yes too often", "say yes too often"),
        Outcome.BELOW: ("too rarely", "too rarely"),
        Outcome.SMALL: (often, often),
    }
    return counted(verdicts(study.confusion.overconfidence, smallest=smallest.share), words)


def _calibration(study: SharedConfidence, smallest: SmallestEffects) -> str:
    gap, between = study.confusion.overconfidence, study.between
    return (
        f"Yes rate minus accuracy: {extent(gap.value, signed=True)}; "
        f"{says_yes(study, smallest)}. Between models, "
        f"{_slope(between.confidence_on_accuracy)}; {_slope(between.accuracy_on_confidence)}; "
        f"Spearman {with_interval(between.spearman, between.spearman_interval, 3, signed=True)} "
        f"({p_equals(between.spearman_p)}). Confidence = accuracy as a line: "
        f"{p_equals(between.confidence_on_accuracy.identity_p)}."
    )


def _slope(line: Line) -> str:
    return (
        f"slope of {line.outcome} on {line.predictor} "
        f"{with_interval(line.slope, line.slope_interval, 3, signed=True)} "
        f"({p_equals(line.p_value)})"
    )


def _together(study: SharedConfidence) -> str:
    gain, pairs = study.ensemble, study.pairwise
    free = with_interval(gain.mean_gain, gain.mean_gain_interval, 3, signed=True)
    fair = with_interval(
        gain.mean_gain_at_equal_rate, gain.mean_gain_at_equal_rate_interval, 3, signed=True
    )
    text = (
        f"The mean vote differs from the best single answer by {free} in AUROC, and by {fair} at "
        "equal yes rates. "
    )
    if not pairs.n_disagreements:
        return text + "No two models ever disagree about whether they know."
    more = with_interval(pairs.pooled_difference, pairs.pooled_difference_interval, 3, signed=True)
    return text + (
        "Where one model says yes and another no, the first is right more often by "
        f"{more}; the shared score foresees {signed(pairs.pooled_expected, 3)}, which leaves "
        f"{with_interval(pairs.pooled_excess, pairs.pooled_excess_interval, 3, signed=True)} "
        f"({pairs.n_disagreements:,} disagreements on {pairs.n_questions_split:,} questions)."
    )


def _residuals(study: SharedConfidence) -> str:
    found = study.residuals
    if found.reason:
        return f"Residuals of confidence and correctness cannot be compared: {found.reason}."
    return (
        "Pairs of models that agree in confidence beyond the factor agree in correctness with "
        f"correlation {signed(found.correlation)} ({p_equals(found.p_value)} by permutation, "
        f"{found.n_pairs} pairs)."
    )


def _validity(study: SharedConfidence) -> str:
    screen = study.screen
    flagged = [
        f"{model}: {'; '.join(reasons)}"
        for model, reasons in zip(screen.models, screen.reasons, strict=True)
        if reasons
    ]
    parts = [f"{int(screen.usable.sum())} of {len(screen.models)} models usable"]
    parts += [f"flagged {'; '.join(flagged)}"] if flagged else []
    parts += _named("left out of everything", study.dropped)
    parts += _named("left out of the correlations", study.uncorrelated)
    return ". ".join(parts) + "."


def _named(what: str, models: Any) -> list[str]:
    listed = ", ".join(f"{model} ({why})" for model, why in models.items())
    return [f"{what}: {listed}"] if models else []


def _versions(study: SharedConfidence) -> str:
    return ", ".join(f"{name} {version}" for name, version in study.versions.items())


def _count(event: BoolArray) -> int:
    return int(np.sum(event))
