"""Coverage of the intervals of metrics of sampled answers.

Each question has its own distribution over three classes of meaning, drawn from a Dirichlet
distribution, and ten samples are drawn from it. The first class is right. The true value of a mean
over questions is what the same number of samples shows on average, computed over 400,000
questions. Metrics named accordingly are also compared with the mean entropy of the distributions
themselves.
"""

from functools import cache, partial

import numpy as np
from scipy.special import psi

from psychollm.calibration import calibration_panel
from psychollm.calibration.sampled.semantic_confidence import semantic_confidence
from psychollm.calibration.sampled.semantic_entropy import semantic_entropy
from psychollm.data.sampled import SampledAnswers
from psychollm.estimates.resampling import Bootstrap
from validation.coverage_cases import Case, Intervals

LAW = np.array([1.2, 0.6, 0.4])
SAMPLES = 10
ESTIMATORS = ("discrete", "miller_madow", "likelihood", "monte_carlo", "predictive")
METRICS = ("brier", "overconfidence", "auroc", "smooth_ece")
POPULATION = 400_000
RESAMPLES = 500


def drawn(models: int, n: int, rng: np.random.Generator) -> SampledAnswers:
    """Return ten samples to n questions of each model, with the log-likelihood of each."""
    shares = rng.dirichlet(LAW, size=(models, n))
    uniform = rng.uniform(size=(models, n, SAMPLES, 1))
    classes = (uniform > shares.cumsum(axis=-1)[:, :, None, :-1]).sum(axis=-1)
    of_class = np.take_along_axis(np.log(shares), classes, axis=2)
    # A class has many wordings; the likelihood of one wording is a part of its probability.
    said = np.log(rng.uniform(0.1, 0.5, size=classes.shape))
    return SampledAnswers.from_array(classes, correct=(classes == 0) * 1.0, loglik=of_class + said)


@cache
def entropies_of_all() -> dict[str, float]:
    """Return the mean of each estimator over all questions."""
    samples = drawn(1, POPULATION, np.random.default_rng(1))
    return {
        name: float(semantic_entropy(samples, estimator=name, bootstrap=2, rng=0).entropy.mean())
        for name in ESTIMATORS
    }


def entropies(n: int, count: int, rng: np.random.Generator, jobs: int) -> Intervals:
    samples, truth = drawn(count, n, rng), entropies_of_all()
    total = LAW.sum()
    of_law = float(psi(total + 1.0) - (LAW / total) @ psi(LAW + 1.0))
    found: Intervals = {}
    for name in ESTIMATORS:
        told = semantic_entropy(
            samples, estimator=name, bootstrap=Bootstrap(RESAMPLES, n_jobs=jobs), rng=rng
        )
        found[f"{name}: of ten samples"] = (told.mean.interval, truth[name])
        if name in {"discrete", "miller_madow"}:
            found[f"{name}: of the distributions"] = (told.mean.interval, of_law)
    return found


@cache
def panel_of_all(estimator: str) -> dict[str, float]:
    """Return the metrics of the sampled confidence over all questions."""
    rng = np.random.default_rng(2)
    told = semantic_confidence(drawn(1, POPULATION, rng), estimator=estimator, rng=rng)
    panel = calibration_panel(told.confidence, told.correct, metrics=METRICS, bootstrap=2, rng=0)
    return {key: float(panel[key].value[0]) for key in METRICS}


def confidence(
    n: int, count: int, rng: np.random.Generator, jobs: int, *, estimator: str
) -> Intervals:
    """Metrics of the share of samples in the most frequent class."""
    told = semantic_confidence(drawn(count, n, rng), estimator=estimator, rng=rng)
    panel = calibration_panel(
        told.confidence,
        told.correct,
        metrics=METRICS,
        bootstrap=Bootstrap(RESAMPLES, n_jobs=jobs),
        rng=rng,
    )
    truth = panel_of_all(estimator)
    return {key: (panel[key].interval, truth[key]) for key in METRICS}


CASES = [
    Case("semantic entropy", "three classes, ten samples", entropies),
    *(
        Case(
            "semantic confidence", f"{name.replace('_', ' ')}", partial(confidence, estimator=name)
        )
        for name in ("same_sample", "split_sample")
    ),
]
