"""Layer 3: polychoric correlations, factor analysis, confirmatory models, numbers of factors."""

import numpy as np

import psychollm as psy
from psychollm.correlation.polychoric import polychoric
from psychollm.factor.confirmatory import confirmatory_factors
from psychollm.factor.exploratory.factor_analysis import factor_analysis
from psychollm.factor.exploratory.loading_errors import loading_errors
from psychollm.factor.number_of_factors.parallel import parallel_analysis


def graded(k: int, n: int, n_answers: int = 4) -> psy.Responses:
    """Answers of one factor, loadings .4 to .9, thresholds -1.5 to 1.5."""
    rng = np.random.default_rng(0)
    loadings = rng.uniform(0.4, 0.9, (k, 1))
    rest = np.sqrt(1.0 - loadings**2)
    latent = loadings * rng.normal(size=n) + rest * rng.normal(size=(k, n))
    cuts = np.sort(rng.uniform(-1.5, 1.5, (k, n_answers - 1)), axis=1)
    codes = [np.digitize(row, own) for row, own in zip(latent, cuts, strict=True)]
    return psy.Responses(np.array(codes))


class Polychoric:
    """All pairs, their standard errors, and their covariance matrix."""

    params = ([(19, 10_000), (50, 10_000), (100, 5_000)],)
    param_names = ("size",)
    timeout = 180

    def setup(self, size: tuple[int, int]) -> None:
        self.answers = graded(*size)
        self.correlation = polychoric(self.answers)
        _ = self.correlation.se
        polychoric(graded(4, 50)).covariance()

    def time_polychoric(self, size: tuple[int, int]) -> None:
        polychoric(self.answers)

    def time_standard_errors(self, size: tuple[int, int]) -> None:
        _ = self.correlation.se

    def time_covariance(self, size: tuple[int, int]) -> None:
        self.correlation.covariance()

    def peakmem_covariance(self, size: tuple[int, int]) -> None:
        self.correlation.covariance()


class Exploratory:
    """Three factors of a matrix of 19 or 50 variables, rotated from 16 starts."""

    params = ([19, 50], ["minres", "ml", "dwls", "principal_axis", "minimum_rank"])
    param_names = ("variables", "method")

    def setup(self, variables: int, method: str) -> None:
        rng = np.random.default_rng(1)
        loadings = np.kron(np.eye(3), np.ones((-(-variables // 3), 1)))[:variables]
        data = 0.7 * loadings @ rng.normal(size=(3, 1000)) + rng.normal(size=(variables, 1000))
        self.R = np.corrcoef(data)
        self.options = {"method": method, "n": 1000}
        if method == "dwls":
            self.options["weights"] = rng.uniform(0.5, 2.0) * np.ones((variables, variables))

    def time_factor_analysis(self, variables: int, method: str) -> None:
        factor_analysis(self.R, 3, **self.options)  # type: ignore[arg-type]


class LoadingErrors:
    """Delta-method errors of three rotated minres factors of correlated normal variables."""

    params = ([12, 30],)
    param_names = ("variables",)

    def setup(self, variables: int) -> None:
        rng = np.random.default_rng(1)
        loadings = np.kron(np.eye(3), np.ones((variables // 3, 1)))
        data = 0.7 * loadings @ rng.normal(size=(3, 1000)) + rng.normal(size=(variables, 1000))
        self.solution = factor_analysis(np.corrcoef(data), 3, n=1000)

    def time_loading_errors(self, variables: int) -> None:
        loading_errors(self.solution)


class Confirmatory:
    """One factor of ordered answers by DWLS, with a given covariance matrix."""

    params = ([12, 30],)
    param_names = ("items",)

    def setup(self, items: int) -> None:
        self.correlation = polychoric(graded(items, 2000))
        self.covariance = self.correlation.covariance()
        self.model = {"F": range(items)}

    def time_confirmatory(self, items: int) -> None:
        confirmatory_factors(self.correlation, self.model, covariance=self.covariance)


class Parallel:
    """Parallel analysis with tetrachoric correlations of 100 shuffled tables."""

    params = ([(12, 500), (19, 10_000)],)
    param_names = ("size",)
    timeout = 120

    def setup(self, size: tuple[int, int]) -> None:
        self.answers = graded(*size, 2)
        parallel_analysis(self.answers, n_null=3, rng=1)

    def time_parallel(self, size: tuple[int, int]) -> None:
        parallel_analysis(self.answers, n_null=100, rng=1)
