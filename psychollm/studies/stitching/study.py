"""Estimate abilities on one scale from scores on many benchmarks.

Few models have scores in all benchmarks, so means over benchmarks compare different sets of
benchmarks. The curve of each benchmark relates its scores to common abilities
(`psychollm.studies.stitching.scale`), as in Epoch's capability index. In addition, each benchmark
has its own residual dispersion, and curves are partially pooled. Residuals of a model in similar
benchmarks are correlated (`psychollm.studies.stitching.related`). A second ability is included if
it clearly improves the prediction of held-out scores. Prediction intervals are rescaled to reach
their nominal coverage of held-out scores.

References
----------
Ho, A., et al. (2025). A Rosetta Stone for AI benchmarks. arXiv:2512.00193.

Papke, L. E., & Wooldridge, J. M. (1996). Econometric methods for fractional response variables
with an application to 401(k) plan participation rates. Journal of Applied Econometrics, 11(6),
619-632. https://doi.org/10.1002/(SICI)1099-1255(199611)11:6<619::AID-JAE418>3.0.CO;2-1
"""

from typing import Any

import numpy as np
from scipy.special import ndtri

from psychollm._base.checks import check_count, check_fraction, choose_seed
from psychollm._base.types import FloatArray, RandomState
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.reasons import Reason, first_reason
from psychollm.studies.stitching.folds import (
    HeldOut,
    enough,
    held_cells,
    held_models,
    number_of_abilities,
    scale_of,
)
from psychollm.studies.stitching.foretelling import N_DRAWS, Foreteller
from psychollm.studies.stitching.result import StitchedBenchmarks
from psychollm.studies.stitching.tables import scores_of

MOST_ABILITIES = 2
_LEAST = 0.05  # SD of abilities below which benchmarks do not discriminate between models
_FAR = 10.0  # difficulties more than this number of model SDs from the mean are undetermined


def stitch_benchmarks(
    scores: Any,
    *,
    model: str | None = None,
    benchmark: str | None = None,
    score: str | None = None,
    n: Any = None,
    optimized: Any = None,
    date: Any = None,
    out_of: float = 1.0,
    n_abilities: int | None = None,
    level: float = 0.9,
    rng: RandomState = None,
) -> StitchedBenchmarks:
    """Put scores in many benchmarks on one scale: abilities, difficulties, slopes, predictions.

    Parameters
    ----------
    scores : DataFrame, array_like, str or Path
        A long table with one row per score, a table models x benchmarks with NaN for missing
        scores, or the path of a CSV file with such a table. Scores are between 0 and 1.
    model, benchmark, score : str, optional
        Columns of a long table; by default, columns with known names.
    n : int, str, mapping or array_like, optional
        Number of items: one number for all scores, one number per benchmark or score, or a column.
    optimized : str, bool or array_like, optional
        Whether scores are the best of several reports, as a column or as one value per score or
        benchmark. If a benchmark has single and best-of-several scores, the difference between the
        two kinds is estimated.
    date : str, mapping or Series, optional
        Release date of each model, as a column (by default ``date`` if it exists) or as a mapping
        from models to dates. Abilities are shrunk towards a linear trend.
    out_of : float
        Highest possible score, such as 100 for percentages.
    n_abilities : 1 or 2, optional
        Number of abilities. By default, a second ability is included if it improves the prediction
        of held-out scores by more than a standard error of the difference in squared errors.
    level : float
        Coverage of the intervals of abilities and benchmarks.
    rng : Generator, int or None
        Random generator or seed for folds and draws.

    Returns
    -------
    StitchedBenchmarks
        The result has `ability`, `benchmarks`, `predict(model, given=None)` and `forecast(date)`.

    Raises
    ------
    CodeError
        If a score is outside 0 to `out_of`.
    LabelError, ShapeError
        If columns are missing, a model has two scores in a benchmark, or fewer than two models or
        benchmarks have scores.
    OptionError
        If an option is out of range.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> able = rng.normal(size=(30, 1))
    >>> scores = 1 / (1 + np.exp(-able - rng.normal(size=8))) + rng.normal(0, 0.03, (30, 8))
    >>> scores = np.where(rng.random(scores.shape) < 0.5, np.nan, scores.clip(0, 1))
    >>> found = stitch_benchmarks(scores, rng=1)
    >>> found.n_abilities, bool(np.corrcoef(found.ability.value, able[:, 0])[0, 1] > 0.95)
    (1, True)
    """
    check_fraction("level", level)
    if n_abilities is not None:
        check_count("n_abilities", n_abilities, low=1, high=MOST_ABILITIES)
    seed = choose_seed(rng)
    source = np.random.default_rng(seed)
    data = scores_of(
        scores, model=model, benchmark=benchmark, score=score, n=n, optimized=optimized,
        date=date, out_of=out_of,
    )  # fmt: skip
    held: tuple[HeldOut, ...]
    if enough(data):
        held = tuple(held_cells(data, n_abilities or MOST_ABILITIES, source))
        many = n_abilities or number_of_abilities(held)
        others = held_models(data, many, source)
    else:
        many = n_abilities or 1
        held, others = (HeldOut.none(),) * many, HeldOut.none()
    scale = scale_of(data, many)
    teller = Foreteller(scale, data)
    # Results use the scale with mean 0 and SD 1 over the models.
    unit = float(scale.abilities[:, 0].std())
    unit = unit if unit > _LEAST else 1.0
    z = float(ndtri(0.5 + 0.5 * level))
    value = scale.abilities[:, 0] / unit
    se = np.sqrt(np.maximum(teller.found.abilities[:, 0, 0], 0.0)) / unit
    counted = data.known.sum(axis=1).astype(np.float64)
    ability = Estimate(
        name="ability",
        value=value,
        se=se,
        interval=np.stack([value - z * se, value + z * se], axis=1),
        n=counted,
        flags=first_reason((data.sets > 0, Reason.UNLINKED), (counted == 1, Reason.ONE_SCORE)),
        method="Laplace",
        level=level,
        labels=data.models,
    )
    difficulty, slope = _of_benchmarks(teller, unit, level, source)
    two = scale.curves[:, 2] if many > 1 else np.full(len(scale.curves), np.nan)
    return StitchedBenchmarks(
        ability=ability,
        difficulty=difficulty,
        slope=slope,
        scatter=np.sqrt(scale.scatter) / 2.0,
        second=two,
        n_abilities=many,
        held_cells=held,
        held_models=others,
        marked=_marked(scale.marked, scale.marked_se, z, level),
        scale=scale,
        data=data,
        labels=data.models,
        level=level,
        seed=seed,
    )


def _of_benchmarks(
    teller: Foreteller, unit: float, level: float, rng: np.random.Generator
) -> tuple[Estimate, Estimate]:
    """Return difficulties and slopes with posterior intervals."""
    scale, data = teller.scale, teller.scores
    b, q = scale.curves.shape
    at = np.arange(b) * q
    joint = teller.found.curves
    first, rise = joint[at, at], joint[at + 1, at + 1]
    correlation = joint[at, at + 1] / np.sqrt(first * rise)
    normal = rng.standard_normal((2, N_DRAWS, b))
    normal[1] = correlation * normal[0] + np.sqrt(1.0 - correlation**2) * normal[1]
    log_slope = scale.curves[:, 1] + normal[1] * np.sqrt(rise)
    hard = (scale.curves[:, 0] + normal[0] * np.sqrt(first)) / np.exp(log_slope) / unit
    tails = [0.5 - level / 2, 0.5 + level / 2]
    counted = data.known.sum(axis=0).astype(np.float64)
    difficulty = scale.curves[:, 0] / np.exp(scale.curves[:, 1]) / unit
    interval = np.quantile(hard, tails, axis=0).T
    vague = (np.abs(interval) > _FAR).any(axis=1)
    shared = {"n": counted, "method": "Laplace", "level": level, "labels": data.benchmarks,
              "axis": "benchmark"}  # fmt: skip
    flags = first_reason((counted == 1, Reason.ONE_MODEL_SCORED), (vague, Reason.VAGUE))
    slope = np.exp(scale.curves[:, 1]) * unit
    return (
        Estimate(name="difficulty", value=difficulty, se=hard.std(axis=0, ddof=1),
                 interval=interval, flags=flags, **shared),
        Estimate(name="slope", value=slope, se=slope * np.sqrt(rise),
                 interval=np.quantile(np.exp(log_slope) * unit, tails, axis=0).T,
                 flags=first_reason((counted == 1, Reason.ONE_MODEL_SCORED)), **shared),
    )  # fmt: skip


def _marked(value: float, se: float, z: float, level: float) -> Estimate:
    """Return the effect of reporting the best of several scores; NaN if not estimable."""
    known = bool(np.isfinite(se))
    value = value if known else np.nan
    pair: FloatArray = np.array([[value - z * se, value + z * se]])
    return Estimate(
        name="optimized",
        value=np.array([value]),
        se=np.array([se]),
        interval=pair,
        n=np.full(1, np.nan),
        flags=(Reason.NONE if known else Reason.ONE_KIND,),
        method="Laplace",
        level=level,
        labels=("optimized",),
        axis="effect",
    )
