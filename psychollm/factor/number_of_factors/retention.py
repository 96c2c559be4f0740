"""`retention`: the number of factors by several rules.

References
----------
Ruscio, J., & Roche, B. (2012). Determining the number of factors to retain in an exploratory
factor analysis using comparison data of known factorial structure. Psychological Assessment,
24(2), 282-292. https://doi.org/10.1037/a0025697

For the other rules see `psychollm.factor.number_of_factors.rules` and
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
"""Significance level for comparison data, as the authors of the method recommend."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Retention(Result):
    """Number of factors by each rule, with the underlying statistics.

    Attributes
    ----------
    counts : dict
        Number of factors according to each rule.
    parallel : tuple of ParallelAnalysis
        Two parallel analyses: the first shuffles within the correlated rows, the second within
        units. The second analysis keeps the yes rates of units, and therefore does not count a
        factor that is due to these rates.
    eigenvalues : ndarray of shape (k,)
        Descending eigenvalues of the correlations.
    average_partial : ndarray of shape (m + 1,)
        Mean squared partial correlation after removing 0, 1, ... components.
    simple_structure : ndarray of shape (m, 2)
        Fit of very simple structure for 1, 2, ... factors, with complexities 1 and 2.
    kaiser_bars : ndarray of shape (k,)
        Reference values of the empirical Kaiser criterion.
    hull : Hull
        Fit, number of parameters and hull statistic for 0, 1, ... factors.
    comparison : ndarray of shape (c, n)
        Root mean square difference from the eigenvalues of comparison data with 1, 2, ..., c
        factors.
    n : float
        Number of units per pair.
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
        """Describe the number of factors by each rule, and the agreement of the rules."""
        numbers = list(self.counts.values())
        low, high = min(numbers), max(numbers)
        usual = max(set(numbers), key=numbers.count)
        if low == high:
            return f"All {len(numbers)} rules retain {low} factor{'s' * (low != 1)}."
        return (
            f"The rules retain {low} to {high} factors; {numbers.count(usual)} of {len(numbers)} "
            f"retain {usual}."
        )

    def __repr__(self) -> str:
        width = max(map(len, self.counts))
        lines = [f"Retention of factors of {len(self.labels)} rows: {self.summary()}"]
        lines += [f"  {rule:<{width}}  {count}" for rule, count in self.counts.items()]
        return "\n".join(lines)

    def plot(self, *, ax: Drawn | None = None) -> Drawn:
        """Draw the number of factors by each rule with `psychollm.plots.plot_retention`.

        ``result.parallel[0].plot()`` draws the eigenvalues.

        Parameters
        ----------
        ax : Axes, optional
            Axes to draw on; by default a new figure.
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
    """Determine the number of factors by several rules.

    Parameters
    ----------
    data : Responses, DataFrame or array of shape (models, questions)
        Answers, coded 0 and 1 or as ordered codes from 0 to 15.
    of : {"models", "questions"}
        Whether to correlate models or questions.
    max_factors : int, optional
        Maximum number of factors; by default the largest identified number, at most 8.
    n_null : int
        Number of shuffled tables, and of comparison data sets for each number of factors.
    quantile : float
        Quantile of the shuffled eigenvalues that an eigenvalue must exceed, between 0 and 1.
    empty_cells : {"keep_margins", "add_half", "add_half_all", "none"}
        Continuity correction of tables with an empty cell. ``"keep_margins"`` shifts a count of
        1/2 between the cells of a 2 x 2 table without changing the yes rates; larger tables are
        unchanged. ``"add_half"`` puts 1/2 into empty cells. ``"add_half_all"`` adds 1/2 to all
        cells of a table with an empty cell. ``"none"`` applies no correction.
    missing : {"pairwise", "global"}
        ``"pairwise"`` estimates the thresholds of a pair from its own table, and ``"global"`` from
        all answers of each row.
    rng : Generator, int or None
        Random generator or seed.
    n_jobs : int or None
        Number of workers; -1 uses all processors. The result does not depend on the number of
        workers.
    progress : bool
        Whether to show a progress bar.

    Returns
    -------
    Retention
        Number of factors by each rule, with the statistics of the rules.

    Raises
    ------
    CodeError, ShapeError
        If a row has zero variance, if there are fewer than four rows, or if ``of="models"`` and
        there are at least ten times as many models as questions.

    Notes
    -----
    Comparison data are simulated from minres factors of the observed correlations and the observed
    thresholds. Factors are added as long as each factor brings the simulated eigenvalues closer to
    the observed eigenvalues (one-sided rank test at the 30 % level). Very simple structure often
    overestimates the number of factors. All rules are affected if the correlations are biased.
    `dimensionality` tests one factor against more factors without using correlations.

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
    """Return the largest identified number of factors, up to the requested number."""
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
    """Return distances of simulated from observed eigenvalues, and the number of factors."""
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
