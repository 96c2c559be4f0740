"""Coverage of intervals in designs: variance components, conditions, and families of differences.

Effects of models, items, runs and conditions are normal, so that components, contrasts and the
limits of the effect sizes on ranks are known in closed form.
"""

from functools import partial
from itertools import product

import numpy as np
from scipy.special import ndtr

from psychollm.estimates.resampling import Bootstrap
from psychollm.reliability.components.decision_study import decision_study
from psychollm.reliability.components.generalizability import Generalizability, generalizability
from psychollm.reliability.contrasts.conditions import friedman, kruskal_wallis
from psychollm.reliability.contrasts.mixed_model import mixed_model
from validation.coverage_cases import Case, Intervals, collected

EFFECTS = ("model", "item", "run", "model:item", "model:run", "item:run", "residual")
COMPONENTS = dict(zip(EFFECTS, (1.0, 0.5, 0.05, 0.4, 0.1, 0.05, 0.8), strict=True))
DRAWS = 1_000
PARAMETRIC = 200  # resamples of the mixed model; with so few, pivot percentiles are a little short


def coefficients(parts: dict[str, float], items: int, runs: int) -> dict[str, float]:
    """Return E rho^2 and Phi of mean scores over items and runs."""
    relative = (
        parts.get("model:item", 0.0) / items
        + parts.get("model:run", 0.0) / runs
        + parts["residual"] / (items * runs)
    )
    other = parts["item"] / items + parts.get("run", 0.0) / runs
    absolute = relative + other + parts.get("item:run", 0.0) / (items * runs)
    return {
        "E rho^2": parts["model"] / (parts["model"] + relative),
        "Phi": parts["model"] / (parts["model"] + absolute),
    }


def study_bounds(study: Generalizability) -> dict[str, np.ndarray]:
    found = {
        label: study.components.interval[i] for i, label in enumerate(study.components.labels)
    }
    decided = decision_study(study)
    found["E rho^2"] = decided.generalizability.interval[0]
    found["Phi"] = decided.dependability.interval[0]
    return found


def crossed(
    n: int,
    count: int,
    rng: np.random.Generator,
    jobs: int,
    *,
    models: int | None,
    items: int | None,
) -> Intervals:
    """Normal scores of models on items in three runs; what is None is n."""
    shape = (models or n, items or n, 3)
    truth = COMPONENTS | coefficients(COMPONENTS, shape[1], shape[2])

    def one() -> dict[str, np.ndarray]:
        scores = np.zeros(shape)
        for effect, size in COMPONENTS.items():
            inside = {"model", "item", "run"} if effect == "residual" else set(effect.split(":"))
            own = [
                levels if facet in inside else 1
                for facet, levels in zip(("model", "item", "run"), shape, strict=True)
            ]
            scores = scores + np.sqrt(size) * rng.standard_normal(own)
        return study_bounds(
            generalizability(scores, bootstrap=Bootstrap(DRAWS, n_jobs=jobs), rng=rng)
        )

    return collected(one, count, truth)


def right_or_wrong(n: int, count: int, rng: np.random.Generator, jobs: int) -> Intervals:
    """Twelve models on n questions, right with probability Phi(ability + easiness)."""
    ability, easiness = 0.7, 1.0

    def spread(own: float, other: float) -> float:
        """Variance over one effect of Phi averaged over the other, by Gauss and Hermite."""
        nodes, weights = np.polynomial.hermite_e.hermegauss(80)
        means = ndtr((0.3 + own * nodes) / np.sqrt(1.0 + other**2))
        weights = weights / weights.sum()
        return float(weights @ means**2 - (weights @ means) ** 2)

    share = float(ndtr(0.3 / np.sqrt(1.0 + ability**2 + easiness**2)))
    truth = {"model": spread(ability, easiness), "item": spread(easiness, ability)}
    truth["residual"] = share * (1.0 - share) - sum(truth.values())
    truth |= coefficients(truth, n, 1)

    def one() -> dict[str, np.ndarray]:
        logits = 0.3 + ability * rng.standard_normal((12, 1)) + easiness * rng.standard_normal(n)
        scores = (rng.standard_normal((12, n)) < logits) * 1.0
        return study_bounds(
            generalizability(scores, bootstrap=Bootstrap(DRAWS, n_jobs=jobs), rng=rng)
        )

    return collected(one, count, truth)


def conditions(
    n: int, count: int, rng: np.random.Generator, jobs: int, *, models: int | None
) -> Intervals:
    """Three conditions; n models once each, or a few with n scores, one cell in ten lost."""
    k, repeats = models or n, 1 if models is None else n // (3 * models) + 1
    shift, between, residual = np.array([0.0, 0.3, 0.6]), 0.5, 1.0
    rows = np.array(list(product(range(k), range(3), range(repeats))))
    truth = {"mean of the first": 0.0, "second - first": 0.3, "third - first": 0.6}
    # Repeats are averaged, so that only the noise of their mean remains.
    truth |= {"variance of models": between, "residual variance": residual / repeats}
    truth["intraclass"] = between / (between + residual / repeats)

    def kept() -> np.ndarray:
        cells = rng.uniform(size=3 * k) > (0.0 if models is None else 0.1)
        return np.repeat(cells, repeats)

    def one() -> dict[str, np.ndarray]:
        model, condition = rows[kept(), :2].T
        scores = shift[condition] + np.sqrt(between) * rng.standard_normal(k)[model]
        scores = scores + np.sqrt(residual) * rng.standard_normal(model.size)
        # Labels in order of appearance would depend on the missing cells.
        order = np.argsort(condition, kind="stable")
        fit = mixed_model(
            scores[order],
            condition[order],
            model[order],
            bootstrap=Bootstrap(PARAMETRIC, n_jobs=jobs),
            rng=rng,
        )
        rows_of = [
            fit.means.interval[0],
            *fit.contrasts.interval,
            *fit.variances.interval,
            fit.intraclass.interval[0],
        ]
        return dict(zip(truth, rows_of, strict=True))

    return collected(one, count, truth)


def ranked(n: int, count: int, rng: np.random.Generator, jobs: int, *, step: float) -> Intervals:
    """Normal scores under three conditions; n scores for Kruskal-Wallis, n models for Friedman."""
    shift = step * np.arange(3.0)
    gaps = (shift[:, None] - shift) / np.sqrt(2.0)
    above = ndtr(gaps).mean(axis=1)  # probability that a score of the condition exceeds any score
    within = 1.0 + ndtr(gaps).sum(axis=1) - 0.5  # expected rank within a model
    sd = np.sqrt(1.5)  # models differ by half a variance
    mixed = ndtr(gaps / sd).mean(axis=1)
    truth = {
        "epsilon squared": float(12.0 * ((above - 0.5) ** 2).mean()),
        "epsilon squared, whole models": float(12.0 * ((mixed - 0.5) ** 2).mean()),
        "Kendall's W": float(12.0 * ((within - 2.0) ** 2).sum() / (3.0 * 8.0)),
    }
    apart = np.arange(3 * (n // 3)) % 3
    model, condition = np.repeat(np.arange(n), 3), np.tile(np.arange(3), n)

    def one() -> dict[str, np.ndarray]:
        alone = shift[apart] + rng.standard_normal(apart.size)
        scores = shift[condition] + rng.standard_normal(3 * n)
        levels = scores + np.sqrt(0.5) * rng.standard_normal(n)[model]
        options = {"bootstrap": Bootstrap(500, n_jobs=jobs), "rng": rng}
        tests = [
            kruskal_wallis(alone, apart, **options),
            kruskal_wallis(levels, condition, models=model, **options),
            friedman(scores, condition, model, **options),
        ]
        return dict(zip(truth, [test.effect_interval for test in tests], strict=True))

    return collected(one, count, truth)


CASES = [
    Case(
        "generalizability",
        "n models, eight items, three runs",
        partial(crossed, models=None, items=8),
    ),
    Case(
        "generalizability",
        "twelve models, n items, three runs",
        partial(crossed, models=12, items=None),
    ),
    Case("generalizability", "twelve models, n questions right or wrong", right_or_wrong),
    Case(
        "mixed model",
        "n models, three conditions",
        partial(conditions, models=None),
        sizes=(50, 200),  # the time grows with the cube of the number of models
    ),
    Case("mixed model", "eight models, three conditions, n scores", partial(conditions, models=8)),
    Case("rank tests", "three conditions 0.5 apart", partial(ranked, step=0.5)),
    Case("rank tests", "three conditions alike", partial(ranked, step=0.0)),
]
