"""Coverage of the intervals of scales, raters, clustered means and meta-d'.

The distribution of each case has known coefficients: parallel items for alpha and related
coefficients, one factor for omega, random targets and raters for the intraclass correlations,
random clusters for means, and the signal-detection model itself for meta-d'.
"""

from functools import partial

import numpy as np

from psychollm.calibration.two_choice.meta_d import meta_d
from psychollm.data.simulate import simulate_meta_d
from psychollm.estimates.resampling import Bootstrap
from psychollm.reliability.components.intraclass import AbsoluteInterval, intraclass
from psychollm.reliability.means.clustered import mean_score
from psychollm.reliability.omegas.omega import omega
from psychollm.reliability.scales.consistency import alpha
from validation.coverage_cases import Case, Intervals

LOADINGS = np.linspace(0.4, 0.8, 8)


def tables(n: int, count: int, rng: np.random.Generator, *, copies: int = 1) -> list[np.ndarray]:
    """One-factor tables of eight items; each respondent answers `copies` times."""
    found = []
    for _ in range(count):
        factor = np.repeat(rng.standard_normal(n // copies), copies)
        noise = rng.standard_normal((factor.size, LOADINGS.size))
        found.append(factor[:, None] * LOADINGS + noise * np.sqrt(1 - LOADINGS**2))
    return found


def population_alpha() -> float:
    covariance = np.outer(LOADINGS, LOADINGS)
    np.fill_diagonal(covariance, 1.0)
    k = LOADINGS.size
    return k / (k - 1) * (1 - k / covariance.sum())


def population_omega() -> float:
    covariance = np.outer(LOADINGS, LOADINGS)
    np.fill_diagonal(covariance, 1.0)
    return LOADINGS.sum() ** 2 / covariance.sum()


def scales(n: int, count: int, rng: np.random.Generator, jobs: int) -> Intervals:
    bounds: dict[str, list[np.ndarray]] = {"alpha": [], "alpha, jackknife": [], "omega total": []}
    for table in tables(n, count, rng):
        bounds["alpha"].append(alpha(table, bootstrap=0).interval[0])
        bounds["alpha, jackknife"].append(
            alpha(table, interval="jackknife", bootstrap=0).interval[0]
        )
        found = omega(table, n_factors=1, bootstrap=Bootstrap(2, n_jobs=jobs), rng=1)
        bounds["omega total"].append(found.total.interval[0])
    truth = {
        "alpha": population_alpha(),
        "alpha, jackknife": population_alpha(),
        "omega total": population_omega(),
    }
    return {name: (np.array(rows), truth[name]) for name, rows in bounds.items()}


def raters(
    n: int,
    count: int,
    rng: np.random.Generator,
    jobs: int,
    *,
    judges: int,
    rater_sd: float,
    absolute: AbsoluteInterval = "satterthwaite",
) -> Intervals:
    del jobs
    total = 1.0 + rater_sd**2 + 0.5
    forms = {
        "ICC1": 1.0 / total,
        "ICC2": 1.0 / total,
        "ICC3": 1.0 / 1.5,
        "ICC1k": 1.0 / (1.0 + (total - 1.0) / judges),
        "ICC2k": 1.0 / (1.0 + (total - 1.0) / judges),
        "ICC3k": 1.0 / (1.0 + 0.5 / judges),
    }
    if rater_sd:  # the one-way form assumes that every target has raters of its own
        forms = {name: value for name, value in forms.items() if not name.startswith("ICC1")}
    bounds: dict[str, list[np.ndarray]] = {name: [] for name in forms}
    for _ in range(count):
        table = rng.standard_normal((n, 1)) + rater_sd * rng.standard_normal((1, judges))
        table = table + np.sqrt(0.5) * rng.standard_normal((n, judges))
        frame = intraclass(table, absolute_interval=absolute).to_frame()
        rows = dict(zip(frame.iloc[:, 0], frame[["lower", "upper"]].to_numpy(), strict=True))
        for name in forms:
            bounds[name].append(rows[name])
    return {name: (np.array(rows), forms[name]) for name, rows in bounds.items()}


def clusters(n: int, count: int, rng: np.random.Generator, jobs: int, *, size: int) -> Intervals:
    """Means of n questions in clusters of `size`, half of the variance between clusters."""
    del jobs
    codes = np.arange(n) // size
    effect = rng.standard_normal((count, codes.max() + 1))[:, codes]
    scores = 0.5 * (effect + rng.standard_normal((count, n)))
    found = {
        "mean": mean_score(scores, clusters=codes, bootstrap=2, rng=1),
        "mean, CR2": mean_score(scores, clusters=codes, correction="cr2", bootstrap=2, rng=1),
        "mean, clusters ignored": mean_score(scores, bootstrap=2, rng=1),
    }
    return {name: (estimate.interval, 0.0) for name, estimate in found.items()}


def type_two(
    n: int, count: int, rng: np.random.Generator, jobs: int, *, d: float, ratio: float
) -> Intervals:
    drawn = simulate_meta_d(
        d_prime=np.full(count, d), m_ratio=np.full(count, ratio), n_questions=n, rng=rng
    )
    stimulus = np.broadcast_to(drawn.stimulus, drawn.response.shape)
    found = meta_d(stimulus, drawn.response, drawn.rating, bootstrap=Bootstrap(0, n_jobs=jobs))
    return {
        "d'": (found.d_prime.interval, d),
        "meta-d'": (found.meta_d.interval, d * ratio),
        "M-ratio": (found.m_ratio.interval, ratio),
        "M-diff": (found.m_diff.interval, d * ratio - d),
    }


CASES = [
    Case("scales", "eight normal items, one factor", scales),
    Case("raters", "three raters of equal leniency", partial(raters, judges=3, rater_sd=0.0)),
    Case("raters", "eight raters who differ", partial(raters, judges=8, rater_sd=0.5)),
    Case(
        "raters",
        "eight raters who differ, generalised interval",
        partial(raters, judges=8, rater_sd=0.5, absolute="generalised"),
    ),
    Case("clustered means", "clusters of five", partial(clusters, size=5)),
    Case("clustered means", "clusters of one", partial(clusters, size=1)),
    Case("meta-d'", "d' = 1.2, M-ratio 0.8", partial(type_two, d=1.2, ratio=0.8)),
    Case("meta-d'", "d' = 2, M-ratio 0.5", partial(type_two, d=2.0, ratio=0.5)),
]
