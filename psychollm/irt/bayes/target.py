r"""Posterior density of a 2PL with abilities integrated out, and its gradient.

The vector x contains slopes (or their logarithms), intercepts, contrasts of the families' mean
abilities and, with domains, the domains' means and grand means; h contains log standard
deviations. Every entry of x is normally distributed around a constant or another entry,

.. math:: r = (A x - m) / s(h) \sim N(0, 1), \qquad
          \log p(x \mid h) = -\tfrac12 r^T r - \sum_k \log s_k + \text{const},           \quad (1)

where A is unit lower triangular for some order of the entries, so that given h the prior is normal
with precision :math:`A^T s^{-2} A`. Standard deviations are half-normal.

Mean abilities of F families are :math:`\mu = Q c`, where Q is an orthonormal basis of contrasts.
The mean abilities of families sum to zero, which fixes the origin of the scale. The variance of
abilities within families is 1, which fixes the unit.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from psychollm._base.errors import OptionError
from psychollm._base.types import FloatArray, IntArray
from psychollm.data.labels import Labels, numbered, unit_labels
from psychollm.irt.families import Link
from psychollm.irt.priors import PROBIT_SCALE
from psychollm.kernels.irt_marginal import LOGIT, PROBIT, marginal_gradient, marginal_patterns

LONGEST = 30.0  # largest absolute logarithm of a slope
LOG_2PI = float(np.log(2.0 * np.pi))
Normal = tuple[float, float]
Data = tuple[IntArray, IntArray, IntArray, IntArray, FloatArray, IntArray]
Grid = tuple[Data, FloatArray, FloatArray, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class HierarchicalPriors:
    """Priors of the Bayesian 2PL on the logit scale; the probit link divides slopes by 1.7.

    With domains of items, the priors of slopes and intercepts apply to the grand mean. SDs between
    and within domains have half-normal priors, whose scale is the SD of the corresponding normal
    prior.

    Parameters
    ----------
    log_slope : (mean, sd) or None
        Normal prior of log slopes, which makes slopes positive.
    slope : (mean, sd)
        Normal prior of slopes, used if `log_slope` is None. With a normal prior, slopes can be
        negative, for example the slopes of miskeyed questions.
    intercept : (mean, sd)
        Normal prior of intercepts.
    families : float
        Scale of the half-normal prior of the SD of families' mean abilities.

    Raises
    ------
    OptionError
        If a standard deviation is not positive.

    Examples
    --------
    >>> print(HierarchicalPriors())
    log slope ~ N(0, 0.5), intercept ~ N(0, 2), sd of families ~ half-N(1)
    """

    log_slope: Normal | None = (0.0, 0.5)
    slope: Normal = (1.0, 0.75)
    intercept: Normal = (0.0, 2.0)
    families: float = 1.0

    def __post_init__(self) -> None:
        for name in ("log_slope", "slope", "intercept"):
            prior = getattr(self, name)
            if prior is None and name == "log_slope":
                continue
            if prior is None or len(prior) != 2 or not np.isfinite(prior).all() or prior[1] <= 0:
                msg = f"priors: {name}={prior!r} must be (mean, sd) with sd above 0"
                raise OptionError(msg)
        if not self.families > 0.0:
            msg = f"priors: families={self.families!r} must be above 0"
            raise OptionError(msg)

    def __str__(self) -> str:
        named = ("slope", self.slope) if self.log_slope is None else ("log slope", self.log_slope)
        parts = [
            f"{name} ~ N({m:g}, {s:g})" for name, (m, s) in (named, ("intercept", self.intercept))
        ]
        return ", ".join([*parts, f"sd of families ~ half-N({self.families:g})"])

    @property
    def positive(self) -> bool:
        """Whether slopes are positive."""
        return self.log_slope is not None

    def scaled(self, link: Link) -> tuple[Normal, Normal]:
        """Return the priors of (log) slopes and intercepts on the scale of the link.

        Parameters
        ----------
        link : {"logit", "probit"}
            Logistic or normal-ogive curves.
        """
        unit = 1.0 if link == "logit" else 1.0 / PROBIT_SCALE
        d = (self.intercept[0] * unit, self.intercept[1] * unit)
        if self.log_slope is None:
            return (self.slope[0] * unit, self.slope[1] * unit), d
        return (self.log_slope[0] + float(np.log(unit)), self.log_slope[1]), d


@dataclass(frozen=True, slots=True)
class Grouping:
    """Labels of groups and the group of each member."""

    labels: tuple[object, ...]
    of: IntArray

    @property
    def n(self) -> int:
        """Number of groups."""
        return len(self.labels)


def grouping(name: str, given: Any, labels: Labels) -> Grouping:
    """Return groups in order of appearance; None means a single group."""
    if given is None:
        return Grouping(("all",), np.zeros(len(labels), dtype=np.int64))
    kind = "respondent" if name == "families" else "item"
    of, names = numbered(unit_labels(given, labels, argument=name, kind=kind))
    return Grouping(names, of)


@dataclass(frozen=True, slots=True)
class Answers:
    """Distinct answer patterns of each family, as arguments of the kernels."""

    codes: IntArray  # (U, J)
    data: Data
    of_respondent: IntArray  # (N,)


def answers_of(codes: IntArray, families: Grouping) -> Answers:
    """Collect distinct rows (N, J) within families, ordered by family."""
    table = np.column_stack([families.of, codes]).astype(np.int64)
    rows, inverse, frequency = np.unique(table, axis=0, return_inverse=True, return_counts=True)
    starts = np.searchsorted(rows[:, 0], np.arange(families.n + 1)).astype(np.int64)
    patterns = np.ascontiguousarray(rows[:, 1:])
    data = (*_sparse(patterns == 1), *_sparse(patterns < 0), frequency.astype(np.float64), starts)
    return Answers(patterns, data, inverse.ravel().astype(np.int64))


def _sparse(mask: object) -> tuple[IntArray, IntArray]:
    """Return the offsets of each row's entries, and the columns of all entries."""
    table = np.asarray(mask)
    starts = np.concatenate([[0], np.cumsum(table.sum(axis=1))]).astype(np.int64)
    return starts, np.nonzero(table)[1].astype(np.int64)


@dataclass(frozen=True, slots=True)
class Structure:
    """Terms A, m and SDs of equation (1).

    An SD is fixed (index -1) or is the exponential of an entry of h.
    """

    a: FloatArray  # (P, P)
    m: FloatArray  # (P,)
    fixed: FloatArray  # (P,)
    index: IntArray  # (P,)
    scales: FloatArray  # (H,) scales of the half-normal priors
    names: tuple[str, ...]  # H

    @property
    def size(self) -> int:
        """Number of entries of the vector x."""
        return self.m.size

    def sd(self, h: FloatArray) -> FloatArray:
        """Return standard deviations (..., P) at h (..., H)."""
        free = self.index >= 0
        found = np.broadcast_to(self.fixed, (*h.shape[:-1], self.size)).copy()
        found[..., free] = np.exp(h[..., self.index[free]])
        return found

    def log_prior(self, x: FloatArray, h: FloatArray) -> FloatArray:
        """Return the log density of x given h plus the log density of h, (...,)."""
        sd = self.sd(h)
        r = (x @ self.a.T - self.m) / sd
        value = -0.5 * (r * r).sum(axis=-1) - np.log(sd).sum(axis=-1) - 0.5 * self.size * LOG_2PI
        return np.asarray(value + self.log_prior_h(h), dtype=np.float64)

    def log_prior_h(self, h: FloatArray) -> FloatArray:
        """Return the log density of h, for half-normal standard deviations with the Jacobian."""
        ratio = np.exp(h) / self.scales
        terms = 0.5 * np.log(2.0 / np.pi) - np.log(self.scales) - 0.5 * ratio**2 + h
        return np.asarray(terms.sum(axis=-1), dtype=np.float64)

    def precision(self, h: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return precision (P, P) and precision times mean (P,) of x given h."""
        weighted: FloatArray = self.a.T / self.sd(h) ** 2
        return np.asarray(weighted @ self.a), np.asarray(weighted @ self.m)

    def draw(self, n: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Return draws of x (n, P) and h (n, H) from the prior."""
        h = np.log(self.scales * np.abs(rng.normal(size=(n, self.scales.size))))
        noise = self.m + self.sd(h) * rng.normal(size=(n, self.size))
        return np.asarray(np.linalg.solve(self.a, noise.T).T, dtype=np.float64), h


@dataclass(frozen=True, slots=True)
class Target:
    """Posterior density, defined by answers, structure of the prior, and nodes of the ability."""

    answers: Answers
    families: Grouping
    domains: Grouping
    priors: HierarchicalPriors
    link: Link
    structure: Structure
    nodes: FloatArray  # (Q,)
    log_weights: FloatArray  # (Q,)

    @property
    def n_items(self) -> int:
        """Number of items."""
        return int(self.answers.codes.shape[1])

    @property
    def link_code(self) -> int:
        """Code of the link in the kernels."""
        return LOGIT if self.link == "logit" else PROBIT

    @property
    def grid(self) -> Grid:
        """Arguments of the kernels other than the parameters."""
        return self.answers.data, self.nodes, self.log_weights, self.link_code

    @property
    def n_likelihood(self) -> int:
        """Number of entries of x that the likelihood depends on; these entries come first."""
        return 2 * self.n_items + self.families.n - 1

    def split(self, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return slopes (S, J), intercepts (S, J) and families' means (S, F) of x (S, P)."""
        items = self.n_items
        slope = (
            np.exp(np.clip(x[:, :items], -LONGEST, LONGEST))
            if self.priors.positive
            else x[:, :items].copy()
        )
        mean = x[:, 2 * items : self.n_likelihood] @ contrasts(self.families.n).T
        # Kernels are compiled anew for each memory layout.
        return np.ascontiguousarray(slope), np.ascontiguousarray(x[:, items : 2 * items]), mean

    def log_likelihood(self, x: FloatArray) -> FloatArray:
        """Return the marginal log-likelihoods (S,) at x (S, P)."""
        value = np.empty(x.shape[0])
        self._patterns(x, np.empty((1, self.answers.codes.shape[0])), value)
        return value

    def pattern_log_likelihood(self, x: FloatArray) -> FloatArray:
        """Return the marginal log-likelihoods of patterns (S, U) at x (S, P)."""
        pattern = np.empty((x.shape[0], self.answers.codes.shape[0]))
        self._patterns(x, pattern, np.empty(x.shape[0]))
        return pattern

    def _patterns(self, x: FloatArray, pattern: FloatArray, value: FloatArray) -> None:
        marginal_patterns(*self.split(x), self.grid, pattern, value)

    def gradient(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Return the log-likelihood and its gradient at x (P,)."""
        slope, intercept, mean = (part[0] for part in self.split(x[None]))
        by_a, by_d, by_mu = np.empty_like(slope), np.empty_like(slope), np.empty_like(mean)
        value = marginal_gradient(slope, intercept, mean, self.grid, by_a, by_d, by_mu)
        by_x = np.zeros(x.size)
        by_x[: self.n_items] = by_a * slope if self.priors.positive else by_a
        by_x[self.n_items : 2 * self.n_items] = by_d
        by_x[2 * self.n_items : self.n_likelihood] = by_mu @ contrasts(self.families.n)
        return float(value), by_x


def contrasts(n: int) -> FloatArray:
    """Return an orthonormal basis (n, n - 1) of the vectors that sum to zero."""
    basis = np.zeros((n, n - 1))
    for k in range(1, n):
        basis[:k, k - 1] = 1.0
        basis[k, k - 1] = -k
        basis[:, k - 1] /= np.sqrt(k * (k + 1.0))
    return basis


def structure_of(
    n_items: int, families: Grouping, domains: Grouping, priors: HierarchicalPriors, link: Link
) -> Structure:
    """Return the elements of equation (1) for items, families and domains."""
    n_contrasts, n_domains = families.n - 1, domains.n if domains.n > 1 else 0
    means = 2 * (n_domains + 1) if n_domains else 0
    size = 2 * n_items + n_contrasts + means
    a, m, fixed = np.eye(size), np.zeros(size), np.ones(size)
    index = np.full(size, -1, dtype=np.int64)
    scales: list[float] = []
    names: list[str] = []
    first = 2 * n_items + n_contrasts
    for kind, (mean, sd) in enumerate(priors.scaled(link)):
        rows = np.arange(n_items) + kind * n_items
        if not n_domains:
            m[rows], fixed[rows] = mean, sd
            continue
        grand = first + kind * (n_domains + 1)
        own = grand + 1 + np.arange(n_domains)
        m[grand], fixed[grand] = mean, sd
        a[own, grand] = -1.0
        a[rows, own[domains.of]] = -1.0
        index[rows], index[own] = len(scales), len(scales) + 1
        what = ("slope", "intercept")[kind]
        scales += [sd, sd]
        names += [f"sd_{what}_within", f"sd_{what}_between"]
    if n_contrasts:
        index[2 * n_items : first] = len(scales)
        scales.append(priors.families)
        names.append("sd_families")
    return Structure(a, m, fixed, index, np.array(scales), tuple(names))
