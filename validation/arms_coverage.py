"""Coverage of intervals for contrasts between arms, in simulated studies with known truth.

``python validation/arms_coverage.py`` writes docs/arms_tables.md. Takes two minutes of CPU. Two
studies are simulated 100 times each, with new models, questions and answers each time.

* Rule world: four models, 40 worlds of each type, each in two surface forms (skins). A model
  passes a world with probability ``logistic(ability + effect in the second skin - difficulty)``.
  Difficulties and abilities are normal; effects are normal with mean -0.6 and standard deviation
  0.3 (type A), or with mean 0 and the same standard deviation (type C).
* Semantic sampling: three models, 60 questions, 10 samples, and three arms, each in its own store.
  One of two answers is right with a probability that is uniform between .5 and 1; log odds are
  multiplied by 1 in the first arm, by about 3 and about 1.8 in the others (lognormal over models,
  0.2).

The true value of a model is taken over all worlds or questions; that of the model population is
the mean over the distribution of models. The seed of study k is k.
"""

import argparse
from pathlib import Path

import numpy as np
from scipy.special import expit

import psychollm as psy
from psychollm.data.sampled import SampledAnswers
from psychollm.instruments.reading import Outcome
from psychollm.instruments.rule_world.result import RuleWorldScores

STUDIES, RESAMPLES, WORLDS, QUESTIONS, SAMPLES = 100, 500, 40, 60, 10
OUT = Path(__file__).resolve().parents[1] / "docs" / "arms_tables.md"
DIFFICULTIES = np.random.default_rng(0).normal(size=4001)
CHANCES = np.random.default_rng(0).uniform(0.5, 1.0, 40_001)
KINDS = {"A": -0.6, "C": 0.0}
POWERS = (1.0, 3.0, 1.8)


def rate(logit):
    """Return the probability of passing, over all worlds."""
    return expit(logit - DIFFICULTIES).mean()


def scores(passed, skin):
    """Return what the instrument scores, by type and world."""
    kinds = [kind for kind in KINDS for _ in range(WORLDS)]
    n = len(kinds)
    worlds = [f"{kind}{i}" for kind in KINDS for i in range(WORLDS)]
    return RuleWorldScores(
        items=tuple(f"{skin}-{one}" for one in worlds),
        structures=tuple(worlds),
        skins=(skin,) * n,
        types=tuple(kinds),
        families=("",) * n,
        runs=(1,) * n,
        outcomes=(Outcome.ANSWERED,) * n,
        responses=tuple("passed" if one else "failed" for one in passed),
        strict=passed.astype(float),
        keyword=passed.astype(float),
    )


def rule_world(seed):
    """Yield name, true value and interval."""
    rng = np.random.default_rng(seed)
    difficulty = rng.normal(size=(2, WORLDS))
    arms, truths = {"synthetic": {}, "circuits": {}}, {kind: [] for kind in KINDS}
    for model in "abcd":
        ability = rng.normal(0.5, 1.0)
        effects = [rng.normal(mean, 0.3) for mean in KINDS.values()]
        for kind, effect in zip(KINDS, effects, strict=True):
            truths[kind].append(rate(ability + effect) - rate(ability))
        for arm, told in zip(arms, (0.0, 1.0), strict=True):
            logits = ability + told * np.array(effects)[:, None] - difficulty
            passed = rng.random(logits.shape) < expit(logits)
            arms[arm][model] = scores(passed.ravel(), arm)
    study = psy.studies.compare_arms(arms, "rule_world", bootstrap=RESAMPLES, rng=seed)
    names = {"A": "pass rate of settled questions", "C": "pass rate of open events"}
    for kind, name in names.items():
        (found,) = study.contrasts[name]
        yield from covered(f"rule world, {name}", found, truths[kind], POPULATION[kind])


def sharpened(chance, power):
    """Return a probability with its log odds multiplied."""
    return chance**power / (chance**power + (1 - chance) ** power)


def semantic(seed):
    """Yield true values and intervals of three arms, each from its own store."""
    rng = np.random.default_rng(seed)
    chance = rng.uniform(0.5, 1.0, QUESTIONS)
    arms = {name: {} for name in ("base", "instruct", "reasoning")}
    over = {name: [] for name in arms}
    for model in "abc":
        right = rng.random(QUESTIONS) < chance  # whether the likelier answer is right
        for (arm, own), power in zip(arms.items(), POWERS, strict=True):
            mine = 1.0 if power == 1.0 else power * np.exp(rng.normal(0.0, 0.2))
            top = rng.random((QUESTIONS, SAMPLES)) < sharpened(chance, mine)[:, None]
            own[model] = SampledAnswers.from_array([top.astype(int)], gold=right.astype(int))
            over[arm].append((sharpened(CHANCES, mine) - CHANCES).mean())
    study = psy.studies.compare_arms(
        arms, "semantic_sampling", n_null=99, bootstrap=RESAMPLES, rng=seed
    )
    name = "overconfidence beyond a calibrated model"
    for found in study.contrasts[name]:
        true = [one - other for one, other in zip(over[found.first], over["base"], strict=True)]
        label = f"semantic sampling, overconfidence, {found.first} - base"
        yield from covered(label, found, true, POPULATION[found.first])


def covered(name, found, each, population):
    """Yield the true value and the interval of each model and over models."""
    for true, interval in zip(each, found.each.interval, strict=True):
        yield name, "one model", true, interval
    yield name, "these models", float(np.mean(each)), found.pooled.interval[0]
    yield name, "models like these", population, found.pooled.interval[1]


def populations():
    """Return the mean effects over the models drawn from."""
    rng = np.random.default_rng(1)
    found = {}
    for kind, mean in KINDS.items():
        abilities, effects = rng.normal(0.5, 1.0, 2000), rng.normal(mean, 0.3, 2000)
        pairs = zip(abilities, effects, strict=True)
        found[kind] = float(np.mean([rate(a + e) - rate(a) for a, e in pairs]))
    for arm, power in zip(("instruct", "reasoning"), POWERS[1:], strict=True):
        powers = power * np.exp(rng.normal(0.0, 0.2, 500))
        found[arm] = float(np.mean([(sharpened(CHANCES, one) - CHANCES).mean() for one in powers]))
    return found


POPULATION = populations()


def table(studies):
    """Return the rows of the table: name, quantity, coverage, n, mean width."""
    rows = {}
    for simulate in (rule_world, semantic):
        for seed in range(studies):
            for name, of, true, (low, high) in simulate(seed):
                rows.setdefault((name, of), []).append((low <= true <= high, high - low, true))
    return rows


def main():
    """Simulate, print, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("studies", type=int, nargs="?", default=STUDIES)
    studies = parser.parse_args().studies
    lines = [
        "| study and measure | difference of | true, mean | intervals | "
        "cover the truth, % | width |",
        "|---|---|---|---|---|---|",
    ]
    held = []
    for (name, of), found in table(studies).items():
        hits, widths, truths = (np.array(one, dtype=float) for one in zip(*found, strict=True))
        held += hits.tolist()
        lines.append(
            f"| {name} | {of} | {truths.mean():+.3f} | {len(hits)} | {100 * hits.mean():.1f} | "
            f"{widths.mean():.3f} |"
        )
    lines.append(f"| all | | | {len(held)} | {100 * np.mean(held):.1f} | |")
    OUT.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
