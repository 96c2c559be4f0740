"""Item response theory: time of fit statistics and of conditional likelihoods."""

import numpy as np

from benchmarks.bench_irt import two_parameter
from psychollm.irt.conditional.andersen import andersen_test
from psychollm.irt.conditional.rasch import conditional_rasch
from psychollm.irt.fit import fit_irt
from psychollm.irt.fit_statistics.item_fit import item_fit
from psychollm.irt.fit_statistics.local_dependence import local_dependence
from psychollm.irt.fit_statistics.model_fit import model_fit
from psychollm.irt.fit_statistics.person_fit import person_fit
from psychollm.irt.replicated.bootstrap import bootstrap_fit


class Statistics:
    """Fit of items, respondents, pairs and the whole: 2,000 respondents x 100 items."""

    def setup(self) -> None:
        self.answers, *_ = two_parameter(2_000, 100)
        self.fit = fit_irt(self.answers)
        graded = np.random.default_rng(1).logistic(size=(1_000, 20))
        ability = np.random.default_rng(2).normal(size=(1_000, 1))
        codes = ((graded + 1.3 * ability)[:, :, None] > [-1.5, 0.0, 1.5]).sum(axis=2)
        self.graded, self.graded_fit = codes, fit_irt(codes, model="graded")

    def time_item_fit(self) -> None:
        item_fit(self.fit, self.answers)

    def time_person_fit(self) -> None:
        person_fit(self.fit, self.answers)

    def time_local_dependence(self) -> None:
        local_dependence(self.fit, self.answers)

    def time_m2(self) -> None:
        model_fit(self.fit, self.answers)

    def time_graded_item_fit(self) -> None:
        item_fit(self.graded_fit, self.graded)

    def time_graded_c2(self) -> None:
        model_fit(self.graded_fit, self.graded)


class Replicates:
    """A parametric bootstrap of S-X2, including refits: 200 respondents x 20 items, 100 fits."""

    def setup(self) -> None:
        self.answers, *_ = two_parameter(200, 20)
        self.fit = fit_irt(self.answers)

    def time_bootstrap(self) -> None:
        bootstrap_fit(self.fit, self.answers, n_null=100, rng=1)


class Conditional:
    """Rasch models by conditional maximum likelihood."""

    params = ([(1_000, 20), (1_000, 100), (30, 500)],)
    param_names = ("size",)
    timeout = 120

    def setup(self, size: tuple[int, int]) -> None:
        self.answers, *_ = two_parameter(*size)

    def time_fit(self, size: tuple[int, int]) -> None:
        conditional_rasch(self.answers)

    def time_andersen(self, size: tuple[int, int]) -> None:
        andersen_test(self.answers)
