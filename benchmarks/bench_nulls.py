"""Layer 3: time and memory of a thousand replicates."""

import psychollm as psy
from benchmarks.simulated import one_factor


class Permutation:
    """One thousand spectra of shuffled answers, 19 models and 10,000 questions."""

    params = (["within_model", "within_question", "both_margins"],)
    param_names = ("scheme",)
    timeout = 600

    def setup(self, scheme: str) -> None:
        self.responses = psy.Responses(one_factor(19, 10_000))
        psy.permutation_null(self.responses, scheme=scheme, n_null=4, rng=1, n_jobs=2)

    def time_thousand(self, scheme: str) -> None:
        psy.permutation_null(self.responses, scheme=scheme, n_null=1_000, rng=1, n_jobs=2)


class OneFactor:
    """One thousand spectra of one-factor data."""

    def setup(self) -> None:
        self.responses = psy.Responses(one_factor(19, 10_000))
        psy.one_factor_null(self.responses, n_null=4, rng=1, n_jobs=2)

    def time_thousand(self) -> None:
        psy.one_factor_null(self.responses, n_null=1_000, rng=1, n_jobs=2)


class Memory:
    """Peak memory must not grow with the number of replicates."""

    params = ([100, 1_000, 10_000],)
    param_names = ("replicates",)

    def setup(self, replicates: int) -> None:
        self.responses = psy.Responses(one_factor(19, 1_000))

    def peakmem_within_model(self, replicates: int) -> None:
        psy.permutation_null(self.responses, n_null=replicates, rng=1, n_jobs=2)
