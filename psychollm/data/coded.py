"""A table of codes with labels and a mask: what it holds and what it becomes."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from psychollm._base.errors import CodeError, ShapeError
from psychollm._base.result import Result
from psychollm._base.types import BoolArray, CodeArray, FloatArray, IntArray
from psychollm.data.labels import Labels, positions, reorder

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class CodedTable(Result):
    """Codes of models x questions; `Responses` adds how such a table is made."""

    codes: CodeArray  # (models, questions), 0 where missing
    missing: BoolArray  # (models, questions)
    models: Labels  # (models,)
    questions: Labels  # (questions,)
    coding: str = "binary"
    cuts: FloatArray | None = None  # (models,)
    flipped: Labels = ()

    def __post_init__(self) -> None:
        shape = (len(self.models), len(self.questions))
        if self.codes.shape != shape or self.missing.shape != shape:
            msg = (
                f"codes {self.codes.shape} and missing {self.missing.shape} must have the shape "
                f"(models, questions) = {shape}"
            )
            raise ShapeError(msg)
        for name in ("codes", "missing"):  # kernels read rows
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name)))
        Result.__post_init__(self)

    @property
    def n_models(self) -> int:
        """Number of models."""
        return len(self.models)

    @property
    def n_questions(self) -> int:
        """Number of questions."""
        return len(self.questions)

    @property
    def is_binary(self) -> bool:
        """Whether all codes are 0 or 1."""
        return bool(self.codes.max() <= 1)

    @property
    def answered(self) -> IntArray:
        """Number of questions that each model answered (models,)."""
        return np.asarray(self.n_questions - self.missing.sum(axis=1), dtype=np.int64)

    @property
    def yes_rates(self) -> FloatArray:
        """Share of yes among the answers of each model (models,); NaN where it gave none.

        Raises
        ------
        CodeError
            If the codes are graded.
        """
        self._check_binary("yes_rates")
        n = self.answered
        yes = self.codes.sum(axis=1, dtype=np.int64)
        rates = np.full(n.shape, np.nan)
        np.divide(yes, n, out=rates, where=n > 0)
        return rates

    @property
    def values(self) -> FloatArray:
        """Codes as floats (models, questions), NaN where missing."""
        return np.where(self.missing, np.nan, self.codes.astype(np.float64))

    def select(
        self,
        *,
        models: Iterable[Any] | None = None,
        questions: Iterable[Any] | None = None,
    ) -> Self:
        """Keep some models or questions, in the order given.

        Parameters
        ----------
        models, questions : sequence of labels or boolean array, optional
            What to keep; None keeps all.

        Raises
        ------
        LabelError
            If a label is unknown or repeated.
        ShapeError
            If nothing is left.

        Examples
        --------
        >>> from psychollm.data.responses import Responses
        >>> table = Responses.from_array([[1, 0], [0, 1]], models=["a", "b"])
        >>> table.select(models=["b"]).codes
        array([[0, 1]], dtype=int16)
        """
        rows = None if models is None else positions("model", self.models, models)
        columns = None if questions is None else positions("question", self.questions, questions)
        return self._taken(rows, columns)

    def _taken(self, rows: IntArray | None, columns: IntArray | None) -> Self:
        codes, missing = self.codes, self.missing
        models, questions, cuts, flipped = self.models, self.questions, self.cuts, self.flipped
        if rows is not None:
            codes, missing = codes[rows], missing[rows]
            models = tuple(models[row] for row in rows)
            cuts = None if cuts is None else cuts[rows]
            flipped = tuple(model for model in flipped if model in models)
        if columns is not None:
            codes, missing = codes[:, columns], missing[:, columns]
            questions = tuple(questions[column] for column in columns)
        return replace(
            self,
            codes=codes,
            missing=missing,
            models=models,
            questions=questions,
            cuts=cuts,
            flipped=flipped,
        )

    def flip(self, models: Iterable[Any] | None = None) -> Self:
        """Reverse yes and no for some models (all by default); `flipped` records them.

        Raises
        ------
        LabelError
            If a label is unknown.
        CodeError
            If the codes are graded.

        Examples
        --------
        >>> from psychollm.data.responses import Responses
        >>> Responses.from_array([[1, 0], [0, 0]]).flip([1]).codes
        array([[1, 0],
               [1, 1]], dtype=int16)
        """
        self._check_binary("flip")
        rows = positions("model", self.models, self.models if models is None else models)
        codes = self.codes.copy()
        codes[rows] = np.where(self.missing[rows], 0, 1 - codes[rows])
        turned = {self.models[row] for row in rows} ^ set(self.flipped)
        flipped = tuple(model for model in self.models if model in turned)
        return replace(self, codes=codes, flipped=flipped)

    def align(self, other: Self) -> Self:
        """Return `other` with its models and questions in the order of this table.

        Raises
        ------
        LabelError
            If the two do not hold the same models and questions; the first few that differ are
            named on each side.

        Examples
        --------
        >>> from psychollm.data.responses import Responses
        >>> first = Responses.from_array([[1], [0]], models=["a", "b"])
        >>> second = Responses.from_array([[0], [1]], models=["b", "a"])
        >>> first.align(second).models
        ('a', 'b')
        """
        return other.ordered(self.models, self.questions)

    def ordered(self, models: Labels, questions: Labels) -> Self:
        """Return this table with its models and questions in the order given.

        Raises
        ------
        LabelError
            If it holds others; the first few that differ are named on each side.

        Examples
        --------
        >>> from psychollm.data.responses import Responses
        >>> table = Responses.from_array([[1, 0]], models=["a"], questions=["y", "x"])
        >>> table.ordered(("a",), ("x", "y")).codes
        array([[0, 1]], dtype=int16)
        """
        rows = reorder("model", self.models, like=models)
        columns = reorder("question", self.questions, like=questions)
        return self._taken(rows, columns)

    def transpose(self) -> Self:
        """Exchange models and questions; the cuts, which belong to models, are left out.

        Examples
        --------
        >>> from psychollm.data.responses import Responses
        >>> Responses.from_array([[1, 0]], models=["a"]).transpose().questions
        ('a',)
        """
        return replace(
            self,
            codes=self.codes.T,
            missing=self.missing.T,
            models=self.questions,
            questions=self.models,
            cuts=None,
            flipped=(),
        )

    def to_frame(self) -> "pd.DataFrame":
        """Return a DataFrame, models x questions: whole numbers, or floats if any is missing.

        Examples
        --------
        >>> from psychollm.data.responses import Responses
        >>> Responses.from_array([[1, None]], models=["a"]).to_frame().loc["a"].tolist()
        [1.0, nan]
        """
        import pandas as pd

        values = self.values if self.missing.any() else self.codes.astype(np.int64)
        index = pd.Index(self.models, name="model", tupleize_cols=False)
        columns = pd.Index(self.questions, name="question", tupleize_cols=False)
        return pd.DataFrame(values, index=index, columns=columns)

    def to_long(self) -> "pd.DataFrame":
        """Return a long DataFrame with columns model, question and value, one row per answer.

        Examples
        --------
        >>> from psychollm.data.responses import Responses
        >>> Responses.from_array([[1, None]], models=["a"]).to_long()
          model  question  value
        0     a         0      1
        """
        import pandas as pd

        rows, columns = np.nonzero(~self.missing)
        return pd.DataFrame(
            {
                "model": pd.Index(self.models, tupleize_cols=False).take(rows),
                "question": pd.Index(self.questions, tupleize_cols=False).take(columns),
                "value": self.codes[rows, columns].astype(np.int64),
            }
        )

    def _check_binary(self, what: str) -> None:
        if not self.is_binary:
            msg = f"{what} needs yes/no answers, but the codes go up to {self.codes.max()}"
            raise CodeError(msg)

    def __repr__(self) -> str:
        absent, size = int(self.missing.sum()), self.codes.size
        lines = [
            f"Responses: {self.n_models:,} models x {self.n_questions:,} questions, {self.coding}",
            f"  missing    {absent:,} of {size:,} ({100 * absent / size:.1f} %)",
        ]
        if self.is_binary and absent < size:
            rates = self.yes_rates
            lines.append(f"  yes rates  {np.nanmin(rates):.3g} to {np.nanmax(rates):.3g}")
        if self.flipped:
            lines.append(f"  flipped    {_listed(self.flipped)}")
        lines.append(f"  models     {_listed(self.models)}")
        lines.append(f"  questions  {_listed(self.questions)}")
        return "\n".join(lines)


def _listed(labels: Labels) -> str:
    shown = ", ".join(repr(label) for label in labels[:4])
    return shown if len(labels) <= 4 else f"{shown}, ... {labels[-1]!r}"
