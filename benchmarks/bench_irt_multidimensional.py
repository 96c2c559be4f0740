"""Several abilities: time of fits, and errors of their integrals."""

import numpy as np

from psychollm.factor.exploratory.rotate import rotate
from psychollm.irt.multidimensional.abilities import multidimensional_ability
from psychollm.irt.multidimensional.fit import fit_multidimensional


def compensatory(n: int, items: int, dimensions: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw answers of simple structure: slopes about 1.3, abilities correlated 0.3."""
    rng = np.random.default_rng(1)
    loads = np.arange(items)[:, None] % dimensions == np.arange(dimensions)
    slopes = loads * rng.lognormal(0.25, 0.25, items)[:, None]
    phi = np.full((dimensions, dimensions), 0.3)
    np.fill_diagonal(phi, 1.0)
    ability = rng.normal(size=(n, dimensions)) @ np.linalg.cholesky(phi).T
    z = ability @ slopes.T + 0.8 * rng.normal(size=items)
    return (rng.random(z.shape) < 1.0 / (1.0 + np.exp(-z))).astype(int), loads


class Fits:
    """2PL on several abilities, including standard errors."""

    params = (
        [(2_000, 20, 2), (2_000, 30, 3), (2_000, 50, 5)],
        ["exploratory", "confirmatory"],
    )
    param_names = ("size", "form")
    timeout = 300

    def setup(self, size: tuple[int, int, int], form: str) -> None:
        self.answers, loads = compensatory(*size)
        self.form = size[2] if form == "exploratory" else loads
        fit_multidimensional(self.answers[:200, : 5 * size[2]], loads[: 5 * size[2]])

    def time_fit(self, size: tuple[int, int, int], form: str) -> None:
        fit_multidimensional(self.answers, self.form)

    def peakmem_fit(self, size: tuple[int, int, int], form: str) -> None:
        fit_multidimensional(self.answers, self.form)

    def track_integration_error(self, size: tuple[int, int, int], form: str) -> float:
        return fit_multidimensional(self.answers, self.form).integration_error

    track_integration_error.unit = "standard errors"  # type: ignore[attr-defined]


class Uses:
    """Abilities and other results after a fit."""

    def setup(self) -> None:
        self.answers, _ = compensatory(2_000, 20, 2)
        self.fit = fit_multidimensional(self.answers, 2)

    def time_rotation(self) -> None:
        self.fit.rotated(rotate)

    def time_abilities(self) -> None:
        multidimensional_ability(self.fit, self.answers)


def main() -> None:
    """Print CPU seconds of one core for each fit."""
    import argparse
    import time

    argparse.ArgumentParser(description=main.__doc__).parse_args()

    for size in Fits.params[0]:
        for form in Fits.params[1]:
            case = Fits()
            case.setup(size, form)
            start = time.process_time()
            fit = fit_multidimensional(case.answers, case.form)
            spent = time.process_time() - start
            print(f"{size} {form}: {spent:.2f} s, error {fit.integration_error:.1e} of an SE")


if __name__ == "__main__":
    main()
