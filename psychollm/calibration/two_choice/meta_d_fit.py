r"""Fits of meta-d' to tables of counts, with standard errors, fitted rates and reasons.

The type-1 estimates :math:`d' = z_H - z_F` and :math:`c = -(z_H + z_F)/2` are computed from two
independent proportions, H and F. Equation (1) gives the variances of the normal quantiles of H and
F (Gourevitch & Galanter).

.. math:: V(z_H) = \frac{H (1 - H)}{n_1 \varphi(z_H)^2}, \qquad
          V(z_F) = \frac{F (1 - F)}{n_0 \varphi(z_F)^2}.                                  \quad (1)

Given the responses, the ratings are independent of H and F. The ratings contribute the variance v
of meta-d' given d' and c, computed from the observed information. Every output y is a function of
three independent parts and has the variance in equation (2).

.. math:: V(y) = \left(\frac{\partial y}{\partial m}\right)^2 v
               + \left(\frac{\partial y}{\partial z_H}\right)^2 V(z_H)
               + \left(\frac{\partial y}{\partial z_F}\right)^2 V(z_F).                   \quad (2)

Here m is meta-d', which also depends on :math:`z_H` and :math:`z_F` through the criterion.

References
----------
Gourevitch, V., & Galanter, E. (1967). A significance test for one parameter isosensitivity
functions. Psychometrika, 32, 25-33. https://doi.org/10.1007/BF02289402
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from psychollm._base.convergence import Convergence
from psychollm._base.types import BoolArray, FloatArray
from psychollm.data.simulate import MetaCriterion
from psychollm.estimates.reasons import Reason, first_reason
from psychollm.kernels import meta_d as kernel

OUTPUTS = ("d'", "c", "meta-d'", "M-ratio", "M-diff", "log M-ratio", "meta-c")
TYPE_1 = 2  # number of outputs that do not depend on ratings
_UNSTABLE_BELOW = 0.5


@dataclass(frozen=True, slots=True)
class Fits:
    """Meta-d' fitted to any number of tables."""

    tables: FloatArray  # (n, 2 classes, 2 responses, ratings) counts
    padding: float  # number added to each cell
    scaled: bool  # whether meta-c is c times meta-d' / d' instead of c
    raw: FloatArray  # (n, kernel.COLUMNS)
    criteria: FloatArray  # (n, 2 responses, ratings - 1) increasing on the axis of evidence

    @property
    def padded(self) -> FloatArray:
        """Tables to which the model was fitted."""
        return self.tables + self.padding

    @property
    def outputs(self) -> FloatArray:
        """Estimates (n, outputs)."""
        d, c, m = (self.raw[:, i] for i in (kernel.D_PRIME, kernel.CRITERION, kernel.META_D))
        ratio = m / self._divisor
        log = np.log(np.where(ratio > 0.0, ratio, np.nan))
        meta_c = np.where(np.isfinite(m), ratio * c if self.scaled else c, np.nan)
        return np.stack([d, c, m, ratio, m - d, log, meta_c], axis=1)

    @property
    def _divisor(self) -> FloatArray:
        """Denominator d' (n,); NaN if it is too small."""
        fitted = np.isfinite(self.raw[:, kernel.META_D])
        return np.where(fitted, self.raw[:, kernel.D_PRIME], np.nan)

    @property
    def conditional_se(self) -> FloatArray:
        """Standard errors of meta-d' given d' and c (n,)."""
        return np.sqrt(self.raw[:, kernel.VARIANCE])

    @property
    def standard_errors(self) -> FloatArray:
        """Standard errors of the outputs by the delta method (n, outputs)."""
        variances = np.stack([self.raw[:, kernel.VARIANCE], *_type_1_variances(self.padded)])
        slopes = self._slopes()
        with np.errstate(invalid="ignore"):
            terms = np.where(slopes == 0.0, 0.0, slopes**2 * variances[:, :, None])
            return np.asarray(np.sqrt(terms.sum(axis=0)), dtype=np.float64)

    def _slopes(self) -> FloatArray:
        """Return derivatives of the outputs with respect to m, z_H and z_F (3, n, outputs)."""
        d, c, m = self._divisor, self.raw[:, kernel.CRITERION], self.raw[:, kernel.META_D]
        zero, one = np.zeros(d.size), np.ones(d.size)
        of_d, of_c = np.stack([zero, one, -one]), np.stack([zero, -0.5 * one, -0.5 * one])
        of_rho = of_c / d - c / d**2 * of_d
        of_m = self.raw[:, kernel.DRIFT] * (of_rho if self.scaled else of_c)
        of_m = of_m + np.stack([one, zero, zero])
        of_ratio = of_m / d - m / d**2 * of_d
        of_meta_c = c / d * of_m + m * of_rho if self.scaled else of_c
        columns = (of_d, of_c, of_m, of_ratio, of_m - of_d, of_ratio * d / m, of_meta_c)
        return np.stack(columns, axis=2)

    def reasons(self) -> list[tuple[Reason, ...]]:
        """Return the reason for each undefined or qualified output, for every table."""
        answers = self.tables.sum(axis=3)  # (n, classes, responses)
        silent = (answers.sum(axis=(1, 2)) == 0, Reason.NO_ANSWERS)
        classes = ((answers.sum(axis=2) == 0).any(axis=1), Reason.NO_STIMULUS_CLASSES)
        empty = (answers == 0).any(axis=(1, 2))
        d = self.raw[:, kernel.D_PRIME]
        infinite = (empty & ~np.isfinite(d), Reason.EMPTY_RESPONSE)
        status = self.raw[:, kernel.STATUS]
        ratings = (
            silent,
            classes,
            (empty, Reason.EMPTY_RESPONSE),
            (~(d > kernel.LOWEST_D_PRIME), Reason.LOW_SENSITIVITY),
            (_constant(self.tables), Reason.FEW_RATINGS),
            (status == kernel.UNBOUNDED, Reason.UNBOUNDED),
            (status == kernel.NOT_CONVERGED, Reason.NOT_CONVERGED),
        )
        unstable = (d < _UNSTABLE_BELOW, Reason.UNSTABLE)
        negative = (self.raw[:, kernel.META_D] <= 0.0, Reason.NOT_POSITIVE)
        type_1, plain = first_reason(silent, classes, infinite), first_reason(*ratings)
        ratio = first_reason(*ratings, unstable)
        return [
            type_1,
            type_1,
            plain,
            ratio,
            plain,
            first_reason(*ratings, negative, unstable),
            plain,
        ]

    def convergences(self) -> tuple[Convergence, ...]:
        """Return the convergence status of each table's fit."""
        words = {
            kernel.CONVERGED: "gradient below tolerance",
            kernel.NOT_CONVERGED: "no further ascent",
            kernel.UNBOUNDED: "the likelihood has no maximum",
            kernel.UNDEFINED: "nothing to fit",
        }
        return tuple(
            Convergence(
                converged=bool(row[kernel.STATUS] == kernel.CONVERGED),
                iterations=int(row[kernel.ITERATIONS]),
                reason=words[int(row[kernel.STATUS])],
                objective=float(row[kernel.LOG_LIKELIHOOD]),
            )
            for row in self.raw
        )

    def fitted_rates(self) -> tuple[FloatArray, FloatArray]:
        """Return fitted type-2 hit and false-alarm rates (n, responses, ratings - 1)."""
        m, edge = self.raw[:, kernel.META_D], self.outputs[:, -1]
        sign = np.array([-1.0, 1.0])[:, None]
        # For response 0, confidence increases with decreasing evidence, so the axis and the order
        # of the ratings are reversed.
        cuts = np.stack([-self.criteria[:, 0, ::-1], self.criteria[:, 1]], axis=1)
        edges = sign * edge[:, None, None]
        means = (0.5 * m[:, None, None], -0.5 * m[:, None, None])
        hits, alarms = (ndtr(mean - cuts) / ndtr(mean - edges) for mean in means)
        return hits, alarms

    def observed_rates(self) -> tuple[FloatArray, FloatArray]:
        """Return observed type-2 hit and false-alarm rates (n, responses, ratings - 1)."""
        right = np.stack([self.padded[:, i, i] for i in (0, 1)], axis=1)
        wrong = np.stack([self.padded[:, 1 - i, i] for i in (0, 1)], axis=1)
        return _shares_above(right), _shares_above(wrong)


def fit_counts(
    tables: FloatArray, *, padding: bool = False, meta_c: MetaCriterion = "scaled"
) -> Fits:
    """Fit meta-d' to tables of counts (n, 2 classes, 2 responses, ratings)."""
    # The tables are copied, because a read-only array would trigger a recompilation of the kernel.
    given = np.array(tables, dtype=np.float64, order="C")
    n, n_ratings = given.shape[0], given.shape[-1]
    added = 0.5 / n_ratings if padding else 0.0
    raw, criteria = np.empty((n, kernel.COLUMNS)), np.empty((n, 2, n_ratings - 1))
    kernel.fit_tables(given, added, meta_c == "scaled", raw, criteria)
    return Fits(given, added, meta_c == "scaled", raw, criteria)


def _type_1_variances(tables: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the variances of the normal quantiles z_H and z_F."""
    answers = tables.sum(axis=3)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        rate = answers[:, :, 1] / answers.sum(axis=2)
        density = np.exp(-0.5 * ndtri(rate) ** 2) / np.sqrt(2.0 * np.pi)
        variance = rate * (1.0 - rate) / (answers.sum(axis=2) * density**2)
    return variance[:, 1], variance[:, 0]


def _constant(tables: FloatArray) -> BoolArray:
    """Return whether each response has a single rating."""
    used = (tables.sum(axis=1) > 0).sum(axis=2)
    return np.asarray((used < 2).all(axis=1), dtype=np.bool_)


def _shares_above(counts: FloatArray) -> FloatArray:
    """Return proportions of ratings above each rating but the last (n, responses, ratings - 1)."""
    above = np.cumsum(counts[..., ::-1], axis=-1)[..., ::-1]
    with np.errstate(invalid="ignore"):
        return np.asarray(above[..., 1:] / above[..., :1], dtype=np.float64)
