"""Nineteen models asked whether they can answer: what simulations say of the figures."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import stdtrit

import psychollm as psy
from psychollm.calibration import between_models, f_beta
from psychollm.nulls import one_factor_null, permutation_null
from psychollm.studies import SteeredAnswers, steering_match
from validation.ledger.claim import Claim, beyond, inside, shown

TITLE = "Metacognition, shared and shallow"
SOURCE = "Moran and others, pareto.ai/blog/llm-metacognition-shared-and-shallow"
MODELS, QUESTIONS, TABLES = 19, 200, 40
_TESTED = 20  # tables
RULE = "add_half"  # half a question in each empty cell, as R's psych has it


def claims(data: Path) -> Iterator[Claim]:
    """Simulate what one factor, or nothing, would show; then look at real answers."""
    tables = [_one_factor(seed) for seed in range(TABLES)]
    spectra = [psy.spectrum(psy.tetrachoric(one, empty_cells=RULE)) for one in tables]
    parabola = [
        float(
            permutation_null(
                one, statistic="quadratic_r2", empty_cells=RULE, n_null=1, rng=0
            ).observed
        )
        for one in tables
    ]
    default = np.mean([psy.spectrum(psy.tetrachoric(one)).shares[:2] for one in tables], axis=0)
    alarms = [
        one_factor_null(one, statistic="shares", n_null=99, rng=0).p_value[1] <= 0.05
        for one in tables[:_TESTED]
    ]
    figures = {
        "first factor": (0.55, [one.shares[0] for one in spectra]),
        "second factor": (0.30, [one.shares[1] for one in spectra]),
        "parabola R²": (0.95, parabola),
    }
    inner = {name: np.percentile(values, [2.5, 97.5]) for name, (_, values) in figures.items()}
    yield Claim(
        headline="First factor 55 %, second 30 %; loadings follow a parabola in thresholds",
        published="55 %, 30 %, R² .95",
        found="; ".join(
            f"{name} {shown(np.mean(values), inner[name])}"
            for name, (_, values) in figures.items()
        ),
        outcome="reproduced"
        if all(inside(told, inner[name]) == "reproduced" for name, (told, _) in figures.items())
        else "not reproduced",
        verdict=f"{TABLES} tables with one factor, {QUESTIONS} questions and yes rates of 1 to "
        "99 % were simulated. Adding half a question to empty cells produces the pattern without "
        "a second factor. If margins are kept, the first two factors explain "
        f"{default[0]:.2f} and {default[1]:.2f} of the variance. "
        "Tested against one factor with the same margins, a second factor is significant in "
        f"{sum(alarms)} of {_TESTED} tables.",
    )
    permuted = [
        permutation_null(one, statistic="shares", empty_cells=RULE, n_null=5, rng=0).draws[:, 1]
        for one in tables
    ]
    bounds = np.percentile(permuted, [2.5, 97.5])
    yield Claim(
        headline="Permuted answers show the same second factor",
        published="25 %",
        found=f"{shown(np.mean(permuted), bounds)} in permutations of these tables",
        outcome=inside(0.25, bounds),
        verdict="Permuted tables have fewer empty cells than tables with a common factor, and so "
        "a smaller artefact. The appropriate null is one factor with the same margins.",
    )
    right, keep = (
        pd.read_csv(data / f"cacioli_battery20_{one}.csv.gz", index_col="model")
        for one in ("correct", "keep")
    )
    sweep = f_beta(keep, right, betas=[1.0], rng=0)
    beaten = int((sweep.beats_all_yes[:, 0] > 0.975).sum())
    best = float(np.max(sweep.value[:, 0] - sweep.all_yes[:, 0]))
    yield Claim(
        headline="F1 of .6 to .8: models predict their own success",
        published="F1 .6 to .8",
        found=f"{beaten} of {len(sweep.labels)} models of the battery exceed the F1 of always-yes",
        outcome="inconclusive" if beaten else "no evidence",
        verdict=f"Always answering yes has an F1 of .60 to .80 at accuracies of .43 to .67, so "
        f"the figure is uninformative. In the battery the largest advantage over "
        f"always answering yes is {best:.3f}.",
    )
    half = float(stdtrit(MODELS - 2, 0.975) * 0.097 / stdtrit(MODELS - 2, 0.75))
    line = between_models(keep, right, rng=0).confidence_on_accuracy
    published = (0.097 - half, 0.097 + half)
    yield Claim(
        headline="Between models, confidence and accuracy are nearly unrelated",
        published="slope .097, p .5",
        found=f"{shown(0.097, published)} from the published slope and p; battery "
        f"{shown(line.slope, line.slope_interval)}",
        outcome=beyond(line.slope_interval)
        if line.slope_interval[0] > published[1]
        else "inconclusive",
        verdict="A non-significant slope does not establish independence: nineteen points do not "
        "exclude slopes up to a third. The slope in the battery depends on a few weak models.",
    )
    yield _steering()


def _one_factor(seed: int) -> psy.Responses:
    """Return a table with one factor in which no model answers alike throughout."""
    rng = np.random.default_rng(seed)
    while True:
        table = psy.simulate_factor(
            loadings=rng.uniform(0.75, 0.97, MODELS),
            thresholds=rng.permutation(np.linspace(-2.33, 2.33, MODELS)),
            n_questions=QUESTIONS,
            rng=rng,
        ).responses
        if (np.ptp(table.values, axis=1) > 0).all():
            return table


def _steering() -> Claim:
    """Match a steered model that knows nothing to models with one factor."""
    strengths = np.linspace(-1.0, 1.0, 21)
    squares, agreement, kappa = [], [], []
    for seed in range(TABLES):
        rng = np.random.default_rng(seed)
        targets = _one_factor(seed)
        odds = 2.0 * rng.normal(size=QUESTIONS) + strengths[:, None] * rng.normal(4, 1, QUESTIONS)
        match = steering_match(
            SteeredAnswers.from_array(
                odds, strengths=strengths, scale="log_odds", questions=list(targets.questions)
            ),
            targets, steps=2, n_null=19, bootstrap=9, rng=rng,
        )  # fmt: skip
        heads = match.headlines
        squares.append(heads["r_squared"])
        agreement.append(heads["agreement"])
        kappa.append(heads["held_out_kappa"])
    bounds = [np.percentile(one, [2.5, 97.5]) for one in (squares, agreement)]
    return Claim(
        headline="Steering one direction reproduces every model: R² of strengths on thresholds",
        published="R² .78, agreement 80 %",
        found=f"R² {shown(np.mean(squares), bounds[0])}, agreement "
        f"{shown(np.mean(agreement), bounds[1])} with an uninformative direction",
        held_out=f"kappa {np.mean(kappa):.2f} on held-out questions",
        outcome="no evidence" if bounds[0][1] >= 0.78 and bounds[1][1] >= 0.80 else "inconclusive",
        verdict=f"In {TABLES} simulated tables of targets, a steered model with unrelated answers "
        "reaches both figures.",
    )
