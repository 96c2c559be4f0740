r"""Decision studies: reliability of mean scores for other numbers of items and runs.

The score of a model is its mean over :math:`n_i` items in :math:`n_r` runs. Averaging divides the
variance of each effect by the number of averaged levels,

.. math:: \sigma^2_e \Big/ \prod_{f \in e,\, f \ne \text{model}} n_f.                    \quad (1)

Let :math:`\tau` be the sum of expression (1) over effects that contain the model but no resampled
facet. Let :math:`\delta` be the sum of expression (1) over effects that contain the model and a
resampled facet, and :math:`\Delta` the sum of expression (1) over all effects that contain a
resampled facet. Then

.. math:: E\rho^2 = \frac{\tau}{\tau + \delta}, \qquad \Phi = \frac{\tau}{\tau + \Delta}. \quad (2)

:math:`E\rho^2` is the reliability of differences between models (coefficient alpha, in a design of
models by items), and :math:`\Phi` is the reliability of absolute scores. By default all facets are
resampled, and
:math:`\tau` is the variance of models. If a facet is fixed, such as items that are always the
same, its interaction with models is part of :math:`\tau`. Negative components are set to zero.

References
----------
Brennan, R. L. (2001). Generalizability theory. Springer.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from typing import Literal, TypeAlias

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import check_choice, check_counts
from psychollm._base.errors import OptionError
from psychollm._base.result import Result
from psychollm._base.types import FloatArray
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.intervals import percentile_interval
from psychollm.estimates.reasons import Reason, first_reason
from psychollm.reliability.components.crossed_design import effects_of
from psychollm.reliability.components.generalizability import Generalizability

FixedFacet: TypeAlias = Literal["none", "item", "run"]
Sizes: TypeAlias = int | Iterable[int] | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DecisionStudy(Result):
    """Reliability of mean scores for different numbers of items and runs.

    Examples
    --------
    >>> from psychollm.reliability.components.generalizability import generalizability
    >>> rng = np.random.default_rng(0)
    >>> study = generalizability(rng.normal(size=(20, 1)) + rng.normal(size=(20, 30)), rng=0)
    >>> decision_study(study, n_items=[1, 30]).to_frame()[["n_items", "generalizability"]].round(3)
       n_items  generalizability
    0        1             0.444
    1       30             0.960
    """

    generalizability: Estimate  # (designs,) E rho^2, for differences of models
    dependability: Estimate  # (designs,) Phi, for absolute scores
    universe_variance: Estimate  # (designs,) tau
    relative_error: Estimate  # (designs,) delta, a variance
    absolute_error: Estimate  # (designs,) Delta, a variance
    n_items: tuple[int, ...]  # (designs,)
    n_runs: tuple[int, ...]  # (designs,) number of runs; 1 if the design has no runs
    fixed: str

    _AXES = Axes(
        {},
        "n_items",
        "n_runs",
        "generalizability",
        "dependability",
        "relative_error=relative_error.value",
        "absolute_error=absolute_error.value",
        "flag=dependability.flags",
    )

    def summary(self) -> str:
        """Return a summary with one sentence per design."""
        return "\n".join(self._sentence(design) for design in range(len(self.n_items)))

    def _sentence(self, row: int) -> str:
        items, runs = self.n_items[row], self.n_runs[row]
        design = f"{items} items" + (f" in {runs} runs" if runs > 1 else "")
        return (
            f"{design}: differences between models E rho2 {self.generalizability.text(row)}, "
            f"scores Phi {self.dependability.text(row)}."
        )


def decision_study(
    study: Generalizability,
    *,
    n_items: Sizes = None,
    n_runs: Sizes = None,
    fixed: FixedFacet = "none",
) -> DecisionStudy:
    """Predict the reliability of mean scores for other numbers of items and runs.

    Parameters
    ----------
    study : Generalizability
        Variance components.
    n_items, n_runs : int or iterable of int, optional
        Numbers of items and runs; all combinations are computed. By default, the numbers of items
        and runs in the study are used.
    fixed : {"none", "item", "run"}
        Facet whose levels are the same in every replication. The interaction of models with a
        fixed facet counts as true variance.

    Returns
    -------
    DecisionStudy
        Coefficients and variances. A flag marks negative components that are set to zero.
        Coefficients are NaN if there is no variance.

    Raises
    ------
    OptionError
        If a number is not a positive integer, or if `n_runs` is given and the study has no runs.

    Examples
    --------
    >>> from psychollm.reliability.components.generalizability import generalizability
    >>> scores = np.random.default_rng(0).normal(size=(10, 8, 3))
    >>> study = generalizability(scores, rng=0, bootstrap=100)
    >>> decision_study(study, n_items=(8, 16), n_runs=(1, 3)).generalizability.labels
    ((8, 1), (8, 3), (16, 1), (16, 3))
    """
    check_choice("fixed", fixed, FixedFacet)
    own = dict(zip(study.facets, study.levels, strict=True))
    if "run" not in own and (n_runs is not None or fixed == "run"):
        msg = "n_runs, or fixed='run', needs a study with several runs: this one has none"
        raise OptionError(msg)
    items = _sizes("n_items", n_items, own["item"])
    designs = list(product(items, _sizes("n_runs", n_runs, own.get("run", 1))))
    weights = np.array([_weights(study.facets, design, fixed) for design in designs])
    parts = _Parts(study, weights, tuple(designs))
    return DecisionStudy(
        generalizability=parts.coefficient("generalizability coefficient", 1),
        dependability=parts.coefficient("index of dependability", 2),
        universe_variance=parts.variance("universe score variance", 0),
        relative_error=parts.variance("relative error variance", 1),
        absolute_error=parts.variance("absolute error variance", 2),
        n_items=tuple(design[0] for design in designs),
        n_runs=tuple(design[1] for design in designs),
        fixed=fixed,
    )


def _sizes(name: str, sizes: Sizes, own: int) -> list[int]:
    if sizes is None:
        return [own]
    return check_counts(name, sizes)


def _weights(facets: tuple[str, ...], design: tuple[int, int], fixed: str) -> FloatArray:
    """Return weights of components in variances tau, delta and Delta (3, components)."""
    n = {"model": 1, "item": design[0], "run": design[1]}
    weights = []
    for effect in effects_of(facets):
        anew = effect - {"model", fixed}
        weight = 1.0 / np.prod([n[facet] for facet in effect])
        own = "model" in effect
        counted = (own and not anew, own and bool(anew), bool(anew))
        weights.append([weight * part for part in counted])
    return np.array(weights).T


@dataclass(frozen=True, slots=True)
class _Parts:
    """Generalizability study, with the weights of its variance components in each design."""

    study: Generalizability
    weights: FloatArray  # (designs, 3, components)
    designs: tuple[tuple[int, int], ...]

    def variance(self, name: str, row: int) -> Estimate:
        """Return the variance tau, delta or Delta (row 0, 1 or 2) of every design."""
        weights = self.weights[:, row]
        spread = np.einsum("de,ef,df->d", weights, self.study.covariance, weights)
        return self._estimate(
            name, self._values @ weights.T, self._draws @ weights.T, np.sqrt(spread), weights
        )

    def coefficient(self, name: str, row: int) -> Estimate:
        """Return the coefficient of equation (2), with the error variance of row 1 or row 2."""
        signal, noise = self.weights[:, 0], self.weights[:, row]

        def ratio(components: FloatArray) -> FloatArray:
            true, error = components @ signal.T, components @ noise.T
            with np.errstate(invalid="ignore"):
                return np.asarray(true / (true + error))

        draws = ratio(self._draws)
        several = np.isfinite(draws).sum(axis=0) > 1
        spread = np.full(len(self.designs), np.nan)
        spread[several] = np.nanstd(draws[:, several], axis=0, ddof=1)
        return self._estimate(name, ratio(self._values), draws, spread, signal + noise)

    @property
    def _values(self) -> FloatArray:
        return np.maximum(self.study.components.value, 0.0)

    @property
    def _draws(self) -> FloatArray:
        return np.maximum(self.study.components.draws, 0.0)

    def _estimate(
        self, name: str, value: FloatArray, draws: FloatArray, se: FloatArray, used: FloatArray
    ) -> Estimate:
        components = self.study.components
        negative = np.asarray(((used > 0) & (components.value < 0)).any(axis=1))
        known = np.isfinite(value)
        bounds = percentile_interval(draws, components.level)
        reason = components.flags[0] if np.isnan(components.value).any() else Reason.ALL_TIED
        return Estimate(
            name=name,
            value=value,
            se=np.where(known, se, np.nan),
            interval=np.where(known[:, None], bounds, np.nan),
            n=np.full(value.size, float(self.study.levels[0])),
            flags=first_reason((~known, reason), (negative, Reason.NEGATIVE_COMPONENT)),
            method=components.method,
            level=components.level,
            labels=self.designs,
            axis="design",
            _draws=draws,
        )
