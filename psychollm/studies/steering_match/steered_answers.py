"""The table that matching starts from: what one model says to each question at each strength."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.checks import check_choice
from psychollm._base.errors import InputError
from psychollm._base.frames import labelled
from psychollm._base.result import Result
from psychollm._base.types import BoolArray, FloatArray
from psychollm.calibration.decisions.two_by_two import ratio
from psychollm.data.labels import Labels, as_labels, reorder
from psychollm.studies.steering_match.steered_input import (
    MIN_MASS,
    Scale,
    answers_of,
    as_log_odds,
    as_matrix,
    as_strengths,
    as_unsteered,
    at_zero,
    collapsed_strengths,
    mean_mass,
)

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class SteeredAnswers(Result):
    """Answers of one model to the same questions, at several strengths of one direction.

    Made by `from_array`, `from_frame` or `from_sweep`, which check everything.

    Attributes
    ----------
    strengths : ndarray (strengths,)
        Ascending.
    yes : ndarray (strengths, questions)
        1 or 0, NaN where there is no answer.
    log_odds : ndarray (strengths, questions) or None
        Of yes against no; None where only answers are known.
    mass : ndarray (strengths,) or None
        Mean probability that yes or no is said at all; None where unknown.
    unsteered : ndarray (questions,) or None
        Log odds without steering.
    collapsed : ndarray of bool (strengths,)
        The model no longer says yes or no: these strengths take no part.
    questions : tuple
        Labels.

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
        """Share of yes among the answers, NaN where there are none (strengths,)."""
        known = np.isfinite(self.yes)
        said = np.where(known, self.yes, 0.0).sum(axis=1)
        n = known.sum(axis=1)
        return ratio(said, n)

    @property
    def usable(self) -> BoolArray:
        """Strengths that take part (strengths,)."""
        return np.asarray(~self.collapsed, dtype=np.bool_)

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
        """Make the table from an array.

        Parameters
        ----------
        values : array-like (strengths, questions)
            NaN where there is no answer.
        strengths : array-like (strengths,)
            In any order and unit.
        scale : {"answers", "probability", "log_odds"}
            What the values are: 1 or 0, P(yes) of P(yes) + P(no), or its log odds.
        mass : array-like (strengths,) or (strengths, questions), optional
            Probability that yes or no is said at all.
        unsteered : array-like (questions,), optional
            Values without steering, on the same scale; by default those at strength 0, between
            its neighbours on a line where it is not in the table.
        questions : iterable, optional
            Labels; positions by default.
        min_mass : float
            A strength has collapsed where its mean mass is less than this share of the mean mass
            at the strength nearest zero.

        Raises
        ------
        ShapeError
            If shapes do not fit.
        CodeError
            If a value is not on its scale.
        InputError
            If fewer than two strengths can be used.

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
        """Make the table from a DataFrame: the index holds strengths, the columns questions.

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
        """Make the table from what `psychollm.steering.sweep` returns.

        Parameters
        ----------
        sweep : object
            With ``strengths`` (strengths,), ``margin`` and ``mass`` (strengths, questions),
            ``base_margin`` and ``labels`` (questions,), and ``min_mass``.

        Raises
        ------
        InputError
            If it has none of these.
        """
        needed = ("strengths", "margin", "mass", "base_margin", "labels")
        if absent := [name for name in needed if not hasattr(sweep, name)]:
            msg = (
                f"a {type(sweep).__name__} is no sweep (it has no {absent[0]}): pass "
                "SteeredAnswers.from_array(values, strengths=..., scale=...), or what "
                "psychollm.steering.sweep returns"
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
            If it does not hold the same questions.

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
        """Return one row per strength: yes-rate, mass, order of questions, whether it collapsed.

        ``order`` is Spearman's correlation of the log odds with those without steering.
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
    """Return a table of steered answers from one, or from a sweep."""
    if isinstance(steered, SteeredAnswers):
        return steered
    try:
        return SteeredAnswers.from_sweep(steered)
    except InputError as error:
        msg = f"{argument}: {error}"
        raise type(error)(msg) from error
