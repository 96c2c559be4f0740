"""Bank of calibrated questions; new models answer only some of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import check_choice, check_fraction, check_generator
from psychollm._base.errors import OptionError, ShapeError
from psychollm._base.numbers import count, number
from psychollm._base.types import FloatArray, RandomState
from psychollm.bank.calibration import calibrated
from psychollm.bank.design import alike
from psychollm.bank.full_score import FullScore, Method, assembled, one_score
from psychollm.bank.item_model import item_model
from psychollm.bank.plan import Plan, plan
from psychollm.bank.questions import CalibratedQuestions, numbers_of
from psychollm.bank.session import Session, begin, resumed
from psychollm.bank.watch import Watch, begin_watch, resumed_watch
from psychollm.data.labels import Labels, listed, numbered, unit_labels
from psychollm.estimates.corrected import Block
from psychollm.estimates.folds import dealt
from psychollm.reliability.means.repeated_scores import answers_of, means_of

if TYPE_CHECKING:
    from os import PathLike


_N_FOLDS = 8
_FEWEST_MODELS = 5
_FEWEST_QUESTIONS = 20
_FEATURES = 2  # number of features by which similar questions are found
_PREDICTORS = {0: "item means", 1: "2PL"}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ItemBank(CalibratedQuestions):
    """Bank of calibrated questions, for scoring new models from few answers.

    Attributes
    ----------
    questions, models : tuple
        Labels of the questions and of the models in the calibration sample.
    scores : ndarray of shape (models, questions)
        Scores of the calibration sample, from 0 to 1; NaN if missing.
    families, domains : tuple or None
        Family of each model, and domain of each question.
    drawing : Drawing
        Item model and the expected errors of its predictions.
    calibration : Calibration
        Errors in predicting the answers of held-out models.

    Examples
    --------
    >>> import psychollm as psy
    >>> rng = np.random.default_rng(1)
    >>> logits = rng.normal(size=(30, 1)) + rng.normal(size=200)
    >>> right = rng.random((30, 200)) < 1 / (1 + np.exp(-logits))
    >>> bank = psy.item_bank(right[:-1].astype(int), rng=1)
    >>> session = bank.session(size=60, rng=1)
    >>> while not session.done:
    ...     for question in session.next(10):
    ...         session.record(question, right[-1, question])
    >>> score = session.estimate()
    >>> bool(score.interval[0, 0] < right[-1].mean() < score.interval[0, 1])
    True
    """

    _AXES = Axes(
        {"question": "questions"},
        ("domain", lambda bank: bank.domains),
        "intercept=intercepts",
        ("answered", lambda bank: np.isfinite(bank.scores).sum(axis=0)),
        "mean=means",
        ("expected_error", lambda bank: np.sqrt(bank.drawing.beforehand)),
        arrays={"model question": "scores"},
    )

    @property
    def predictor(self) -> str:
        """Name of the predictor with the smallest error for held-out models."""
        k = self.drawing.items.n_dimensions
        return _PREDICTORS.get(k, f"{k} abilities")

    def session(
        self,
        size: int | None = None,
        half_width: float | None = None,
        *,
        better_than: float | None = None,
        select: Literal["random", "information"] = "random",
        level: float = 0.95,
        rng: RandomState = None,
    ) -> Session:
        """Start a session with a new model.

        Parameters
        ----------
        size : int, optional
            Maximum number of questions; by default the whole bank.
        half_width : float, optional
            Margin of error (half the length of the interval) at which the session stops.
        better_than : float, optional
            Value from which the score must differ significantly for the session to stop. With
            `better_than`, the interval is simultaneous over all numbers of answers, because the
            stopping time depends on the answers.
        select : {"random", "information"}
            "random" samples questions with known inclusion probabilities. "information" selects
            the most informative questions; the score is then estimated by the item model alone and
            flagged.
        level : float
            Coverage of the interval.
        rng : Generator, int or None
            Generator or seed. The same seed and the same answers give the same questions.

        Returns
        -------
        Session

        Examples
        --------
        >>> import psychollm as psy
        >>> right = np.random.default_rng(1).integers(0, 2, (10, 50))
        >>> psy.item_bank(right, rng=1).session(size=3, rng=1).next(3)
        (3, 32, 48)
        """
        return begin(
            self,
            size=size,
            half_width=half_width,
            better_than=better_than,
            select=select,
            level=level,
            rng=rng,
        )

    def resume(self, path: str | PathLike[str]) -> Session:
        """Return a saved session, with the same questions, answers and estimate.

        Parameters
        ----------
        path : str or path
            File written by `Session.save`.

        Raises
        ------
        InputError
            If the file is not a session of this bank.
        """
        return resumed(self, path)

    def watch(self, baseline: Any, *, alpha: float = 0.05) -> Watch:
        """Start monitoring a model for changes in its answers.

        Parameters
        ----------
        baseline : mapping, Series, Responses, table or hashable
            Current answers: either the label of a model of the bank, or a mapping from each
            question to one or several scores (0 to 1). With more answers per question, smaller
            changes are detected.
        alpha : float
            Upper bound of the probability of a false alarm, over all looks.

        Returns
        -------
        Watch

        Raises
        ------
        LabelError
            If a question, or the model, is not in the bank.
        CodeError
            If an answer is outside [0, 1].
        ShapeError
            If there are several models, or no answers.

        Examples
        --------
        >>> import psychollm as psy
        >>> right = np.random.default_rng(1).integers(0, 2, (10, 50))
        >>> watch = psy.item_bank(right, rng=1).watch(0)
        >>> watch.update(dict(enumerate(right[0]))), watch.alarm
        (False, False)
        """
        return begin_watch(self, baseline, alpha)

    def resume_watch(self, path: str | PathLike[str]) -> Watch:
        """Return a saved watch.

        Parameters
        ----------
        path : str or path
            File written by `Watch.save`.

        Raises
        ------
        InputError
            If the file is not a watch of this bank.
        """
        return resumed_watch(self, path)

    def full_score(
        self,
        answers: Any,
        method: Method = "auto",
        *,
        drawn: Literal["random"] | None = None,
        domain: Any = None,
        level: float = 0.95,
    ) -> FullScore:
        """Estimate the score on the whole bank from answers to some of its questions.

        Parameters
        ----------
        answers : mapping, Series, Responses or table
            Scores from 0 to 1 of one model by question, or a table of several models.
        method : {"auto", "design", "assisted", "model"}
            Method of the returned score; `values` contains the scores of all applicable methods.
            "auto" is "assisted" if questions were sampled at random, and "model" otherwise.
        drawn : "random", optional
            Pass "random" if the questions are a simple random sample of the bank. For the answers
            of a session, use `Session.estimate`, which uses the inclusion probabilities.
        domain : hashable, optional
            Domain to score; by default the whole bank.
        level : float
            Coverage of the intervals.

        Returns
        -------
        FullScore
            An `Estimate` with one value per model.

        Raises
        ------
        LabelError
            If a question or the domain is not in the bank.
        CodeError
            If an answer is outside [0, 1].
        OptionError
            If the method requires randomly sampled questions.

        Examples
        --------
        >>> import psychollm as psy
        >>> right = np.random.default_rng(1).integers(0, 2, (12, 60))
        >>> bank = psy.item_bank(right[:-1], rng=1)
        >>> score = bank.full_score({q: right[-1, q] for q in range(20)})
        >>> score.used, score.flags[0].name
        ('model', 'NOT_DRAWN')
        """
        check_choice("method", method, Method)
        if drawn is not None:
            check_choice("drawn", drawn, Literal["random"])
        check_fraction("level", level)
        if method in ("design", "assisted") and drawn is None:
            msg = (
                f"method={method!r} needs questions with known inclusion probabilities: use "
                'bank.session(...), or pass drawn="random" for a simple random sample'
            )
            raise OptionError(msg)
        labels, scores = self.read(answers)
        within = self.within(domain)
        rows = [one_score(self, row, self._as_drawn(row, drawn), within) for row in scores]
        return assembled(
            self,
            rows,
            labels,
            method=method,
            drawn=drawn is not None,
            level=level,
            domain=domain,
            within=within,
        )

    def plan(
        self,
        half_width: float | None = None,
        sizes: tuple[int, ...] = (100, 300, 1000),
        *,
        level: float = 0.95,
    ) -> Plan:
        """Compute the number of questions for a margin of error, or margins for given numbers.

        Parameters
        ----------
        half_width : float, optional
            Requested margin of error.
        sizes : tuple of int
            Numbers of questions; numbers above the size of the bank are omitted.
        level : float
            Coverage of the interval.

        Returns
        -------
        Plan
            Numbers of questions and margins of error for a weak, a median and a strong model of
            the bank (quantiles .1, .5 and .9).

        Examples
        --------
        >>> import psychollm as psy
        >>> right = np.random.default_rng(1).integers(0, 2, (12, 100))
        >>> psy.item_bank(right, rng=1).plan(half_width=0.05).needed.shape
        (3,)
        """
        return plan(self, half_width, sizes, level=level)

    def _as_drawn(self, scores: FloatArray, drawn: str | None) -> list[Block] | None:
        """Return the answered questions as one block with equal inclusion probabilities."""
        if drawn is None:
            return None
        items = np.flatnonzero(np.isfinite(scores))
        return [Block(items, np.full(scores.size, items.size / scores.size))]

    def summary(self) -> str:
        """Return the size of the bank and the accuracy of its predictions."""
        tried = ", ".join(
            f"{_PREDICTORS.get(k, f'{k} abilities')} {np.sqrt(error):.4f}"
            for k, error in zip(
                self.calibration.candidates, self.calibration.squared_error, strict=True
            )
        )
        families = "" if self.families is None else f" of {len(set(self.families))} families"
        domains = f", {len(self.domain_names)} domains" if self.domains else ""
        gaps = float(np.isnan(self.scores).mean())
        missing = f", {100 * gaps:.1f} % missing data" if gaps else ""
        return (
            f"Item bank {self.digest}: {count(len(self.questions))} questions{domains}, "
            f"{len(self.models)} models{families}{missing}.\nPredictor: {self.predictor}. Root "
            f"mean squared error for answers of held-out models: {tried}.\nThe residual variance "
            f"of held-out models is {number(self.calibration.phi, 2)} times the variance expected "
            "by the item model. In simulated sessions, squared errors of corrected scores are on "
            f"average {number(self.calibration.scale, 2)} times their estimated variance."
        )


def item_bank(
    responses: Any, *, families: Any = None, domains: Any = None, rng: RandomState = None
) -> ItemBank:
    """Calibrate questions on models' answers; new models then need to answer only some questions.

    Parameters
    ----------
    responses : Responses, ScoreLog, DataFrame or array_like (models, questions)
        Binary answers, or scores from 0 to 1. Repeated answers are averaged, and missing answers
        are allowed.
    families : sequence or mapping, optional
        Family of each model, such as its developer or base model. Models of a family are held out
        together in cross-validation.
    domains : sequence or mapping, optional
        Domain of each question, used for scores by domain and for proportional sampling.
    rng : Generator, int or None
        Generator or seed for the folds and for simulated sessions of held-out models.

    Returns
    -------
    ItemBank

    Raises
    ------
    ShapeError
        If there are fewer than five models or twenty questions, or only one family, or if all
        scores are equal.
    CodeError
        If a score is outside [0, 1].

    Notes
    -----
    Logistic models with zero, one, two and four abilities are fitted
    (`psychollm.bank.item_model`). The model that best predicts the scores of held-out models is
    used.

    Examples
    --------
    >>> import psychollm as psy
    >>> right = np.random.default_rng(1).integers(0, 2, (10, 50))
    >>> bank = psy.item_bank(right, rng=1)
    >>> bank.predictor
    '2PL'
    """
    generator = check_generator(rng)
    answers = answers_of(responses, "responses")
    scores = np.ascontiguousarray(means_of(answers, "responses"))
    _check(scores, answers.models, answers.questions)
    family = _labels(families, answers.models, "families", "model")
    domain = _labels(domains, answers.questions, "domains", "question")
    number_of = np.arange(len(scores)) if family is None else numbered(list(family))[0]
    n_families = int(number_of.max()) + 1
    if n_families < 2:
        msg = (
            "families has only one family, but the bank holds out families: pass at least two, or "
            "omit families="
        )
        raise ShapeError(msg)
    domain_of = (
        np.zeros(scores.shape[1], dtype=np.int64) if domain is None else numbered(list(domain))[0]
    )
    features, _ = item_model(scores, min(_FEATURES, len(scores) - 2), domain_of)
    drawing, calibration = calibrated(
        scores,
        dealt(number_of, min(_N_FOLDS, n_families), generator),
        domain_of,
        alike(features.items, domain_of),
        generator,
    )
    return ItemBank(
        questions=answers.questions,
        models=answers.models,
        scores=scores,
        families=family,
        domains=domain,
        drawing=drawing,
        calibration=calibration,
    )


def _labels(values: Any, units: Labels, argument: str, kind: str) -> Labels | None:
    """Return one label per model or question, from a sequence, a Series or a mapping."""
    if values is None:
        return None
    return tuple(unit_labels(values, units, argument=argument, kind=kind))


def _check(scores: FloatArray, models: Labels, questions: Labels) -> None:
    """Raise an error if the data do not suffice to calibrate a bank."""
    n, j = scores.shape
    if n < _FEWEST_MODELS or j < _FEWEST_QUESTIONS:
        msg = (
            f"responses: {n} models and {j} questions, but a bank needs {_FEWEST_MODELS} models "
            f"and {_FEWEST_QUESTIONS} questions"
        )
        raise ShapeError(msg)
    numbers_of(scores, models, questions)
    empty = np.flatnonzero(~np.isfinite(scores).any(axis=0))
    if empty.size:
        msg = (
            f"responses: nobody answered {listed([questions[k] for k in empty])}: remove these "
            "questions"
        )
        raise ShapeError(msg)
    if np.nanmin(scores) == np.nanmax(scores):
        msg = (
            f"responses: every score is {np.nanmax(scores):g}: calibration needs models and "
            "questions that differ"
        )
        raise ShapeError(msg)
    silent = np.flatnonzero(~np.isfinite(scores).any(axis=1))
    if silent.size:
        msg = (
            f"responses: {listed([models[k] for k in silent])} answered nothing: remove these "
            "models"
        )
        raise ShapeError(msg)
