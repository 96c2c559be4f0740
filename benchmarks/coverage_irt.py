"""Coverage of 95 % intervals (estimate +- 1.96 standard errors) of 2PL items: a table.

Run as ``python -m benchmarks.coverage_irt``; 500 data sets for each row. With 500 data sets of ten
items the Monte Carlo error of a coverage is about 0.5 percentage points.
"""

import argparse

import numpy as np

from psychollm.irt.fit import fit_irt

DATA_SETS = 500
SLOPES = np.linspace(0.7, 1.8, 10)
INTERCEPTS = np.linspace(-1.5, 1.5, 10)


def answers(n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw answers of n respondents with abilities N(0, 1)."""
    z = np.outer(rng.normal(size=n), SLOPES) + INTERCEPTS
    return (rng.random(z.shape) < 1.0 / (1.0 + np.exp(-z))).astype(int)


def coverage(n: int, kind: str, *, priors: str | None) -> tuple[float, float]:
    """Return the shares of intervals of slopes and intercepts that hold the truth."""
    rng = np.random.default_rng(n)
    hits = np.zeros((2, SLOPES.size))
    tried = np.zeros(2)
    for _ in range(DATA_SETS):
        fit = fit_irt(answers(n, rng), standard_errors=kind, priors=priors)
        pairs = (
            (fit.slope - SLOPES, fit.se_slope),
            (fit.intercept - INTERCEPTS, fit.se_intercept),
        )
        for k, (gap, se) in enumerate(pairs):
            usable = np.isfinite(se)
            hits[k, usable] += np.abs(gap[usable]) <= 1.959964 * se[usable]
            tried[k] += usable.sum()
    slope, intercept = hits.sum(axis=1) / tried
    return float(slope), float(intercept)


def main() -> None:
    """Print the table."""
    argparse.ArgumentParser(description=__doc__.partition("\n")[0]).parse_args()
    print("| respondents | standard errors | priors | slopes | intercepts |")
    print("|---|---|---|---|---|")
    for n in (200, 500, 2_000):
        for kind in ("observed", "cross_product", "sandwich"):
            for priors in (None, "auto") if n < 500 and kind == "observed" else (None,):
                slope, intercept = coverage(n, kind, priors=priors)
                said = "weak" if priors else "none"
                print(f"| {n} | {kind} | {said} | {slope:.3f} | {intercept:.3f} |", flush=True)


if __name__ == "__main__":
    main()
