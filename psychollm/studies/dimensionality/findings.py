"""The evidence of `dimensionality` in words and as one table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.numbers import p_equals, p_value, percent, signed
from psychollm.estimates.findings import VERDICT, Finding, Findings, sentence
from psychollm.estimates.verdict import SmallestEffects
from psychollm.studies.dimensionality.verdict import verdict

if TYPE_CHECKING:
    import pandas as pd

    from psychollm.factor.one_factor.residual_test import ResidualTest
    from psychollm.studies.dimensionality.plain_spectrum import PlainSpectrum
    from psychollm.studies.dimensionality.study import Dimensionality

SHOWN = 5
PAIRS = 3


def frame(result: Dimensionality) -> pd.DataFrame:
    """Return one row per component: eigenvalue, share, and both nulls."""
    # Columns ``permutation_...`` hold the distribution under independence,
    # ``one_factor_...`` under one factor with the observed thresholds; p-values are with
    # their Monte Carlo error.
    import pandas as pd

    plain = result.spectrum
    columns: dict[str, object] = {
        "component": np.arange(1, plain.eigenvalues.size + 1),
        "eigenvalue": plain.eigenvalues,
        "share": plain.shares,
    }
    for name, null in (("permutation", plain.permutation), ("one_factor", plain.one_factor)):
        columns[f"{name}_mean"] = null.mean
        columns[f"{name}_95"] = null.quantile(0.95)
        columns[f"{name}_p"] = null.p_value
        columns[f"{name}_p_se"] = null.p_value_se
    return pd.DataFrame(columns)


def findings(result: Dimensionality, smallest: SmallestEffects) -> Findings:
    """Return the verdict, the tests that decide it, and what the plain spectrum shows."""
    plain, evidence = result.spectrum, result.evidence
    tests = {
        "no shared factor": result.shared_test,
        "one factor": result.one_factor_test,
    }
    return Findings(
        items=(
            Finding(
                key=VERDICT,
                statement=sentence(verdict(evidence, smallest)),
                rows=tuple(
                    f"left out: {model!r}, {why}" for model, why in result.excluded.items()
                ),
                numbers={"n_factors": result.n_factors},
                outcome=evidence.second(smallest)
                if result.n_factors
                else evidence.shared(smallest),
            ),
            Finding(
                key="tests",
                question="Without any empty-cell rule (these decide):",
                rows=(
                    *(f"{name:<20}{_test(test)}" for name, test in tests.items()),
                    f"share of a second   {_share(result.second_share)}",
                    f"full information    {_likelihood(result)}",
                    f"largest residuals   {_pairs(result)}",
                ),
                numbers={name: test.p_value for name, test in tests.items()},
            ),
            Finding(
                key="spectrum",
                question=f"Plain spectrum, empty_cells={plain.correlation.empty_cells!r}:",
                rows=(
                    *_spectrum(plain),
                    _matrix(plain),
                    _rules(plain),
                    _quadratic(plain),
                    _congruence(plain),
                ),
                numbers={"eigenvalues": plain.eigenvalues, "shares": plain.shares},
            ),
            Finding(
                key="rules",
                question="Number of factors by rule:",
                rows=tuple(
                    f"{rule:<26}{count:>3}" for rule, count in result.factors_by_rule.items()
                ),
                numbers=dict(result.factors_by_rule),
            ),
        )
    )


def _test(test: ResidualTest) -> str:
    top = np.quantile(test.draws, 0.95)
    return (
        f"largest residual eigenvalue {test.observed:.2f}, 95 % of replicates below {top:.2f}, "
        f"{p_equals(test.p_value)} ± {p_value(test.p_value_se)}"
    )


def _share(test: ResidualTest) -> str:
    middle, top = np.quantile(test.draws, [0.5, 0.95])
    return (
        f"{percent(test.observed, 1)}; one factor gives {percent(middle, 1)} by chance, "
        f"95 % below {percent(top, 1)}"
    )


def _likelihood(result: Dimensionality) -> str:
    fit = result.full_information
    gain = 2.0 * (fit.log_likelihood - fit.independence)
    return (
        f"log-likelihood {fit.log_likelihood:.1f} with one factor; twice the gain over none "
        f"{gain:.1f} for {fit.n_parameters // 2} loadings"
    )


def _pairs(result: Dimensionality) -> str:
    """Name the pairs that agree or differ most beyond the factor: relatives, often."""
    left = result.residuals
    first, second = np.triu_indices(len(left.labels), 1)
    z = left.standardised[first, second]
    top = np.argsort(-np.abs(z), kind="stable")[:PAIRS]
    return "; ".join(
        f"{left.labels[first[i]]} with {left.labels[second[i]]} {signed(z[i], 1)}" for i in top
    )


def _spectrum(plain: PlainSpectrum) -> list[str]:
    lines = [f"{'':>10}{'eigenvalue':>11}{'share':>8}{'permuted':>10}{'one factor':>12}{'p':>8}"]
    shown = min(SHOWN, plain.eigenvalues.size)
    permuted, one = plain.permutation.quantile(0.95), plain.one_factor.quantile(0.95)
    lines += [
        f"{i + 1:>10}{plain.eigenvalues[i]:>11.2f}{plain.shares[i]:>8.1%}{permuted[i]:>10.2f}"
        f"{one[i]:>12.2f}{plain.one_factor.p_value[i]:>8.3f}"
        for i in range(shown)
    ]
    return [*lines, "(permuted, one factor: 95 % quantiles; p under one factor)"]


def _matrix(plain: PlainSpectrum) -> str:
    k = plain.eigenvalues.size
    return (
        f"smallest eigenvalue {plain.min_eigenvalue:.2f}; {plain.n_empty} of "
        f"{k * (k - 1) // 2} pairs have an empty cell"
    )


def _rules(plain: PlainSpectrum) -> str:
    parts = [
        f"{rule} {percent(share[0])}/{percent(share[1])}"
        for rule, share in zip(plain.sensitivity.rules, plain.sensitivity.shares, strict=True)
    ]
    return "first/second share by rule: " + ", ".join(parts)


def _quadratic(plain: PlainSpectrum) -> str:
    null = plain.quadratic_r2
    low, high = np.nanquantile(null.draws, [0.05, 0.95])
    return (
        f"quadratic fit of loading on threshold: R2 = {null.observed:.2f}; one factor gives "
        f"{low:.2f} to {high:.2f} ({p_equals(float(null.p_value))})"
    )


def _congruence(plain: PlainSpectrum) -> str:
    return (
        f"second loadings: congruence {plain.congruence:.2f} with the second of one-factor "
        f"replicates (single replicates: median {plain.null_congruence:.2f})"
    )
