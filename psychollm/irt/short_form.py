r"""Short forms: few questions that predict the score on all questions.

Items are selected by one of five methods (`psychollm.irt.short_form_choice`). The score on all
items is predicted from the selected items by a regression line, by item curves, or by the mean of
both (`psychollm.irt.short_form_rules`). The best combination of method and rule depends on the
table: with few models, data-driven selection overfits, and random items may be as good.

All combinations of a method and a rule are therefore cross-validated over models, and each family
of models is in one fold. For each fold, items are selected and rules are fitted on the other
models, and the scores of the fold's models are predicted. The error of the best combination would
be biased downwards. The reported error therefore refers to the whole procedure: each fold is
predicted by the combination that is best on the other folds. The criterion is the mean absolute
error, which is less sensitive to outlying models than the mean squared error.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from scipy.special import stdtrit

from psychollm._base.axes import Axes
from psychollm._base.checks import (
    check_choice,
    check_count,
    check_fraction,
    check_generator,
    float_array,
)
from psychollm._base.errors import CodeError, LabelError, OptionError, ShapeError
from psychollm._base.result import Result
from psychollm._base.types import BoolArray, FloatArray, IntArray, RandomState
from psychollm.data.labels import Labels, Table, listed, numbered, unit_labels
from psychollm.data.responses import Responses, ResponsesLike, as_responses
from psychollm.data.table import as_table, one_model
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.folds import dealt
from psychollm.estimates.reasons import Reason
from psychollm.irt.answers import code_range, orient
from psychollm.irt.short_form_choice import Pool, Way, choose
from psychollm.irt.short_form_rules import SHARES, Predictor, Rule

Method = Literal["auto", "factor", "information", "error", "stratified", "random"]

N_DRAWS = 5  # random selections per fold
_WAYS: dict[Way, str] = {
    "factor": "by a factor model",
    "information": "by information",
    "error": "by prediction error",
    "stratified": "random, stratified by difficulty",
    "random": "random",
}
_RULES: dict[Rule, str] = {
    "line": "regression line",
    "curves": "item response curves",
    "both": "mean of regression line and item response curves",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ShortForm(Result):
    """Selected items of a short form, with the precision of predicted full scores.

    Attributes
    ----------
    items : tuple
        Selected items, in order of selection for sequential methods.
    predicted, full : ndarray of shape (respondents,)
        Predicted score of each held-out respondent on all items, and observed score. Scores are
        mean codes scaled from 0 to 1.
    rmse, rank_correlation : float
        Root mean square error of the held-out predictions, and their Spearman correlation with
        observed scores.
    random_rmse : float
        Root mean square error with the same number of random items.
    method, rule : str
        Method of selection and rule of prediction.
    tried : tuple
        Tested pairs of a selection method and a prediction rule.
    tried_rmse : ndarray of shape (tried,)
        Held-out root mean square error of each pair of method and rule. The error of the selected
        pair is an optimistic estimate, unlike `rmse`.
    labels : tuple
        Names of the respondents.
    """

    items: Labels
    predicted: FloatArray  # (N,)
    full: FloatArray  # (N,)
    rmse: float
    rank_correlation: float
    random_rmse: float
    method: Way
    rule: Rule
    tried: tuple[tuple[Way, Rule], ...]
    tried_rmse: FloatArray  # (tried,)
    labels: Labels  # N
    _predictor: Predictor
    _range: FloatArray  # (2, chosen) lowest and highest answer to each selected item
    _df: int  # number of families of respondents, minus one

    _AXES = Axes({"respondent": "labels"}, "full", "predicted")

    def summary(self) -> str:
        """Describe the short form and its precision in two or three sentences."""
        kept = (
            f"{len(self.items)} items predict held-out scores on all items with an error of "
            f"{self.rmse:.4f} (random items: {self.random_rmse:.4f}) and a rank correlation of "
            f"{self.rank_correlation:.3f}."
        )
        how = f"Selection: {_WAYS[self.method]}; prediction: {_RULES[self.rule]}."
        if self.method == "random" and len(self.tried) > len(SHARES):
            how = f"No selection method beat random items. {how}"
        return f"{kept} {how}"

    def predict(self, answers: Any, *, level: float = 0.95) -> Estimate:
        """Predict full scores of models from their answers to the selected items.

        Parameters
        ----------
        answers : mapping, Series, Responses, DataFrame or array_like
            Answers of one model (mapping, Series, or array in the order of `items`), or of several
            models (table of models and items). Other items are ignored. Tables without labels
            contain the selected items in order, or all items.
        level : float
            Coverage of the intervals.

        Returns
        -------
        Estimate
            Predicted scores. The standard error is the root mean square error for held-out models,
            equal for all models. Intervals use Student's t distribution, with the number of
            families minus one as degrees of freedom. The intervals assume that new models come
            from the same population.

        Raises
        ------
        LabelError
            If the answers do not include all selected items.
        ShapeError
            If answers are missing, or their number differs from the number of items.
        CodeError
            If an answer is outside the range of the item.

        Examples
        --------
        >>> generator = np.random.default_rng(2)
        >>> chance = 1 / (1 + np.exp(-generator.normal(size=(40, 1)) - generator.normal(size=60)))
        >>> form = short_form(generator.random((40, 60)) < chance, 10, n_folds=2)
        >>> form.predict(dict.fromkeys(form.items, 1)).value > 0.8
        array([ True])
        """
        check_fraction("level", level)
        table = _answers_of(answers, self.items, self._predictor.n_items)
        scores = _scaled(float_array(table.values, "answers"), self._range, table)
        value = self._predictor(scores)
        reach = float(stdtrit(self._df, 0.5 + 0.5 * level)) * self.rmse
        known, n_items = scores.sum(axis=1), self._predictor.n_items
        bounds = known / n_items, (known + n_items - len(self.items)) / n_items
        return Estimate(
            name="full score",
            value=value,
            se=np.full(value.size, self.rmse),
            interval=np.stack(
                [np.clip(value - reach, *bounds), np.clip(value + reach, *bounds)], axis=1
            ),
            n=np.full(value.size, float(len(self.items))),
            flags=(Reason.NONE,) * value.size,
            method="error of held-out models",
            level=level,
            labels=table.models,
        )


def short_form(
    responses: ResponsesLike,
    n_items: int,
    *,
    method: Method = "auto",
    families: Mapping[Hashable, Hashable] | Sequence[Hashable] | None = None,
    n_folds: int = 5,
    rng: RandomState = 0,
) -> ShortForm:
    """Select items that predict full scores, and estimate the error on held-out models.

    Parameters
    ----------
    responses : Responses or table of shape (models, questions)
        Complete answers: binary, ordered codes, or scores between 0 and 1.
    n_items : int
        Number of questions to select.
    method : {"auto", "factor", "information", "error", "stratified", "random"}
        Selection criterion: information about the total score in a factor model, information about
        one ability, prediction error, stratification by difficulty, or random. "auto" selects the
        combination with the smallest error for held-out models.
    families : mapping or sequence of labels, one per model, optional
        Family of each model, for example one family for all sizes of a model; the models of a
        family are held out together. Without families, the error applies to new models that have
        relatives in the table.
    n_folds : int
        Number of cross-validation folds of models.
    rng : Generator or int
        Random generator or seed, for folds and random short forms.

    Returns
    -------
    ShortForm
        Short form, whose method `predict` scores new models.

    Raises
    ------
    ShapeError
        If answers are missing, or there are fewer models or families than folds.
    CodeError
        If fractional scores are not between 0 and 1.
    OptionError
        If `n_items` exceeds the number of items.

    Examples
    --------
    >>> generator = np.random.default_rng(2)
    >>> chance = 1 / (1 + np.exp(-generator.normal(size=(40, 1)) - generator.normal(size=60)))
    >>> short_form(generator.random((40, 60)) < chance, 10, n_folds=2).rank_correlation > 0.5
    True
    """
    check_choice("method", method, Method)
    n_items, n_folds = check_count("n_items", n_items), check_count("n_folds", n_folds, low=2)
    answered = _read(responses)
    kin = _kin(families, answered.models)
    scores = answered.scores
    _check(scores.shape, kin, n_items, n_folds)
    generator = check_generator(rng)
    fold = dealt(kin, n_folds, generator)
    ways: tuple[Way, ...] = get_args(Way) if method == "auto" else (method, "random")
    tried = tuple((way, rule) for way in dict.fromkeys(ways) for rule in SHARES)
    predicted = _held_out(scores, fold, tried, n_items, generator)
    error = predicted - scores.mean(axis=1)
    squares, sizes = (error**2).mean(axis=1), np.abs(error).mean(axis=1)  # (tried, N)
    offered = np.array([method in ("auto", way) for way, _ in tried])
    drawn = np.array([way == "random" for way, _ in tried])
    best = _best(sizes, fold, offered)
    own, one = _best(sizes, fold, drawn)[fold], np.arange(fold.size)
    way, rule = tried[best[-1]]
    whole = Pool(scores)
    final = choose(way, whole, n_items, generator)
    held_out, full = predicted[best[fold], 0, one], scores.mean(axis=1)
    return ShortForm(
        items=tuple(answered.items[j] for j in final),
        predicted=held_out,
        full=full,
        rmse=float(np.sqrt(squares[best[fold], one].mean())),
        rank_correlation=_spearman(held_out, full),
        random_rmse=float(np.sqrt(squares[own, one].mean())),
        method=way,
        rule=rule,
        tried=tried,
        tried_rmse=np.sqrt(squares.mean(axis=1)),
        labels=answered.models,
        _predictor=Predictor.fit(scores, final, whole.curves, whole.total, rule),
        _range=answered.range[:, final],
        _df=len(np.unique(kin)) - 1,
    )


class _Answered(NamedTuple):
    """Scores between 0 and 1 (models, items), and the lowest and highest answer to each item."""

    scores: FloatArray
    range: FloatArray  # (2, items)
    models: Labels
    items: Labels


def _read(responses: ResponsesLike) -> _Answered:
    """Read ordered answers, or scores between 0 and 1."""
    if not isinstance(responses, Responses):
        table = as_table(responses)
        values = table.values
        if values.dtype.kind == "f" and (values[np.isfinite(values)] % 1.0 > 0.0).any():
            ends = np.repeat([[0.0], [1.0]], values.shape[1], axis=1)
            return _Answered(_scaled(values, ends, table), ends, table.models, table.questions)
    answers = orient(as_responses(responses), "models")
    ends = np.array(code_range(answers.given), dtype=np.float64)
    codes = np.where(answers.codes < 0, np.nan, answers.codes)
    named = Table(codes, answers.respondents, answers.items)
    return _Answered(_scaled(codes, ends, named), ends, answers.respondents, answers.items)


def _scaled(values: FloatArray, ends: FloatArray, table: Table) -> FloatArray:
    """Return answers scaled from 0 (lowest answer to an item) to 1 (highest)."""
    if np.isnan(values).any():
        row, column = np.argwhere(np.isnan(values))[0]
        msg = (
            f"{table.place(row, column)} has no answer, but full scores need complete "
            "answers: "
            "drop models or questions with missing data"
        )
        raise ShapeError(msg)
    scaled = (values - ends[0]) / (ends[1] - ends[0])
    outside = np.argwhere((scaled < 0.0) | (scaled > 1.0))
    if outside.size:
        row, column = outside[0]
        low, high = ends[:, column]
        msg = (
            f"{table.place(row, column)} is {values[row, column]:g}: answers to it lie between "
            f"{low:g} and {high:g}"
        )
        raise CodeError(msg)
    return np.asarray(scaled, dtype=np.float64)


def _kin(families: Any, models: Labels) -> IntArray:
    """Return the family of each model as a number; by default each model has its own family."""
    if families is None:
        return np.arange(len(models))
    return numbered(unit_labels(families, models, argument="families", kind="model"))[0]


def _check(shape: tuple[int, ...], kin: IntArray, n_items: int, n_folds: int) -> None:
    """Raise an error if no short form can be selected or evaluated."""
    n_kin = np.unique(kin).size
    if n_items > shape[1]:
        msg = f"n_items={n_items} exceeds the number of questions, {shape[1]}"
        raise OptionError(msg)
    if shape[0] < 2 * n_folds:
        msg = f"responses: {shape[0]} models are too few for n_folds={n_folds}: two per fold"
        raise ShapeError(msg)
    if n_kin < n_folds:
        msg = f"n_folds={n_folds} exceeds the number of families, {n_kin}: use fewer folds"
        raise ShapeError(msg)


def _held_out(
    scores: FloatArray,
    fold: IntArray,
    tried: tuple[tuple[Way, Rule], ...],
    n_items: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Return cross-validated full scores of models (tried, draws, N)."""
    predicted = np.empty((len(tried), N_DRAWS, fold.size))
    for k in range(fold.max() + 1):
        out = fold == k
        pool, asked = Pool(scores[~out]), scores[out]
        for way in dict.fromkeys(way for way, _ in tried):
            n_draws = N_DRAWS if way in ("stratified", "random") else 1
            for draw in range(n_draws):
                chosen = choose(way, pool, n_items, rng)
                for row in (row for row, one in enumerate(tried) if one[0] == way):
                    rule = tried[row][1]
                    fitted = Predictor.fit(pool.scores, chosen, pool.curves, pool.total, rule)
                    predicted[row, draw::n_draws, out] = fitted(asked[:, chosen])[:, None]
    return predicted


def _best(errors: FloatArray, fold: IntArray, offered: BoolArray) -> IntArray:
    """Return for each fold the best combination on the other folds, then the best overall."""
    # `errors` is (tried, N); `offered` masks the combinations that may be chosen
    sums = np.stack([errors[:, fold == k].sum(axis=1) for k in range(fold.max() + 1)], axis=1)
    whole = sums.sum(axis=1, keepdims=True)
    left = np.column_stack([whole - sums, whole])
    return np.asarray(np.where(offered[:, None], left, np.inf).argmin(axis=0))


def _answers_of(answers: Any, items: Labels, n_items: int) -> Table:
    """Return the answers to the selected items, in order, from answers to some or all items."""
    if isinstance(answers, Mapping) and not hasattr(answers, "columns"):
        keys, values = list(answers), np.array([list(answers.values())], dtype=object)
        table = as_table(values, questions=keys, argument="answers")
        named = True
    else:
        table = one_model(answers, argument="answers")
        named = table.named[1]
    place = {label: column for column, label in enumerate(table.questions)}
    absent = [item for item in items if item not in place]
    width = len(table.questions)
    if width == len(items) and (not named or (absent and table.questions == tuple(range(width)))):
        return Table(table.values, table.models, items)
    if not named and (absent or width != n_items):
        msg = (
            f"answers: {width} without names, but the form has {len(items)} items: pass one "
            "answer to each, in their order, or name them"
        )
        raise ShapeError(msg)
    if absent:
        msg = f"answers to {listed(absent)} are missing: the short form needs all its items"
        raise LabelError(msg)
    return Table(table.values[:, [place[item] for item in items]], table.models, items)


def _spearman(one: FloatArray, two: FloatArray) -> float:
    """Return the rank correlation; NaN if one variable is constant."""
    from scipy.stats import rankdata

    a, b = rankdata(one), rankdata(two)
    a, b = a - a.mean(), b - b.mean()
    size = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / size if size > 0.0 else float("nan")
