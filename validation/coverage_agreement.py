"""Coverage of the intervals of agreement and of test-retest coefficients.

Each question has its own distribution of answers, drawn from a Dirichlet distribution with
parameters pi (1/kappa - 1); runs draw from it independently. For any distance between answers,
observed disagreement is then (1 - kappa) times chance disagreement, so that Fleiss' and Cohen's
kappa, weighted or not, and Krippendorff's alpha on every scale all have the true value kappa.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.stats import betabinom

from psychollm.estimates.resampling import Bootstrap
from psychollm.reliability.raters.agreement import agreement, krippendorff_alpha
from psychollm.reliability.raters.kappa import cohen_kappa
from psychollm.reliability.raters.rate_contrast import rate_contrast
from psychollm.reliability.raters.ratings import Ratings
from psychollm.reliability.raters.retest import retest
from validation.coverage_cases import Case, Intervals

# The intervals need no resamples; two keep the differences, which are not used here, cheap.
CHEAP = {"bootstrap": 2, "rng": 0}


@dataclass(frozen=True)
class Answers:
    """How often each answer is given, how far runs agree beyond chance, and how many there are."""

    shares: tuple[float, ...]
    kappa: float
    runs: int

    @property
    def law(self) -> np.ndarray:
        return np.array(self.shares) * (1.0 / self.kappa - 1.0)

    def draw(self, n: int, count: int, rng: np.random.Generator) -> Ratings:
        """Return runs of `count` models on n questions each."""
        edges = rng.dirichlet(self.law, size=(count, n)).cumsum(axis=-1)
        uniform = rng.uniform(size=(self.runs, count, n, 1))
        answers = (uniform > edges[..., :-1]).sum(axis=-1)
        return Ratings.from_runs(answers, categories=range(len(self.shares)))

    def truth(self) -> dict[str, float]:
        """Return the value of every coefficient in the population."""
        pi, law, kappa = np.array(self.shares), self.law, self.kappa
        pairwise = kappa + (1.0 - kappa) * (pi**2).sum()
        chance = (pi * (1.0 - pi)).sum() / (pi.size - 1)
        steps = np.arange(self.runs)
        same = ((law[:, None] + steps) / (law.sum() + steps)).prod(axis=1).sum()
        return {
            "pairwise agreement": pairwise,
            "all identical": same,
            "Fleiss' kappa": kappa,
            "Gwet's AC1": (pairwise - chance) / (1.0 - chance),
            "Krippendorff's alpha": kappa,
            "Krippendorff's alpha (ordinal)": kappa,
            "Krippendorff's alpha (interval)": kappa,
            "Cohen's kappa": kappa,
            "Cohen's kappa (asymptotic)": kappa,
            "weighted kappa (quadratic)": kappa,
            "weighted kappa (asymptotic)": kappa,
        }


SCENARIOS = {
    "two answers alike, three runs": Answers((0.5, 0.5), 0.7, 3),
    "two answers 9:1, three runs": Answers((0.9, 0.1), 0.7, 3),
    "two answers 49:1, three runs": Answers((0.98, 0.02), 0.7, 3),
    "four answers, two runs": Answers((0.7, 0.15, 0.1, 0.05), 0.3, 2),
    "four answers, runs nearly agree": Answers((0.4, 0.3, 0.2, 0.1), 0.95, 3),
}


def coefficients(
    law: Answers, n: int, count: int, rng: np.random.Generator, jobs: int
) -> Intervals:
    ratings = law.draw(n, count, rng)
    found = agreement(ratings, bootstrap=Bootstrap(2, n_jobs=jobs), rng=0)
    estimates = {
        "pairwise agreement": found.pairwise,
        "all identical": found.all_identical,
        "Fleiss' kappa": found.fleiss_kappa,
        "Gwet's AC1": found.gwet_ac1,
        "Krippendorff's alpha": found.krippendorff_alpha,
    }
    if len(law.shares) > 2:
        for metric in ("ordinal", "interval"):
            estimate = krippendorff_alpha(
                ratings, metric=metric, bootstrap=Bootstrap(2, n_jobs=jobs), rng=0
            )
            estimates[f"Krippendorff's alpha ({metric})"] = estimate
    if law.runs == 2:
        estimates |= {
            "Cohen's kappa": cohen_kappa(ratings, **CHEAP),
            "Cohen's kappa (asymptotic)": cohen_kappa(ratings, interval="asymptotic", **CHEAP),
            "weighted kappa (quadratic)": cohen_kappa(ratings, weights="quadratic", **CHEAP),
            "weighted kappa (asymptotic)": cohen_kappa(
                ratings, weights="quadratic", interval="asymptotic", **CHEAP
            ),
        }
    truth = law.truth()
    return {name: (estimate.interval, truth[name]) for name, estimate in estimates.items()}


def rates(
    share: float, kappa: float, n: int, count: int, rng: np.random.Generator, jobs: int
) -> Intervals:
    """Three runs on n questions of each of two types, passed with `share` and with 0.6."""
    size = 1.0 / kappa - 1.0
    halves = [
        rng.uniform(size=(3, count, n)) < rng.beta(p * size, (1.0 - p) * size, size=(count, n))
        for p in (share, 0.6)
    ]
    found = retest(halves[0], bootstrap=Bootstrap(2, n_jobs=jobs), rng=0)
    both = np.concatenate(halves, axis=2)
    kinds = ["C"] * n + ["A"] * n
    contrast = rate_contrast(
        both, kinds, {"C": 1, "A": -1}, bootstrap=Bootstrap(2, n_jobs=jobs), rng=0
    )
    won = float(betabinom(3, share * size, (1.0 - share) * size).sf(1))
    return {
        "rate": (found.rate.interval, share),
        "rate by majority": (found.majority.interval, won),
        "C - A": (contrast.interval, share - 0.6),
    }


CASES = [
    Case("agreement", name, partial(coefficients, law)) for name, law in SCENARIOS.items()
] + [
    Case("retest", f"three runs, rate {share:g}, kappa {kappa:g}", partial(rates, share, kappa))
    for share, kappa in ((0.5, 0.7), (0.9, 0.3), (0.97, 0.9))
]
