"""Coverage of the intervals of `psychollm.calibration`.

Forecasters state a confidence c from their own distribution and are right with probability
p(c) = expit(shift + slope logit c). Every metric then has an exact true value, computed from the
tally of the whole population on a fine grid of confidences.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import expit, logit
from scipy.stats import beta

from psychollm.calibration import calibration_panel
from psychollm.calibration.panels.catalogue import panel_metrics
from psychollm.calibration.tally import Tally
from psychollm.estimates.resampling import Bootstrap
from psychollm.reliability import cohen_kappa
from validation.coverage_cases import Case, Intervals, flagged

RESAMPLES = 1_000
GRID = 2_000
POPULATION = 2e7  # answers in the population whose tally gives the true values


@dataclass(frozen=True)
class Forecaster:
    """Distinct confidences, their probabilities, and how often each is right."""

    values: np.ndarray
    shares: np.ndarray
    right: np.ndarray

    def draw(self, n: int, count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return confidence and correctness (data sets, n)."""
        place = rng.choice(self.values.size, size=(count, n), p=self.shares)
        correct = rng.uniform(size=place.shape) < self.right[place]
        return self.values[place], correct.astype(np.float64)

    def tally(self) -> Tally:
        """Return the population."""
        correct = POPULATION * self.shares * self.right
        return Tally(
            values=self.values,
            correct=correct,
            wrong=POPULATION * self.shares - correct,
            n=int(POPULATION),
            question=np.empty(0, dtype=np.int64),
            group=np.empty(0, dtype=np.int64),
            right=np.empty(0),
            weight=np.empty(0),
            cluster=None,
        )

    def truth(self) -> dict[str, float]:
        """Return the value of every metric in the population."""
        tally = self.tally()
        found: dict[str, float] = {}
        for metric in panel_metrics():
            rows = metric.compute(metric.shared(tally), tally.correct[None], tally.wrong[None])
            keys = [output.key for output in metric.outputs]
            found |= dict(zip(keys, rows[0, : len(keys)].tolist(), strict=True))
        return found


def stated(shift: float, slope: float) -> Forecaster:
    """Return a forecaster of eleven levels, most of them high, as language models state them."""
    values = np.linspace(0.0, 1.0, 11)
    shares = beta(3.0, 1.2).cdf(np.clip(values + 0.05, 0, 1)) - beta(3.0, 1.2).cdf(
        np.clip(values - 0.05, 0, 1)
    )
    right = expit(shift + slope * logit(np.clip(values, 0.02, 0.98)))
    return Forecaster(values, shares / shares.sum(), right)


def continuous(shift: float, slope: float) -> Forecaster:
    """Return a forecaster without ties: confidences from Beta(4, 2)."""
    values = beta(4.0, 2.0).ppf((np.arange(GRID) + 0.5) / GRID)
    return Forecaster(values, np.full(GRID, 1.0 / GRID), expit(shift + slope * logit(values)))


def yes_no(yes: float, if_yes: float, if_no: float) -> Forecaster:
    """Return a forecaster that says yes or no."""
    return Forecaster(np.array([0.0, 1.0]), np.array([1.0 - yes, yes]), np.array([if_no, if_yes]))


SCENARIOS = {
    "eleven levels, overconfident": stated(-0.4, 0.6),
    "eleven levels, calibrated": stated(0.0, 1.0),
    "continuous, overconfident": continuous(-0.3, 0.7),
    "continuous, calibrated": continuous(0.0, 1.0),
    "yes/no": yes_no(0.65, 0.75, 0.4),
}


def panel_intervals(
    forecaster: Forecaster, n: int, count: int, rng: np.random.Generator, jobs: int
) -> Intervals:
    """Return the intervals of the whole panel; data sets stand in for models."""
    confidence, correct = forecaster.draw(n, count, rng)
    panel = calibration_panel(
        confidence, correct, bootstrap=Bootstrap(RESAMPLES, n_jobs=jobs), rng=rng
    )
    truth = forecaster.truth()
    # A metric that is fitted to the answers has a different true value at each sample size.
    keys = [key for key in panel if key != "beta_log_score"]
    return {key: (panel[key].interval, truth[key], flagged(panel[key].flags)) for key in keys}


# The intervals of these metrics are formulas that need no resamples.
CLOSED = (
    "auroc", "gamma", "somers_d", "tau_b", "average_precision", "average_precision_errors",
    "point_biserial", "brier", "brier_skill", "log_score", "overconfidence",
    "aurc", "e_aurc", "aurc_normalised", "augrc", "e_augrc", "accuracy", "phi", "kappa", "f1",
)  # fmt: skip


def rare(share: float) -> Forecaster:
    """Return a forecaster with a small error rate that rises as confidence falls."""
    usual = stated(0.0, 1.0)
    doubt = 1.1 - usual.values
    return Forecaster(
        usual.values, usual.shares, 1.0 - share * doubt / float(usual.shares @ doubt)
    )


def closed_intervals(
    forecaster: Forecaster, n: int, count: int, rng: np.random.Generator, jobs: int
) -> Intervals:
    """Return the intervals that are formulas."""
    confidence, correct = forecaster.draw(n, count, rng)
    panel = calibration_panel(confidence, correct, metrics=CLOSED, bootstrap=0)
    truth = forecaster.truth()
    return {key: (panel[key].interval, truth[key], flagged(panel[key].flags)) for key in panel}


def two_runs(
    share: float, agreement: float, n: int, count: int, rng: np.random.Generator, jobs: int
) -> Intervals:
    """Return Cohen's kappa of two runs that agree beyond chance at a known rate."""
    first, other = (rng.random((2, count, n)) < share) * 1.0
    second = np.where(rng.random((count, n)) < agreement, first, other)
    found = cohen_kappa(first, second, bootstrap=2, rng=rng)
    return {"cohen_kappa": (found.interval, agreement)}


CASES = [
    *(
        Case("panel", scenario, partial(panel_intervals, forecaster))
        for scenario, forecaster in SCENARIOS.items()
    ),
    *(
        Case(
            "rare errors",
            f"one answer in {one_in} wrong",
            partial(closed_intervals, rare(1 / one_in)),
        )
        for one_in in (50, 10)
    ),
    *(
        Case(
            "rare errors",
            f"two runs, one answer in ten wrong, kappa {kappa}",
            partial(two_runs, 0.1, kappa),
            (20, 50, 200),
        )
        for kappa in (0.2, 0.6)
    ),
]
