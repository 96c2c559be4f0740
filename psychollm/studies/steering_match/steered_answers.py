"""Table of steered answers: one model's answers to each question at each strength.

The module also checks tables of steered answers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from psychollm._base.checks import check_choice, check_unique, float_array
from psychollm._base.errors import CodeError, InputError, OptionError, ShapeError
from psychollm._base.frames import labelled
from psychollm._base.result import Result
from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.calibration.decisions.two_by_two import ratio
from psychollm.data.labels import Labels, as_labels, reorder

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Scale: TypeAlias = Literal["answers", "probability", "log_odds"]

_TINY = 1e-12  # the log odds of probabilities 0 and 1 are infinite
MIN_MASS = 0.5


def as_matrix(name: str, values: ArrayLike) -> FloatArray:
    """Return a numeric table with at least two rows and columns."""
    table = float_array(values, name)
    if table.ndim != 2 or table.shape[0] < 2 or table.shape[1] < 2:
        msg = (
            f"{name} must be a table (strengths, questions) with at least two of each, got shape "
            f"{table.shape}"
        )
        raise ShapeError(msg)
    return table


def as_strengths(strengths: ArrayLike, n: int) -> tuple[FloatArray, IntArray]:
    """Return strengths in ascending order, and the indices that sort them."""
    doses = float_array(strengths, "strengths")
    if doses.shape != (n,):
        msg = f"strengths must have one number per row of values ({n}), got shape {doses.shape}"
        raise ShapeError(msg)
    if not np.isfinite(doses).all():
        msg = f"strengths must be finite numbers, got {doses[~np.isfinite(doses)][0]}"
        raise OptionError(msg)
    check_unique("strength", doses.tolist())
    order = np.argsort(doses).astype(np.int64)
    return doses[order], order


def as_log_odds(
    table: FloatArray, scale: Scale, doses: FloatArray, labels: Labels
) -> FloatArray | None:
    """Check the scale, and return log odds (strengths, questions) or, for answers, None."""
    known = np.isfinite(table)
    good = {
        "answers": (table == 0) | (table == 1),
        "probability": (table >= 0) & (table <= 1),
        "log_odds": ~np.isinf(table),
    }
    bad = np.argwhere(~good[scale] & ~np.isnan(table))
    if bad.size:
        row, column = bad[0]
        others = ", ".join(one for one in get_args(Scale) if one != scale)
        msg = (
            f"strength {doses[row]:g}, question {labels[column]!r}: {table[row, column]} is not "
            f"on the scale {scale!r} (other scales: {others})"
        )
        raise CodeError(msg)
    if scale == "answers":
        return None
    if scale == "log_odds":
        return table
    inside = np.clip(np.where(known, table, 0.5), _TINY, 1.0 - _TINY)
    return np.where(known, np.log(inside) - np.log1p(-inside), np.nan)


def answers_of(odds: FloatArray | None, table: FloatArray) -> FloatArray:
    """Return 1 if yes is more likely than no, 0 if not, NaN if unknown."""
    values = table if odds is None else odds
    yes = values > (0.5 if odds is None else 0.0)
    return np.where(np.isfinite(values), yes, np.nan)


def mean_mass(mass: ArrayLike, shape: tuple[int, ...]) -> FloatArray:
    """Return the mean over questions of the probability mass on yes and no (strengths,)."""
    array = float_array(mass, "mass")
    if array.shape not in (shape, shape[:1]):
        msg = f"mass must be (strengths,) or (strengths, questions), {shape}, got {array.shape}"
        raise ShapeError(msg)
    return array if array.ndim == 1 else np.asarray(array.mean(axis=1))


def collapsed_strengths(
    doses: FloatArray, yes: FloatArray, mass: FloatArray | None, min_mass: float
) -> BoolArray:
    """Return whether the mass on yes and no is too low; NaN counts as too low."""
    silent = ~np.isfinite(yes).any(axis=1)
    if mass is not None:
        silent |= ~(mass >= min_mass * mass[np.argmin(np.abs(doses))])
    if (~silent).sum() < 2:
        msg = (
            f"{int(silent.sum())} of {doses.size} strengths have collapsed (the model says "
            "neither yes nor no) and fewer than two remain: use smaller strengths, or a prompt "
            "that the model answers with yes or no"
        )
        raise InputError(msg)
    return np.asarray(silent, dtype=np.bool_)


def as_unsteered(values: ArrayLike, scale: Scale, labels: Labels) -> FloatArray:
    """Return log odds without steering (questions,)."""
    array = np.array(values, dtype=np.float64)
    if array.shape != (len(labels),):
        msg = f"unsteered must have one value per question ({len(labels)}), got {array.shape}"
        raise ShapeError(msg)
    odds = as_log_odds(array[None], scale, np.zeros(1), labels)
    return array if odds is None else odds[0]


def at_zero(doses: FloatArray, odds: FloatArray) -> FloatArray | None:
    """Return the log odds at strength 0, linearly interpolated; None if 0 is out of range."""
    if not doses[0] <= 0.0 <= doses[-1]:
        return None
    right = int(np.searchsorted(doses, 0.0))
    if doses[right] == 0.0:
        return np.array(odds[right])
    low, high = doses[right - 1], doses[right]
    share = -low / (high - low)
    return np.asarray((1.0 - share) * odds[right - 1] + share * odds[right])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class SteeredAnswers(Result):
    """Answers of one model to the same questions at several strengths of one direction.

    Construct a table with `from_array`, `from_frame` or `from_sweep`, which check the input.

    Attributes
    ----------
    strengths : ndarray (strengths,)
        Strengths in ascending order.
    yes : ndarray (strengths, questions)
        Answers: 1 or 0, NaN if missing.
    log_odds : ndarray (strengths, questions) or None
        Log odds of yes against no; None if only answers are known.
    mass : ndarray (strengths,) or None
        Mean probability mass on yes and no; None if unknown.
    unsteered : ndarray (questions,) or None
        Log odds without steering.
    collapsed : ndarray of bool (strengths,)
        Strengths at which the model no longer says yes or no; these strengths are excluded from
        the match.
    questions : tuple
        Labels of the questions.

    Examples
    --------
    >>> table = SteeredAnswers.from_array(
    ...     [[-2.0, -1.0], [-1.0, 1.0], [1.0, 3.0]], strengths=[-1, 0, 1], scale="log_odds")
    >>> table.yes_rates, table.unsteered
    (array([0. , 0.5, 1. ]), array([-1.,  1.]))
    """

    strengths: FloatArray  # (strengths,)
    yes: FloatArray  # (strengths, questions)
    log_odds: FloatArray | None  # (strengths, questions)
    mass: FloatArray | None  # (strengths,)
    unsteered: FloatArray | None  # (questions,)
    collapsed: BoolArray  # (strengths,)
    questions: Labels

    @property
    def yes_rates(self) -> FloatArray:
        """Proportion of yes among the answers, NaN if there are no answers (strengths,)."""
        known = np.isfinite(self.yes)
        said = np.where(known, self.yes, 0.0).sum(axis=1)
        n = known.sum(axis=1)
        return ratio(said, n)

    @property
    def usable(self) -> BoolArray:
        """Whether each strength is usable, that is, not collapsed (strengths,)."""
        return np.asarray(~self.collapsed, dtype=np.bool_)

    @property
    def yes_from(self) -> FloatArray:
        """Weakest strength from which the answer is yes at every greater strength (questions,).

        Collapsed strengths and missing answers are ignored; the value is NaN if the answer is no
        at the greatest strength. A strength below zero makes the model more cautious.
        ``-yes_from`` is a score: at strength c, the model says yes to the questions with scores of
        at least -c. A threshold on ``-yes_from`` therefore chooses the
        strength for a tolerated proportion of errors.

        Examples
        --------
        >>> rng = np.random.default_rng(1)
        >>> ease, strengths = rng.normal(size=600), np.linspace(-3, 3, 25)
        >>> correct = rng.random(600) < 1 / (1 + np.exp(-3 * ease))
        >>> steered = SteeredAnswers.from_array(
        ...     ease + strengths[:, None], strengths=strengths, scale="log_odds")
        >>> from psychollm.calibration import confidence_gate
        >>> gate = confidence_gate(-steered.yes_from, correct, at_most=0.1)
        >>> gate.to_frame()[["threshold", "coverage", "error", "upper"]].round(2)
           threshold  coverage  error  upper
        0        1.0      0.11   0.01   0.06

        At strength -1 the model says yes to 11 % of the questions, and with 90 % certainty at most
        10 % of its answers to such questions are wrong.
        """
        yes = np.where(self.usable[:, None], self.yes, np.nan)
        held = np.logical_and.accumulate((yes != 0.0)[::-1], axis=0)[::-1]
        strengths = np.where(held & (yes == 1.0), self.strengths[:, None], np.inf)
        first = strengths.min(axis=0, initial=np.inf)
        return np.where(np.isfinite(first), first, np.nan)

    @classmethod
    def from_array(
        cls,
        values: ArrayLike,
        *,
        strengths: ArrayLike,
        scale: Scale,
        mass: ArrayLike | None = None,
        unsteered: ArrayLike | None = None,
        questions: Iterable[Any] | None = None,
        min_mass: float = MIN_MASS,
    ) -> SteeredAnswers:
        """Construct the table from an array.

        Parameters
        ----------
        values : array-like (strengths, questions)
            Answers on the given scale; NaN if missing.
        strengths : array-like (strengths,)
            Strengths in any order and unit.
        scale : {"answers", "probability", "log_odds"}
            Type of the values: 1 or 0, P(yes) / (P(yes) + P(no)), or the log odds of this
            probability.
        mass : array-like (strengths,) or (strengths, questions), optional
            Probability mass on yes and no.
        unsteered : array-like (questions,), optional
            Values without steering, on the same scale; by default the values at strength 0,
            linearly interpolated if strength 0 is not in the table.
        questions : iterable, optional
            Labels of the questions; positions by default.
        min_mass : float
            A strength is classified as collapsed if its mean probability mass is below this
            proportion of the mean at the strength nearest zero.

        Raises
        ------
        ShapeError
            If shapes do not match.
        CodeError
            If a value is not on its scale.
        InputError
            If fewer than two strengths are usable.

        Examples
        --------
        >>> SteeredAnswers.from_array([[.5, .2], [.5, .8], [1, 1]], strengths=[0, 1, 9],
        ...     scale="probability", mass=[.9, .8, .01]).collapsed
        array([False, False,  True])
        """
        check_choice("scale", scale, Scale)
        table = as_matrix("values", values)
        doses, order = as_strengths(strengths, len(table))
        labels = as_labels("question", questions, table.shape[1])
        odds = as_log_odds(table[order], scale, doses, labels)
        yes = answers_of(odds, table[order])
        shares = None if mass is None else mean_mass(mass, table.shape)[order]
        base = None
        if scale != "answers" and odds is not None:
            base = (
                at_zero(doses, odds)
                if unsteered is None
                else as_unsteered(unsteered, scale, labels)
            )
        return cls(
            strengths=doses,
            yes=yes,
            log_odds=odds,
            mass=shares,
            unsteered=base,
            collapsed=collapsed_strengths(doses, yes, shares, min_mass),
            questions=labels,
        )

    @classmethod
    def from_frame(
        cls, frame: pd.DataFrame, *, scale: Scale, mass: ArrayLike | None = None
    ) -> SteeredAnswers:
        """Construct the table from a DataFrame with strengths as index and questions as columns.

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"q1": [0.2, 0.7], "q2": [0.1, 0.4]}, index=[-0.1, 0.1])
        >>> SteeredAnswers.from_frame(frame, scale="probability").yes_rates
        array([0. , 0.5])
        """
        frame = labelled(frame)
        return cls.from_array(
            frame.to_numpy(),
            strengths=frame.index.to_numpy(),
            scale=scale,
            mass=mass,
            questions=list(frame.columns),
        )

    @classmethod
    def from_sweep(cls, sweep: Any) -> SteeredAnswers:
        """Construct the table from a result of `psychollm.steering.sweep`.

        Parameters
        ----------
        sweep : object
            Object with ``strengths`` (strengths,), ``margin`` and ``mass`` (strengths, questions),
            ``base_margin`` and ``labels`` (questions,), and ``min_mass``.

        Raises
        ------
        InputError
            If an attribute is missing.
        """
        needed = ("strengths", "margin", "mass", "base_margin", "labels")
        if absent := [name for name in needed if not hasattr(sweep, name)]:
            msg = (
                f"a {type(sweep).__name__} is not a sweep (it has no {absent[0]}): pass "
                "SteeredAnswers.from_array(values, strengths=..., scale=...), or a result of "
                "psychollm.steering.sweep"
            )
            raise InputError(msg)
        return cls.from_array(
            sweep.margin,
            strengths=sweep.strengths,
            scale="log_odds",
            mass=sweep.mass,
            unsteered=sweep.base_margin,
            questions=sweep.labels,
            min_mass=getattr(sweep, "min_mass", MIN_MASS),
        )

    def ordered(self, questions: Labels) -> SteeredAnswers:
        """Return the table with its questions in another order.

        Raises
        ------
        LabelError
            If the table does not have the same questions.

        Examples
        --------
        >>> table = SteeredAnswers.from_array([[0, 1], [1, 1]], strengths=[-1, 1],
        ...     scale="answers", questions=["a", "b"])
        >>> table.ordered(("b", "a")).yes[0]
        array([1., 0.])
        """
        places = reorder("question", self.questions, like=questions)
        if places is None:
            return self
        return SteeredAnswers(
            strengths=self.strengths,
            yes=self.yes[:, places],
            log_odds=None if self.log_odds is None else self.log_odds[:, places],
            mass=self.mass,
            unsteered=None if self.unsteered is None else self.unsteered[places],
            collapsed=self.collapsed,
            questions=questions,
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per strength with yes rate, mass, ``order``, and collapse.

        ``order`` is Spearman's correlation of the log odds with the unsteered log odds.
        """
        import pandas as pd

        order = np.full(self.strengths.size, np.nan)
        if self.log_odds is not None and self.unsteered is not None:
            base = pd.Series(self.unsteered).rank()
            ranks = pd.DataFrame(self.log_odds.T).rank()
            varies = np.asarray(ranks.std() > 0)
            if base.std() > 0:
                order[varies] = ranks.loc[:, varies].corrwith(base).to_numpy()
        return pd.DataFrame(
            {
                "strength": self.strengths,
                "yes_rate": self.yes_rates,
                "mass": np.nan if self.mass is None else self.mass,
                "order": order,
                "collapsed": self.collapsed,
            }
        )

    def __repr__(self) -> str:
        left_out = int(self.collapsed.sum())
        known = "answers" if self.log_odds is None else "log odds"
        return (
            f"SteeredAnswers: {known} at {self.strengths.size} strengths "
            f"{self.strengths[0]:g} to {self.strengths[-1]:g} ({left_out} collapsed) "
            f"x {len(self.questions)} questions"
        )


def as_steered(steered: Any, *, argument: str = "steered") -> SteeredAnswers:
    """Return a table of steered answers from a table or a sweep."""
    if isinstance(steered, SteeredAnswers):
        return steered
    try:
        return SteeredAnswers.from_sweep(steered)
    except InputError as error:
        msg = f"{argument}: {error}"
        raise type(error)(msg) from error
