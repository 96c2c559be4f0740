"""Calibration: the whole panel, and single metrics."""

import numpy as np

from benchmarks.simulated import LARGE
from psychollm.calibration import calibration_panel, confidence_gate
from psychollm.calibration.errors.smooth import SMOOTH_ECE
from psychollm.calibration.panels.catalogue import metric_keys
from psychollm.calibration.selection.selective_areas import SELECTIVE
from psychollm.calibration.stated import stated_answers
from psychollm.calibration.tally import tallies
from psychollm.calibration.two_choice.meta_d import meta_d_from_counts
from psychollm.estimates.resampling import Bootstrap


def stated(models: int, questions: int, *, levels: int | None, seed: int = 1) -> tuple:
    """Confidences, with a few levels or without ties, and correctness."""
    rng = np.random.default_rng(seed)
    confidence = rng.beta(4.0, 2.0, size=(models, questions))
    correct = (rng.uniform(size=confidence.shape) < confidence**1.3).astype(np.float64)
    if levels is not None:
        confidence = np.round(confidence * levels) / levels
    return confidence, correct


class Panel:
    """20 models x 5,000 questions, all metrics, 2,000 resamples, two jobs."""

    params = ("21 levels", "continuous")
    param_names = ("confidence",)
    timeout = 600
    number = 1
    repeat = 2 if not LARGE else 3

    def setup(self, kind: str) -> None:
        levels = 20 if kind == "21 levels" else None
        self.tables = stated(20, 5000, levels=levels)
        small = [table[:2, :60] for table in self.tables]
        calibration_panel(*small, bootstrap=4, rng=1)

    def time_panel(self, kind: str) -> None:
        calibration_panel(*self.tables, rng=1, bootstrap=Bootstrap(n_jobs=2))

    def peakmem_panel(self, kind: str) -> None:
        calibration_panel(*self.tables, rng=1, bootstrap=Bootstrap(n_jobs=2))


class OneModel:
    """A million answers without ties: one evaluation each, including sorting and counting."""

    params = (10_000, 1_000_000)
    param_names = ("answers",)
    timeout = 300

    def setup(self, n: int) -> None:
        self.confidence, self.correct = stated(1, n, levels=None)
        self._once(SMOOTH_ECE)
        self._once(SELECTIVE)

    def _once(self, metric) -> np.ndarray:
        (tally,) = tallies(stated_answers(self.confidence, self.correct))
        return metric.compute(metric.shared(tally), tally.correct[None], tally.wrong[None])

    def time_smooth_ece(self, n: int) -> None:
        self._once(SMOOTH_ECE)

    def time_selective_areas(self, n: int) -> None:
        self._once(SELECTIVE)

    def time_tally_alone(self, n: int) -> None:
        tallies(stated_answers(self.confidence, self.correct))


class MetaD:
    """Meta-d' with four ratings: one fit without resamples and one with them."""

    counts_1 = np.array([[100, 50, 20, 10, 5, 1, 1, 1]])
    counts_2 = np.array([[3, 7, 8, 12, 27, 50, 60, 89]])

    def setup(self) -> None:
        meta_d_from_counts(self.counts_1, self.counts_2, bootstrap=2, rng=1)

    def time_fit(self) -> None:
        meta_d_from_counts(self.counts_1, self.counts_2, bootstrap=0)

    def time_two_thousand_resamples(self) -> None:
        meta_d_from_counts(self.counts_1, self.counts_2, rng=1)


class Accuracy:
    """Exact expectation under ties and shuffled orders: their difference must stay small."""

    def track_aurc_against_random_orders(self) -> float:
        confidence, correct = stated(1, 400, levels=10)
        (tally,) = tallies(stated_answers(confidence, correct))
        exact = SELECTIVE.compute(tally.values, tally.correct[None], tally.wrong[None])[0, 0]
        rng = np.random.default_rng(2)
        means = []
        for _ in range(2000):
            order = np.lexsort((rng.uniform(size=400), -confidence[0]))
            wrong = np.cumsum(1.0 - correct[0, order])
            means.append((wrong / np.arange(1, 401)).mean())
        return float(abs(exact - np.mean(means)) / (np.std(means) / np.sqrt(2000)))

    track_aurc_against_random_orders.unit = "standard errors"

    def track_outputs_of_the_panel(self) -> int:
        return len(metric_keys())


class Gates:
    """300 models x 5,000 questions in ten groups."""

    timeout = 120

    def setup(self) -> None:
        self.confidence, self.correct = stated(300, 5000, levels=101)
        self.groups = np.arange(5000) % 10
        self.clusters = np.arange(5000) // 5

    def time_gates(self) -> None:
        confidence_gate(self.confidence, self.correct, groups=self.groups)

    def time_gates_by_cluster(self) -> None:
        confidence_gate(self.confidence[:30], self.correct[:30], clusters=self.clusters)

    def peakmem_gates(self) -> None:
        confidence_gate(self.confidence, self.correct, groups=self.groups)
