r"""Test for a second factor, allowing for lapses.

The null hypothesis is the model in equation (1) of `lapses`. Each pair of models has a score
statistic for a second factor (`kernels.second_factor`); the test statistic is the largest
eigenvalue of the matrix of these scores. To first order, estimation adds :math:`-C (n I + P)^{-1}
g` to a score. Here g are the scores of the parameters, I is their information, C their covariance
with the pairs' scores, and P the precision of the priors. With this correction term (Neyman,
1959), the model need not be refitted in each replicate. Replicates are resampled from one
simulated pool of questions.

Each pair's score is divided by the fourth root of its variance. Division by the fourth root is a
compromise between two alternatives: standardised scores, in which pairs with rare answers
dominate, and scores weighted by information.

The size of a second factor is estimated from pair counts. Two factors are fitted jointly with
asymptotes (`kernels.pairwise_lapses`), whose prior scales are estimated from answer patterns.

The tests for a second factor have little power if lapses can take the place of this factor.
Therefore, two normal factors are also compared with one factor with lapses (`two_factors`).

References
----------
Neyman, J. (1959). Optimal asymptotic tests of composite statistical hypotheses. In U. Grenander
(Ed.), Probability and statistics: The Harald Cramér volume (pp. 213-234). Wiley.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc, expit, ndtr

from psychollm._base.replicate import one_blas_thread, progress_bar
from psychollm._base.result import Result
from psychollm._base.types import BoolArray, FloatArray
from psychollm.data.pair_counts import CountedAnswers, writable_counts
from psychollm.estimates.null import monte_carlo_error, monte_carlo_p_value
from psychollm.factor.one_factor.residuals import ResidualTest
from psychollm.irt.priors import Priors
from psychollm.kernels.pairwise_factors import add_factor
from psychollm.kernels.pairwise_lapses import LARGEST, fit_pairwise_lapses
from psychollm.kernels.quadrature import HALF_RANGE, normal_grid, normalise_rows
from psychollm.kernels.second_factor import second_factor_scores
from psychollm.studies.dimensionality.lapses import (
    LEAST_CHANCE,
    OneFactorWithLapses,
    one_factor_with_lapses,
)
from psychollm.studies.dimensionality.two_factors import TwoFactors, compare_two_factors

FINE = 0.9  # spacing of nodes, in SDs of the narrowest posterior
PROBES, LEAST_NODES, MOST_NODES = 261, 41, 1201
POOL, BLOCK = 10_000, 1024  # questions in the simulated pool; questions per block
MOST_CELLS = 4_000_000  # maximum number of questions times pairs per block
NEAREST = 0.003  # smallest scale of an asymptote's prior in two-factor fits
GAIN, MOST_STEPS = 0.01, 60  # tolerance and maximum number of steps of two-factor fits
LONGEST = 2.0  # maximum change of a parameter between the fit and a replicate
LARGEST_LOADING = 0.9995
FAR = 4.0  # number of SDs above the mean under one factor at which a score counts as extreme
STRICT = 0.35  # the combined test uses this multiple of the level
LARGE = 40  # with more models, fewer replicates are fitted because the cost is cubic
USUAL, BOUNDING = 0.4, 39  # p-value above which fewer replicates are fitted, and their number


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class WithLapses(Result):
    """Tests of a second factor, allowing for lapses.

    Attributes
    ----------
    fit : OneFactorWithLapses
        One-factor model with lapses, the null hypothesis of the tests.
    test : ResidualTest
        Score test of one factor with lapses against a second factor.
    second_share : ResidualTest
        Test of the proportion of variance of a second factor that is fitted jointly with
        asymptotes.
    two_factors : TwoFactors
        Two normal factors, compared with `fit` by their likelihood.
    """

    fit: OneFactorWithLapses
    test: ResidualTest
    second_share: ResidualTest
    two_factors: TwoFactors

    @property
    def evident(self) -> bool:
        """Whether lapses are significant and describe the answers better than a second factor."""
        return self.fit.evident and self.two_factors.worse

    def rejected(self, alpha: float) -> bool:
        """Return whether the tests reject one factor with lapses at level `alpha`."""
        return shown(self.p_value, self.test.p_value, far=self.far, alpha=alpha)

    def second_shown(self, alpha: float) -> bool:
        """Return whether a second factor is significant, by the tests or by its likelihood."""
        return self.rejected(alpha) or self.two_factors.better

    def undecided(self, alpha: float) -> bool:
        """Return whether lapses and a second factor describe the answers equally well."""
        if self.second_shown(alpha) or self.p_value <= alpha:
            return False
        return not self.two_factors.worse

    @property
    def p_value(self) -> float:
        """Fisher's combined p-value of the score test and the test of `second_share`.

        The score test and the test of `second_share` are nearly independent.
        """
        product = self.test.p_value * self.second_share.p_value
        return float(chdtrc(4, -2.0 * np.log(product)))

    @property
    def far(self) -> bool:
        """Whether the score statistic is far above its mean under one factor."""
        draws = self.test.draws
        return bool(self.test.observed > draws.mean() + FAR * draws.std())


def reported_share(without: ResidualTest, lapses: WithLapses | None, alpha: float) -> ResidualTest:
    """Return the test of the second factor's proportion of variance that the verdict reports.

    `without` is the test without lapses.
    """
    # A second factor whose place lapses can take has a small proportion beside them.
    if lapses is None or lapses.undecided(alpha):
        return without
    alone = lapses.two_factors.better and not lapses.rejected(alpha)
    return without if alone else lapses.second_share


def shown(p_both: float, p_scores: float, *, far: bool, alpha: float) -> bool:
    """Return whether one factor is rejected by the combined test, or clearly by the score test."""
    # With extreme yes rates, each test rejects one factor slightly too often, so the combined test
    # uses a stricter level. If lapses resemble a second factor, large proportions occur by chance,
    # so the decision is based on the score test.
    return p_both <= STRICT * alpha or (p_scores <= alpha and far)


def with_lapses(
    answers: CountedAnswers,
    *,
    without: float,
    n_null: int,
    n_shares: int,
    level: float,
    rng: np.random.Generator,
    progress: bool = False,
) -> WithLapses:
    """Fit one factor with lapses and test for a second factor."""
    # `without` is the log-likelihood of one factor without lapses. Use one thread, because the
    # rounding of sums depends on the number of threads. Tiny probabilities may underflow.
    with one_blas_thread(), np.errstate(under="ignore"):
        fit = one_factor_with_lapses(answers.table, without=without, level=level)
        test, share = second_factor_tests(
            answers, fit, n_null=n_null, n_shares=n_shares, rng=rng, progress=progress
        )
        two = compare_two_factors(answers, fit, level=level)
    fit.convergence.warn("the fit with lapses")
    return WithLapses(fit=fit, test=test, second_share=share, two_factors=two)


@dataclass(frozen=True, slots=True)
class _Curves:
    """Fitted model, evaluated at the quadrature nodes of the factor."""

    parameters: FloatArray  # (k, 4)
    log_weights: FloatArray  # (Q,)
    log_yes: FloatArray  # (k, Q)
    log_no: FloatArray  # (k, Q)
    up: FloatArray  # (Q, k) derivative of log P with respect to its argument
    down: FloatArray  # (Q, k) derivative of log(1 - P) with respect to its argument
    up_all: FloatArray  # (4k, Q) derivatives of log P with respect to the parameters
    down_all: FloatArray  # (4k, Q) derivatives of log(1 - P)

    @classmethod
    def of(cls, parameters: FloatArray) -> _Curves:
        """Evaluate the model on a grid that is fine enough for the narrowest posterior."""
        yes, no, slope, _ = _probabilities(
            parameters, np.linspace(-HALF_RANGE, HALF_RANGE, PROBES)
        )
        information = 1.0 + parameters[:, 0] ** 2 @ (slope**2 / (yes * no))
        wanted = np.ceil(2.0 * HALF_RANGE * np.sqrt(information.max()) / FINE)
        nodes, log_weights = normal_grid(int(np.clip(wanted, LEAST_NODES, MOST_NODES)))
        yes, no, slope, by = _probabilities(parameters, nodes)
        return cls(
            parameters,
            log_weights,
            np.log(yes),
            np.log(no),
            np.ascontiguousarray((slope / yes).T),
            np.ascontiguousarray((-slope / no).T),
            (by / yes[:, None]).reshape(-1, nodes.size),
            (-by / no[:, None]).reshape(-1, nodes.size),
        )

    def scores(self, yes: FloatArray, no: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return scores of parameters (n, 4k) and of pairs (n, pairs) for answers (n, k)."""
        weights = yes @ self.log_yes + no @ self.log_no + self.log_weights
        normalise_rows(weights)
        own = np.repeat(yes, 4, axis=1) * (weights @ self.up_all.T)
        own += np.repeat(no, 4, axis=1) * (weights @ self.down_all.T)
        k = yes.shape[1]
        pairs = np.empty((len(yes), k * (k - 1) // 2))
        second_factor_scores(weights, yes, no, self.up, self.down, pairs)
        return own, pairs

    def draw(self, n: int, rng: np.random.Generator) -> BoolArray:
        """Draw answers (n, k) of n questions."""
        yes = _probabilities(self.parameters, rng.standard_normal(n))[0]
        return np.asarray(rng.random((n, len(yes))) < yes.T)


def _probabilities(
    parameters: FloatArray, nodes: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return P(yes) and P(no) by equation (1), and derivatives of P(yes).

    Derivatives with respect to the argument have shape (k, Q), and with respect to the parameters
    (k, 4, Q).
    """
    a, b, low, high = (column[:, None] for column in parameters.T)
    z = a * nodes + b
    left, right = ndtr(z), ndtr(-z)
    lower, above = expit(low), expit(-high)
    inner = 1.0 - lower - above
    slope = inner * np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi)
    by = np.stack(
        [
            slope * nodes,
            slope,
            lower * (1.0 - lower) * right,
            above * (1.0 - above) * left,
        ],
        axis=1,
    )
    yes, no = lower + inner * left, above + inner * right
    return np.maximum(yes, LEAST_CHANCE), np.maximum(no, LEAST_CHANCE), slope, by


def _blocks(yes: FloatArray, no: FloatArray) -> Iterator[tuple[slice, FloatArray, FloatArray]]:
    step = max(32, min(BLOCK, MOST_CELLS // yes.shape[1] ** 2))
    for start in range(0, len(yes), step):
        part = slice(start, start + step)
        yield part, yes[part], no[part]


def _pair_products(yes: FloatArray, no: FloatArray) -> Iterator[FloatArray]:
    """Yield products y_i y_j, y_i a_j, a_i y_j and a_i a_j (n, pairs); y is yes, a is answered."""
    first, second = np.tril_indices(yes.shape[1], -1)
    answered = yes + no
    for one, other in itertools.product((yes, answered), repeat=2):
        yield one[:, first] * other[:, second]


@dataclass(frozen=True, slots=True)
class _Pool:
    """Sums over the questions of each replicate, which are resampled from a simulated pool."""

    # (replicates, pairs) centred scores, which include the first-order effect of estimation
    scores: FloatArray
    variances: FloatArray  # (pairs,) variances of `scores`
    parameters: FloatArray  # (replicates, k, 4) first-order estimates in each replicate
    products: FloatArray  # (4, refitted replicates, pairs) counts of pairs


def second_factor_tests(
    answers: CountedAnswers,
    fit: OneFactorWithLapses,
    *,
    n_null: int,
    n_shares: int,
    rng: np.random.Generator,
    progress: bool = False,
) -> tuple[ResidualTest, ResidualTest]:
    """Given lapses, test for a second factor by its scores and by its proportion of variance."""
    table = answers.table
    curves = _Curves.of(fit._parameters)
    yes, no = ((~table.missing & (table.codes == code)).T.astype(float) for code in (1, 0))
    k = yes.shape[1]
    own, pairs = np.zeros(4 * k), np.zeros(k * (k - 1) // 2)
    for _, y, x in _blocks(yes, no):
        mine, theirs = curves.scores(y, x)
        own += mine.sum(axis=0)
        pairs += theirs.sum(axis=0)
    pool = _drawn(curves, fit._priors, yes + no, own, n_null, n_shares, rng)
    size = np.sqrt(np.maximum(pool.variances, 1e-12))

    def eigenvalues(scores: FloatArray) -> FloatArray:
        return np.asarray(np.linalg.eigvalsh(_symmetric(scores / np.sqrt(size), k))[..., -1])

    z = _symmetric(pairs / size, k)
    test = _test(
        "largest second-factor score", float(eigenvalues(pairs)), eigenvalues(pool.scores), fit
    )
    counts = writable_counts(answers.counts)
    observed = _share(*counts, fit._parameters, z)
    # If the scores are compatible with one factor, only an upper bound of the proportion is
    # needed, so fewer replicates suffice.
    n_shares = n_shares if test.p_value <= USUAL and k <= LARGE else min(n_shares, BOUNDING)
    draws = np.empty(n_shares)
    bar = progress_bar(show=progress, total=n_shares, label="second shares with lapses")
    try:
        for m in range(n_shares):
            drawn = _counts(pool.products[:, m], k)
            draws[m] = _share(*drawn, pool.parameters[m], _symmetric(pool.scores[m] / size, k))
            bar.update(1)
    finally:
        bar.close()
    return test, _test("second share", observed, draws, fit)


def _drawn(
    curves: _Curves,
    priors: Priors,
    answered: FloatArray,
    gradient: FloatArray,
    n_null: int,
    n_shares: int,
    rng: np.random.Generator,
) -> _Pool:
    """Simulate a pool of questions and draw replicates from it.

    `gradient` (4k,) contains the scores of the parameters in the observed data.
    """
    n, k = answered.shape
    mask = answered if answered.all() else answered[rng.integers(0, n, POOL)]
    drawn = curves.draw(POOL, rng)
    yes = drawn.astype(np.float64)
    no = 1.0 - yes
    if mask is not answered:
        yes, no = yes * mask, no * mask
    weights = rng.multinomial(n, np.full(POOL, 1.0 / POOL), size=n_null).astype(np.float64)
    pairs = k * (k - 1) // 2
    scores, own = np.zeros((n_null, pairs)), np.zeros((n_null, 4 * k))
    products = np.zeros((4, n_shares, pairs))
    mean, mean_own, squares = np.zeros(pairs), np.zeros(4 * k), np.zeros(pairs)
    cross, information = np.zeros((pairs, 4 * k)), np.zeros((4 * k, 4 * k))
    for part, y, x in _blocks(yes, no):
        mine, theirs = curves.scores(y, x)
        scores += weights[:, part] @ theirs
        own += weights[:, part] @ mine
        for place, product in enumerate(_pair_products(y, x)):
            products[place] += weights[:n_shares, part] @ product
        mean, mean_own = mean + theirs.sum(axis=0), mean_own + mine.sum(axis=0)
        squares += np.einsum("np,np->p", theirs, theirs)
        cross += theirs.T @ mine
        information += mine.T @ mine
    share = n / POOL
    scores, own = scores - share * mean, own - share * mean_own
    _, precisions = priors.arrays(("slope", "intercept", "guessing", "upper"))
    prior = np.tile(precisions, k)
    total = share * information + np.diag(prior) + 1e-9 * np.eye(4 * k)
    weight = np.linalg.solve(total, share * cross.T).T  # (pairs, 4k)
    spread = share * (
        squares
        - 2.0 * np.einsum("pg,pg->p", weight, cross)
        + np.einsum("pg,gh,ph->p", weight, information, weight)
    )
    # At the fit, the gradients of the data and of the priors cancel. Subtracting the gradient of
    # the data centres each replicate in the same way.
    moved = np.linalg.solve(total, (own - gradient).T).T.reshape(n_null, k, 4)
    return _Pool(
        scores=scores - (own - gradient) @ weight.T,
        variances=spread,
        parameters=curves.parameters + np.clip(moved[:n_shares], -LONGEST, LONGEST),
        products=products,
    )


def _symmetric(pairs: FloatArray, k: int) -> FloatArray:
    """Return symmetric matrices (..., k, k) with zero diagonal from pairs (..., pairs)."""
    matrix = np.zeros((*pairs.shape[:-1], k, k))
    first, second = np.tril_indices(k, -1)
    matrix[..., first, second] = matrix[..., second, first] = pairs
    return matrix


def _counts(products: FloatArray, k: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return counts (joint, yes, n), each of shape (k, k), from sums of products (4, pairs)."""
    first, second = np.tril_indices(k, -1)
    joint, n = _symmetric(products[0], k), _symmetric(products[3], k)
    yes = np.zeros((k, k))
    yes[first, second], yes[second, first] = products[1], products[2]
    return joint, yes, n


def _share(
    joint: FloatArray, yes: FloatArray, n: FloatArray, parameters: FloatArray, z: FloatArray
) -> float:
    """Return the second factor's proportion of variance in a fit with two factors and lapses."""
    a, _, low, high = parameters.T
    lapses = np.minimum(np.column_stack([expit(low), expit(-high)]), LARGEST)
    k = a.size
    first = np.clip(a / np.sqrt(1.0 + a * a), -LARGEST_LOADING, LARGEST_LOADING)
    wide = np.empty((k, 2))
    add_factor(z, first[:, None], wide)
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = np.where(n > 0.0, yes / n, np.nan)
    scales = np.maximum(lapses, NEAREST)
    fit_pairwise_lapses((joint, yes, n), rate, wide, lapses, scales, GAIN, MOST_STEPS)
    return float(np.linalg.eigvalsh(wide.T @ wide)[0] / k)


def _test(
    statistic: str, observed: float, draws: FloatArray, fit: OneFactorWithLapses
) -> ResidualTest:
    p = monte_carlo_p_value(observed, draws)
    return ResidualTest(
        observed=observed,
        draws=draws,
        p_value=float(p),
        p_value_se=float(monte_carlo_error(p, draws.size)),
        n=draws.size,
        scheme="one_factor_with_lapses",
        statistic=statistic,
        alternative="greater",
        factors=1,
        loadings=fit.loadings,
        labels=fit.labels,
    )
