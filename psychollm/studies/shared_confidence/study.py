"""`shared_confidence`: test whether confidence is private or shared through a common factor.

The study screens the validity of reports, and evaluates yes/no reports as a classifier of
correctness, with F-beta scores for a range of beta. The study relates confidence to accuracy
between models, and tests the number of common factors against null distributions. The study also
reports factor scores of questions, the information that a model's self-report and the mean vote
add, pairwise disagreements, and residuals after the factor.
"""

from collections.abc import Hashable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from psychollm._base.checks import DRAWS, check_choice, choose_seed, hold_counts
from psychollm._base.errors import ShapeError
from psychollm._base.multiplicity import Adjustment
from psychollm._base.types import EmptyCells, Missing, RandomState
from psychollm._base.wording import parameter
from psychollm.calibration.consensus.between_models import between_models_of
from psychollm.calibration.consensus.ensemble import ensemble_gain
from psychollm.calibration.consensus.individuation import individuation
from psychollm.calibration.consensus.pairwise import pairwise_calibration
from psychollm.calibration.decisions.confusion import confusion
from psychollm.calibration.decisions.f_beta import f_beta
from psychollm.calibration.stated import PairedAnswers, binary_tables
from psychollm.data.pair_counts import CountedAnswers, binary_counts
from psychollm.data.responses import Responses, ResponsesLike
from psychollm.data.screen import Screen, ScreenRules, screened
from psychollm.estimates.provenance import call_text, versions
from psychollm.estimates.resampling import Bootstrap, Resampling
from psychollm.factor.one_factor.residuals import LEAST_MODELS
from psychollm.factor.one_factor.scores import scores_of
from psychollm.studies.dimensionality.result import Dimensionality
from psychollm.studies.dimensionality.study import dimensionality
from psychollm.studies.people.table import beside_tables
from psychollm.studies.shared_confidence.private_signal import private_signal
from psychollm.studies.shared_confidence.residual_structure import residuals_beside
from psychollm.studies.shared_confidence.result import SharedConfidence, spread_over

Screening: TypeAlias = Literal["flag", "drop"]


def shared_confidence(
    confidence: ResponsesLike,
    correctness: ResponsesLike,
    *,
    empty_cells: EmptyCells = "keep_margins",
    missing: Missing = "pairwise",
    screen: Screening = "flag",
    people: Any = None,
    n_null: int = 499,
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    adjustment: Adjustment = "holm",
    rng: RandomState = None,
) -> SharedConfidence:
    """Test whether models' confidence is private or shared through one common factor.

    Parameters
    ----------
    confidence, correctness : Responses, DataFrame, DataArray or array_like (models, questions)
        Each model's self-report before answering (1 = yes, I can), and whether the model was
        correct. Both tables have the same models and questions in any order, and may have missing
        answers.
    empty_cells, missing : str
        Rules of the plain tetrachoric spectrum (see `tetrachoric`); they do not affect the verdict
        on the number of factors.
    screen : {"flag", "drop"}
        "flag" keeps every model and names the models that fail the validity screen; "drop"
        excludes unusable models from all results. Models with constant reports or too few reports
        are always excluded from correlations.
    people : DataFrame or path, optional
        Answers of people, in the format of `read_people`: one row per answer with the columns
        person, question, and said (1 = yes, I can) or correct, or both.
    n_null : int
        Number of replicates of each null distribution, computed by the workers of `bootstrap`.
    bootstrap : int or Bootstrap
        Number of resamples of the questions.
    level : float
        Coverage of all intervals; tests use level 1 - `level`.
    adjustment : {"holm", "bonferroni", "bh", "by"}
        Adjustment of p-values for the number of models.
    rng : Generator, int or None
        Random seed, which is recorded so that `call` reproduces the result.

    Returns
    -------
    SharedConfidence
        The result has `summary()`, `to_frame()`, `plot()` and `report(path)`.

    Raises
    ------
    LabelError
        If the two tables do not have the same models and questions.
    CodeError
        If the tables are not binary.
    ShapeError
        If the confidence of fewer than four models varies.

    Examples
    --------
    >>> import psychollm as psy
    >>> example = psy.load_example("shared_confidence")
    >>> study = psy.shared_confidence(
    ...     example.confidence, example.correctness, n_null=49, bootstrap=50, rng=1)
    >>> study.dimensionality.n_factors, study.labels[0]
    (1, 'sim-01')
    """
    work = Resampling.of(bootstrap, level, None).required()
    options = _Options(
        empty_cells=empty_cells,
        missing=missing,
        screen=screen,
        n_null=n_null,
        bootstrap=work.n,
        level=level,
        adjustment=adjustment,
        rng=choose_seed(rng),
    )
    options.check()
    said, right = binary_tables(confidence, correctness)
    validity = screened(said, right, ScreenRules(alpha=1.0 - level))
    dropped = unusable(validity) if screen == "drop" else {}
    kept = [model for model in said.models if model not in dropped]
    tables = said.select(models=kept), right.select(models=kept)
    study = _study(tables, validity, dropped, options, work)
    return study if people is None else replace(study, **_beside(study, *tables, people))


def _beside(
    study: SharedConfidence, said: Responses, right: Responses, people: Any
) -> dict[str, Any]:
    """Return models compared with people, and the call with the argument `people` added."""
    tables = {
        name: (np.where(one.missing, np.nan, one.codes), column)
        for name, one, column in (("says yes", said, "said"), ("accuracy", right, "correct"))
    }
    held = beside_tables(tables, said.models, said.questions, people, level=study.level)
    return {"people": held, "call": study.call.removesuffix(")") + ", people=people)"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    """Options that determine the result, in the order of the call."""

    empty_cells: EmptyCells
    missing: Missing
    screen: Screening
    n_null: int
    bootstrap: int
    level: float
    adjustment: Adjustment
    rng: int

    def check(self) -> None:
        """Raise an error if an option is invalid, before any computation."""
        check_choice("empty_cells", self.empty_cells, EmptyCells)
        check_choice("missing", self.missing, Missing)
        check_choice("screen", self.screen, Screening)
        check_choice("adjustment", self.adjustment, Adjustment)
        hold_counts(self, "n_null", high=DRAWS)


# Each part has its own random stream, so that parts are independent.
_NAMED = 5  # number of models named in an error, with reasons
_PARTS = ("dimensionality", "f_beta", "between", "individuation", "ensemble", "residuals")


def _study(
    tables: tuple[Responses, Responses],
    validity: Screen,
    dropped: Mapping[Hashable, str],
    options: _Options,
    work: Bootstrap,
) -> SharedConfidence:
    """Run all parts on checked and aligned tables."""
    said, right = tables
    pair = PairedAnswers.of_binary(said, right)  # reused by all functions of two tables
    level, adjustment = options.level, options.adjustment
    streams = dict(zip(_PARTS, np.random.default_rng(options.rng).spawn(len(_PARTS)), strict=True))
    uncorrelated = uncorrelatable(said, validity)
    table = confusion(pair, right, level=level)
    dimensions = _factors(said, uncorrelated, options, streams["dimensionality"], work)
    model = dimensions.one_factor
    curves = np.stack([spread_over(said.models, model.labels, row) for row in model.curves])
    loadings, thresholds = curves[:2]
    scores = scores_of(said, curves)
    return SharedConfidence(
        screen=validity,
        confusion=table,
        f_beta=f_beta(pair, right, bootstrap=work, level=level, rng=streams["f_beta"]),
        between=between_models_of(table, level=level, rng=streams["between"]),
        dimensionality=dimensions,
        loadings=loadings,
        thresholds=thresholds,
        scores=scores,
        individuation=individuation(
            pair,
            right,
            scores.leave_one_out,
            adjustment=adjustment,
            bootstrap=work,
            level=level,
            rng=streams["individuation"],
        ),
        private_signal=private_signal(
            pair,
            right,
            loadings=loadings,
            thresholds=thresholds,
            lower=curves[2] if len(curves) > 2 else None,
            upper=curves[3] if len(curves) > 2 else None,
            adjustment=adjustment,
            level=level,
        ),
        ensemble=ensemble_gain(pair, right, bootstrap=work, level=level, rng=streams["ensemble"]),
        pairwise=pairwise_calibration(pair, right, scores.scores, level=level),
        residuals=residuals_beside(dimensions.residuals, right, rng=streams["residuals"]),
        dropped=dropped,
        uncorrelated=uncorrelated,
        n_questions=said.n_questions,
        coding={"confidence": said.coding, "correctness": right.coding},
        call=call_text("shared_confidence", ("confidence", "correctness"), asdict(options)),
        seed=options.rng,
        versions=versions(),
        level=level,
        labels=said.models,
    )


def _factors(
    said: Responses,
    uncorrelated: Mapping[Hashable, str],
    options: _Options,
    rng: np.random.Generator,
    work: Bootstrap,
) -> Dimensionality:
    """Test how many factors the models have; omit models that cannot be correlated."""
    varying = [model for model in said.models if model not in uncorrelated]
    if len(varying) < LEAST_MODELS:
        why = [f"{model!r}: {reason}" for model, reason in uncorrelated.items()]
        left = f" ({'; '.join(why[:_NAMED])}{'; ...' * (len(why) > _NAMED)})" if why else ""
        fewer = parameter(
            "",
            python="the metrics of psychollm.calibration work with fewer",
            command="'psychollm calibrate' works with fewer",
        )
        msg = (
            f"confidence: {len(varying)} of {said.n_models} models can be correlated{left}, but "
            f"the study needs {LEAST_MODELS}: {fewer}"
        )
        raise ShapeError(msg)
    return dimensionality(
        CountedAnswers.of_binary(said.select(models=varying)),
        empty_cells=options.empty_cells,
        missing=options.missing,
        n_null=options.n_null,
        alpha=1.0 - options.level,
        rng=rng,
        n_jobs=work.n_jobs,
        progress=work.progress,
    )


def unusable(validity: Screen) -> dict[Hashable, str]:
    """Return unusable models with reasons; raise an error if no model is usable."""
    rows = zip(validity.models, validity.usable, validity.reasons, strict=True)
    dropped = {model: "; ".join(reasons) for model, usable, reasons in rows if not usable}
    if len(dropped) == len(validity.models):
        why = "; ".join(f"{model!r}: {reason}" for model, reason in dropped.items())
        msg = f'no model is usable: screen="drop" would exclude all: {why}'
        raise ShapeError(msg)
    return dropped


def uncorrelatable(said: Responses, validity: Screen) -> dict[Hashable, str]:
    """Return the models excluded from correlations, each with the reason for its exclusion."""
    # Models with constant or too few answers are excluded first; then, greedily, models that share
    # no question with another model on which both vary.
    screened = zip(
        validity.models, validity.too_few, validity.constant, validity.reasons, strict=True
    )
    # Reasons in order of precedence: too few answers, no variation.
    reasons_by_model: dict[Hashable, str] = {
        model: "; ".join(reasons[: int(few) + int(constant)])
        for model, few, constant, reasons in screened
        if (few or constant) and model in said.models
    }
    rest = [model for model in said.models if model not in reasons_by_model]
    return (
        reasons_by_model | _without_partners(said.select(models=rest))
        if len(rest) > 1
        else reasons_by_model
    )


def _without_partners(said: Responses) -> dict[Hashable, str]:
    """Return few models whose removal makes all correlations defined, by a greedy search."""
    counts = binary_counts(said)
    varies = (counts.yes > 0) & (counts.yes < counts.n)
    undefined = ~(varies & varies.T)
    left_out: dict[Hashable, str] = {}
    while undefined.any():
        worst = int(np.argmax(undefined.sum(axis=1) - np.diagonal(counts.n) / said.n_questions))
        partner = said.models[int(np.argmax(undefined[worst]))]
        left_out[said.models[worst]] = (
            f"shares no questions with {partner!r} on which the answers of both vary"
        )
        undefined[worst, :] = undefined[:, worst] = False
    return left_out
