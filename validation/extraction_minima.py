"""How often factor extraction misses the lowest minimum found by many random starts.

Half of the matrices are easy (loadings .5 to .9, 200 to 2,000 units), a quarter weak (loadings
below .4 in absolute value), and a quarter nearly Heywood (communalities of some variables above
.97, 50 to 300 units). Matrices have 6 to 15 variables and 1 to 4 factors.

    python -m validation.extraction_minima --n 500 --starts 50

Takes a minute and a half, extrapolated from one matrix in 25.
"""

import argparse
import time
import warnings

import numpy as np

from psychollm.factor.exploratory.discrepancy import ML, ULS
from psychollm.factor.exploratory.extract import degrees_of_freedom, extract
from psychollm.factor.exploratory.factor_analysis import factor_analysis
from psychollm.factor.exploratory.minimise import minimise

LOW = 0.005
MISSED = 1e-6


def simulated_correlation(rng: np.random.Generator, *, weak: bool) -> tuple[np.ndarray, int]:
    """Return a sample correlation matrix and its number of factors."""
    k, m = 0, 1
    while degrees_of_freedom(k, m) < 0 or k <= m:
        k, m = int(rng.integers(6, 16)), int(rng.integers(1, 5))
    units = int(rng.integers(50, 300)) if weak else int(rng.integers(200, 2000))
    if not weak:
        loadings = rng.normal(0.0, 0.1, (k, m))
        loadings[np.arange(k), np.arange(k) % m] += rng.uniform(0.5, 0.9, k)
    elif rng.random() < 0.5:
        loadings = rng.uniform(-0.4, 0.4, (k, m))
    else:
        communalities = rng.uniform(0.1, 0.8, k)
        communalities[rng.permutation(k)[:m]] = rng.uniform(0.97, 1.0, m)
        loadings = rng.normal(size=(k, m))
        loadings *= np.sqrt(communalities / np.sum(loadings**2, axis=1))[:, None]
    communalities = np.sum(loadings**2, axis=1)
    loadings *= np.minimum(1.0, np.sqrt(0.999 / communalities))[:, None]
    matrix = loadings @ loadings.T
    np.fill_diagonal(matrix, 1.0)
    return np.corrcoef(rng.multivariate_normal(np.zeros(k), matrix, size=units).T), m


def main() -> None:
    """Print misses and times of several starts and of one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=500, help="matrices")
    parser.add_argument("--starts", type=int, default=50, help="random starts to compare with")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # principal axes that do not converge
    print(
        "method  matrices  missed  missed by one start  several minima  CPU s  CPU s of one start"
    )
    for method, discrepancy in (("ml", ML), ("minres", ULS)):
        missed, missed_once, several, spent = 0, 0, 0, np.zeros(2)
        for number in range(options.n):
            rng = np.random.default_rng(number)
            R, m = simulated_correlation(rng, weak=number % 2 == 1)
            begun = time.process_time()
            found = extract(R, n_factors=m, method=method)
            between = time.process_time()
            once = extract(R, n_factors=m, method=method, n_starts=1)
            spent += between - begun, time.process_time() - between
            starts = rng.uniform(LOW, 1.0, (options.starts, len(R)))
            stack = np.broadcast_to(R, (len(starts), *R.shape))
            ends = minimise(discrepancy, stack, starts, m, LOW)
            lowest = min(found.objective, float(ends.objective[ends.converged].min()))
            missed += found.objective > lowest + MISSED
            missed_once += once.objective > lowest + MISSED
            several += found.minima > 1
        print(method, options.n, missed, missed_once, several, *spent.round(1), sep="\t")
    above = [0, 0]
    for number in range(options.n):
        R, m = simulated_correlation(np.random.default_rng(number), weak=number % 2 == 1)
        axes, minres = (
            factor_analysis(R, m, method=method, rotation="none")
            for method in ("principal_axis", "minres")
        )
        above[number % 2] += axes.objective > minres.objective + MISSED
    print(f"principal axes end above minres in {above} of easy and of other matrices")


if __name__ == "__main__":
    main()
