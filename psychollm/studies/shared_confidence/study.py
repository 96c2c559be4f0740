"""`shared_confidence`: a model's confidence as its own, or as one shared signal and a threshold.

The study takes what models say they can answer and whether they then answer correctly, and puts
together: the validity screen, yes/no as a classifier of correctness, F-beta over attitudes to
risk, confidence against accuracy between models, the number of shared factors with its nulls,
scores of questions, what a model's own answer adds to the shared signal, what the mean vote adds,
what follows from disagreements, and what is left after the factor.
"""

from collections.abc import Hashable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from psychollm._base.checks import check_choice, check_count
from psychollm._base.errors import ShapeError
from psychollm._base.multiplicity import Adjustment
from psychollm._base.result import Result
from psychollm._base.types import EmptyCells, FloatArray, Missing, RandomState
from psychollm._base.views import view
from psychollm.calibration.consensus.between_models import BetweenModels, between_models_of
from psychollm.calibration.consensus.ensemble import EnsembleGain, ensemble_gain
from psychollm.calibration.consensus.individuation import Individuation, individuation
from psychollm.calibration.consensus.pairwise import PairwiseCalibration, pairwise_calibration
from psychollm.calibration.decisions.confusion import Confusion, confusion
from psychollm.calibration.decisions.f_beta import FBeta, f_beta
from psychollm.data.responses import Responses, ResponsesLike
from psychollm.data.screen import Screen, validity_screen
from psychollm.estimates.findings import Findings, Study
from psychollm.estimates.resampling import Bootstrap, Resampling
from psychollm.estimates.verdict import SMALLEST, SmallestEffects
from psychollm.factor.one_factor.residual_test import LEAST_MODELS
from psychollm.factor.one_factor.scores import QuestionScores, question_scores
from psychollm.studies.dimensionality.study import Dimensionality, dimensionality
from psychollm.studies.preparation import pair_tables, uncorrelatable, unusable
from psychollm.studies.provenance import call_text, choose_seed, versions
from psychollm.studies.shared_confidence.findings import findings, verdict
from psychollm.studies.shared_confidence.private_signal import PrivateSignal, private_signal
from psychollm.studies.shared_confidence.residual_structure import (
    ResidualStructure,
    residual_structure,
)
from psychollm.studies.shared_confidence.tables import loadings_frame, models_frame, spread_over

if TYPE_CHECKING:
    import pandas as pd

Screening: TypeAlias = Literal["flag", "drop"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class SharedConfidence(Study, Result):
    """Everything the study found; `summary()` says it on one screen.

    Attributes
    ----------
    screen : Screen
        Validity of every model that was passed.
    confusion : Confusion
        Yes/no confidence as a classifier of correctness, per model.
    f_beta : FBeta
        F-beta over attitudes to risk, winners, baselines.
    between : BetweenModels
        Mean confidence against accuracy between models.
    dimensionality : Dimensionality
        How many shared factors, with the nulls; of the models in its `labels`.
    loadings, thresholds : ndarray of shape (models,)
        Full-information one-factor solution; NaN for models that are no part of it.
    scores : QuestionScores
        Scores of the questions on the shared factor, with and without each model.
    individuation : Individuation
        What each model's own answer adds to the shared score.
    private_signal : PrivateSignal
        The same with the error of the shared score allowed for: the test of privileged access.
    ensemble : EnsembleGain
        Mean vote against the best single model.
    pairwise : PairwiseCalibration
        Who is right where models disagree about whether they know.
    residuals : ResidualStructure
        What is left after the factor, in confidence and in correctness.
    dropped : mapping
        Models left out of everything, each with its reason (``screen="drop"``).
    uncorrelated : mapping
        Models left out of everything that rests on correlations, because their answers do not
        vary or are too few, each with its reason.
    n_questions : int
        Number of questions.
    coding : mapping
        How the answers were coded: ``confidence`` and ``correctness``.
    call : str
        The call that repeats this result to the last digit.
    seed : int
        The seed in it.
    versions : mapping
        Of psychollm, Python, NumPy, SciPy and Numba.
    level : float
        Coverage of the intervals.
    labels : tuple
        The models of the study.
    """

    screen: Screen
    confusion: Confusion
    f_beta: FBeta
    between: BetweenModels
    dimensionality: Dimensionality
    loadings: FloatArray  # (models,)
    thresholds: FloatArray  # (models,)
    scores: QuestionScores
    individuation: Individuation
    private_signal: PrivateSignal
    ensemble: EnsembleGain
    pairwise: PairwiseCalibration
    residuals: ResidualStructure
    dropped: Mapping[Hashable, str]
    uncorrelated: Mapping[Hashable, str]
    n_questions: int
    coding: Mapping[str, str]
    call: str
    seed: int
    versions: Mapping[str, str]
    level: float
    labels: tuple[Hashable, ...]  # (models,)

    @property
    def simulated(self) -> bool:
        """Whether the data say of themselves that they are simulated."""
        return any("SIMULATED" in coding for coding in self.coding.values())

    @property
    def verdict(self) -> str:
        """Whether confidence is one shared signal, and whether it is more, in one sentence."""
        return verdict(self, SMALLEST)

    def findings(self, *, smallest: SmallestEffects = SMALLEST) -> Findings:
        """Return the verdict, and a finding per question asked of the data."""
        return findings(self, smallest)

    def to_frame(self) -> "pd.DataFrame":
        """Return one row per model: rates, threshold, loading, areas, tests, flags."""
        return models_frame(self)

    def loadings_frame(self) -> "pd.DataFrame":
        """Return one row per model: threshold and loading, with and without empty-cell rule."""
        return loadings_frame(self)

    def plot(self, *, figure: str = "overview") -> Any:
        """Draw the study, or one of its figures; needs the extra ``plot``.

        Parameters
        ----------
        figure : str
            Which figure; an unknown name lists those there are.
        """
        return view("plots.shared_confidence", "plot_shared_confidence")(self, figure=figure)

    def report(
        self, path: str | Path, *, source: str = "", smallest: SmallestEffects = SMALLEST
    ) -> Path:
        """Write the study as one self-contained HTML page; needs the extra ``plot``.

        Parameters
        ----------
        path : str or Path
            File to write.
        source : str
            Lines of Python that make the two tables, shown with the call that repeats the study.
        smallest : SmallestEffects
            The smallest effects that matter, for what the page concludes.

        Returns
        -------
        Path
            Where it is.
        """
        write = view("reports.shared_confidence", "write_report")
        return Path(write(self, path, source=source, smallest=smallest))

    def __repr__(self) -> str:
        return (
            f"SharedConfidence of {len(self.labels)} models on {self.n_questions:,} questions: "
            f"{self.verdict}"
        )


def shared_confidence(
    confidence: ResponsesLike,
    correctness: ResponsesLike,
    *,
    empty_cells: EmptyCells = "keep_margins",
    missing: Missing = "pairwise",
    screen: Screening = "flag",
    n_null: int = 499,
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    adjustment: Adjustment = "holm",
    rng: RandomState = None,
) -> SharedConfidence:
    """Study whether models' confidence is their own or one shared signal with thresholds.

    Parameters
    ----------
    confidence, correctness : Responses, DataFrame, DataArray or array_like (models, questions)
        What each model said before answering (1 = yes, I can) and whether it was correct, for the
        same models and questions in any order; missing answers are allowed in both.
    empty_cells, missing : str
        Rules of the plain tetrachoric spectrum (see `tetrachoric`); the verdict on the number of
        factors does not depend on them.
    screen : {"flag", "drop"}
        "flag" keeps every model and names those that the validity screen flags; "drop" leaves the
        unusable ones out of everything. Models whose confidence does not vary or was stated too
        seldom are left out of what rests on correlations either way.
    n_null : int
        Replicates of each null, on the workers of `bootstrap`.
    bootstrap : int or Bootstrap
        Resamples of the questions.
    level : float
        Coverage of all intervals; tests are made at 1 - `level`.
    adjustment : {"holm", "bonferroni", "bh", "by"}
        How p-values are adjusted for the number of models.
    rng : Generator, int or None
        Seed; the one used is recorded, so that `call` repeats the result.

    Returns
    -------
    SharedConfidence
        With `summary()`, `to_frame()`, `plot()` and `report(path)`.

    Raises
    ------
    LabelError
        If the two tables do not hold the same models and questions.
    CodeError
        If they are not binary.
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
    said, right = pair_tables(confidence, correctness)
    validity = validity_screen(said, right, alpha=1.0 - level)
    dropped = unusable(validity) if screen == "drop" else {}
    kept = [model for model in said.models if model not in dropped]
    tables = said.select(models=kept), right.select(models=kept)
    return _study(tables, validity, dropped, options, work)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    """The options that decide the result, in the order of the call."""

    empty_cells: EmptyCells
    missing: Missing
    screen: Screening
    n_null: int
    bootstrap: int
    level: float
    adjustment: Adjustment
    rng: int

    def check(self) -> None:
        """Refuse what is not an option before anything is computed."""
        check_choice("empty_cells", self.empty_cells, EmptyCells)
        check_choice("missing", self.missing, Missing)
        check_choice("screen", self.screen, Screening)
        check_choice("adjustment", self.adjustment, Adjustment)
        check_count("n_null", self.n_null)


# Every part has a random stream of its own, so that no part depends on what another draws.
_NAMED = 5  # models that an error names with their reasons
_PARTS = ("dimensionality", "f_beta", "between", "individuation", "ensemble", "residuals")


def _study(
    tables: tuple[Responses, Responses],
    validity: Screen,
    dropped: Mapping[Hashable, str],
    options: _Options,
    work: Bootstrap,
) -> SharedConfidence:
    """Run all parts on tables that are checked and aligned."""
    said, right = tables
    level, adjustment = options.level, options.adjustment
    streams = dict(zip(_PARTS, np.random.default_rng(options.rng).spawn(len(_PARTS)), strict=True))
    uncorrelated = uncorrelatable(said, validity)
    table = confusion(said, right, level=level)
    found = _factors(said, uncorrelated, options, streams["dimensionality"], work)
    full = found.full_information
    loadings, thresholds = (
        spread_over(said.models, full.labels, values)
        for values in (full.loadings, full.thresholds)
    )
    scores = question_scores(said, loadings=loadings, thresholds=thresholds)
    return SharedConfidence(
        screen=validity,
        confusion=table,
        f_beta=f_beta(said, right, bootstrap=work, level=level, rng=streams["f_beta"]),
        between=between_models_of(table, level=level, rng=streams["between"]),
        dimensionality=found,
        loadings=loadings,
        thresholds=thresholds,
        scores=scores,
        individuation=individuation(
            said,
            right,
            scores.leave_one_out,
            adjustment=adjustment,
            bootstrap=work,
            level=level,
            rng=streams["individuation"],
        ),
        private_signal=private_signal(
            said,
            right,
            loadings=loadings,
            thresholds=thresholds,
            adjustment=adjustment,
            level=level,
        ),
        ensemble=ensemble_gain(said, right, bootstrap=work, level=level, rng=streams["ensemble"]),
        pairwise=pairwise_calibration(said, right, scores.scores, level=level),
        residuals=residual_structure(found.residuals, right, rng=streams["residuals"]),
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
    """Judge the dimensionality of the models whose answers vary."""
    varying = [model for model in said.models if model not in uncorrelated]
    if len(varying) < LEAST_MODELS:
        why = [f"{model!r}: {reason}" for model, reason in uncorrelated.items()]
        left = f" ({'; '.join(why[:_NAMED])}{'; ...' * (len(why) > _NAMED)})" if why else ""
        msg = (
            f"confidence: {len(varying)} of {said.n_models} models can be correlated{left}, but "
            f"the study needs {LEAST_MODELS}: the metrics of psychollm.calibration work with fewer"
        )
        raise ShapeError(msg)
    return dimensionality(
        said.select(models=varying),
        empty_cells=options.empty_cells,
        missing=options.missing,
        n_null=options.n_null,
        alpha=1.0 - options.level,
        rng=rng,
        n_jobs=work.n_jobs,
        progress=work.progress,
    )
