"""Layer 3: matrices of tetrachoric correlations, their errors, and their smoothing."""

import numpy as np

import psychollm as psy
from benchmarks.simulated import LARGE, golden_columns, one_factor

SIZES = [(19, 10_000), (200, 2_000)] + ([(1_000, 10_000)] if LARGE else [])
CELLS = ["n11", "n10", "n01", "n00"]


class Tetrachoric:
    """Point estimates of all pairs from a table of answers."""

    params = (SIZES,)
    param_names = ("size",)

    def setup(self, size: tuple[int, int]) -> None:
        self.responses = psy.Responses(one_factor(*size))
        psy.tetrachoric(self.responses)

    def time_responses(self, size: tuple[int, int]) -> None:
        psy.tetrachoric(self.responses)

    def peakmem_responses(self, size: tuple[int, int]) -> None:
        psy.tetrachoric(self.responses)


class MissingAnswers:
    """The same with a tenth of the answers missing."""

    params = (["pairwise", "global"],)
    param_names = ("missing",)

    def setup(self, missing: str) -> None:
        values = one_factor(19, 10_000).astype(float)
        values[np.random.default_rng(2).random(values.shape) < 0.1] = np.nan
        self.responses = psy.Responses(values)
        psy.tetrachoric(self.responses, missing=missing)

    def time_responses(self, missing: str) -> None:
        psy.tetrachoric(self.responses, missing=missing)


class Inference:
    """Standard errors, intervals and sensitivity of 19 models."""

    def setup(self) -> None:
        self.correlation = psy.tetrachoric(one_factor(19, 10_000))
        self.time_standard_errors()
        self.time_profile_intervals()

    def time_standard_errors(self) -> None:
        _ = self.correlation.se

    def time_profile_intervals(self) -> None:
        self.correlation.interval(method="profile")

    def time_sensitivity(self) -> None:
        self.correlation.sensitivity()


class Accuracy:
    """Errors relative to thirty-digit arithmetic, over tables without an empty cell."""

    unit = "largest absolute error"

    def setup(self) -> None:
        truth = golden_columns("tetrachoric_2x2.csv", [*CELLS, "rho", "se_rho_ml"])
        truth = truth[(truth[:, :4] > 0).all(axis=1)]
        self.rho, self.se = truth[:, 4], truth[:, 5]
        self.table = psy.tetrachoric_table(*truth[:, :4].T)

    def track_rho(self) -> float:
        return float(np.nanmax(np.abs(self.table.rho - self.rho)))

    def track_standard_error(self) -> float:
        return float(np.nanmax(np.abs(self.table.se / self.se - 1)))


class Smoothing:
    """A matrix of 100 models and 200 questions, which has negative eigenvalues."""

    params = (["clip", "nearest", "weighted", "shrink", "minimum_trace"],)
    param_names = ("method",)

    def setup(self, method: str) -> None:
        self.correlation = psy.tetrachoric(one_factor(100, 200))
        psy.smooth(self.correlation, method=method)

    def time_smooth(self, method: str) -> None:
        psy.smooth(self.correlation, method=method)


class Spectrum:
    """Eigenvalues and loadings of 100 models."""

    def setup(self) -> None:
        self.correlation = psy.tetrachoric(one_factor(100, 200))
        psy.spectrum(self.correlation)

    def time_spectrum(self) -> None:
        psy.spectrum(self.correlation)
