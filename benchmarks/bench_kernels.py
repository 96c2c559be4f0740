"""Layer 1: the bivariate normal, counting, and the root of one table."""

import numpy as np

from benchmarks.simulated import golden_columns, one_factor
from psychollm.kernels.bivariate import bvn_cdf
from psychollm.kernels.pair_counts import count_pairs, pack_rows
from psychollm.kernels.table_inference import correlate_tables


class BivariateNormal:
    """One thousand evaluations over thresholds and correlations of every size."""

    def setup(self) -> None:
        rng = np.random.default_rng(1)
        self.arguments = np.column_stack(
            [rng.normal(0, 1.5, (1000, 2)), np.tanh(rng.normal(0, 1.5, 1000))]
        ).tolist()
        bvn_cdf(0.1, 0.2, 0.3)

    def time_thousand(self) -> None:
        for h, k, r in self.arguments:
            bvn_cdf(h, k, r)

    def track_largest_error(self) -> float:
        truth = golden_columns("bvn_cdf.csv", ["h", "k", "rho", "cdf"])
        return max(abs(bvn_cdf(h, k, r) - cdf) for h, k, r, cdf in truth.tolist())

    track_largest_error.unit = "absolute error"  # type: ignore[attr-defined]


class Tables:
    """Ten thousand tables of 1,000 questions each."""

    def setup(self) -> None:
        rng = np.random.default_rng(1)
        self.cells = rng.multinomial(1000, [0.3, 0.2, 0.1, 0.4], 10_000).astype(np.float64)
        correlate_tables(self.cells[:2], 1)

    def time_ten_thousand(self) -> None:
        correlate_tables(self.cells, 1)


class Counting:
    """Joint counts of all pairs."""

    params = ([(19, 10_000), (200, 2_000)],)
    param_names = ("size",)

    def setup(self, size: tuple[int, int]) -> None:
        self.yes = one_factor(*size) == 1
        self.joint = np.empty((size[0], size[0]))
        count_pairs(pack_rows(self.yes), self.joint)

    def time_pack_and_count(self, size: tuple[int, int]) -> None:
        count_pairs(pack_rows(self.yes), self.joint)
