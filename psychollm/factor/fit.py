r"""`FactorFit`: fit indices of a factor model of correlations.

Let T and d be the test statistic and degrees of freedom of the model, and :math:`T_0` and
:math:`d_0` the same for the model without factors. Let n be the number of observations, and
:math:`e_{ij}` residual correlations. Then

.. math:: \mathrm{RMSEA} = \sqrt{\max\Big(\frac{T - d}{d\,n}, 0\Big)}, \quad
          \mathrm{CFI} = 1 - \frac{\max(T - d, 0)}{\max(T_0 - d_0, T - d, 0)}, \quad
          \mathrm{TLI} = \frac{T_0 / d_0 - T / d}{T_0 / d_0 - 1},                        \quad (1)

.. math:: \mathrm{SRMR} = \sqrt{\operatorname{mean}_{i<j}\, e_{ij}^2}, \qquad
          \mathrm{BIC} = T - d \log n .                                                  \quad (2)

The interval of RMSEA is computed by inverting the noncentral chi-square distribution of T. If the
correction of a statistic depends on the number of factors, as Bartlett's correction does, TLI
applies the model's correction to :math:`T_0`, as Tucker and Lewis do. CFI uses the correction of
the model without factors.

References
----------
Steiger, J. H. (1990). Structural model evaluation and modification: An interval estimation
approach. Multivariate Behavioral Research, 25(2), 173-180.
https://doi.org/10.1207/s15327906mbr2502_4

Bentler, P. M. (1990). Comparative fit indexes in structural models. Psychological Bulletin,
107(2), 238-246. https://doi.org/10.1037/0033-2909.107.2.238

Tucker, L. R., & Lewis, C. (1973). A reliability coefficient for maximum likelihood factor
analysis. Psychometrika, 38(1), 1-10. https://doi.org/10.1007/BF02291170

Bartlett, M. S. (1951). The effect of standardization on a chi-square approximation in factor
analysis. Biometrika, 38(3/4), 337-344. https://doi.org/10.1093/biomet/38.3-4.337
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.numbers import number, p_equals, with_interval
from psychollm._base.result import Result
from psychollm._base.types import FloatArray
from psychollm.factor.exploratory.extract import degrees_of_freedom
from psychollm.factor.robust_test import quadratic_test

if TYPE_CHECKING:
    import pandas as pd

LIMIT = 1e7


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FactorFit(Result):
    """Fit indices of one model; NaN without degrees of freedom or if n is unknown.

    Examples
    --------
    >>> found = fit_indices((12.0, 8.0), (300.0, 15.0), residuals=np.array([0.02, -0.02]), n=500)
    >>> round(found.rmsea, 4), round(found.cfi, 4), round(found.srmr, 4)
    (0.0316, 0.986, 0.02)
    """

    chi_square: float
    df: float
    p_value: float
    baseline_chi_square: float
    baseline_df: float
    rmsea: float
    rmsea_interval: FloatArray  # (2,) 90 % interval, as is customary
    close_fit_p_value: float  # p-value of the hypothesis that RMSEA is at most 0.05
    cfi: float
    tli: float
    srmr: float
    bic: float
    sabic: float  # sample-size adjusted BIC
    n: float
    test: str  # name of the test, or reason why there is none

    def summary(self) -> str:
        """Describe the fit in one sentence."""
        text = f"SRMR {self.srmr:.3f}"
        if self.test.startswith("no "):
            text += f"; {self.test}"
        if np.isfinite(self.chi_square) and self.df > 0:
            text = (
                f"chi-square({self.df:g}) = {number(self.chi_square)}, {p_equals(self.p_value)} "
                f"({self.test}); RMSEA {with_interval(self.rmsea, self.rmsea_interval, 3)}, "
                f"CFI {number(self.cfi, 3)}, TLI {number(self.tli, 3)}, {text}, "
                f"BIC {number(self.bic, 1)}"
            )
        return text

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row per fit index."""
        import pandas as pd

        values = {key: value for key, value in self.to_dict().items() if key != "rmsea_interval"}
        values["rmsea_lower"], values["rmsea_upper"] = self.rmsea_interval.tolist()
        return pd.DataFrame({"index": list(values), "value": list(values.values())})


def fit_indices(
    model: tuple[float, float],
    baseline: tuple[float, float],
    *,
    residuals: FloatArray,
    n: float,
    test: str = "chi-square",
    multiplier: float | None = None,
    same_correction: float | None = None,
) -> FactorFit:
    """Return the indices of equations (1) and (2) from the statistics of model and baseline."""
    # `multiplier` replaces n in RMSEA, for statistics based on n - 1. For TLI, `same_correction`
    # is the baseline's statistic with the model's correction.
    from scipy.stats import chi2, ncx2

    (T, d), (T0, d0) = model, baseline
    scale = n if multiplier is None else multiplier
    ratio0 = (T0 if same_correction is None else same_correction) / d0
    over, over0 = max(T - d, 0.0), max(T0 - d0, 0.0)
    testable = d > 0 and np.isfinite(T) and np.isfinite(n)
    rmsea, interval = rmsea_of(T, d, scale)
    close = float(ncx2.sf(T, d, 0.05**2 * d * scale)) if testable else float("nan")
    worst = max(over, over0)
    return FactorFit(
        chi_square=T,
        df=d,
        p_value=float(chi2.sf(T, d)) if testable else float("nan"),
        baseline_chi_square=T0,
        baseline_df=d0,
        rmsea=rmsea,
        rmsea_interval=interval,
        close_fit_p_value=close,
        cfi=(1.0 - over / worst if worst > 0 else 1.0) if testable else float("nan"),
        tli=(ratio0 - T / d) / (ratio0 - 1.0) if testable else float("nan"),
        srmr=float(np.sqrt(np.mean(residuals**2))),
        bic=float(T - d * np.log(n)),
        sabic=float(T - d * np.log((n + 2.0) / 24.0)),
        n=n,
        test=test,
    )


def rmsea_of(statistic: float, df: float, scale: float) -> tuple[float, FloatArray]:
    """Return RMSEA by equation (1) and its 90 % interval (2,); NaN without degrees of freedom."""
    if not (df > 0 and np.isfinite(statistic + scale)):
        return float("nan"), np.full(2, np.nan)
    rmsea = float(np.sqrt(max(statistic - df, 0.0) / (df * scale)))
    return rmsea, np.sqrt(_noncentrality(statistic, df, 0.90) / (df * scale))


def _noncentrality(statistic: float, df: float, level: float) -> FloatArray:
    """Return the ends of the interval of the noncentrality parameter (2,)."""
    from scipy.optimize import brentq
    from scipy.stats import chi2, ncx2

    ends = []
    for share in (0.5 + 0.5 * level, 0.5 - 0.5 * level):
        if chi2.cdf(statistic, df) < share or statistic > LIMIT:
            ends.append(0.0 if statistic <= LIMIT else statistic - df)
            continue
        high = max(4.0 * statistic, 100.0)
        ends.append(float(brentq(lambda nc, q=share: ncx2.cdf(statistic, df, nc) - q, 0.0, high)))
    return np.array(ends)


def likelihood_ratio(
    matrix: FloatArray, model: FloatArray, n: float, n_factors: int
) -> tuple[float, float, float]:
    """Return Bartlett-corrected statistics of the model and of the null model.

    The statistic of the null model is returned twice: with its own correction, and with the
    correction of the model.
    """
    k = len(matrix)
    sign, size = np.linalg.slogdet(matrix)
    sign_model, size_model = np.linalg.slogdet(model)
    if np.linalg.eigvalsh(matrix)[0] <= 0.0 or sign <= 0 or sign_model <= 0:
        return float("nan"), float("nan"), float("nan")
    misfit = float(np.trace(np.linalg.solve(model, matrix)) - k + size_model - size)
    scale = n - 1.0 - (2.0 * k + 5.0) / 6.0
    of_model = scale - 2.0 * n_factors / 3.0
    return of_model * misfit, -scale * float(size) + 0.0, -of_model * float(size) + 0.0


def fit_of_loadings(
    R: FloatArray,
    loadings: FloatArray,
    method: str,
    n: float,
    W: FloatArray | None,
    gamma: FloatArray | None,
    *,
    normal: bool,
) -> FactorFit:
    """Return the fit of orthogonal loadings, with a robust statistic if `gamma` is given."""
    # `W` contains the weights of DWLS (k, k) or WLS (p, p). `gamma` is n times the covariance
    # matrix of the correlations (p, p). Without `gamma`, a test is computed only if normal theory
    # may be valid.
    k, m = loadings.shape
    pairs = np.tril_indices(k, -1)
    implied = loadings @ loadings.T
    rest = (R - implied)[pairs]
    d, d0 = degrees_of_freedom(k, m), k * (k - 1) // 2
    if gamma is None:
        np.fill_diagonal(implied, 1.0)
        T, T0, same = likelihood_ratio(R, implied, n if normal else float("nan"), m)
        words = "likelihood ratio, Bartlett-corrected"
        if not normal:
            words = "no chi-square: normal theory is not valid, pass covariance"
        elif not np.isfinite(n):
            words = "no chi-square without the number of observations: pass n"
        elif not np.isfinite(T):
            words = "no chi-square: the matrix is not positive definite"
        model, baseline = (T, float(d)), (T0, float(d0))
        return fit_indices(model, baseline, residuals=rest, n=n, test=words, same_correction=same)
    w = np.ones(d0) if W is None else W if method == "wls" else W[pairs]
    jacobian = _derivatives(loadings)
    robust = quadratic_test(rest, jacobian, w, gamma, n - 1.0)._replace(df=d)
    robust0 = quadratic_test(R[pairs], np.empty((d0, 0)), w, gamma, n - 1.0)
    test = "standard" if method == "wls" else "scaled_shifted"
    words = "weighted least squares" if method == "wls" else "scaled and shifted"
    return fit_indices(
        robust.corrected(test),  # type: ignore[arg-type]
        robust0.corrected(test),  # type: ignore[arg-type]
        residuals=rest,
        n=n,
        test=words,
    )


def _derivatives(loadings: FloatArray) -> FloatArray:
    """Return derivatives (p, k m) of implied correlations with respect to the loadings."""
    k, m = loadings.shape
    first, second = np.tril_indices(k, -1)
    slopes = np.zeros((first.size, k, m))
    at = np.arange(first.size)
    slopes[at, first] = loadings[second]
    slopes[at, second] = loadings[first]
    return slopes.reshape(first.size, k * m)
