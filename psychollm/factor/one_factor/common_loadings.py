r"""`common_loadings`: test of one common factor across groups of questions.

Groups of questions have the same factor if the models' loadings are proportional. With loadings
:math:`\ell_{kg}` of model k in group g, fitted by pairwise likelihood, and slopes :math:`a_{kg} =
\ell_{kg} / (1 - \ell_{kg}^2)^{1/2}`, one factor over all groups has

.. math:: a_{kg} = s_g\, b_k.                                                            \quad (1)

Here :math:`s_g` is the standard deviation of the factor in group g, which is one in the first
group. Thresholds are free in every group, because the difficulty of questions and the yes rates of
models do not change the factor. If v are the squared standard errors of the loadings, their
distance from equation (1) is

.. math:: Q = \min_{s, b} \sum_{k, g} \frac{(\hat a_{kg} - s_g b_k)^2}{v_{kg}} .          \quad (2)

The distance Q has :math:`(G - 1)(K - 1)` degrees of freedom for K models in G groups. The null
distribution of Q is simulated: tables are generated from equation (1), with the thresholds and
missing data of each group, and are refitted. A chi-square test would be conservative with a few
hundred questions. Rescaled to the mean of a chi-square, Q gives the RMSEA of equation (1) with its
interval, as in difference tests (`psychollm.factor.invariance`).
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from warnings import catch_warnings, simplefilter

import numpy as np
from scipy.special import ndtri

from psychollm._base.axes import Axes
from psychollm._base.checks import DRAWS, check_count, check_generator
from psychollm._base.errors import ConvergenceWarning, ShapeError
from psychollm._base.numbers import p_equals, with_interval
from psychollm._base.result import Result
from psychollm._base.types import BoolArray, FloatArray, IntArray, RandomState
from psychollm.data.labels import Labels
from psychollm.data.responses import Responses, ResponsesLike, as_responses
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.intervals import normal_multiplier
from psychollm.estimates.null import Null
from psychollm.estimates.reasons import Reason
from psychollm.estimates.verdict import SMALLEST, Outcome, SmallestEffects, outcome
from psychollm.factor.fit import rmsea_of
from psychollm.factor.one_factor.pairwise_likelihood import PairwiseLikelihood, pairwise_likelihood

_LEAST = 3  # fewest models that identify one factor
_STEPS, _TOLERANCE = 500, 1e-10


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CommonLoadings(Result):
    """Loadings in each group, with a test of one common factor.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> latent = 0.8 * rng.normal(size=600) + 0.6 * rng.normal(size=(6, 600))
    >>> yes = (latent > 0.2).astype(int)
    >>> found = common_loadings({"a": yes[:, :300], "b": yes[:, 300:]}, n_null=99, rng=1)
    >>> found.loadings.shape, found.df, bool(found.test.p_value > 0.05)
    ((2, 6), 5, True)
    """

    loadings: FloatArray  # (groups, models)
    se: FloatArray  # (groups, models) NaN for loadings at the bound
    thresholds: FloatArray  # (groups, models)
    scale: FloatArray  # (groups,) s of (1)
    test: Null  # Q of (2) with its null distribution
    df: int
    rmsea: float  # misfit of one common factor
    rmsea_interval: FloatArray  # (2,) 90 % interval
    n: IntArray  # (groups,) number of questions
    groups: Labels
    labels: Labels  # (models,) models with a loading in all groups

    _AXES = Axes(
        {"group": "groups", "model": "labels"},
        "loading=loadings",
        "se",
        "threshold=thresholds",
    )

    def outcome(self, *, alpha: float = 0.05, smallest: SmallestEffects = SMALLEST) -> Outcome:
        """Return whether group-specific factors are relevant, negligible or inconclusive.

        Parameters
        ----------
        alpha : float
            Significance level.
        smallest : SmallestEffects
            Smallest effects of interest; only `rmsea` is used.
        """
        return outcome(
            self.rmsea_interval,
            smallest=smallest.rmsea,
            rejected=bool(self.test.p_value <= alpha),
        )

    def estimates(self, *, level: float = 0.95) -> dict[Hashable, Estimate]:
        """Return the loadings of each group with their confidence intervals.

        Parameters
        ----------
        level : float
            Coverage of the intervals.
        """
        z, shape = normal_multiplier(level), (len(self.labels),)
        return {
            group: Estimate(
                name="loading",
                value=own,
                se=se,
                interval=np.clip(np.stack([own - z * se, own + z * se], axis=1), -1.0, 1.0),
                n=np.full(shape, float(n)),
                flags=(Reason.NONE,) * len(own),
                method="sandwich",
                level=level,
                labels=self.labels,
            )
            for group, own, se, n in zip(
                self.groups, self.loadings, self.se, self.n.tolist(), strict=True
            )
        }

    def summary(self) -> str:
        """Describe the test in one sentence."""
        return (
            f"One factor with equal loadings in {len(self.groups)} groups: "
            f"{p_equals(float(self.test.p_value))}, "
            f"RMSEA {with_interval(self.rmsea, self.rmsea_interval, 3)}."
        )


def common_loadings(
    groups: Mapping[Hashable, ResponsesLike],
    *,
    n_null: int = 499,
    rng: RandomState = None,
) -> CommonLoadings:
    """Test whether groups of questions have one common factor.

    Parameters
    ----------
    groups : mapping of label to Responses or table (models, questions)
        Binary answers of the same models to the questions of each group.
    n_null : int
        Number of simulated tables.
    rng : Generator, int or None
        Random generator or seed.

    Returns
    -------
    CommonLoadings
        Test and loadings, for the models that have a loading in every group.

    Raises
    ------
    ShapeError
        If there are fewer than two groups, or if fewer than three models are in all groups.
    CodeError
        If answers are not binary.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> def drawn(loadings):
    ...     own = np.array(loadings)[:, None]
    ...     noise = np.sqrt(1 - own**2) * rng.normal(size=(own.size, 600))
    ...     return (own * rng.normal(size=600) + noise > 0).astype(int)
    >>> facts, code = drawn([0.9, 0.8, 0.7, 0.3, 0.2]), drawn([0.2, 0.3, 0.7, 0.8, 0.9])
    >>> common_loadings({"facts": facts, "code": code}, n_null=99, rng=1).test.p_value
    array(0.01)
    """
    check_count("n_null", n_null, low=19, high=DRAWS)
    tables = [as_responses(one, argument="groups", binary=True) for one in groups.values()]
    if len(tables) < 2:
        msg = f"groups holds {len(tables)}: pass two or more"
        raise ShapeError(msg)
    tables, fits = _of_common(tables)
    found = _distance(fits)
    if found.df < len(tables) - 1 or not np.isfinite(found.mean_square):
        msg = (
            f"{int(found.free.sum())} models have a loading with a standard error in every "
            f"group: "
            f"a common factor needs {_LEAST}"
        )
        raise ShapeError(msg)
    own = np.array([_slopes(one.loadings) for one in fits])
    slopes = np.where(found.free, found.scale[:, None] * found.common, own)
    loadings = slopes / np.sqrt(1.0 + slopes**2)
    source = check_generator(rng)
    cuts = np.array([ndtri(1.0 - one.yes_rates) for one in tables])
    missing = [one.missing for one in tables]
    draws = np.array(
        [_replicate(loadings, cuts, missing, stream) for stream in source.spawn(n_null)]
    )
    test = Null.compare(
        np.asarray(found.mean_square), draws, scheme="one factor", statistic="mean square"
    )
    n = np.array([one.n_questions for one in tables], dtype=np.int64)
    corrected = found.mean_square * found.df / float(np.nanmean(draws))
    cost, interval = rmsea_of(corrected, found.df, float(n.sum() - n.size) / n.size)
    return CommonLoadings(
        loadings=np.array([one.loadings for one in fits]),
        se=np.array([one.se for one in fits]),
        thresholds=np.array([one.thresholds for one in fits]),
        scale=found.scale,
        test=test,
        df=found.df,
        rmsea=cost,
        rmsea_interval=interval,
        n=n,
        groups=tuple(groups),
        labels=tables[0].models,
    )


def _of_common(tables: list[Responses]) -> tuple[list[Responses], list[PairwiseLikelihood]]:
    """Return the tables and solutions of the models whose answers vary in all groups."""
    rates = [dict(zip(one.models, one.yes_rates.tolist(), strict=True)) for one in tables]
    models = [
        model
        for model in tables[0].models
        if all(0.0 < own.get(model, np.nan) < 1.0 for own in rates)
    ]
    if len(models) < _LEAST:
        msg = f"the answers of {len(models)} models vary in every group: one factor needs {_LEAST}"
        raise ShapeError(msg)
    held = [one.select(models=models) for one in tables]
    return held, [pairwise_likelihood(one) for one in held]


class _Distance(NamedTuple):
    """Minimum of equation (2), and its value per degree of freedom."""

    mean_square: float
    df: int
    scale: FloatArray  # (groups,)
    common: FloatArray  # (models,)
    free: BoolArray  # (models,) whether a model has a standard error in every group


def _slopes(loadings: FloatArray) -> FloatArray:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(loadings / np.sqrt(1.0 - loadings**2), dtype=np.float64)


def _distance(fits: Sequence[PairwiseLikelihood]) -> _Distance:
    """Minimise the distance of equation (2), alternating between scales and slopes."""
    loadings, se = (np.array([getattr(one, name) for one in fits]) for name in ("loadings", "se"))
    free = np.isfinite(se).all(axis=0) & (se > 0.0).all(axis=0)
    kept = loadings[:, free]
    slopes, weight = _slopes(kept), (1.0 - kept**2) ** 3 / se[:, free] ** 2
    scale, common = np.ones(len(fits)), np.zeros(free.size)
    for _ in range(_STEPS):
        before, size = scale, scale[:, None]
        slope = (weight * slopes * size).sum(axis=0) / (weight * size**2).sum(axis=0)
        scale = (weight * slopes * slope).sum(axis=1) / (weight * slope**2).sum(axis=1)
        scale = scale / scale[0]
        if np.abs(scale - before).max() < _TOLERANCE:
            break
    slope = (weight * slopes * scale[:, None]).sum(axis=0) / (weight * scale[:, None] ** 2).sum(0)
    common[free] = slope
    df = (len(fits) - 1) * (int(free.sum()) - 1)
    square = float((weight * (slopes - scale[:, None] * slope) ** 2).sum())
    return _Distance(square / df if df > 0 else np.nan, df, scale, common, free)


def _replicate(
    loadings: FloatArray,
    cuts: FloatArray,
    missing: Sequence[BoolArray],
    source: np.random.Generator,
) -> float:
    """Return the distances of simulated tables; NaN for tables that cannot be fitted."""
    tables = []
    for own, cut, gaps in zip(loadings, cuts, missing, strict=True):
        latent = own[:, None] * source.normal(size=gaps.shape[1])
        latent += np.sqrt(1.0 - own**2)[:, None] * source.normal(size=gaps.shape)
        answers = (latent > cut[:, None]).astype(np.float64)
        tables.append(Responses(np.where(gaps, np.nan, answers)))
    with catch_warnings():
        simplefilter("ignore", ConvergenceWarning)  # convergence is not required
        try:
            return _distance(_of_common(tables)[1]).mean_square
        except ShapeError:
            return np.nan
