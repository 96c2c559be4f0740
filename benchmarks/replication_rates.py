"""How often each test finds an effect where there is none and units are asked repeatedly.

Every test of `psychollm.reliability`, `psychollm.studies` and the comparisons of calibration that
takes repeats is given tables without an effect, in two extremes:

* copies: the units (models, or questions) react to conditions each in its own way, and repeats of
  a unit are near copies of each other. A test that counts repeats as units rejects far too often.
* independent: units react alike, and repeats differ as much as units do. A test that throws
  repeats away is right here, but loses power; one that mistakes their number is not.

    python -m benchmarks.replication_rates [--n 1000] [--seed 1] [--only friedman]

Prints one row per test: its unit of replication, and how often it rejects at the 5 % level in both
extremes, with the share of tables in which it was defined where that is not all of them. Rows
called "rows as units" are no test of the library: they show what the extremes do to a test that
counts repeats.
"""

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from psychollm.calibration.scores.proper_scores import brier
from psychollm.estimates.comparisons import compare_all
from psychollm.estimates.repeated_share import repeated_difference
from psychollm.instruments.revision.rates import informativeness
from psychollm.reliability.components.intraclass import intraclass
from psychollm.reliability.contrasts.conditions import friedman, kruskal_wallis
from psychollm.reliability.contrasts.mixed_model import mixed_model
from psychollm.reliability.contrasts.pairwise_conditions import pairwise_conditions
from psychollm.reliability.means.score_differences import score_differences
from psychollm.reliability.means.set_difference import set_difference
from psychollm.reliability.raters.agreement import agreement
from psychollm.reliability.raters.kappa import cohen_kappa
from psychollm.reliability.raters.rate_contrast import rate_contrast
from psychollm.reliability.raters.retest import retest
from psychollm.studies.difficulty.study import difficulty
from psychollm.studies.inference_boundary.study import inference_boundary
from psychollm.studies.metacognitive_skill.study import metacognitive_skill
from psychollm.studies.self_efficacy.study import self_efficacy

MODELS, CONDITIONS, REPEATS = 10, 4, 3
QUESTIONS, RUNS = 60, 4
DRAWS = 300  # resamples, where a test needs them

Rates = Iterator[tuple[str, str, float]]  # test, unit of replication, whether it rejects


@dataclass(frozen=True)
class Extreme:
    """How repeats of a unit relate to each other."""

    name: str
    reaction: float  # SD of what a unit has under a condition, beside its level
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
    yield from condition_tests(rows, "; one condition scatters", rng)


def nested(extreme: Extreme, rng: np.random.Generator) -> Rates:
    """Two kinds of models, each model under one condition only."""
    score, kind, model = conditions(extreme, rng, repeats=(REPEATS, REPEATS), within=False)
    fit = mixed_model(score, kind, model, bootstrap=199, rng=rng)
    yield "mixed_model, F; two kinds of models", "model", below(fit.p_value)
    ranks = kruskal_wallis(score, kind, models=model, bootstrap=99, rng=rng)
    yield "kruskal_wallis, models named; two kinds of models", "model", below(ranks.p_value)


def repeatability(extreme: Extreme, rng: np.random.Generator) -> Rates:
    """Models that are all alike: an intraclass correlation of zero. Copies have none."""
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
        pd.DataFrame(rows), points=(-9, 9), bootstrap=DRAWS, rng=int(rng.integers(2**31))
    )
    effect, change = study.effects["mode"], study.revision.change
    yield "self_efficacy, conditions: F", "model", below(study.mixed.p_value)
    yield "self_efficacy, conditions: Kruskal-Wallis", "model", below(study.kruskal.p_value)
    yield "self_efficacy, mode: F", "model", below(effect.mixed.p_value)
    yield "self_efficacy, mode: interval", "model", rejected(effect.contrasts.interval[0])
    yield "self_efficacy, follow-up: interval", "model", rejected(change.interval[0])
    gap = change.difference("sceptical", "too_modest")
    yield "self_efficacy, follow-ups: difference", "model", below(gap.p_value)
    measure = dict(enumerate(rng.normal(size=MODELS)))
    study = self_efficacy(
        pd.DataFrame(rows[: len(rows)]).query("phrasing == '' and mode == 'all_at_once'"),
        points=(-9, 9),
        measures={"x": measure},
        bootstrap=DRAWS,
        rng=int(rng.integers(2**31)),
    )
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
    """Two models that pass as often, on two kinds of questions, in four runs."""
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
    once = score_differences(scores[:, :, 0])
    yield "score_differences, exact McNemar of one run", "question", below(once.mcnemar_exact_p[0])
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


def answered(extreme: Extreme, rng: np.random.Generator) -> pd.DataFrame:
    """Return a long table of answers of two models to questions of two types."""
    scores = passed(extreme, rng, (2,))
    model, item, run = (part.ravel() for part in np.indices(scores.shape))
    return pd.DataFrame(
        {"model": model, "item": item, "run": run, "score": scores.ravel(), "response": "x"}
    ).assign(type=np.where(item % 2, "A", "C"))


def boundary(extreme: Extreme, rng: np.random.Generator) -> Rates:
    """Two models that pass as many open questions as answerable ones."""
    study = inference_boundary(
        answered(extreme, rng), thinking=[(1, 0)], bootstrap=DRAWS, rng=int(rng.integers(2**31))
    )
    inverted = study.certainty_inversion.interval[0]
    yield "inference_boundary, certainty inversion", "question", rejected(inverted)
    gap = study.thinking[0].difference
    yield "inference_boundary, thinking: interval", "question", rejected(gap.interval)


def skill(extreme: Extreme, rng: np.random.Generator) -> Rates:
    """Behaviours that have nothing to do with right answers, alike in both arms and structures."""
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
    """Second answers that are right as often as first ones, reviews that know nothing."""
    first, second, faulted = (passed(extreme, rng, ()).ravel() for _ in range(3))
    units = np.repeat(np.arange(QUESTIONS), RUNS)
    gap = repeated_difference("gain", {"m": (first, second)}, units=units)
    yield "revision, difference in accuracy", "question", rejected(gap.interval[0])
    known = informativeness(1.0 - first, faulted, tuple(map(str, units)))
    yield "revision, informativeness of reviews", "question", rejected(known.interval)


def texts(extreme: Extreme, rng: np.random.Generator) -> Rates:
    """Scores of questions that do not depend on their text; templates told four times."""
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


# Each with its number of tables per thousand asked for: slow ones have fewer.
DESIGNS: dict[Callable[[Extreme, np.random.Generator], Rates], int] = {
    crossed: 1500,
    unequal: 600,
    scattered: 600,
    nested: 1000,
    repeatability: 2000,
    efficacy: 250,
    runs: 600,
    boundary: 400,
    skill: 600,
    revising: 2000,
    texts: 250,
}


def rates(design: Callable[..., Rates], n: int, seed: int) -> dict[tuple[str, str], list[str]]:
    """Return the rate of each test of a design in both extremes."""
    table: dict[tuple[str, str], list[str]] = {}
    for place, extreme in enumerate((COPIES, INDEPENDENT)):
        found: dict[tuple[str, str], list[float]] = {}
        for stream in np.random.default_rng([seed, place]).spawn(n):
            for test, unit, hit in design(extreme, stream):
                found.setdefault((test, unit), []).append(hit)
        for key, hits in found.items():
            known = np.isfinite(hits)
            text = f"{100 * np.nanmean(hits):.1f}" if known.any() else "-"
            text += "" if known.all() else f" (of {100 * known.mean():.0f} % defined)"
            table.setdefault(key, ["-", "-"])[place] = text
    return table


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=1000, help="tables per test and extreme, about")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="designs whose name holds this")
    given = parser.parse_args()
    print("| test | unit | tables | copies, % | independent, % |", flush=True)
    print("|---|---|---|---|---|", flush=True)
    for design, share in DESIGNS.items():
        if given.only in design.__name__:
            n = max(1, given.n * share // 1000)
            for (test, unit), both in rates(design, n, given.seed).items():
                print(f"| {test} | {unit} | {n:,} | {both[0]} | {both[1]} |", flush=True)


if __name__ == "__main__":
    main()
