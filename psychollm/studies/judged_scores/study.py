r"""Correct a judge's scores by human labels.

A judge's verdicts are cheap but biased; human labels are valid but few. The estimated human score
is the judge's mean over all answers, corrected by human labels of some of them
(`psychollm.studies.judged_scores.correction`). The estimate is unbiased for any judge: a bad judge
widens the intervals but does not invalidate them. Each model is corrected by its own labels,
because a judge's bias may differ between models.

Differences of models are paired: with labels on the same questions, shared difficulty cancels.
The intervals of all differences are simultaneous and determine ranks and tiers
(`psychollm.studies.comparison`).

References
----------
Angelopoulos, A. N., Duchi, J. C., & Zrnic, T. (2023). PPI++: Efficient prediction-powered
inference. arXiv:2311.01453.

Chatzi, I., Straitouri, E., Thejaswi, S., & Gomez Rodriguez, M. (2024). Prediction-powered ranking
of large language models. arXiv:2402.17826.
"""

from typing import Any, Literal, TypeAlias

import numpy as np

from psychollm._base.checks import check_choice, check_count, check_fraction, check_generator
from psychollm._base.errors import LabelError, OptionError
from psychollm._base.types import BoolArray, FloatArray, IntArray, RandomState
from psychollm.calibration.stated import cluster_codes
from psychollm.data.labels import Labels, numbered, unit_labels, unit_numbers
from psychollm.data.table import one_model, values_like
from psychollm.estimates.clustered import few
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.intervals import normal_multiplier
from psychollm.estimates.reasons import Reason, first_reason
from psychollm.estimates.roots import symmetric_root
from psychollm.estimates.verdict import FEWEST
from psychollm.reliability.means.clustered import clustered_mean, t_interval
from psychollm.reliability.means.combined_intervals import combined_intervals
from psychollm.reliability.means.pair_means import Errors, PairMeans
from psychollm.reliability.means.score_differences import ScoreDifferences, differences_of
from psychollm.studies.comparison.ranks import rank, shown_better, tiers
from psychollm.studies.judged_scores.correction import (
    Fit,
    Labelled,
    correlation_of,
    fit,
    margins_of,
    of_means,
    within_bounds,
)
from psychollm.studies.judged_scores.planning import variances_of
from psychollm.studies.judged_scores.prediction import centred, combined
from psychollm.studies.judged_scores.result import JudgedScores
from psychollm.studies.judged_scores.tables import Verdicts, verdicts_of

Target: TypeAlias = Literal["these questions", "questions like these"]


def judged_scores(
    verdicts: Any,
    people: Any,
    *,
    judge: Any = None,
    clusters: Any = None,
    families: Any = None,
    probability: Any = None,
    target: Target = "these questions",
    level: float = 0.95,
    n_draws: int = 4000,
    rng: RandomState = None,
) -> JudgedScores:
    """Estimate human scores from a judge's verdicts on all answers and a few labels.

    Parameters
    ----------
    verdicts : ScoreLog, Responses, DataFrame, DataArray or array_like, or a mapping of them
        A judge's verdicts, models x questions: 0 and 1, or grades; NaN marks a missing verdict.
        For several judges, a mapping from the names of judges to tables of verdicts.
    people : ScoreLog, Responses, DataFrame, DataArray or array_like
        Human labels in the same form, with NaN for unlabelled answers; most answers may be
        unlabelled. Models and questions are matched by label.
    judge : hashable, optional
        Judge to use, if there are several; by default the best combination of all. If there is
        only one judge, `judge` is the name of this judge.
    clusters : array_like (questions,), optional
        Cluster of each question, such as a passage, if whole clusters were sampled for labels, or
        to generalise to the question population.
    families : array_like (models,), optional
        Family of each model, such as its vendor. With families, the judge's bias is also compared
        between families.
    probability : array_like (questions,) or (models, questions), optional
        Inclusion probability of each label, if unequal. By default all answers of a model have the
        same probability.
    target : {"these questions", "questions like these"}
        Target of inference: all answers that the judge saw, or answers to the population of
        questions from which the judged questions are a sample.
    level : float
        Coverage of the intervals: pointwise for scores, simultaneous for differences.
    n_draws : int
        Number of draws for the simultaneous intervals.
    rng : Generator, int or None
        Source of randomness.

    Returns
    -------
    JudgedScores
        A model without labels has only the judge's raw score; its human score is NaN with a
        reason.

    Raises
    ------
    ShapeError, LabelError
        If the tables have no model or question in common, or clusters, families or probabilities
        do not match.
    CodeError
        If a verdict or a label is not a finite number.
    OptionError
        If a probability is 0, negative or above 1, or if an option is out of range.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> truth = (rng.random((2, 400)) < [[0.8], [0.6]]).astype(float)
    >>> judge = np.where(rng.random((2, 400)) < 0.1, 1.0, truth)  # lenient
    >>> people = np.where(rng.permutation(400) < 60, truth, np.nan)  # 60 labels of each
    >>> found = judged_scores(judge, people, rng=1)
    >>> found.to_frame().round(2)
       model  score  lower  upper   raw  bias  n_labels
    0      0   0.80   0.75   0.83  0.82  0.02        60
    1      1   0.54   0.46   0.60  0.64  0.10        60
    """
    check_choice("target", target, Target)
    check_fraction("level", level)
    draws = check_count("n_draws", n_draws, low=100)
    source = check_generator(rng)
    both = verdicts_of(verdicts, people, judge)
    codes = None if clusters is None else cluster_codes(clusters, both.questions)
    kin = None if families is None else _families(families, both.models)
    answers = both.answers
    low, span, comparable = _scale(both)
    given = _mean_verdicts(both.verdicts)
    raw = _raw(given, both, codes, level)
    predicted, weights = combined(both.verdicts, both.people, answers, codes, source)
    labels = (both.people - low) / span
    verdict = both.verdicts[0] if len(both.judges) == 1 else predicted
    table = Labelled(
        people=labels,
        predicted=predicted / span,
        verdict=verdict,
        pi=_chances(probability, both, answers),
        size=answers.sum(axis=1).astype(np.float64),
        clusters=codes,
        shares=bool(low == 0.0 and span == 1.0),
        sampled=target != "these questions",
    )
    found = fit(table)
    # The labels do not predict this part of the verdict, which varies in the question population.
    gap = centred(given, answers) / span - found.weight[:, None] * table.predicted
    beyond = np.diagonal(of_means(gap, table))
    score, bias = _estimates(table, found, raw, (low, span), beyond, level, comparable=comparable)
    pairs = np.triu_indices(len(both.models), 1)
    differences = _differences(
        score.value, found.covariance * span**2, found.df, found.n, found.n_clusters,
        both.models, both.people, pairs, level, draws, source, clustered=codes is not None,
    )  # fmt: skip
    if table.shares:
        differences = _from_scores(differences, table, found, pairs)
    return JudgedScores(
        score=score,
        raw=raw,
        bias=bias,
        differences=differences,
        **_ranks(differences, score),
        weight=found.weight,
        alone=np.where(found.n > 1, np.sqrt(found.alone) * span, np.nan),
        corrected=np.where(found.n > 1, np.sqrt(found.variance) * span, np.nan),
        label_variance=span**2 * variances_of(found.residual, table.predicted, answers, 0.25),
        beyond=found.predictions * span**2,
        n_answers=table.size,
        judges=both.judges,
        judge_weights=weights,
        labels=both.models,
        questions=both.questions,
        target=target,
        level=level,
        span=span,
        **_by_family(bias, found, kin, (both.people, span), level, draws, source),
    )


def _families(families: Any, models: Labels) -> tuple[IntArray, Labels]:
    member, names = numbered(unit_labels(families, models, argument="families", kind="model"))
    if len(names) < 2:
        msg = f"families has only one family ({names[0]!r}): a comparison needs at least two"
        raise LabelError(msg)
    return member, names


def _scale(both: Verdicts) -> tuple[float, float, bool]:
    """Return minimum and range of the labels, and whether verdicts are on the labels' scale."""
    people, verdicts = (one[np.isfinite(one)] for one in (both.people, both.verdicts))
    unit = [
        one.size == 0 or bool((one.min() >= 0.0) & (one.max() <= 1.0))
        for one in (people, verdicts)
    ]
    if unit[0] and (people.size or unit[1]):
        return 0.0, 1.0, unit[1]
    # Graded labels may have their own scale, on which verdicts of 0 and 1 are not valid.
    comparable = not unit[1] or not people.size
    everything = np.concatenate([people, verdicts]) if comparable else people
    low, high = float(everything.min()), float(everything.max())
    return low, (high - low) or 1.0, comparable


def _chances(probability: Any, both: Verdicts, answers: BoolArray) -> FloatArray:
    """Return inclusion probabilities (models, questions), NaN outside a model's answers."""
    known = np.isfinite(both.people)
    if probability is None:
        share = known.sum(axis=1) / np.maximum(answers.sum(axis=1), 1)
        return np.where(answers, np.maximum(share, 1e-300)[:, None], np.nan)
    if getattr(probability, "ndim", np.ndim(probability)) == 2:
        given = one_model(probability, argument="probability")
        values = np.asarray(values_like(given, both, argument="probability"), dtype=np.float64)
    else:
        one = unit_numbers(probability, both.questions, argument="probability")
        values = np.broadcast_to(one, known.shape)
    wrong = answers & ~((values > 0.0) & (values <= 1.0))
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        msg = (
            f"probability of model {both.models[row]!r}, question {both.questions[column]!r} is "
            f"{values[row, column]}: inclusion probabilities are above 0 and at most 1"
        )
        raise OptionError(msg)
    return np.where(answers, values, np.nan)


def _mean_verdicts(verdicts: FloatArray) -> FloatArray:
    """Return the mean verdict of the judges (models, questions), NaN if there are no verdicts."""
    if len(verdicts) == 1:
        return np.asarray(verdicts[0])
    known = np.isfinite(verdicts)
    counts = known.sum(axis=0)
    sums = np.where(known, verdicts, 0.0).sum(axis=0)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def _raw(given: FloatArray, both: Verdicts, clusters: IntArray | None, level: float) -> Estimate:
    """Return the mean verdict of each model; intervals are for the question population."""
    known = np.isfinite(given)
    weight = known.astype(np.float64)
    mean = clustered_mean(np.where(known, given, 0.0), weight, clusters)
    none = np.asarray(~known.any(axis=1))
    inside = given[known]
    shares = bool(((inside == 0.0) | (inside == 1.0)).all())
    return Estimate(
        name="raw score",
        value=np.where(none, np.nan, mean.value),
        se=mean.se,
        interval=mean.interval(level, shares=shares),
        n=weight.sum(axis=1),
        flags=first_reason(
            (none, Reason.NO_VERDICTS),
            (mean.n_clusters == 1, Reason.ONE_QUESTION),
            (mean.se == 0.0, Reason.NO_SPREAD),
        ),
        method="over the question population",
        level=level,
        labels=both.models,
    )


def _estimates(
    table: Labelled,
    found: Fit,
    raw: Estimate,
    scale: tuple[float, float],
    beyond: FloatArray,
    level: float,
    *,
    comparable: bool,
) -> tuple[Estimate, Estimate]:
    """Return the corrected scores and the judge's bias."""
    low, span = scale
    margins, none = margins_of(table, found, level), found.n == 0
    bare = none | ((found.n_clusters < 2) & (found.n > 1))
    value = within_bounds(table, found.value)
    z = normal_multiplier(level)

    def bounds(beyond: FloatArray) -> FloatArray:
        reach = np.sqrt(margins**2 + z**2 * beyond)
        return np.stack([found.value - reach[0], found.value + reach[1]], axis=1)

    interval = within_bounds(table, bounds(found.predictions))
    variance = np.diagonal(found.covariance)
    flags = first_reason(
        (none, Reason.NO_LABELS),
        ((found.n_clusters == 1) & (found.n > 1), Reason.ONE_CLUSTER),
        (few(found.df) & (table.clusters is not None), Reason.FEW_CLUSTERS),
        (found.n < FEWEST, Reason.FEW_LABELS),
    )
    score = Estimate(
        name="score",
        value=np.where(none, np.nan, low + span * value),
        se=np.where(found.n_clusters > 1, span * np.sqrt(variance), np.nan),
        interval=np.where(bare[:, None], np.nan, low + span * interval),
        n=found.n,
        flags=flags,
        method="prediction-powered",
        level=level,
        labels=raw.labels,
        df=found.df if table.clusters is not None else None,
    )
    # The judge's mean over these answers is fixed; in the question population both means vary.
    own = bounds(beyond) if table.sampled else interval
    ends = raw.value[:, None] - (low + span * own[:, ::-1])
    unknown = none | ~np.isfinite(raw.value) | (not comparable)
    bare |= unknown
    bias = Estimate(
        name="bias",
        value=np.where(unknown, np.nan, raw.value - score.value),
        se=np.where(
            bare | (found.n < 2), np.nan, span * np.sqrt(variance - found.predictions + beyond)
        ),
        interval=np.where(bare[:, None], np.nan, ends),
        n=found.n,
        flags=first_reason(
            (none, Reason.NO_LABELS),
            (~np.isfinite(raw.value), Reason.NO_VERDICTS),
            (np.full(none.size, not comparable), Reason.OTHER_SCALE),
            (found.n < FEWEST, Reason.FEW_LABELS),
        ),
        method="prediction-powered",
        level=level,
        labels=raw.labels,
        df=score.df,
    )
    return score, bias


def _differences(
    value: FloatArray,
    covariance: FloatArray,
    df: FloatArray,
    n: FloatArray,
    n_clusters: FloatArray,
    labels: Labels,
    people: FloatArray,
    pairs: tuple[IntArray, IntArray],
    level: float,
    n_draws: int,
    rng: np.random.Generator,
    *,
    clustered: bool,
) -> ScoreDifferences:
    """Return all differences of estimates with a given covariance, and simultaneous intervals."""
    i, j = pairs
    own = np.diagonal(covariance)
    fewer = np.minimum(n[i], n[j])
    known = np.isfinite(value[i] - value[j]) & (np.minimum(n_clusters[i], n_clusters[j]) > 2)
    freedom = np.maximum(np.minimum(df[i], df[j]), 1.0)
    se = np.sqrt(np.maximum(own[i] + own[j] - 2.0 * covariance[i, j], 0.0))

    def errors(source: np.random.Generator, n_sets: int) -> Errors:
        root = symmetric_root(covariance)
        drawn = root @ source.standard_normal((len(root), n_sets))  # rows are contiguous in memory
        return lambda places: (drawn[i[places]] - drawn[j[places]]).T

    of = PairMeans(
        value=np.where(known, value[i] - value[j], np.nan),
        se=np.where(known, se, np.nan),
        df=np.where(known, freedom, np.nan),
        pilot_df=np.where(known, freedom, np.nan),
        n=np.where(known, fewer, 0.0),
        n_clusters=np.minimum(n_clusters[i], n_clusters[j]) if clustered else fewer,
        se_paired=np.where(known, se, np.nan),
        se_first=np.sqrt(own[i]),
        se_second=np.sqrt(own[j]),
        first_only=np.full(i.size, np.nan),
        second_only=np.full(i.size, np.nan),
        few_of_a_task=np.zeros(i.size, dtype=np.bool_),
        errors=errors,
    )
    return differences_of(
        of, labels, people, pairs, np.zeros(i.size, dtype=np.int64), adjustment="max_t",
        correction="cr2", level=level, n_draws=n_draws, rng=rng,
    )  # fmt: skip


def _from_scores(
    differences: ScoreDifferences, table: Labelled, found: Fit, pairs: tuple[IntArray, IntArray]
) -> ScoreDifferences:
    """Return differences, with simultaneous intervals that combine the intervals of scores."""
    i, j = pairs

    def margins(level: float) -> tuple[FloatArray, FloatArray]:
        below_and_above = margins_of(table, found, level, at_once=True)
        return below_and_above[:, i], below_and_above[:, j]

    return combined_intervals(differences, margins, correlation_of(found, i, j))


def _ranks(differences: ScoreDifferences, score: Estimate) -> dict[str, Any]:
    """Return ranks, their bounds, and tiers, in the order of the models."""
    part = np.zeros(len(score.labels), dtype=np.int64)
    better = shown_better(differences, part)
    order = np.argsort(-np.nan_to_num(score.value, nan=-np.inf), kind="stable")
    tier = np.zeros(order.size, dtype=np.int64)
    tier[order] = tiers(better[np.ix_(order, order)], score.defined[order], part)
    scored = int(score.defined.sum())
    bounds = np.stack([1 + better.sum(axis=0), scored - better.sum(axis=1)], axis=1)
    return {
        "rank": rank(score.value, part),
        "rank_interval": np.where(score.defined[:, None], bounds, 0),
        "tier": tier,
    }


def _by_family(
    bias: Estimate,
    found: Fit,
    kin: tuple[IntArray, Labels] | None,
    scale: tuple[FloatArray, float],
    level: float,
    n_draws: int,
    rng: np.random.Generator,
) -> dict[str, Any]:
    """Return the judge's bias in each family of models, and differences between families."""
    if kin is None:
        return {"family_bias": None, "family_differences": None}
    member, names = kin
    people, span = scale
    own = (member[None, :] == np.arange(len(names))[:, None]) & bias.defined & (found.n > 2)
    counts = own.sum(axis=1)
    mean = own / np.maximum(counts, 1)[:, None]
    value = np.where(counts > 0, mean @ np.nan_to_num(bias.value), np.nan)
    covariance = mean @ (found.covariance * span**2) @ mean.T
    df = np.maximum((own * found.df).sum(axis=1), 1.0)
    n = (own * found.n).sum(axis=1)
    se = np.where(counts > 0, np.sqrt(np.diagonal(covariance)), np.nan)
    estimate = Estimate(
        name="bias",
        value=value,
        se=se,
        interval=t_interval(value, se, df, level),
        n=n,
        flags=first_reason((counts == 0, Reason.NO_LABELS)),
        method="prediction-powered",
        level=level,
        labels=names,
        axis="family",
    )
    differences = _differences(
        value, covariance, df, n, n, names, people, np.triu_indices(len(names), 1), level,
        n_draws, rng, clustered=False,
    )  # fmt: skip
    return {"family_bias": estimate, "family_differences": differences}
