"""`parallel_analysis`: comparison of observed eigenvalues with those of shuffled tables.

References
----------
Horn, J. L. (1965). A rationale and test for the number of factors in factor analysis.
Psychometrika, 30(2), 179-185. https://doi.org/10.1007/BF02289447

Buja, A., & Eyuboglu, N. (1992). Remarks on parallel analysis. Multivariate Behavioral Research,
27(4), 509-540. https://doi.org/10.1207/s15327906mbr2704_2
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import DRAWS, check_choice, check_count, check_fraction
from psychollm._base.numbers import percent
from psychollm._base.replicate import replicate
from psychollm._base.result import Result, drawn_by
from psychollm._base.types import Axis, EmptyCells, FloatArray, Missing, RandomState
from psychollm.estimates.null import monte_carlo_p_value
from psychollm.factor.exploratory.discrepancy import ULS
from psychollm.factor.exploratory.minimise import minimise, squared_multiple
from psychollm.factor.number_of_factors.ordered_design import SCHEMES, Scheme, ordered_design

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Drawn


Eigenvalues: TypeAlias = Literal["components", "factors"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ParallelAnalysis(Result):
    """Eigenvalues of the data and of shuffled tables.

    Attributes
    ----------
    observed : ndarray of shape (k,)
        Descending eigenvalues of the data.
    draws : ndarray of shape (n, k)
        Eigenvalues of the shuffled tables.
    bar : ndarray of shape (k,)
        Quantile of the shuffled eigenvalues that an eigenvalue must exceed.
    p_value : ndarray of shape (k,)
        p-value (b + 1) / (n + 1), where b of the n shuffled eigenvalues are at least as large as
        the observed eigenvalue.
    n_factors : int
        Number of leading eigenvalues above their quantile.
    quantile : float
        Probability of the quantile.
    scheme : str
        Margin that each shuffled table keeps: the answers of each model, or of each question.
    eigenvalues : str
        "components" for eigenvalues of the correlation matrix, or "factors" for eigenvalues with
        the communalities of one factor on the diagonal.
    labels : tuple
        Names of the k rows.
    """

    observed: FloatArray  # (k,)
    draws: FloatArray  # (n, k)
    bar: FloatArray  # (k,)
    p_value: FloatArray  # (k,)
    n_factors: int
    quantile: float
    scheme: Scheme
    eigenvalues: Eigenvalues
    labels: tuple[Hashable, ...]  # k

    _AXES = Axes(
        {"factor": None},
        "observed",
        ("null_mean", lambda analysis: analysis.draws.mean(axis=0)),
        "bar",
        "p_value",
    )

    def __repr__(self) -> str:
        return (
            f"ParallelAnalysis ({self.eigenvalues}, shuffled {self.scheme}, {len(self.draws)} "
            f"tables): {self.n_factors} eigenvalues exceed their {percent(self.quantile)} quantile"
        )

    def plot(self, *, ax: Drawn | None = None) -> Drawn:
        """Draw the eigenvalues with `psychollm.plots.plot_scree`.

        Parameters
        ----------
        ax : Axes, optional
            Axes to draw on; by default a new figure.
        """
        return drawn_by("plot_scree")(self, ax=ax)


def parallel_analysis(
    data: Any,
    *,
    of: Axis = "models",
    scheme: Scheme | None = None,
    eigenvalues: Eigenvalues = "components",
    n_null: int = 200,
    quantile: float = 0.95,
    empty_cells: EmptyCells = "keep_margins",
    missing: Missing = "pairwise",
    rng: RandomState = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> ParallelAnalysis:
    """Determine the number of factors by parallel analysis of shuffled tables.

    Data and shuffled tables have the same kind of correlation: tetrachoric, or polychoric for
    graded answers. Product-moment correlations of normal noise would vary less and suggest
    spurious factors.

    Parameters
    ----------
    data : Responses, DataFrame or array of shape (models, questions)
        Answers, coded 0 and 1 or as ordered codes from 0 to 15.
    of : {"models", "questions"}
        Whether to correlate models or questions.
    scheme : {"within_model", "within_question"}, optional
        ``"within_model"`` shuffles the answers of each model over questions, and
        ``"within_question"`` shuffles the answers to each question over models. By default, the
        correlated rows keep their yes rates. If the yes rates of the other axis are kept instead,
        correlations due to question difficulty (or to model ability) remain, and the null
        distribution has a large first eigenvalue.
    eigenvalues : {"components", "factors"}
        Eigenvalues of the correlations, or of the correlations with the communalities of one
        minres factor on the diagonal.
    n_null : int
        Number of shuffled tables.
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
    ParallelAnalysis
        Observed and shuffled eigenvalues, and the number of factors.

    Raises
    ------
    CodeError, ShapeError
        If a row has zero variance, if there are fewer than two rows, or if ``of="models"`` and
        there are at least ten times as many models as questions.

    Notes
    -----
    To test a second factor, prefer `one_factor_null`. After a strong first factor, later
    eigenvalues of shuffled tables are too large.

    Examples
    --------
    >>> import psychollm as psy
    >>> answers = psy.load_example("shared_confidence").confidence
    >>> found = parallel_analysis(answers.codes[:, :400], of="models", n_null=20, rng=1)
    >>> found.n_factors >= 1, found.draws.shape
    (True, (20, 19))
    """
    check_choice("of", of, Axis)
    scheme = SCHEMES[of][0] if scheme is None else scheme
    check_choice("scheme", scheme, Scheme)
    check_choice("eigenvalues", eigenvalues, Eigenvalues)
    check_fraction("quantile", quantile)
    n_null = check_count("n_null", n_null, high=DRAWS)
    design = ordered_design(data, of=of, empty_cells=empty_cells, missing=missing)
    draws = replicate(
        lambda seeds: spectra(design.shuffled(seeds, scheme), eigenvalues),
        n_null,
        rng=rng,
        n_jobs=n_jobs,
        progress=progress,
        label="shuffled tables",
    )
    observed = spectra(design.observed()[0][None], eigenvalues)[0]
    bar = np.quantile(draws, quantile, axis=0)
    return ParallelAnalysis(
        observed=observed,
        draws=draws,
        bar=bar,
        p_value=monte_carlo_p_value(observed, draws, tie=1e-12),
        n_factors=leading(observed, bar),
        quantile=quantile,
        scheme=scheme,
        eigenvalues=eigenvalues,
        labels=design.labels,
    )


def leading(observed: FloatArray, bar: FloatArray) -> int:
    """Return the number of leading eigenvalues above their quantile."""
    short = np.flatnonzero(~(observed > bar))
    return int(short[0]) if short.size else int(observed.size)


def spectra(matrices: FloatArray, kind: Eigenvalues) -> FloatArray:
    """Return descending eigenvalues (b, k), optionally with communalities on the diagonal."""
    if kind == "factors":
        start = np.clip(1.0 - squared_multiple(matrices), 0.05, 1.0)
        psi = minimise(ULS, matrices, start, 1, 0.005).uniquenesses
        matrices = matrices - psi[:, :, None] * np.eye(matrices.shape[1])
    return np.asarray(np.linalg.eigvalsh(matrices)[:, ::-1], dtype=np.float64)
