"""Agreement of runs or raters: percent agreement and chance-corrected coefficients.

The chance-corrected coefficients differ in their definition of chance agreement. Fleiss' kappa and
Krippendorff's alpha use the observed frequencies of the categories. If nearly all answers are the
same, chance agreement is close to 1, and kappa and alpha may be close to zero although runs rarely
differ. Gwet's AC1 was designed for data in which nearly all answers are the same. Only
Krippendorff's alpha uses distances between categories and corrects for small samples.

References
----------
Fleiss, J. L. (1971). Measuring nominal scale agreement among many raters. Psychological Bulletin,
76, 378-382. https://doi.org/10.1037/h0031619

Gwet, K. L. (2008). Computing inter-rater reliability and its variance in the presence of high
agreement. British Journal of Mathematical and Statistical Psychology, 61, 29-48.
https://doi.org/10.1348/000711006X126600

Hayes, A. F., & Krippendorff, K. (2007). Answering the call for a standard reliability measure for
coding data. Communication Methods and Measures, 1, 77-89.
https://doi.org/10.1080/19312450709336664

Krippendorff, K. (2019). Content analysis: An introduction to its methodology (4th ed.). Sage.
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from psychollm._base.axes import Axes, whole
from psychollm._base.entry import warn
from psychollm._base.result import Result
from psychollm._base.types import FloatArray, RandomState
from psychollm.calibration.stated import cluster_codes
from psychollm.data.labels import Labels, listed
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.reasons import Reason
from psychollm.estimates.resampling import Bootstrap, Resampling
from psychollm.reliability.raters.chance_corrected import (
    FLEISS,
    GWET,
    IDENTICAL,
    PAIRWISE,
    Coefficient,
    Distance,
    Summation,
    UnitTable,
    krippendorff,
    unit_tables,
)
from psychollm.reliability.raters.ratings import Ratings, RatingsLike, as_ratings
from psychollm.reliability.raters.unit_bootstrap import (
    AgreementInterval,
    Panel,
    Panelist,
    UnitShare,
    estimate_panel,
)

# This is the required number of questions with an infrequent answer (or, on graded scales, with
# disagreement). With fewer such questions, 95 % intervals of chance-corrected agreement cover the
# true value in only 60 to 90 % of data sets.
FEW = 10
FEW_GRADED = 20  # required number on graded scales, where large disagreements dominate

COEFFICIENTS = ("pairwise", "all_identical", "fleiss_kappa", "gwet_ac1", "krippendorff_alpha")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Agreement(Result):
    """Coefficients of agreement of every model, from the same resamples of questions.

    Examples
    --------
    >>> found = agreement([["A", "B", "B", "C"], ["A", "B", "A", "C"]], rng=0)
    >>> found.pairwise.value, found.krippendorff_alpha.value.round(3)
    (array([0.75]), array([0.667]))
    """

    pairwise: Estimate  # probability that two random runs agree
    all_identical: Estimate  # proportion of questions with the same answer in all runs
    fleiss_kappa: Estimate
    gwet_ac1: Estimate
    krippendorff_alpha: Estimate
    metric: str  # distance of `krippendorff_alpha`
    categories: Labels
    labels: Labels  # (models,)

    _AXES = Axes(
        {"model": "labels"},
        whole("n", "pairwise.n"),
        *(column for name in COEFFICIENTS for column in (name, f"{name}_flag={name}.flags")),
    )

    def summary(self) -> str:
        """Return a summary with one sentence per model.

        Examples
        --------
        >>> print(agreement([[1, 2, 2, 2], [1, 2, 1, 2]], rng=0).summary())
        0: the same answer in all runs on 75.0 % [30.1, 95.4] of 4 questions; ...
        """
        return "\n".join(self._sentence(row) for row in range(len(self.labels)))

    def _sentence(self, row: int) -> str:
        same, alpha, n = self.all_identical, self.krippendorff_alpha, int(self.pairwise.n[row])
        if not same.defined[row]:
            return f"{self.labels[row]}: {same.flags[row]}"
        low, high = 100.0 * same.interval[row]
        start = (
            f"{self.labels[row]}: the same answer in all runs on {100 * same.value[row]:.1f} % "
            f"[{low:.1f}, {high:.1f}] of {n} questions; Krippendorff's alpha ({self.metric}) "
        )
        if not alpha.defined[row]:
            return f"{start}undefined: {alpha.flags[row]}"
        note = f" ({alpha.flags[row]})" if alpha.flags[row] else ""
        return f"{start}{alpha.text(row)}{note}"


def agreement(
    ratings: RatingsLike,
    *,
    metric: Distance | None = None,
    categories: Iterable[Hashable] | None = None,
    clusters: Any = None,
    interval: AgreementInterval = "score",
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> Agreement:
    """Compute coefficients of agreement between runs or raters, for every model.

    Parameters
    ----------
    ratings : Ratings, DataFrame, array (questions, runs) or (runs, models, questions), sequence
        Answers as numbers or words; NaN, None and empty text mark missing answers. A table has one
        row per question (unit) and one column per run (rater). A sequence has one element per run:
        a vector for one model, or a table (models, questions). Use `Ratings.from_long` for long
        tables.
    metric : {"nominal", "ordinal", "interval", "ratio"}, optional
        Distance between ratings for Krippendorff's alpha; the other coefficients treat ratings as
        nominal. The default is "nominal", with a warning if the categories are three or more
        numbers.
    categories : iterable, optional
        All categories in increasing order; by default the categories that occur in the data. AC1
        depends on the number of categories, and the ordinal metric depends on their order.
    clusters : array_like (questions,), optional
        Cluster of each question, such as its passage; the jackknife and the bootstrap omit or
        resample whole clusters.
    interval : {"score", "bca", "percentile"}
        Interval method. The default, "score", is also valid near perfect agreement, where the
        other intervals are too short. For the proportions of agreeing pairs and of identical
        answers, "score" is the Wilson interval. For the other coefficients, "score" is a score
        interval with a jackknife variance.
    bootstrap : int or Bootstrap
        Number of resamples of questions. All models use the same resamples, so differences are
        paired.
    level : float
        Coverage of the intervals, between 0 and 1.
    rng : Generator, int or None
        Random generator or seed. The result does not depend on `n_jobs`.

    Returns
    -------
    Agreement
        Questions with only one rating are omitted from all computations; Gwet's software uses such
        questions to compute chance agreement. All coefficients are NaN with a reason if no
        question was rated twice. Fleiss' kappa and Krippendorff's alpha are also NaN if only one
        value occurs. A flag marks intervals of Fleiss' kappa and Krippendorff's alpha that may be
        too short. The flag is set if fewer than ten questions (twenty for graded distances) have
        an answer that differs from the most frequent answer. For graded distances the flag is also
        set if runs disagree on fewer than ten questions.

    Raises
    ------
    ShapeError, LabelError
        If the runs differ in their models or questions, or the clusters do not match the
        questions.
    CodeError
        If a rating is infinite, is not one of `categories`, or is not a number although `metric`
        requires numbers.
    OptionError
        If an option is invalid, or the categories of an ordinal metric have no order.

    References
    ----------
    Fleiss, J. L. (1971). Measuring nominal scale agreement among many raters. Psychological
    Bulletin, 76, 378-382. https://doi.org/10.1037/h0031619

    Gwet, K. L. (2008). Computing inter-rater reliability and its variance in the presence of high
    agreement. British Journal of Mathematical and Statistical Psychology, 61, 29-48.
    https://doi.org/10.1348/000711006X126600

    Krippendorff, K. (2019). Content analysis: An introduction to its methodology (4th ed.). SAGE.
    https://doi.org/10.4135/9781071878781

    Examples
    --------
    >>> runs = [[[1, 0, 1, 1]], [[1, 0, 0, 1]], [[1, 0, 1, 1]]]
    >>> agreement(runs, rng=0).to_frame()[["n", "pairwise", "fleiss_kappa"]].round(3)
       n  pairwise  fleiss_kappa
    0  4     0.833         0.625
    """
    options = Resampling.of(bootstrap, level, rng, interval)
    known = as_ratings(ratings, categories=categories)
    metric = _metric(known, metric)
    alpha = krippendorff(known, metric)
    estimates = estimate_agreement(
        {
            "pairwise agreement": PAIRWISE,
            "all identical": IDENTICAL,
            "Fleiss' kappa": FLEISS,
            "Gwet's AC1": GWET,
            f"Krippendorff's alpha ({metric})": alpha,
        },
        known,
        clusters,
        options,
    )
    fields = dict(zip(COEFFICIENTS, estimates, strict=True))
    return Agreement(**fields, metric=metric, categories=known.categories, labels=known.models)


def percent_agreement(
    ratings: RatingsLike,
    *,
    categories: Iterable[Hashable] | None = None,
    clusters: Any = None,
    interval: AgreementInterval = "score",
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> Estimate:
    """Compute the probability that two random runs give the same answer to a question.

    Parameters
    ----------
    ratings : Ratings, DataFrame, array (questions, runs) or (runs, models, questions), sequence
        Answers as numbers or words; NaN, None and empty text mark missing answers. A table has one
        row per question (unit) and one column per run (rater). A sequence has one element per run:
        a vector for one model, or a table (models, questions). Use `Ratings.from_long` for long
        tables.
    categories : iterable, optional
        All categories in increasing order; by default the sorted categories of the data.
    clusters : array_like (questions,), optional
        Cluster of each question, such as its passage; the jackknife and the bootstrap omit or
        resample whole clusters.
    interval : {"score", "bca", "percentile"}
        Interval method. The default, "score", is also valid near perfect agreement, where the
        other intervals are too short. "score" is the Wilson interval.
    bootstrap : int or Bootstrap
        Number of resamples of questions. All models use the same resamples, so differences are
        paired.
    level : float
        Coverage of the intervals, between 0 and 1.
    rng : Generator, int or None
        Random generator or seed. The result does not depend on `n_jobs`.

    Returns
    -------
    Estimate
        Probability of agreement, averaged over the questions with at least two ratings.

    Raises
    ------
    ShapeError, LabelError
        If the runs differ in their models or questions, or the clusters do not match the
        questions.
    CodeError
        If a rating is infinite or is not one of `categories`.
    OptionError
        If an option is invalid.

    Examples
    --------
    >>> percent_agreement([[1, 1], [1, 2], [1, 1]], rng=0).value.round(3)
    array([0.667])
    """
    options = Resampling.of(bootstrap, level, rng, interval)
    ratings = as_ratings(ratings, categories=categories)
    return estimate_agreement({"pairwise agreement": PAIRWISE}, ratings, clusters, options)[0]


def fleiss_kappa(
    ratings: RatingsLike,
    *,
    categories: Iterable[Hashable] | None = None,
    clusters: Any = None,
    interval: AgreementInterval = "score",
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> Estimate:
    """Compute Fleiss' kappa of every model: chance-corrected agreement of any number of runs.

    Parameters
    ----------
    ratings : Ratings, DataFrame, array (questions, runs) or (runs, models, questions), sequence
        Answers as numbers or words; NaN, None and empty text mark missing answers. A table has one
        row per question (unit) and one column per run (rater). A sequence has one element per run:
        a vector for one model, or a table (models, questions). Use `Ratings.from_long` for long
        tables.
    categories : iterable, optional
        All categories in increasing order; by default the sorted categories of the data.
    clusters : array_like (questions,), optional
        Cluster of each question, such as its passage; the jackknife and the bootstrap omit or
        resample whole clusters.
    interval : {"score", "bca", "percentile"}
        Interval method. The default, "score", is also valid near perfect agreement, where the
        other intervals are too short. "score" is a score interval with a jackknife variance.
    bootstrap : int or Bootstrap
        Number of resamples of questions. All models use the same resamples, so differences are
        paired.
    level : float
        Coverage of the intervals, between 0 and 1.
    rng : Generator, int or None
        Random generator or seed. The result does not depend on `n_jobs`.

    Returns
    -------
    Estimate
        Kappa of every model. Kappa is NaN with a reason if only one value occurs, or no question
        was rated twice.

    Raises
    ------
    ShapeError, LabelError
        If the runs differ in their models or questions, or the clusters do not match the
        questions.
    CodeError
        If a rating is infinite or is not one of `categories`.
    OptionError
        If an option is invalid.

    References
    ----------
    Fleiss, J. L. (1971). Measuring nominal scale agreement among many raters. Psychological
    Bulletin, 76, 378-382. https://doi.org/10.1037/h0031619

    Examples
    --------
    >>> fleiss_kappa([[1, 2, 2], [1, 2, 2], [1, 1, 2]], rng=0).value.round(4)
    array([0.55])
    """
    options = Resampling.of(bootstrap, level, rng, interval)
    ratings = as_ratings(ratings, categories=categories)
    return estimate_agreement({"Fleiss' kappa": FLEISS}, ratings, clusters, options)[0]


def gwet_ac1(
    ratings: RatingsLike,
    *,
    categories: Iterable[Hashable] | None = None,
    clusters: Any = None,
    interval: AgreementInterval = "score",
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> Estimate:
    """Compute Gwet's AC1 of every model, which suits data with one very frequent answer.

    Parameters
    ----------
    ratings : Ratings, DataFrame, array (questions, runs) or (runs, models, questions), sequence
        Answers as numbers or words; NaN, None and empty text mark missing answers. A table has one
        row per question (unit) and one column per run (rater). A sequence has one element per run:
        a vector for one model, or a table (models, questions). Use `Ratings.from_long` for long
        tables.
    categories : iterable, optional
        All categories of the scale, including categories that do not occur; AC1 depends on their
        number. By default the categories of the data are used.
    clusters : array_like (questions,), optional
        Cluster of each question, such as its passage; the jackknife and the bootstrap omit or
        resample whole clusters.
    interval : {"score", "bca", "percentile"}
        Interval method. The default, "score", is also valid near perfect agreement, where the
        other intervals are too short. "score" is a score interval with a jackknife variance.
    bootstrap : int or Bootstrap
        Number of resamples of questions. All models use the same resamples, so differences are
        paired.
    level : float
        Coverage of the intervals, between 0 and 1.
    rng : Generator, int or None
        Random generator or seed. The result does not depend on `n_jobs`.

    Returns
    -------
    Estimate
        AC1 of every model; it is 1, not NaN, if only one value occurs.

    Raises
    ------
    ShapeError, LabelError
        If the runs differ in their models or questions, or the clusters do not match the
        questions.
    CodeError
        If a rating is infinite or is not one of `categories`.
    OptionError
        If an option is invalid.

    References
    ----------
    Gwet, K. L. (2008). Computing inter-rater reliability and its variance in the presence of high
    agreement. British Journal of Mathematical and Statistical Psychology, 61, 29-48.
    https://doi.org/10.1348/000711006X126600

    Examples
    --------
    >>> gwet_ac1([["yes"] * 10, ["yes"] * 9 + ["no"]], rng=0).value.round(4)
    array([0.8895])
    """
    options = Resampling.of(bootstrap, level, rng, interval)
    ratings = as_ratings(ratings, categories=categories)
    return estimate_agreement({"Gwet's AC1": GWET}, ratings, clusters, options)[0]


def krippendorff_alpha(
    ratings: RatingsLike,
    *,
    metric: Distance | None = None,
    categories: Iterable[Hashable] | None = None,
    clusters: Any = None,
    interval: AgreementInterval = "score",
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> Estimate:
    """Compute Krippendorff's alpha of every model.

    Parameters
    ----------
    ratings : Ratings, DataFrame, array (questions, runs) or (runs, models, questions), sequence
        Answers as numbers or words; NaN, None and empty text mark missing answers. A table has one
        row per question (unit) and one column per run (rater). A sequence has one element per run:
        a vector for one model, or a table (models, questions). Use `Ratings.from_long` for long
        tables.
    metric : {"nominal", "ordinal", "interval", "ratio"}, optional
        Distance between two ratings. All distances except "nominal" require numbers; "ordinal"
        also accepts the order in `categories`. The default is "nominal", with a warning if the
        categories are three or more numbers.
    categories : iterable, optional
        Categories in increasing order, if they are not numbers.
    clusters : array_like (questions,), optional
        Cluster of each question, such as its passage; the jackknife and the bootstrap omit or
        resample whole clusters.
    interval : {"score", "bca", "percentile"}
        Interval method. The default, "score", is also valid near perfect agreement, where the
        other intervals are too short. "score" is a score interval with a jackknife variance.
    bootstrap : int or Bootstrap
        Number of resamples of questions. All models use the same resamples, so differences are
        paired.
    level : float
        Coverage of the intervals, between 0 and 1.
    rng : Generator, int or None
        Random generator or seed. The result does not depend on `n_jobs`.

    Returns
    -------
    Estimate
        Alpha of every model. Alpha is NaN with a reason if only one value occurs, or no unit was
        rated twice.

    Raises
    ------
    ShapeError, LabelError
        If the runs differ in their models or questions, or the clusters do not match the
        questions.
    CodeError
        If a rating is infinite, is not one of `categories`, or is not a number although `metric`
        requires numbers.
    OptionError
        If an option is invalid, or the categories of an ordinal metric have no order.

    References
    ----------
    Krippendorff, K. (2019). Content analysis: An introduction to its methodology (4th ed.). SAGE.
    https://doi.org/10.4135/9781071878781

    Examples
    --------
    >>> raters = [[1, 2, 3, 2, 1, 4], [1, 3, 3, 2, 2, 4], [None, 3, 3, 2, 3, 4]]
    >>> krippendorff_alpha(raters, metric="ordinal", rng=0).value.round(3)
    array([0.754])
    """
    options = Resampling.of(bootstrap, level, rng, interval)
    known = as_ratings(ratings, categories=categories)
    metric = _metric(known, metric)
    coefficient = {f"Krippendorff's alpha ({metric})": krippendorff(known, metric)}
    return estimate_agreement(coefficient, known, clusters, options)[0]


def estimate_agreement(
    coefficients: dict[str, Coefficient],
    ratings: Ratings,
    clusters: Any,
    options: Resampling,
) -> list[Estimate]:
    """Estimate named coefficients of every model from the same resamples."""
    members = [_member(list(coefficients.values()), table) for table in unit_tables(ratings)]
    return estimate_panel(
        Panel(
            names=tuple(coefficients),
            members=members,
            labels=ratings.models,
            clusters=None if clusters is None else cluster_codes(clusters, ratings.questions),
            options=options,
        )
    )


def _metric(ratings: Ratings, metric: Distance | None) -> Distance:
    """Return the metric; warn if the default ignores the order of three or more numbers."""
    known = ratings.categories
    if metric is None and len(known) > 2 and all(isinstance(one, int | float) for one in known):
        msg = (
            f"Krippendorff's alpha treats the {len(known)} numbers {listed(known)} as unordered "
            'names: pass metric="ordinal", "interval" or "ratio" for a scale, '
            'metric="nominal" for codes'
        )
        warn(msg)
    return "nominal" if metric is None else metric


def _member(coefficients: list[Coefficient], table: UnitTable) -> Panelist:
    units = next((one.disagreement for one in coefficients if one.disagreement), None)
    summation = Summation(table, None if units is None else units(table))

    def compute(counts: FloatArray) -> FloatArray:
        sums = summation.of(counts)
        return np.stack([one.value(sums) for one in coefficients], axis=1)

    return Panelist(
        compute=compute,
        paired=table.paired,
        flags=tuple(_reason(coefficient, table) for coefficient in coefficients),
        expected=np.array([_expected(coefficient, table) for coefficient in coefficients]),
        pairs=max(0.5 * float((table.size * (table.size - 1.0)).sum()), 1.0),
        shares=tuple(_share(coefficient, table) for coefficient in coefficients),
        graded=tuple(coefficient.graded for coefficient in coefficients),
    )


def _share(coefficient: Coefficient, table: UnitTable) -> UnitShare | None:
    """Return, as a `UnitShare`, a coefficient that is a mean over questions."""
    ones = table.paired.astype(np.float64)
    if coefficient is IDENTICAL:
        return UnitShare(table.identical, ones, float(ones.sum()))
    if coefficient is PAIRWISE:
        pairs = float((0.5 * table.size * (table.size - 1.0)).sum())
        return UnitShare(table.agreement, ones, pairs)
    return None


def _expected(coefficient: Coefficient, table: UnitTable) -> float:
    """Return the expected disagreement, used for the lower bound when agreement is perfect."""
    if not coefficient.marginal or not table.paired.any():
        return 1.0
    shares = np.bincount(table.category, table.number) / table.number.sum()
    return max(1.0 - float((shares**2).sum()), 1e-12)


def _reason(coefficient: Coefficient, table: UnitTable) -> Reason:
    if not table.rated:
        return Reason.NO_RATINGS
    if not table.paired.any():
        return Reason.NO_PAIRS
    if coefficient.marginal and table.n_given == 1:
        return Reason.SINGLE_VALUE
    if table.identical[table.paired].all():
        return Reason.PERFECT_AGREEMENT
    few = coefficient.marginal and table.n_unusual < FEW
    uneven = coefficient.graded and (table.paired & (table.identical == 0)).sum() < FEW
    if few or uneven:
        return Reason.FEW_VARY
    rare = coefficient.graded and table.n_unusual < FEW_GRADED
    return Reason.RARE_ANSWERS if rare else Reason.NONE
