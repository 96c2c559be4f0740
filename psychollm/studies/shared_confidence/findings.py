"""What `shared_confidence` found, a finding per question asked of the data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.numbers import (
    count,
    extent,
    number,
    p_equals,
    p_value,
    percent,
    signed,
    with_interval,
)
from psychollm.estimates.findings import VERDICT, Finding, Findings, sentence
from psychollm.estimates.verdict import (
    Outcome,
    SmallestEffects,
    Verdicts,
    counted,
    names_of,
    verdicts,
)
from psychollm.studies.dimensionality.verdict import verdict as factor_verdict

if TYPE_CHECKING:
    from psychollm.calibration.consensus.between_models import Line
    from psychollm.studies.dimensionality.study import Dimensionality
    from psychollm.studies.shared_confidence.study import SharedConfidence

STRONGEST = 4  # models whose private correlation is told


def findings(study: SharedConfidence, smallest: SmallestEffects) -> Findings:
    """Return the verdict, then the questions in the order of the report."""
    return Findings(
        head=_head(study),
        items=(
            _verdict(study, smallest),
            _structure(study, smallest),
            _thresholds(study),
            _own(study, smallest),
            _agreement(study, smallest),
            _risk(study),
            _between(study),
            _disagreement(study),
            _ensemble(study),
            _remainder(study),
            _validity(study),
            _repeat(study),
        ),
    )


def _head(study: SharedConfidence) -> str:
    simulated = "SIMULATED DATA. " if study.simulated else ""
    return (
        f"{simulated}Confidence and correctness of {len(study.labels)} models on "
        f"{count(study.n_questions)} questions; intervals {percent(study.level)}"
    )


def verdict(study: SharedConfidence, smallest: SmallestEffects) -> str:
    """Say whether confidence is shared, and whether it is more than that."""
    dimensions, private = study.dimensionality, private_verdicts(study, smallest)
    second, knows = dimensions.second_factor(smallest=smallest), private.which(Outcome.ABOVE)
    whose = f"{len(knows)} models" if len(knows) > 3 else " and ".join(knows)
    if dimensions.n_factors == 0:
        shown = {Outcome.SMALL: "that matters"}
        what = shown.get(dimensions.shared_factor(smallest=smallest), "is shown")
        return f"no shared signal {what} in {count(study.n_questions)} questions"
    shared = {
        Outcome.ABOVE: "more than one shared signal",
        Outcome.SMALL: "one shared signal",
        Outcome.OPEN: "one shared signal, and too few questions to rule out a second",
    }[second]
    if second is not Outcome.ABOVE and dimensions.n_factors == 2:
        shared = "one shared signal and a little beside it"
    if second is Outcome.ABOVE and knows:
        return (
            f"{shared}; the confidence of {whose} goes with correctness beyond the first, "
            "which may be the second signal or the model's own knowledge"
        )
    if knows:
        return f"{shared}; beyond it the confidence of {whose} knows its own correctness"
    return f"{shared}; {beyond(private, smallest)}"


def _verdict(study: SharedConfidence, smallest: SmallestEffects) -> Finding:
    known = private_verdicts(study, smallest).count(Outcome.ABOVE)
    return Finding(
        key=VERDICT,
        question="Verdict.",
        statement=sentence(verdict(study, smallest)),
        numbers={"n_factors": study.dimensionality.n_factors, "models_that_know": known},
    )


def beyond(private: Verdicts, smallest: SmallestEffects) -> str:
    """Say what confidence knows beyond the shared factor, in how many models."""
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
    rejected = [bool(p <= 1.0 - study.level) for p in private.p_adjusted]
    return verdicts(private.correlation, smallest=smallest.correlation, rejected=rejected)


def _structure(study: SharedConfidence, smallest: SmallestEffects) -> Finding:
    dimensions = study.dimensionality
    none, one, share = (
        dimensions.shared_test,
        dimensions.one_factor_test,
        dimensions.second_share,
    )
    middle, top = np.quantile(share.draws, [0.5, 0.95])
    return Finding(
        key="structure",
        question="One signal or several?",
        statement=(
            f"{sentence(factor_verdict(dimensions.evidence, smallest))} Without any rule for "
            f"empty cells, no shared factor is {_rejected(none.p_value, dimensions.alpha)} "
            f"({p_equals(none.p_value)} ± {p_value(none.p_value_se)}), and one factor is "
            f"{_rejected(one.p_value, dimensions.alpha)} ({p_equals(one.p_value)} ± "
            f"{p_value(one.p_value_se)}). A second factor would take {percent(share.observed, 1)} "
            f"of the latent variance; chance gives {percent(middle, 1)} where there is one "
            f"factor, and less than {percent(top, 1)} in 95 of 100 tables."
        ),
        explanation=_plain_spectrum(dimensions),
        numbers={
            "n_factors": dimensions.n_factors,
            "p_no_factor": none.p_value,
            "p_one_factor": one.p_value,
            "second_share": share.observed,
            "second_share_chance": middle,
        },
        outcome=dimensions.second_factor(smallest=smallest),
    )


def _plain_spectrum(dimensions: Dimensionality) -> str:
    plain = dimensions.spectrum
    low, high = np.nanquantile(plain.quadratic_r2.draws, [0.05, 0.95])
    bend, p_bend = float(plain.quadratic_r2.observed), float(plain.quadratic_r2.p_value)
    pairs = len(dimensions.labels) * (len(dimensions.labels) - 1) // 2
    return (
        "In the plain spectrum of tetrachoric correlations under the rule "
        f"{plain.correlation.empty_cells!r}, the first component takes {percent(plain.shares[0])} "
        f"and the second {percent(plain.shares[1])}. {count(plain.n_empty)} of {count(pairs)} "
        "pairs of models have an empty cell, whose correlation the rule supplies. Loadings on the "
        "first component follow a quadratic curve in the threshold with R2 = "
        f"{number(bend)}; data with one factor and these thresholds give "
        f"{number(low)} to {number(high)} ({p_equals(p_bend)}). The second "
        f"component's loadings have a congruence of {number(plain.congruence)} with those that "
        f"one factor produces (single one-factor replicates: {number(plain.null_congruence)})."
    )


def _rejected(p: float, alpha: float) -> str:
    return "rejected" if p <= alpha else "compatible with the answers"


def _thresholds(study: SharedConfidence) -> Finding:
    full = study.dimensionality.full_information
    at_bound = [label for label, flag in zip(full.labels, full.at_bound, strict=True) if flag]
    bound = (
        f" The loading of {', '.join(map(str, at_bound))} is at the bound: its answers follow the "
        "shared signal as closely as can be told, and it has no standard error."
        if at_bound
        else ""
    )
    return Finding(
        key="thresholds",
        question="Where does each model put its threshold?",
        statement=(
            f"Thresholds run from {extent(study.thresholds)}, loadings from "
            f"{extent(study.loadings)}; the score of a question is known with reliability "
            f"{number(study.scores.reliability)}.{bound}"
        ),
        explanation=(
            "A model says yes where its view of a question exceeds its threshold, in standard "
            "deviations of that view: low is bold, high is cautious. The loading says how closely "
            "it follows the shared signal."
        ),
        numbers={"reliability": study.scores.reliability},
    )


def _own(study: SharedConfidence, smallest: SmallestEffects) -> Finding:
    own, private = study.individuation, study.private_signal
    row = {name: place for place, name in enumerate(own.average.labels)}
    naive = int((own.p_adjusted <= 1.0 - study.level).sum())
    tested = int(np.isfinite(private.p_value).sum())
    judged = private_verdicts(study, smallest)
    return Finding(
        key="own",
        question="Does a model know something that the shared signal does not?",
        statement=(
            "For a model's correctness the shared score, made without the model, has a mean AUROC "
            f"of {own.average.text(row['shared'], 3)}, its own answer "
            f"{own.average.text(row['own'], 3)}; at equal yes rates, the fair comparison, the own "
            f"answer differs by {own.average.text(row['own_minus_cut'], 3, signed=True)}. Own "
            f"answers add to the shared score in {naive} of {tested} models if that score is "
            f"taken as exact; with its error allowed for, {beyond(judged, smallest)}. "
            f"{_strongest(study, judged)}The mean "
            "correlation beyond the factor is "
            f"{with_interval(private.mean, private.mean_interval, 3, signed=True)} "
            f"({p_equals(private.mean_p)})."
        ),
        explanation=(
            "The shared score is measured with error, and an answer that carries nothing but the "
            "shared signal still adds to a noisy measurement of it: only knowledge beyond that is "
            "the model's own."
        ),
        numbers={
            "own_minus_shared_at_equal_rate": own.own_minus_cut,
            "private_correlation": private.correlation,
            "mean_private_correlation": private.mean,
            "mean_private_correlation_p": private.mean_p,
        },
        outcome=judged,
    )


def _strongest(study: SharedConfidence, judged: Verdicts) -> str:
    """Name the models whose confidence knows more than the shared factor, strongest first."""
    rho = study.private_signal.correlation
    shown = [row for row, one in enumerate(judged.outcomes) if one.shown]
    shown.sort(key=lambda row: -abs(rho.value[row]))
    named = [f"{study.labels[row]} {rho.text(row, 3, signed=True)}" for row in shown]
    return f"Those are {names_of(named, most=STRONGEST)}. " if named else ""


def _agreement(study: SharedConfidence, smallest: SmallestEffects) -> Finding:
    gap = study.confusion.overconfidence
    often = f"as often as correct, to within {smallest.share:g}"
    words = {
        Outcome.ABOVE: ("says yes too often", "say yes too often"),
        Outcome.BELOW: ("too rarely", "too rarely"),
        Outcome.SMALL: (often, often),
    }
    told = sentence(counted(verdicts(gap, smallest=smallest.share), words))
    return Finding(
        key="agreement",
        question="How well does confidence match correctness?",
        statement=(f"{told} Yes rate minus accuracy runs from {extent(gap.value, signed=True)}."),
        numbers={"overconfidence": gap},
        outcome=verdicts(gap, smallest=smallest.share),
    )


def _risk(study: SharedConfidence) -> Finding:
    sweep = study.f_beta
    one = int(np.abs(np.log(sweep.betas)).argmin())
    clearly = int((sweep.beats_all_yes[:, one] >= 0.5 * (1.0 + study.level)).sum())
    return Finding(
        key="risk",
        question="Whose confidence is best for which purpose?",
        statement=(
            f"F1 of confidence as a classifier of correctness: "
            f"{extent(sweep.value[:, one])}; {clearly} of {len(study.labels)} models are clearly "
            f"above saying yes to everything ({extent(sweep.all_yes[:, one])}). {_leaders(study)}"
        ),
        explanation=(
            "F-beta weighs precision against recall: at low β a wrong yes costs more, at high β a "
            "missed one. A model that knew nothing and always said yes would reach what its "
            "accuracy gives."
        ),
        numbers={"f1": sweep.value[:, one], "f1_always_yes": sweep.all_yes[:, one]},
    )


def _leaders(study: SharedConfidence) -> str:
    sweep = study.f_beta
    if not len(sweep.leaders):
        return "No model is ever right when it says yes."
    names = [str(study.labels[row]) for row in sweep.leaders]
    if len(names) == 1:
        return f"{names[0]} is best for every beta."
    turns = [
        f"{name} from {beta:.2g}" for beta, name in zip(sweep.crossings, names[1:], strict=True)
    ]
    return f"Best by beta: {names[0]}, then {names_of(turns, most=5)}."


def _between(study: SharedConfidence) -> Finding:
    between = study.between
    line = between.confidence_on_accuracy
    spearman = with_interval(between.spearman, between.spearman_interval, 3, signed=True)
    return Finding(
        key="between",
        question="Do models that know more say yes more?",
        statement=(
            f"Over {between.n} models, {_slope(line)}; {_slope(between.accuracy_on_confidence)}; "
            f"Spearman's correlation {spearman} ({p_equals(between.spearman_p)}). That confidence "
            "equals accuracy but for chance (intercept 0, slope 1) has "
            f"{p_equals(line.identity_p)}."
        ),
        numbers={"slope": line.slope, "slope_p": line.p_value, "spearman": between.spearman},
        reason=str(between.reason),
    )


def _slope(line: Line) -> str:
    return (
        f"slope of {line.outcome} on {line.predictor} "
        f"{with_interval(line.slope, line.slope_interval, 3, signed=True)} "
        f"({p_equals(line.p_value)})"
    )


def _disagreement(study: SharedConfidence) -> Finding:
    pairs = study.pairwise
    statement = "No two models ever disagree about whether they know."
    if pairs.n_disagreements:
        ahead = with_interval(
            pairs.pooled_difference, pairs.pooled_difference_interval, 3, signed=True
        )
        left = with_interval(pairs.pooled_excess, pairs.pooled_excess_interval, 3, signed=True)
        statement = (
            f"On {count(pairs.n_questions_split)} questions one model says yes and another no "
            f"({count(pairs.n_disagreements)} disagreements of pairs; all agree on "
            f"{count(pairs.n_questions_unanimous)}). The one that says yes is right more often by "
            f"{ahead}. Without any self-knowledge ({pairs.control}) one would expect "
            f"{signed(pairs.pooled_expected, 3)}, which leaves {left}."
        )
    return Finding(
        key="disagreement",
        question="When models disagree, who is right?",
        statement=statement,
        numbers={
            "difference": pairs.pooled_difference,
            "expected": pairs.pooled_expected,
            "excess": pairs.pooled_excess,
        },
    )


def _ensemble(study: SharedConfidence) -> Finding:
    gain = study.ensemble
    free = with_interval(gain.mean_gain, gain.mean_gain_interval, 3, signed=True)
    fair = with_interval(
        gain.mean_gain_at_equal_rate, gain.mean_gain_at_equal_rate_interval, 3, signed=True
    )
    return Finding(
        key="ensemble",
        question="Do many models know more than the best one?",
        statement=(
            "In predicting a model's correctness, the mean vote of all models differs from the "
            f"best single answer by {free} in AUROC, and by {fair} at equal yes rates."
        ),
        explanation=(
            "The best single model is chosen on other questions. Most of what the vote gains may "
            "be owed to its many levels: the fair comparison cuts it at the single model's yes "
            "rate."
        ),
        numbers={"gain": gain.mean_gain, "gain_at_equal_rate": gain.mean_gain_at_equal_rate},
    )


def _remainder(study: SharedConfidence) -> Finding:
    left = study.residuals
    if left.reason:
        statement = f"Residuals of correctness cannot be compared: {left.reason}."
    else:
        statement = (
            "Pairs of models that agree in confidence more than the factor makes them agree in "
            f"correctness with a correlation of {signed(left.correlation)} "
            f"({p_equals(left.p_value)} by permuting models, {count(left.n_pairs)} pairs)."
        )
    return Finding(
        key="remainder",
        question="What is left after the shared factor?",
        statement=statement,
        explanation=(
            "For every pair of models, the number of questions to which both said yes is compared "
            "with what the shared factor expects."
        ),
        numbers={"correlation": left.correlation, "p": left.p_value},
        reason=str(left.reason),
    )


def _validity(study: SharedConfidence) -> Finding:
    screen = study.screen
    flagged = [
        f"{model}: {'; '.join(reasons)}"
        for model, reasons in zip(screen.models, screen.reasons, strict=True)
        if reasons
    ]
    left = [
        f"left out of {what}: " + ", ".join(f"{model} ({why})" for model, why in models.items())
        for what, models in (
            ("everything", study.dropped),
            ("the correlations", study.uncorrelated),
        )
        if models
    ]
    usable = int(screen.usable.sum())
    kept = not study.dropped and usable < len(screen.models)
    return Finding(
        key="validity",
        question="Can the answers be taken at their word?",
        statement=(
            f"{usable} of {len(screen.models)} models are usable; {len(flagged)} flagged."
            + " All flagged models are part of what is found." * kept
        ),
        rows=(*flagged, *left),
        numbers={"usable": usable, "flagged": len(flagged)},
    )


def _repeat(study: SharedConfidence) -> Finding:
    packages = ", ".join(f"{name} {version}" for name, version in study.versions.items())
    return Finding(key="repeat", question="To repeat:", statement=f"{study.call}; {packages}.")
