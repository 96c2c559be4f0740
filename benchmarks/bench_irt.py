"""Item response theory: time and accuracy of 2PL fits at the sizes of the peers' comparison."""

import numpy as np

import psychollm as psy
from psychollm.irt.ability import ability
from psychollm.irt.fit import fit_irt
from psychollm.irt.fit_statistics.model_fit import model_fit
from psychollm.irt.short_form import short_form


def two_parameter(n: int, items: int) -> tuple[psy.Responses, np.ndarray, np.ndarray, np.ndarray]:
    """Draw answers: slopes lognormal(0, 0.35), difficulties and abilities N(0, 1)."""
    rng = np.random.default_rng(1)
    slope, difficulty = rng.lognormal(0.0, 0.35, items), rng.normal(size=items)
    theta = rng.normal(size=n)
    z = slope * (theta[:, None] - difficulty)
    answers = (rng.random(z.shape) < 1.0 / (1.0 + np.exp(-z))).astype(int)
    return psy.Responses(answers), slope, difficulty, theta


class Fits:
    """2PL by marginal maximum likelihood, including standard errors.

    The targets on one idle core are 0.05 s, 0.08 s and 5 s.
    """

    params = ([(10_000, 19), (2_000, 100), (100, 5_000)],)
    param_names = ("size",)
    timeout = 300

    def setup(self, size: tuple[int, int]) -> None:
        self.answers, self.slope, self.difficulty, self.theta = two_parameter(*size)
        fit_irt(self.answers.select(questions=range(10)))

    def time_fit(self, size: tuple[int, int]) -> None:
        fit_irt(self.answers)

    def peakmem_fit(self, size: tuple[int, int]) -> None:
        fit_irt(self.answers)

    def track_slope_rmse(self, size: tuple[int, int]) -> float:
        return float(np.sqrt(np.nanmean((fit_irt(self.answers).slope - self.slope) ** 2)))

    def track_difficulty_median_error(self, size: tuple[int, int]) -> float:
        return float(np.nanmedian(np.abs(fit_irt(self.answers).difficulty - self.difficulty)))

    def track_gradient(self, size: tuple[int, int]) -> float:
        return fit_irt(self.answers).gradient

    track_slope_rmse.unit = "slope"  # type: ignore[attr-defined]
    track_difficulty_median_error.unit = "logit"  # type: ignore[attr-defined]
    track_gradient.unit = "log-likelihood per parameter"  # type: ignore[attr-defined]


class Uses:
    """Abilities and other results after a fit."""

    params = ([(2_000, 100)],)
    param_names = ("size",)

    def setup(self, size: tuple[int, int]) -> None:
        self.answers, _, _, self.theta = two_parameter(*size)
        self.fit = fit_irt(self.answers)

    def time_eap(self, size: tuple[int, int]) -> None:
        ability(self.fit, self.answers)

    def time_wle(self, size: tuple[int, int]) -> None:
        ability(self.fit, self.answers, method="wle")

    def time_m2(self, size: tuple[int, int]) -> None:
        model_fit(self.fit, self.answers)

    def track_ability_correlation(self, size: tuple[int, int]) -> float:
        found = ability(self.fit, self.answers).ability
        return float(np.corrcoef(found, self.theta)[0, 1])

    track_ability_correlation.unit = "correlation"  # type: ignore[attr-defined]


class ShortForms:
    """A hundred questions chosen to predict held-out models best, stored with their rule.

    Aim on one idle core: 10 s for 320 x 735.
    """

    params = ([(320, 735), (90, 5_000)],)
    param_names = ("size",)
    timeout = 120

    def setup(self, size: tuple[int, int]) -> None:
        self.answers = two_parameter(*size)[0]
        self.form = short_form(self.answers, 100)

    def time_short_form(self, size: tuple[int, int]) -> None:
        short_form(self.answers, 100)

    def time_predict(self, size: tuple[int, int]) -> None:
        self.form.predict(self.answers)

    def track_error(self, size: tuple[int, int]) -> float:
        return self.form.rmse

    track_error.unit = "share correct"  # type: ignore[attr-defined]
