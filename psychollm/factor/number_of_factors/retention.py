"""`retention`: how many factors, by every rule, in one table.

References
----------
Ruscio, J., & Roche, B. (2012). Determining the number of factors to retain in an exploratory
factor analysis using comparison data of known factorial structure. Psychological Assessment,
24(2), 282-292. https://doi.org/10.1037/a0025697

The others stand in `psychollm.factor.number_of_factors.rules` and
`psychollm.factor.number_of_factors.parallel`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import check_count, check_fraction, check_generator
from psychollm._base.errors import ShapeError
from psychollm._base.replicate import replicate
from psychollm._base.result import Result, drawn_by
from psychollm._base.types import Axis, EmptyCells, FloatArray, Missing, RandomState, WordArray
from psychollm.factor.exploratory.extract import degrees_of_freedom, extract
from psychollm.factor.number_of_factors.ordered_design import (
    SCHEMES,
    OrderedDesign,
    ordered_design,
)
from psychollm.factor.number_of_factors.parallel import ParallelAnalysis, parallel_analysis
from psychollm.factor.number_of_factors.rules import (
    Hull,
    empirical_kaiser,
    hull,
    minimum_average_partial,
    very_simple_structure,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Drawn


WORSE = 0.30
"""Significance level of comparison data: lenient, as its authors found best."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Retention(Result):
    """How many factors each rule counts, and what it counted from.

    Attributes
    ----------
    counts : dict
        Rule to number of factors.
    parallel : tuple of ParallelAnalysis
        Shuffled within the rows that are correlated, and across them: the second is a null in
        which units still differ in their rates, and counts what goes beyond that.
    eigenvalues : ndarray of shape (k,)
        Of the correlations, falling.
    average_partial : ndarray of shape (m + 1,)
        Mean squared partial correlation after 0, 1, ... components.
    simple_structure : ndarray of shape (m, 2)
        Very simple structure for 1, 2, ... factors, complexities 1 and 2.
    kaiser_bars : ndarray of shape (k,)
        Bars of the empirical Kaiser criterion.
    hull : Hull
        Fit, parameters and bend for 0, 1, ... factors.
    comparison : ndarray of shape (c, n)
        Root mean square distance of eigenvalues from those of comparison data with 1, 2, ...
        factors; as many rows as were tried.
    n : float
        Units per pair.
    labels : tuple
        Names of the k rows.
    """

    counts: Mapping[str, int]
    parallel: tuple[ParallelAnalysis, ...]
    eigenvalues: FloatArray  # (k,)
    average_partial: FloatArray  # (m + 1,)
    simple_structure: FloatArray  # (m, 2)
    kaiser_bars: FloatArray  # (k,)
    hull: Hull
    comparison: FloatArray  # (c, n)
    n: float
    labels: tuple[Hashable, ...]  # k

    _AXES = Axes(
        {},
        ("rule", lambda retention: list(retention.counts)),
        ("factors", lambda retention: list(retention.counts.values())),
    )

    def summary(self) -> str:
        """Say what the rules count, and where they agree."""
        numbers = list(self.counts.values())
        low, high = min(numbers), max(numbers)
        usual = max(set(numbers), key=numbers.count)
        if low == high:
            return f"All {len(numbers)} rules count {low}."
        return (
            f"Rules count {low} to {high} factors; {numbers.count(usual)} of {len(numbers)} "
            f"count {usual}."
        )

    def __repr__(self) -> str:
        width = max(map(len, self.counts))
        lines = [f"Retention of factors of {len(self.labels)} rows: {self.summary()}"]
        lines += [f"  {rule:<{width}}  {count}" for rule, count in self.counts.items()]
        return "\n".join(lines)

    def plot(self, *, ax: Drawn | None = None) -> Drawn:
        """Draw what each rule counts: `psychollm.plots.plot_retention`.

        ``result.parallel[0].plot()`` draws the eigenvalues.
        """
        return drawn_by("plot_retention")(self, ax=ax)


def retention(
    data: Any,
    *,
    of: Axis = "models",
    max_factors: int | None = None,
    n_null: int = 200,
    quantile: float = 0.95,
    empty_cells: EmptyCells = "keep_margins",
    missing: Missing = "pairwise",
    rng: RandomState = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> Retention:
    """Count factors by every rule.

    Parameters
    ----------
    data : Responses, DataFrame or array of shape (models, questions)
        Answers: 0/1, or ordered codes to 15.
    of : {"models", "questions"}
        What is correlated.
    max_factors : int, optional
        Most factors looked at; by default what is identified, at most 8.
    n_null : int
        Shuffled tables, and comparison data for each number of factors.
    quantile, empty_cells, missing, rng, n_jobs, progress
        As in `parallel_analysis`.

    Returns
    -------
    Retention

    Raises
    ------
    CodeError, ShapeError
        If a row does not vary, or there are fewer than four.

    Notes
    -----
    Comparison data are drawn from minres factors of the observed correlations, cut at the
    observed thresholds: factors are added as long as the eigenvalues come nearer to the observed
    ones (one-sided rank test at 30 %). Very simple structure often counts too many.
    All rules see correlations, and share what bends those; for
    a verdict on one factor against more, `dimensionality` needs none.

    Examples
    --------
    >>> import psychollm as psy
    >>> answers = psy.load_example("shared_confidence").confidence
    >>> found = retention(answers.codes[:8, :400], of="models", n_null=20, rng=1)
    >>> found.counts["empirical Kaiser criterion"]
    1
    """
    check_fraction("quantile", quantile)
    generator = check_generator(rng)
    design = ordered_design(data, of=of, empty_cells=empty_cells, missing=missing)
    matrix, cuts = design.observed()
    most = _most(len(matrix), max_factors)
    first, second = (
        parallel_analysis(
            data,
            of=of,
            scheme=scheme,
            n_null=n_null,
            quantile=quantile,
            empty_cells=empty_cells,
            missing=missing,
            rng=generator,
            n_jobs=n_jobs,
            progress=progress,
        )
        for scheme in SCHEMES[of]
    )
    partial_means = minimum_average_partial(matrix, most)
    simple = very_simple_structure(matrix, most)
    bars, kaiser = empirical_kaiser(matrix, design.n)
    bent = hull(matrix, most)
    draw = partial(replicate, n=n_null, rng=generator, n_jobs=n_jobs, progress=progress)
    distances, compared = _comparison(design, matrix, cuts, most, draw)
    counts = {
        "parallel analysis": first.n_factors,
        "parallel analysis, other margin": second.n_factors,
        "minimum average partial": int(np.nanargmin(partial_means)),
        "very simple structure 1": 1 + int(np.nanargmax(simple[:, 0])),
        "empirical Kaiser criterion": kaiser,
        "hull": bent.n_factors,
        "comparison data": compared,
        "eigenvalues above one": int(np.sum(first.observed > 1.0)),
    }
    return Retention(
        counts=counts,
        parallel=(first, second),
        eigenvalues=np.array(first.observed),
        average_partial=partial_means,
        simple_structure=simple,
        kaiser_bars=bars,
        hull=bent,
        comparison=distances,
        n=design.n,
        labels=design.labels,
    )


def _most(k: int, asked: int | None) -> int:
    """Return the most factors that are identified, and no more than asked for."""
    identified = max((m for m in range(1, k) if degrees_of_freedom(k, m) >= 0), default=0)
    if k < 4:
        msg = f"{k} rows are too few to count factors: at least four are needed"
        raise ShapeError(msg)
    limit = 8 if asked is None else check_count("max_factors", asked)
    return min(limit, identified)


def _comparison(
    design: OrderedDesign,
    matrix: FloatArray,
    cuts: FloatArray,
    most: int,
    draw: Callable[..., FloatArray],
) -> tuple[FloatArray, int]:
    """Return distances of eigenvalues (c, n) and the number of factors kept."""
    from scipy.stats import mannwhitneyu

    observed = np.asarray(np.linalg.eigvalsh(matrix), dtype=np.float64)
    rows: list[FloatArray] = []
    for m in range(1, most + 1):
        loadings = np.ascontiguousarray(extract(matrix, n_factors=m).loadings)

        def distances(seeds: WordArray, loadings: FloatArray = loadings) -> FloatArray:
            values = np.linalg.eigvalsh(design.drawn(seeds, loadings, cuts))
            return np.asarray(np.sqrt(np.mean((values - observed) ** 2, axis=1)))

        rows.append(draw(distances, label=f"comparison data, {m}"))
        if m > 1 and mannwhitneyu(rows[-1], rows[-2], alternative="less").pvalue >= WORSE:
            return np.array(rows), m - 1
    return np.array(rows), most
