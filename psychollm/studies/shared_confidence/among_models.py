"""Findings across models: yes rates, correctness, and the gain of the vote."""

import numpy as np

from psychollm._base.numbers import count, p_equals, signed, with_interval
from psychollm.calibration.consensus.between_models import BetweenModels, Line
from psychollm.calibration.consensus.ensemble import EnsembleGain
from psychollm.calibration.consensus.pairwise import PairwiseCalibration
from psychollm.estimates.findings import Finding
from psychollm.estimates.verdict import FEWEST, SmallestEffects, outcome


def between_models(between: BetweenModels, level: float, smallest: SmallestEffects) -> Finding:
    """Report whether accurate models say yes more often, and whether yes rates match accuracy."""
    line = between.confidence_on_accuracy
    spearman = with_interval(between.spearman, between.spearman_interval, 3, signed=True)
    enough = between.n >= FEWEST
    return Finding(
        key="between",
        question="Do more accurate models say yes more often?",
        statement=(
            f"Across {between.n} models, {_slope(line)}, "
            f"{_slope(between.accuracy_on_confidence)}, and Spearman's correlation is "
            f"{spearman} ({p_equals(between.spearman_p)}). "
            f"{_equality(between, level)}"
        ),
        explanation=(
            "The test of single models compares each yes rate with the model's accuracy over "
            "questions. The test of the line of equality treats differences between models as "
            "random, so it can be passed even if some models are overconfident and others "
            "underconfident."
        ),
        numbers={
            "slope": line.slope,
            "slope_p": line.p_value,
            "spearman": between.spearman,
            "equal_p": between.equal_p,
            "identity_p": line.identity_p,
        },
        outcome=outcome(between.spearman_interval, smallest=smallest.correlation, enough=enough),
        reason=str(between.reason),
    )


def _equality(between: BetweenModels, level: float) -> str:
    """Report whether yes rates equal accuracy, for every model and on average."""
    p, on_average = between.equal_p, between.confidence_on_accuracy.identity_p
    some = p < 1.0 - level
    text = "No model's yes rate differs significantly from its accuracy"
    text = "Yes rate and accuracy differ in at least one model" if some else text
    if not np.isfinite(on_average):
        return f"{text} ({p_equals(p)})."
    fits = "deviate from" if on_average < 1.0 - level else "are compatible with"
    return (
        f"{text} ({p_equals(p)}); the models {fits} the line of equality ({p_equals(on_average)})."
    )


def _slope(line: Line) -> str:
    return (
        f"the regression slope of {line.outcome} on {line.predictor} is "
        f"{with_interval(line.slope, line.slope_interval, signed=True)} "
        f"({p_equals(line.p_value)})"
    )


def disagreement(pairs: PairwiseCalibration, smallest: SmallestEffects) -> Finding:
    """Report whether the model that says yes is right more often when two models disagree."""
    statement = "No model says yes to a question to which another says no."
    if pairs.n_disagreements:
        ahead = with_interval(
            pairs.pooled_difference, pairs.pooled_difference_interval, 3, signed=True
        )
        left = with_interval(pairs.pooled_excess, pairs.pooled_excess_interval, 3, signed=True)
        statement = (
            f"Models disagree on {count(pairs.n_questions_split)} questions "
            f"({count(pairs.n_disagreements)} disagreements between pairs of models) and agree "
            f"on {count(pairs.n_questions_unanimous)}. When two models disagree, the accuracy of "
            f"the one that says yes minus the accuracy of the other is {ahead}. Without "
            f"self-knowledge, a difference of {signed(pairs.pooled_expected, 3)} is expected "
            f"from the {pairs.control.replace('shared', 'factor')}; the observed difference "
            f"minus the expected one is {left}."
        )
    return Finding(
        key="disagreement",
        question="When models disagree, which is right?",
        statement=statement,
        numbers={
            "difference": pairs.pooled_difference,
            "expected": pairs.pooled_expected,
            "excess": pairs.pooled_excess,
        },
        outcome=outcome(pairs.pooled_excess_interval, smallest=smallest.share),
    )


def ensemble(gain: EnsembleGain, smallest: SmallestEffects) -> Finding:
    """Report the AUROC of the mean vote minus the AUROC of the best single model's answers."""
    free = with_interval(gain.mean_gain, gain.mean_gain_interval, 3, signed=True)
    fair = with_interval(
        gain.mean_gain_at_equal_rate, gain.mean_gain_at_equal_rate_interval, 3, signed=True
    )
    return Finding(
        key="ensemble",
        question="Does the vote of all models predict correctness better than the best single "
        "model?",
        statement=(
            "As a predictor of a model's correctness, the mean vote of all models differs from "
            f"the best single answer by {free} in AUROC; at equal yes rates, by {fair}."
        ),
        explanation=(
            "The best single model is selected on one half of the questions and evaluated on the "
            "other half. The mean vote has more distinct values than a single answer, which may "
            "explain much of the gain. For a fair comparison, the vote is dichotomised at the "
            "single model's yes rate."
        ),
        numbers={"gain": gain.mean_gain, "gain_at_equal_rate": gain.mean_gain_at_equal_rate},
        outcome=outcome(gain.mean_gain_at_equal_rate_interval, smallest=smallest.auroc),
    )
