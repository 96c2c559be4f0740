"""Layer 3: factor solutions without a correlation matrix, scores, and the test of one factor."""

import numpy as np

import psychollm as psy
from benchmarks.lapsing import Cell, simulate
from benchmarks.simulated import one_factor
from psychollm.factor.one_factor.full_information import full_information
from psychollm.factor.one_factor.pairwise_likelihood import pairwise_likelihood
from psychollm.factor.one_factor.residuals import residual_test


class Fits:
    """One factor from pair counts, and from all answers at once."""

    params = ([(19, 10_000), (40, 5_000)],)
    param_names = ("size",)

    def setup(self, size: tuple[int, int]) -> None:
        self.answers = psy.Responses(one_factor(*size))
        self.counts = psy.PairCounts.count(self.answers)
        full_information(self.answers)
        psy.question_scores(self.answers)

    def time_pairwise(self, size: tuple[int, int]) -> None:
        pairwise_likelihood(self.counts)

    def time_full_information(self, size: tuple[int, int]) -> None:
        full_information(self.answers)

    def time_question_scores(self, size: tuple[int, int]) -> None:
        psy.question_scores(self.answers)

    def track_largest_loading_error(self, size: tuple[int, int]) -> float:
        truth = np.random.default_rng(1).uniform(0.5, 0.95, size[0])
        return float(np.abs(full_information(self.answers).loadings - truth).max())

    track_largest_loading_error.unit = "loading"  # type: ignore[attr-defined]


class Test:
    """The parametric bootstrap behind the verdict, 99 replicates."""

    params = ([(10, 200), (19, 1_000), (19, 10_000), (40, 5_000)],)
    param_names = ("size",)

    def setup(self, size: tuple[int, int]) -> None:
        self.answers = psy.Responses(one_factor(*size))
        residual_test(self.answers, n_null=3, rng=1)

    def time_residual_test(self, size: tuple[int, int]) -> None:
        residual_test(self.answers, n_null=99, rng=1)


class Verdict:
    """`dimensionality` with all its evidence, 499 replicates of each null."""

    params = ([(19, 1_000), (19, 10_000)],)
    param_names = ("size",)
    timeout = 120

    def setup(self, size: tuple[int, int]) -> None:
        self.answers = psy.Responses(one_factor(*size))
        psy.dimensionality(self.answers, n_null=3, rng=1)

    def time_dimensionality(self, size: tuple[int, int]) -> None:
        psy.dimensionality(self.answers, rng=1, n_jobs=2)


class Lapses:
    """The verdict where models lapse, and errors of loadings and lapse rates."""

    params = ([(19, 500), (19, 2000), (19, 10_570)],)
    param_names = ("size",)
    timeout = 600

    def setup(self, size: tuple[int, int]) -> None:
        cell = Cell("", *size, lapses=0.04)
        self.answers, self.loadings, self.rate = simulate(cell, np.random.default_rng(1))
        psy.dimensionality(self.answers[:, :200], n_null=19, alpha=0.1, rng=1)
        found = psy.dimensionality(self.answers, n_null=99, rng=1)
        self.found = found.one_factor

    def time_dimensionality(self, size: tuple[int, int]) -> None:
        psy.dimensionality(self.answers, n_null=99, rng=1, n_jobs=1)

    def track_largest_loading_error(self, size: tuple[int, int]) -> float:
        return float(np.abs(self.found.loadings - self.loadings).max())

    def track_mean_lapse_error(self, size: tuple[int, int]) -> float:
        return float(abs(self.found.rate.value.mean() - self.rate.mean()))
