"""Test the number of common factors from pair counts alone, with `shared_signals`."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import DRAWS, check_count, check_fraction, check_generator
from psychollm._base.result import Result
from psychollm._base.types import FloatArray, RandomState
from psychollm.data.pair_counts import CountedAnswers
from psychollm.data.responses import Responses, ResponsesLike
from psychollm.estimates.findings import Finding, Findings, Study, sentence
from psychollm.estimates.verdict import SMALLEST, SmallestEffects
from psychollm.factor.one_factor.full_information import full_information
from psychollm.factor.one_factor.pairwise_likelihood import pairwise_likelihood
from psychollm.factor.one_factor.residuals import ResidualTest, residual_test, second_share_test
from psychollm.studies.dimensionality.lapse_tests import WithLapses, reported_share, with_lapses
from psychollm.studies.dimensionality.result import told_tests
from psychollm.studies.dimensionality.study import n_factors
from psychollm.studies.dimensionality.verdict import (
    Evidence,
    share_interval,
    shared_interval,
    verdict,
)

if TYPE_CHECKING:
    import pandas as pd

SHARE_REPLICATES, SAMPLE_REPLICATES = 19, 99
SAMPLE = 20_000  # maximum number of questions from which lapses are estimated


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class SharedSignals(Study, Result):
    """Number of common factors of models, estimated from pair counts.

    Attributes
    ----------
    n_factors : {0, 1, 2}
        Number of factors; 2 means more than one factor, even after allowing for lapses. The
        verdict reports whether the second factor is minor.
    shared_test, one_factor_test : ResidualTest
        Tests of the hypotheses of no factor and of one normal factor.
    second_share : ResidualTest
        Second factor's proportion of variance by pairwise likelihood, compared with one-factor
        replicates.
    with_lapses : WithLapses or None
        One-factor fit with lapses and tests for a second factor, from a sample of the questions.
        The fit and the tests with lapses are computed, and decide the verdict, if one normal
        factor is rejected.
    loadings, thresholds : ndarray of shape (k,)
        One-factor solution by pairwise likelihood; NaN for a model with constant answers.
    n : ndarray of shape (k,)
        Number of answers of each model.
    reasons : tuple
        Reason why a loading is undefined, or "".
    alpha : float
        Significance level of the tests.
    labels : tuple
        Names of the models.
    """

    n_factors: Literal[0, 1, 2]
    shared_test: ResidualTest
    one_factor_test: ResidualTest
    second_share: ResidualTest
    with_lapses: WithLapses | None
    loadings: FloatArray  # (k,)
    thresholds: FloatArray  # (k,)
    n: FloatArray  # (k,)
    interval_shared: tuple[float, float]  # bounds of a correlation common to all pairs
    reasons: tuple[str, ...]  # k
    alpha: float
    labels: tuple[Hashable, ...]  # k

    _AXES = Axes(
        {"model": "labels"}, "loading=loadings", "threshold=thresholds", "n", "reason=reasons"
    )

    @property
    def evidence(self) -> Evidence:
        """Numbers on which the verdict is based."""
        lapses = self.with_lapses
        share = reported_share(self.second_share, lapses, self.alpha)
        return Evidence(
            share=share.observed,
            share_interval=share_interval(share.observed, share.draws, self.alpha),
            p_share=share.p_value,
            alpha=self.alpha,
            lapses=lapses,
            n_factors=self.n_factors,
            p_shared=self.shared_test.p_value,
            p_one=self.one_factor_test.p_value,
            shared_interval=self.interval_shared,
        )

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the table of models."""
        return {"models": self.to_frame()}

    def findings(self, *, smallest: SmallestEffects = SMALLEST) -> Findings:
        """Return the verdict and the tests that decide it."""
        evidence = self.evidence
        judged = evidence.second if self.n_factors else evidence.shared
        left_out = (
            f"excluded: {model!r}, {reason}"
            for model, reason in zip(self.labels, self.reasons, strict=True)
            if reason
        )
        first = Finding(
            statement=sentence(verdict(evidence, smallest)),
            rows=tuple(left_out),
            numbers={"n_factors": self.n_factors},
            outcome=judged(smallest),
        )
        return Findings(items=(first, told_tests(self, ())))

    def __repr__(self) -> str:
        return f"SharedSignals of {len(self.labels)} models: {self.verdict}"


def shared_signals(
    responses: ResponsesLike,
    *,
    n_null: int = 99,
    alpha: float = 0.05,
    rng: RandomState = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> SharedSignals:
    """Test whether models share one factor, several or none, in tables of any size.

    Apply the tests that decide the verdict of `dimensionality`. Spectra under continuity
    corrections, and the full-information likelihood, are omitted, because they need all answers in
    memory. Answers are counted for each pair of models. Replicates of the fitted model are
    simulated as bits.

    Parameters
    ----------
    responses : Scan, Responses or table of shape (models, questions)
        Binary answers of at least four models with varying answers.
    n_null : int
        Number of replicates of each test. At most 19 replicates are used to test a second factor's
        proportion of variance, because each of these replicates takes at least ten times as long
        as a replicate of another test.
    alpha : float
        Significance level of the tests. The level must be at least 1 / (n_null + 1), the smallest
        possible p-value.
    rng : Generator, int or None
        Random generator or seed.
    n_jobs : int or None
        Number of workers; -1 uses all processors. The result does not depend on the number of
        workers.
    progress : bool
        Whether to show a progress bar.

    Returns
    -------
    SharedSignals
        Result with `verdict`, `findings()` and `to_frame()`.

    Raises
    ------
    ShapeError
        If answers of fewer than four models vary, or the answers take more than 4 GB when stored
        as bits.
    CodeError
        If answers are not binary.

    Notes
    -----
    The function needs a quarter of a byte of memory per model and question, and an eighth of a
    byte more for each worker. The function also needs about 300 bytes per pair of models.

    Examples
    --------
    >>> import psychollm as psy
    >>> answers = psy.load_example("shared_confidence").confidence
    >>> psy.studies.shared_signals(answers, n_null=39, rng=1).n_factors
    1
    """
    n_null = check_count("n_null", n_null, high=DRAWS)
    check_fraction("alpha", alpha)
    answers = CountedAnswers.of(responses)
    generator = check_generator(rng)

    def tested(factors: Literal[0, 1]) -> ResidualTest:
        return residual_test(
            answers,
            factors=factors,
            n_null=n_null,
            rng=generator,
            n_jobs=n_jobs,
            progress=progress,
        )

    none, one = tested(0), tested(1)
    share = second_share_test(
        answers,
        n_null=min(n_null, SHARE_REPLICATES),
        rng=generator,
        n_jobs=n_jobs,
        progress=progress,
    )
    lapses = None
    if none.p_value <= alpha and one.p_value <= alpha:
        sample = _sample(answers, generator)
        lapses = with_lapses(
            sample,
            without=full_information(sample).log_likelihood,
            n_null=n_null,
            n_shares=min(n_null, SAMPLE_REPLICATES),
            level=1.0 - alpha,
            rng=generator,
            progress=progress,
        )
    fit = pairwise_likelihood(answers.counts)
    known = np.isfinite(fit.thresholds)
    return SharedSignals(
        n_factors=n_factors(none.p_value, lapses, alpha),
        shared_test=none,
        one_factor_test=one,
        second_share=share,
        with_lapses=lapses,
        loadings=fit.loadings,
        thresholds=fit.thresholds,
        n=np.diagonal(answers.counts.n).copy(),
        interval_shared=shared_interval(
            none.observed,
            fit.thresholds[known],
            answers.counts.n[np.ix_(known, known)],
            alpha,
        ),
        reasons=fit.reasons,
        alpha=alpha,
        labels=answers.counts.labels,
    )


def _sample(answers: CountedAnswers, rng: np.random.Generator) -> CountedAnswers:
    """Load a random sample of questions into memory, excluding models with constant answers."""
    yes, answered = answers.planes
    n = len(answers.table.questions)
    chosen = np.sort(rng.choice(n, min(n, SAMPLE), replace=False))
    word, bit = chosen // 64, (chosen % 64).astype(np.uint64)
    said, given = ((plane[:, word] >> bit) & np.uint64(1) for plane in (yes, answered))
    counts = (said * given).sum(axis=1), given.sum(axis=1)
    varies = (counts[0] > 0) & (counts[0] < counts[1])
    table = Responses.from_codes(
        said[varies].astype(np.uint8),
        given[varies] == 0,
        models=tuple(m for m, kept in zip(answers.table.models, varies, strict=True) if kept),
        questions=tuple(range(chosen.size)),
    )
    return CountedAnswers.of_binary(table)
