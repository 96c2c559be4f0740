"""False positive rate of each test if units are asked repeatedly.

Every test of `psychollm.reliability`, `psychollm.studies` and the comparisons of calibration that
accepts repeats is applied to tables without an effect, in two extremes:

* copies: each unit (model or question) has its own reaction to conditions, and repeats of a unit
  are near copies of one another. A test that counts repeats as units rejects far too often.
* independent: units have the same reaction, and repeats differ as much as units do. A test that
  discards repeats is valid here but loses power; a test that uses the wrong number of repeats is
  not valid.

    python -m validation.replication_rates [--n 1000] [--seed 1] [--only crossed] [--seconds 600]

The output has one row per test, with its unit of replication and its rejection rate at the 5 %
level in both extremes, and with the proportion of tables in which it was defined if that is below
one. Rows called "rows as units" are not tests of the library; they show the effect of the extremes
on a test that counts repeats. Takes two hours and a quarter of CPU, extrapolated from one to eight
tables of each design.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from scipy.special import expit

from psychollm.calibration.scores.proper_scores import brier
from psychollm.data.sampled import SampledAnswers
from psychollm.data.simulate_study import simulate_study
from psychollm.estimates.comparisons import compare_all
from psychollm.estimates.repeated_share import repeated_difference
from psychollm.factor.one_factor.residuals import pair_residuals
from psychollm.instruments.revision.rates import informativeness
from psychollm.reliability.components.intraclass import intraclass
from psychollm.reliability.contrasts.conditions import friedman, kruskal_wallis
from psychollm.reliability.contrasts.mixed_model import mixed_model
from psychollm.reliability.contrasts.pairwise_conditions import pairwise_conditions
from psychollm.reliability.means.clustered import mean_score
from psychollm.reliability.means.score_differences import mcnemar, score_differences
from psychollm.reliability.means.set_difference import set_difference
from psychollm.reliability.raters.agreement import agreement
from psychollm.reliability.raters.kappa import cohen_kappa
from psychollm.reliability.raters.rate_contrast import rate_contrast
from psychollm.reliability.raters.retest import retest
from psychollm.studies.arms.study import compare_arms
from psychollm.studies.attempts.study import attempts
from psychollm.studies.benchmark_agreement.study import benchmark_agreement
from psychollm.studies.comparison.study import compare
from psychollm.studies.difficulty.study import difficulty
from psychollm.studies.dimensionality.streamed import shared_signals
from psychollm.studies.dimensionality.study import dimensionality
from psychollm.studies.evaluation_card.study import evaluation_card
from psychollm.studies.groups.study import calibration_by, compare_by
from psychollm.studies.inference_boundary.monitoring_link import rank_link
from psychollm.studies.inference_boundary.study import inference_boundary
from psychollm.studies.judged_scores.study import judged_scores
from psychollm.studies.metacognitive_skill.study import metacognitive_skill
from psychollm.studies.question_audit.study import question_audit
from psychollm.studies.question_screen.study import question_screen
from psychollm.studies.rater_severity.study import rater_severity
from psychollm.studies.recency_break.study import recency_break
from psychollm.studies.self_efficacy.study import self_efficacy
from psychollm.studies.semantic_calibration.mechanism import semantic_mechanism
from psychollm.studies.semantic_calibration.study import semantic_calibration
from psychollm.studies.shared_confidence.by_groups import shared_confidence_by
from psychollm.studies.shared_confidence.private_signal import private_signal
from psychollm.studies.shared_confidence.residual_structure import residual_structure
from psychollm.studies.shared_confidence.study import shared_confidence
from psychollm.studies.steering_match.match import steering_match
from psychollm.studies.steering_match.steered_answers import SteeredAnswers
from psychollm.studies.votes.study import bradley_terry

MODELS, CONDITIONS, REPEATS = 10, 4, 3
QUESTIONS, RUNS = 60, 4
DRAWS = 300  # resamples, where a test needs them

Rates = Iterator[tuple[str, str, float]]  # test, unit of replication, whether it rejects


@dataclass(frozen=True)
class Extreme:
    """How repeats of a unit relate to each other."""

    name: str
    reaction: float  # SD of a unit's reaction to a condition, in addition to its level
    noise: float  # SD of repeats


COPIES, INDEPENDENT = Extreme("copies", 1.0, 0.05), Extreme("independent", 0.0, 1.0)


def rejected(interval: Any, null: float = 0.0) -> float:
    """Return 1 where an interval excludes a value, 0 where it does not, NaN without one."""
    low, high = interval
    return float(low > null or high < null) if np.isfinite(low + high) else np.nan


def below(p_value: float) -> float:
    """Return 1 for a p-value of at most .05, 0 for a larger one, NaN for none."""
    return float(p_value <= 0.05) if np.isfinite(p_value) else np.nan


# --- Scores of models under conditions -----------------------------------------------------------


def conditions(extreme: Extreme, rng: np.random.Generator, *, repeats: Any, within: bool) -> Any:
    """Return scores, conditions and models; `repeats` per cell, or their smallest and largest."""
    low, high = repeats
    rows = []
    for model in range(MODELS):
        level = rng.normal()
        for condition in range(CONDITIONS) if within else (model % 2,):
            cell = level + extreme.reaction * rng.normal()
            n = int(rng.integers(low, high + 1))
            values = cell + extreme.noise * rng.normal(size=n)
            rows += [(value, condition, model) for value in values]
    return tuple(np.array(column) for column in zip(*rows, strict=True))


def crossed(extreme: Extreme, rng: np.random.Generator) -> Rates:
    """The same models under four conditions, three times each."""
    rows = conditions(extreme, rng, repeats=(REPEATS, REPEATS), within=True)
    yield from condition_tests(rows, "", rng)
    score, condition, _ = rows
    fit = stats.f_oneway(*(score[condition == c] - _level(rows, c) for c in range(CONDITIONS)))
    yield "analysis of variance, rows as units", "none", below(fit.pvalue)


def _level(rows: Any, condition: int) -> np.ndarray:
    """Return the mean of each row's model."""
    score, which, model = rows
    means = np.bincount(model, score) / np.bincount(model)
    return np.asarray(means[model[which == condition]])


def condition_tests(rows: Any, suffix: str, rng: np.random.Generator) -> Rates:
    """Every test between conditions."""
    score, condition, model = rows
    fit = mixed_model(score, condition, model, bootstrap=199, rng=rng)
    yield f"mixed_model, F{suffix}", "model", below(fit.p_value)
    yield f"mixed_model, F by bootstrap{suffix}", "model", below(fit.bootstrap_p_value)
    yield f"mixed_model, one contrast{suffix}", "model", below(fit.contrast_p[0])
    ranks = friedman(score, condition, model, bootstrap=2, rng=rng)
    yield f"friedman{suffix}", "model", below(ranks.p_value)
    ranks = kruskal_wallis(score, condition, models=model, bootstrap=399, rng=rng)
    yield f"kruskal_wallis, models named{suffix}", "model", below(ranks.p_value)
    pairs = pairwise_conditions(score, condition, models=model)
    yield f"pairwise_conditions, one pair{suffix}", "model", below(pairs.p_value[0])
    yield f"pairwise_conditions, any of six, Holm{suffix}", "model", below(pairs.adjusted.min())


def unequal(extreme: Extreme, rng: np.random.Generator) -> Rates:
    """The same with one to five repeats a cell."""
    yield from condition_tests(
        conditions(extreme, rng, repeats=(1, 5), within=True), "; 1 to 5 repeats", rng
    )


def scattered(extreme: Extreme, rng: np.random.Generator) -> Rates:
    """The same where models react to one condition four times as much as to the others."""
    score, condition, model = conditions(extreme, rng, repeats=(REPEATS, REPEATS), within=True)
    extra = 4.0 * extreme.reaction * rng.normal(size=MODELS)
    rows = (score + np.where(condition == 0, extra[model], 0.0), condition, model)
    yield from condition_tests(rows, "; one condition more variable", rng)


def nested(extreme: Extreme, rng: np.random.Generator) -> Rates:
    """Two kinds of models, each model under one condition only."""
    score, kind, model = conditions(extreme, rng, repeats=(REPEATS, REPEATS), within=False)
    fit = mixed_model(score, kind, model, bootstrap=199, rng=rng)
    yield "mixed_model, F; two kinds of models", "model", below(fit.p_value)
    ranks = kruskal_wallis(score, kind, models=model, bootstrap=99, rng=rng)
    yield "kruskal_wallis, models named; two kinds of models", "model", below(ranks.p_value)


def repeatability(extreme: Extreme, rng: np.random.Generator) -> Rates:
    """Identical models, whose intraclass correlation is zero. Copies have none."""
    if extreme is INDEPENDENT:
        found = intraclass(rng.normal(size=(MODELS, REPEATS)))
        for row, label in enumerate(found.icc.labels):
            if label in {"ICC1", "ICC3"}:
                yield f"intraclass, F of {label}", "model", below(found.p_value[row])


# --- The study of self-efficacy ------------------------------------------------------------------


def efficacy(extreme: Extreme, rng: np.random.Generator) -> Rates:
    """Ratings under two conditions, two modes, before and after two follow-ups."""
    rows = []
    for model in range(MODELS):
        level = 2.5 + 0.5 * rng.normal()
        for condition in ("a", "b"):
            for mode, phrasing in (
                ("all_at_once", ""),
                ("one_by_one", ""),
                ("all_at_once", "sceptical"),
                ("all_at_once", "too_modest"),
            ):
                cell = level + 0.4 * extreme.reaction * rng.normal()
                for repeat in range(REPEATS):
                    items = cell + 0.4 * extreme.noise * rng.normal(size=4)
                    rows.append(
                        {"model": model, "condition": condition, "mode": mode, "repeat": repeat}
                        | {"phrasing": phrasing, "i1": items[0], "i2": items[1], "i3": items[2]}
                    )
    study = self_efficacy(
        pd.DataFrame(rows),
        points=(-9, 9),
        measures={"x": dict(enumerate(rng.normal(size=MODELS)))},
        bootstrap=199,
        rng=int(rng.integers(2**31)),
    )
    effect, change = study.effects["mode"], study.revision.change
    yield "self_efficacy, conditions: F", "model", below(study.mixed.p_value)
    yield "self_efficacy, conditions: Kruskal-Wallis", "model", below(study.kruskal.p_value)
    yield "self_efficacy, mode: F", "model", below(effect.mixed.p_value)
    yield "self_efficacy, mode: interval", "model", rejected(effect.contrasts.interval[0])
    yield "self_efficacy, follow-up: interval", "model", rejected(change.interval[0])
    gap = change.difference("sceptical", "too_modest")
    yield "self_efficacy, follow-ups: difference", "model", below(gap.p_value)
    yield "self_efficacy, link with a measure", "model", below(study.links["x"]["a"].p_value)


# --- Questions in several runs -------------------------------------------------------------------


def passed(extreme: Extreme, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Return scores (..., questions, runs): copies of one draw, or draws of their own."""
    rate = 0.6
    if extreme is COPIES:
        once = rng.random((*shape, QUESTIONS, 1)) < rate
        return np.repeat(once, RUNS, axis=-1).astype(float)
    return (rng.random((*shape, QUESTIONS, RUNS)) < rate).astype(float)


def runs(extreme: Extreme, rng: np.random.Generator) -> Rates:
    """Two models with equal pass rates, on two kinds of questions, in four runs."""
    scores = passed(extreme, rng, (2,))
    stacked = np.moveaxis(scores, 2, 0)  # (runs, models, questions)
    options = {"bootstrap": DRAWS, "rng": rng}
    rate = retest(stacked, **options).rate
    yield "retest, two models: difference", "question", below(rate.difference(0, 1).p_value)
    yield "retest, two models: compare_all", "question", below(compare_all(rate).p_value[0])
    kinds = np.arange(QUESTIONS) % 2
    contrast = rate_contrast(stacked, kinds, {0: 1.0, 1: -1.0}, **options)
    yield "rate_contrast, interval", "question", rejected(contrast.interval[0])
    gap = contrast.difference(0, 1)
    yield "rate_contrast, two models: difference", "question", below(gap.p_value)
    alike = agreement(stacked, **options).krippendorff_alpha
    if extreme is INDEPENDENT:
        yield "agreement, alpha of runs: interval", "question", rejected(alike.interval[0])
        kappa = cohen_kappa(stacked[:2], **options)
        yield "cohen_kappa of two runs: interval", "question", rejected(kappa.interval[0])
        yield (
            "agreement, two models: difference",
            "question",
            below(compare_all(alike).p_value[0]),
        )
    flat = scores.reshape(2, -1)
    question = np.repeat(np.arange(QUESTIONS), RUNS)
    means = score_differences(scores.mean(axis=2))
    yield "score_differences of means of runs", "question", below(means.p_value[0])
    rows = score_differences(flat, clusters=question)
    yield "score_differences, questions as clusters", "question", below(rows.p_value[0])
    alone = score_differences(flat)
    yield "score_differences, rows as units", "none", below(alone.p_value[0])
    sets = set_difference(
        flat,
        np.flatnonzero(np.repeat(kinds, RUNS) == 0),
        np.flatnonzero(np.repeat(kinds, RUNS) == 1),
        clusters=question,
    )
    yield "set_difference, questions as clusters", "question", rejected(sets.interval[0])
    stated = rng.choice([0.4, 0.6, 0.8], (2, QUESTIONS, 1 if extreme is COPIES else RUNS))
    stated = np.broadcast_to(stated, scores.shape).reshape(2, -1)
    error = brier(stated, flat, clusters=question, bootstrap=DRAWS, rng=rng)
    yield (
        "brier, two models, questions as clusters: difference",
        "question",
        below(error.difference(0, 1).p_value),
    )
    yield (
        "brier, two models, questions as clusters: compare_all",
        "question",
        below(compare_all(error).p_value[0]),
    )


def discordant(extreme: Extreme, rng: np.random.Generator) -> Rates:
    """Two models with equal pass rates, on questions that one of them solves in a single run."""
    first, second = passed(extreme, rng, (2,))[:, :, 0]
    found = mcnemar((first > second).sum(), (second > first).sum())
    for name, p_value in (("asymptotic", found.p_value), ("exact", found.exact_p_value)):
        yield f"mcnemar, one run, {name}", "question", below(float(p_value))


def compared(extreme: Extreme, rng: np.random.Generator) -> Rates:
    """Six models with equal pass rates, in four runs."""
    found = compare(passed(extreme, rng, (6,)), n_draws=2000, rng=rng)
    yield "compare, six models: any pair", "question", below(found.differences.adjusted.min())
    told_apart = (found.rank_interval != [1, 6]).any()
    yield "compare, six models: any rank", "question", float(told_apart)


def attempted(extreme: Extreme, rng: np.random.Generator) -> Rates:
    """Six models with equal pass rates, in four attempts."""
    found = attempts(passed(extreme, rng, (6,)), k=(1, 3), n_draws=2000, rng=rng)
    for name, pairs in found.differences.items():
        yield f"attempts, six models: any pair in {name}", "question", below(pairs.adjusted.min())


def judged(extreme: Extreme, rng: np.random.Generator) -> Rates:
    """Five models with equal human ratings, and a judge that is wrong in one answer of ten."""
    if extreme is COPIES:
        return
    truth = rng.permuted(np.tile(np.arange(300) % 3 > 0, (5, 1)), axis=1)
    verdicts = truth != (rng.random(truth.shape) < 0.1)
    people = np.where(rng.permutation(300) < 60, truth, np.nan)
    found = judged_scores(verdicts.astype(float), people, n_draws=2000, rng=rng)
    yield "judged_scores, five models: any pair", "answer", below(found.differences.adjusted.min())


def raters(extreme: Extreme, rng: np.random.Generator) -> Rates:
    """Five raters of equal severity rate things that differ in one quality."""
    if extreme is COPIES:
        return
    quality = rng.normal(size=(3 * QUESTIONS, 1))
    table = (rng.random((3 * QUESTIONS, 5)) < expit(1.5 * quality)).astype(int)
    found = rater_severity(table, n_draws=1000, rng=rng)
    yield "rater_severity, five raters: any from the average", "thing", below(found.adjusted.min())


def voted(extreme: Extreme, rng: np.random.Generator) -> Rates:
    """Six models of equal strength, voted on by twelve people who differ in side and ties."""
    if extreme is COPIES:
        return
    left, voter = rng.integers(0, 6, 800), rng.integers(0, 12, 800)
    side, tie = rng.normal(0.0, 0.4, 12)[voter], rng.normal(0.0, 0.8, 12)[voter]
    chance = np.stack([np.exp(0.5 * side), np.exp(tie), np.exp(-0.5 * side)])
    place = (rng.random(800) > (chance / chance.sum(axis=0)).cumsum(axis=0)).sum(axis=0)
    found = bradley_terry(
        None,
        left=left,
        right=(left + rng.integers(1, 6, 800)) % 6,
        winner=np.array(["left", "tie", "right"])[np.minimum(place, 2)],
        voter=voter,
        n_draws=1000,
        rng=rng,
    )
    yield "bradley_terry, six models: any pair", "vote", below(found.differences.adjusted.min())


def published(extreme: Extreme, rng: np.random.Generator) -> Rates:
    """Eight models that saw no question, in four runs; half of the questions are newer."""
    hard = rng.normal(size=(QUESTIONS, 1)) + (np.arange(QUESTIONS) >= QUESTIONS // 2)[:, None]
    odds = np.linspace(-1.0, 1.0, 8)[:, None, None] - hard
    n = 1 if extreme is COPIES else RUNS
    tries = rng.random((8, QUESTIONS, n)) < expit(odds)
    scores = np.repeat(tries, RUNS // n, axis=-1).astype(float)
    days = np.datetime64("2024-01-01") + np.arange(QUESTIONS).astype("timedelta64[D]")
    found = recency_break(
        scores, published=days, cutoff=str(days[QUESTIONS // 2 - 1]), n_null=199, rng=rng
    )
    yield "recency_break, eight models: any", "question", below(float(np.nanmin(found.adjusted)))


def alike(extreme: Extreme, rng: np.random.Generator) -> Rates:
    """Ten models of the same abilities in two benchmarks, at one answer to a question."""
    if extreme is COPIES:
        return
    able = rng.normal(size=(10, 1))
    tables = [rng.random((10, 3 * QUESTIONS)) < expit(able) for _ in range(2)]
    found = benchmark_agreement(*tables, rng=rng)
    yield "benchmark_agreement, a true correlation of one", "model", below(found.p_one)


def arms(extreme: Extreme, rng: np.random.Generator) -> Rates:
    """Three models in two arms whose samples agree equally with the right answer."""
    chance = rng.uniform(0.5, 1.0, QUESTIONS)[:, None]
    gold = (rng.random(QUESTIONS) < chance[:, 0]).astype(int)

    def sampled() -> SampledAnswers:
        shape = (QUESTIONS, 1 if extreme is COPIES else 8)
        drawn = (rng.random(shape) < chance).astype(int)
        return SampledAnswers.from_array([np.tile(drawn, (1, 8 // shape[1]))], gold=gold)

    scores = {arm: {model: sampled() for model in "abc"} for arm in ("first", "second")}
    study = compare_arms(scores, "semantic_sampling", bootstrap=DRAWS, rng=rng)
    for measure, contrasts in study.contrasts.items():
        yield f"compare_arms, {measure}", "question", below(contrasts[0].p_value)


def screened(extreme: Extreme, rng: np.random.Generator) -> Rates:
    """Sound questions, answered by many models in four runs; curves differ in slope."""
    for k in (10, 30):
        ability, slope = rng.normal(size=(k, 1, 1)), np.exp(0.5 * rng.normal(size=(QUESTIONS, 1)))
        chance = expit(slope * (ability - rng.normal(size=(QUESTIONS, 1))))
        once = rng.random((k, QUESTIONS, 1 if extreme is COPIES else RUNS)) < chance
        found = question_screen(np.broadcast_to(once, (k, QUESTIONS, RUNS)).astype(float))
        yield f"question_screen, {k} models: any against", "question", float(found.against.any())
        yield f"question_screen, {k} models: any pair", "question", float(len(found.pairs) > 0)
        audit = question_audit(once[:, :, 0].astype(int), rng=rng)
        yield f"question_audit, {k} models: any key", "question", float(len(audit.flagged()) > 0)
    card = evaluation_card(once.astype(float), n_draws=DRAWS, rng=rng)
    any_against = float(card.screen is not None and card.screen.against.any())
    yield "evaluation_card, 30 models: any against", "question", any_against


def grouped(extreme: Extreme, rng: np.random.Generator) -> Rates:
    """Models with equal pass rates in two domains, and two families with equal pass rates."""
    scores, domain = passed(extreme, rng, (4,)), np.arange(QUESTIONS) % 2
    options = {"bootstrap": DRAWS, "rng": rng}
    found = compare_by(scores, domain, **options).differences
    yield "compare_by, two domains, four models: any", "question", below(found.adjusted.min())
    found = compare_by(scores, [0, 0, 1, 1], of="models", **options).differences
    yield "compare_by, two families", "question", below(found.adjusted[0])
    stated = rng.choice([0.4, 0.6, 0.8], (4, QUESTIONS))
    said, right = stated, scores.mean(axis=2) > 0.5
    options = {**options, "metrics": ["brier"]}
    found = calibration_by(said, right, domain, **options).differences
    yield "calibration_by, two domains, four models: any", "question", below(found.adjusted.min())
    found = calibration_by(said, right, [0, 0, 1, 1], of="models", **options).differences
    yield "calibration_by, two families", "question", below(found.adjusted[0])


def long(scores: np.ndarray) -> pd.DataFrame:
    """Return scores (models, questions, runs) as a long table, questions of two types in turn."""
    model, item, run = (part.ravel() for part in np.indices(scores.shape))
    return pd.DataFrame(
        {"model": model, "item": item, "run": run, "score": scores.ravel(), "response": "x"}
    ).assign(type=np.where(item % 2, "A", "C"))


def boundary(extreme: Extreme, rng: np.random.Generator) -> Rates:
    """Two models with equal pass rates on open and on answerable questions."""
    study = inference_boundary(
        long(passed(extreme, rng, (2,))),
        thinking=[(1, 0)],
        bootstrap=DRAWS,
        rng=int(rng.integers(2**31)),
    )
    inverted = study.certainty_inversion.interval[0]
    yield "inference_boundary, certainty inversion", "question", rejected(inverted)
    gap = study.thinking[0].difference
    yield "inference_boundary, thinking: interval", "question", rejected(gap.interval)


def skill(extreme: Extreme, rng: np.random.Generator) -> Rates:
    """Behaviours independent of right answers, equal in both arms and structures."""
    right, shown, again = (passed(extreme, rng, (2,)) for _ in range(3))
    parts = []
    for arm, codes, correct in (
        ("own", shown, right),
        ("led", again, passed(extreme, rng, (2,))),
    ):
        model, item, run = (part.ravel() for part in np.indices(codes.shape))
        parts.append(
            pd.DataFrame({"model": model, "item": item, "run": run, "arm": arm}).assign(
                category="evaluation",
                code=2.0 * codes.ravel(),
                correct=correct.ravel(),
                spans=codes.ravel(),
                tokens=100,
            )
        )
    study = metacognitive_skill(
        pd.concat(parts),
        baseline="own",
        prompted="led",
        bootstrap=DRAWS,
        rng=int(rng.integers(2**31)),
    )
    gap = study.deployment["evaluation"].gap
    yield "metacognitive_skill, gap with right answers", "question", rejected(gap.interval[0])
    effect = study.scaffolding.effect
    yield "metacognitive_skill, prompting: accuracy", "question", rejected(effect.interval[0])
    more = study.prompting["evaluation"]
    yield "metacognitive_skill, prompting: behaviour", "question", rejected(more.interval[0])
    density = compare_all(study.density["evaluation"])
    yield "metacognitive_skill, two models: density", "question", below(density.p_value[0])


def revising(extreme: Extreme, rng: np.random.Generator) -> Rates:
    """Second answers that are right as often as first ones, and uninformative reviews."""
    first, second, faulted = (passed(extreme, rng, ()).ravel() for _ in range(3))
    units = np.repeat(np.arange(QUESTIONS), RUNS)
    gap = repeated_difference("gain", {"m": (first, second)}, units=units)
    yield "revision, difference in accuracy", "question", rejected(gap.interval[0])
    known = informativeness(1.0 - first, faulted, tuple(map(str, units)))
    yield "revision, informativeness of reviews", "question", rejected(known.interval)


def texts(extreme: Extreme, rng: np.random.Generator) -> Rates:
    """Scores of questions that do not depend on their text; each template is worded four times."""
    words = [" ".join(rng.choice(list("abcdefghijkl"), 6)) for _ in range(40)]
    asked, template = np.repeat(words, 3), np.repeat(np.arange(40), 3)
    scores = rng.normal(size=40)[template] * extreme.reaction + extreme.noise * rng.normal(
        size=120
    )
    found = difficulty(
        asked.tolist(),
        scores,
        groups=template.tolist(),
        bootstrap=DRAWS,
        rng=int(rng.integers(2**31)),
    )
    yield (
        "difficulty, R2 above zero",
        "group of questions",
        float(found.r_squared.interval[0, 0] > 0.0),
    )


def averages(extreme: Extreme, rng: np.random.Generator) -> Rates:
    """Ten models under three conditions without an effect: differences on shared resamples."""
    cells = rng.normal(size=(MODELS, 1)) + extreme.reaction * rng.normal(size=(MODELS, 3))
    repeats = cells[..., None] + extreme.noise * rng.normal(size=(MODELS, 3, REPEATS))
    mean = mean_score(repeats.mean(axis=2).T, bootstrap=2 * DRAWS, rng=rng)
    yield "Estimate.difference, over ten models", "model", below(mean.difference(0, 1).p_value)
    pairs = compare_all(mean)
    yield "compare_all, over ten models: one pair", "model", below(pairs.p_value[0])
    yield "compare_all, over ten models: any, Holm", "model", below(pairs.adjusted.min())
    largest = compare_all(mean, adjustment="max_t").adjusted.min()
    yield "compare_all, over ten models: any, max_t", "model", below(largest)


def linked(extreme: Extreme, rng: np.random.Generator) -> Rates:
    """Models whose rates on open questions are independent of an external score.

    The links of `self_efficacy` and `semantic_mechanism` are tested by the same function.
    """
    rates = rng.uniform(0.3, 0.7, (MODELS, 1, 1))
    asked = (MODELS, QUESTIONS, 1 if extreme is COPIES else RUNS)
    rate = (rng.random(asked) < rates).mean(axis=(1, 2))
    found = rank_link(rng.normal(size=MODELS), rate, tuple(range(MODELS)), n_null=399, rng=rng)
    yield "monitoring_link", "model", below(found.p_value)


def meanings(extreme: Extreme, rng: np.random.Generator) -> Rates:
    """Two arms, and six, whose right answer is one more of their samples."""
    # In copies, the samples of a question are nearly all alike.
    spread = np.full(4, 0.1 if extreme is COPIES else 10.0)
    chances = rng.dirichlet(spread, QUESTIONS)
    n_arms = 6
    steps = np.cumsum(chances, axis=1)[:, None]
    drawn = (rng.random((n_arms, QUESTIONS, 8, 1)) > steps).sum(axis=3)
    gold = (rng.random((QUESTIONS, 1)) > steps[:, 0]).sum(axis=1)
    options = {"splits": 1, "rng": int(rng.integers(2**31))}
    two = SampledAnswers.from_array(drawn[:2], gold=gold)
    study = semantic_calibration(two, n_null=199, bootstrap=DRAWS, **options)
    yield "semantic_calibration, of one arm", "question", below(study.p_value.value[0])
    gap = study.contrasts[0].excess
    yield "semantic_calibration, two arms: excess error", "question", below(gap.p_value)
    gap = study.contrasts[0].accuracy
    yield "semantic_calibration, two arms: accuracy", "question", below(gap.p_value)
    arms = SampledAnswers.from_array(drawn, gold=gold)
    study = semantic_calibration(arms, n_null=19, bootstrap=2, **options)
    blurred = rng.random((n_arms, 1, 1))  # noise of each arm's predictions of its answers
    own = (1.0 - blurred) * chances + blurred / 4.0
    predicted = np.take_along_axis(own, drawn, axis=2)
    found = semantic_mechanism(study, arms, predicted, bootstrap=2, rng=options["rng"])
    yield "semantic_mechanism, link over arms", "arm", below(found.link.p_value)


def factors(extreme: Extreme, rng: np.random.Generator) -> Rates:
    """Six models answer each question once: without a common factor, then with exactly one."""
    if extreme is COPIES:  # these take one answer to a question
        return
    guessed = (rng.random((6, 5 * QUESTIONS)) < 0.5).astype(np.int64)
    alone = dimensionality(guessed, n_null=99, rng=rng)
    yield "dimensionality, no shared factor", "question", below(alone.shared_test.p_value)
    data = simulate_study(n_models=6, n_questions=5 * QUESTIONS, self_knowledge={}, rng=rng)
    one = dimensionality(data.confidence, n_null=99, rng=rng).one_factor_test
    yield "dimensionality, one factor and no second", "question", below(one.p_value)
    pairs = shared_signals(data.confidence, n_null=99, rng=rng).one_factor_test
    yield "shared_signals, one factor and no second", "question", below(pairs.p_value)


def residuals(extreme: Extreme, rng: np.random.Generator) -> Rates:
    """Eight models with one factor each for confidence and correctness."""
    if extreme is COPIES:
        return
    data = simulate_study(n_models=8, n_questions=5 * QUESTIONS, self_knowledge={}, rng=rng)
    confidence = pair_residuals(data.confidence)
    left = residual_structure(confidence, data.correctness, n_null=199, rng=rng)
    yield "residual_structure", "model", below(left.p_value)


def private(extreme: Extreme, rng: np.random.Generator) -> Rates:
    """Four models whose confidence depends only on the common factor."""
    if extreme is COPIES:
        return
    data = simulate_study(n_models=4, n_questions=3 * QUESTIONS, self_knowledge={}, rng=rng)
    solution = {"loadings": data.truth.loadings, "thresholds": data.truth.thresholds}
    own = private_signal(data.confidence, data.correctness, **solution)
    yield "private_signal, of one model", "question", below(own.p_value[0])
    yield "private_signal, mean of four models", "question", below(own.mean_p)


def shared(extreme: Extreme, rng: np.random.Generator) -> Rates:
    """Six models of this kind, with the factor estimated."""
    if extreme is COPIES:
        return
    data = simulate_study(n_models=6, n_questions=5 * QUESTIONS, self_knowledge={}, rng=rng)
    study = shared_confidence(
        data.confidence, data.correctness, n_null=99, bootstrap=2, rng=int(rng.integers(2**31))
    )
    one, own = study.dimensionality.one_factor_test, study.private_signal
    yield "shared_confidence, one factor and no second", "question", below(one.p_value)
    yield "shared_confidence, own signals: mean of six models", "question", below(own.mean_p)
    yield "shared_confidence, residuals", "model", below(study.residuals.p_value)


def by_groups(extreme: Extreme, rng: np.random.Generator) -> Rates:
    """The same six models, with questions of two groups and one factor over both."""
    if extreme is COPIES:
        return
    data = simulate_study(n_models=6, n_questions=10 * QUESTIONS, self_knowledge={}, rng=rng)
    group = np.repeat(["a", "b"], 5 * QUESTIONS)
    seed = int(rng.integers(2**31))
    study = shared_confidence_by(
        data.confidence, data.correctness, group, n_null=99, bootstrap=2, rng=seed
    )
    if study.common is not None:
        p_value = float(study.common.test.p_value)
        yield "shared_confidence_by, one factor over both", "question", below(p_value)


def steered(extreme: Extreme, rng: np.random.Generator) -> Rates:
    """A sweep and a control that are independent of the answers of five targets."""
    if extreme is COPIES:  # it takes one answer to a question
        return
    strengths = np.linspace(-1.0, 1.0, 7)
    easiness = rng.normal(size=QUESTIONS)
    noise = rng.normal(size=(5, QUESTIONS))
    targets = 0.8 * easiness + 0.6 * noise > np.linspace(-1.0, 1.0, 5)[:, None]
    sweep, control = (
        SteeredAnswers.from_array(
            2.0 * rng.normal(size=QUESTIONS) + 4.0 * strengths[:, None],
            strengths=strengths,
            scale="log_odds",
        )
        for _ in range(2)
    )
    study = steering_match(
        sweep,
        targets.astype(np.int64),
        controls={"random": control},
        steps=2,
        n_splits=2,
        n_null=99,
        bootstrap=99,
        rng=int(rng.integers(2**31)),
    )
    yield "steering_match, held-out kappa", "question", below(study.p_values["held_out_kappa"])
    ahead = study.controls[0].ahead
    yield "steering_match, ahead of a control", "question", below(ahead.p_value)


# Each design has its number of tables per thousand requested; slow designs have fewer.
DESIGNS: dict[Callable[[Extreme, np.random.Generator], Rates], int] = {
    crossed: 1500,
    unequal: 600,
    scattered: 600,
    nested: 1000,
    repeatability: 2000,
    efficacy: 400,
    runs: 600,
    discordant: 5000,
    compared: 1000,
    attempted: 600,
    judged: 400,
    raters: 200,
    published: 400,
    voted: 200,
    alike: 400,
    arms: 400,
    screened: 1000,
    grouped: 1000,
    boundary: 400,
    skill: 600,
    revising: 2000,
    texts: 400,
    averages: 1000,
    linked: 5000,
    meanings: 400,
    factors: 400,
    residuals: 1000,
    private: 400,
    shared: 400,
    by_groups: 400,
    steered: 400,
}


def rates(
    design: Callable[..., Rates], n: int, seed: int, seconds: float
) -> tuple[dict[tuple[str, str], list[str]], int]:
    """Return the rate of each test of a design in both extremes, and of how many tables."""
    found: dict[tuple[str, str], tuple[list[float], list[float]]] = {}
    streams = [np.random.default_rng([seed, place]).spawn(n) for place in (0, 1)]
    end, done = time.monotonic() + seconds, 0
    while done < n and time.monotonic() < end:
        for place, extreme in enumerate((COPIES, INDEPENDENT)):
            for test, unit, hit in design(extreme, streams[place][done]):
                found.setdefault((test, unit), ([], []))[place].append(hit)
        done += 1
    return {key: [_percent(hits) for hits in both] for key, both in found.items()}, done


def _percent(hits: list[float]) -> str:
    known = np.isfinite(hits)
    text = f"{100 * np.nanmean(hits):.1f}" if known.any() else "-"
    return text if known.all() else f"{text} (of {100 * known.mean():.0f} % defined)"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=1000, help="tables per test and extreme, about")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="designs whose name holds this")
    parser.add_argument("--seconds", type=float, default=np.inf, help="at most, for each design")
    given = parser.parse_args()
    print("| test | unit | tables | copies, % | independent, % |", flush=True)
    print("|---|---|---:|---:|---:|", flush=True)
    for design, share in DESIGNS.items():
        if given.only in design.__name__:
            n = max(1, given.n * share // 1000)
            table, done = rates(design, n, given.seed, given.seconds)
            for (test, unit), both in table.items():
                print(f"| {test} | {unit} | {done:,} | {both[0]} | {both[1]} |", flush=True)


if __name__ == "__main__":
    main()
