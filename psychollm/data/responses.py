"""The table of the library: what each model answered to each question."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, Union

from psychollm._base.errors import OptionError
from psychollm.data.coded import CodedTable
from psychollm.data.confidence import Threshold, cut_points, describe_rule, split
from psychollm.data.encode import encode, numbers
from psychollm.data.long import Duplicates, spread
from psychollm.data.table import Table, as_table, values_like

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Responses(CodedTable):
    """What each model answered to each question.

    Rows are models, columns are questions. Codes are small whole numbers: 1 = yes and 0 = no in
    a binary table, 0 to 15 in a graded one; what was not answered is a mask. Made by the
    ``from_...`` methods, which check everything; the plain constructor checks shapes only.

    Parameters
    ----------
    codes : int16 array (models, questions)
        Codes, 0 where missing. The array is made read-only.
    missing : bool array (models, questions)
        True where there is no answer.
    models, questions : tuple
        Unique labels.
    coding : str
        How the codes were made: "binary", "graded", "stated confidence > 0.5", ...
    cuts : float array (models,), optional
        The cut of each model where a stated confidence was split.
    flipped : tuple
        The models whose coding `flip` has reversed.

    Examples
    --------
    >>> import psychollm as psy
    >>> answers = psy.Responses.from_array([[1, 0, 1], [1, 1, None]], models=["a", "b"])
    >>> answers.yes_rates
    array([0.66666667, 1.        ])
    >>> answers
    Responses: 2 models x 3 questions, binary
      missing    1 of 6 (16.7 %)
      yes rates  0.667 to 1
      models     'a', 'b'
      questions  0, 1, 2
    """

    @classmethod
    def from_array(
        cls,
        values: "ArrayLike",
        *,
        models: Iterable[Any] | None = None,
        questions: Iterable[Any] | None = None,
        codes: Mapping[Any, int] | None = None,
    ) -> "Responses":
        """Make a table from an array (models, questions).

        Parameters
        ----------
        values : array-like (models, questions)
            0/1, bool, or graded codes 0 to 15; None, NaN, pandas.NA and masked are missing.
        models, questions : iterable, optional
            Unique labels; by default the positions 0, 1, 2, ...
        codes : mapping, optional
            What each value means, such as ``{"yes": 1, "no": 0}``: the only way to pass text.

        Raises
        ------
        ShapeError
            If the array is not two-dimensional, or empty, or labels are too few or many.
        LabelError
            If labels are missing or duplicated.
        CodeError
            If a value is not a code; the first such model and question are named.

        Examples
        --------
        >>> Responses.from_array([["yes", "no"]], codes={"yes": 1, "no": 0}).codes
        array([[1, 0]], dtype=int16)
        """
        return cls.from_table(as_table(values, models=models, questions=questions), codes=codes)

    @classmethod
    def from_frame(
        cls, frame: "pd.DataFrame", *, codes: Mapping[Any, int] | None = None
    ) -> "Responses":
        """Make a table from a DataFrame: the index holds models, the columns are questions.

        Errors and `codes` as in `from_array`.

        Examples
        --------
        >>> import pandas as pd
        >>> Responses.from_frame(pd.DataFrame({"q1": [1, 0]}, index=["a", "b"])).models
        ('a', 'b')
        """
        return cls.from_table(as_table(frame), codes=codes)

    @classmethod
    def from_xarray(cls, array: Any, *, codes: Mapping[Any, int] | None = None) -> "Responses":
        """Make a table from a two-dimensional xarray DataArray.

        The names of its dimensions say which holds the models (``model``, ``respondent``, ...) and
        which the questions (``question``, ``item``, ...), in either order; names that do not say
        it are a `LabelError`. Without names the first holds the models. Errors and `codes` as in
        `from_array`.

        Examples
        --------
        >>> import xarray as xr
        >>> array = xr.DataArray([[1], [0]], dims=("item", "models"), coords={"item": [5, 6]})
        >>> Responses.from_xarray(array).questions
        (5, 6)
        """
        return cls.from_table(as_table(array), codes=codes)

    @classmethod
    def from_long(
        cls,
        frame: "pd.DataFrame",
        *,
        model: str = "model",
        question: str | Sequence[str] = "question",
        value: str = "value",
        duplicates: Duplicates = "error",
        codes: Mapping[Any, int] | None = None,
        threshold: Threshold | None = None,
        strict: bool = True,
    ) -> "Responses":
        """Make a table from a long DataFrame with one row per answer.

        Parameters
        ----------
        frame : DataFrame
            Pairs of model and question that do not occur are missing; labels keep the order in
            which they first occur.
        model, value : str
            Columns that hold the model's label and its answer.
        question : str or sequence of str
            Column, or columns, that identify the question.
        duplicates : {"error", "first", "last"}
            What to do when a model answers a question twice.
        codes : mapping, optional
            As in `from_array`.
        threshold, strict : optional
            If given, the values are stated confidences, split as in `from_confidence`.

        Raises
        ------
        LabelError
            If a column does not exist, a label is missing, or an answer occurs twice.
        CodeError
            As in `from_array`.

        Examples
        --------
        >>> import pandas as pd
        >>> long = pd.DataFrame({"model": ["a", "a"], "item": [1, 2], "sure": [90, 20]})
        >>> Responses.from_long(long, question="item", value="sure", threshold=50).codes
        array([[1, 0]], dtype=int16)
        """
        table = spread(frame, model=model, question=question, value=value, duplicates=duplicates)
        return cls.from_table(table, codes=codes, threshold=threshold, strict=strict)

    @classmethod
    def from_confidence(
        cls,
        values: Any,
        *,
        threshold: Threshold = 0.5,
        strict: bool = True,
        models: Iterable[Any] | None = None,
        questions: Iterable[Any] | None = None,
    ) -> "Responses":
        """Split a stated confidence into yes and no; the rule and the cuts are recorded.

        Parameters
        ----------
        values : DataFrame, DataArray or array-like (models, questions)
            Stated confidence on any scale; NaN is missing.
        threshold : float, {"model_median", "model_mean", "model_balanced"}, mapping or array
            A cut for all models, a rule applied to each model's own statements, or a cut per
            model. ``"model_balanced"`` cuts halfway between two stated values so that the yes
            rate is nearest to one half, where a median would have many statements equal to it.
        strict : bool
            Yes means ``value > cut`` (default) or ``value >= cut``.
        models, questions : iterable, optional
            Labels that replace those of the data.

        Raises
        ------
        CodeError
            If a value is not a finite number.
        OptionError
            If the rule does not exist.

        Warns
        -----
        ValidityWarning
            If a cut lies outside everything that its model stated.

        Examples
        --------
        >>> split = Responses.from_confidence([[0.2, 0.7, 0.9]], threshold="model_median")
        >>> split.coding, split.codes.tolist(), split.cuts.tolist()
        ('stated confidence > model median', [[0, 0, 1]], [0.7])
        """
        table = as_table(values, models=models, questions=questions, argument="confidence")
        return cls._split(table, threshold=threshold, strict=strict)

    @classmethod
    def from_table(
        cls,
        table: Table,
        *,
        codes: Mapping[Any, int] | None = None,
        threshold: Threshold | None = None,
        strict: bool = True,
        argument: str = "responses",
    ) -> "Responses":
        """Code a labelled table, or split it if a `threshold` is given: what readers call."""
        if threshold is not None:
            return cls._split(table, threshold=threshold, strict=strict)
        coded, missing = encode(table, codes=codes, argument=argument)
        return cls(
            codes=coded,
            missing=missing,
            models=table.models,
            questions=table.questions,
            coding="binary" if coded.max() <= 1 else "graded",
        )

    @classmethod
    def _split(cls, table: Table, *, threshold: Threshold, strict: bool) -> "Responses":
        values = numbers(table, argument="confidence")
        cuts = cut_points(values, table.models, threshold)
        coded, missing = split(values, table.models, cuts=cuts, strict=strict)
        return cls(
            codes=coded,
            missing=missing,
            models=table.models,
            questions=table.questions,
            coding=describe_rule(threshold, strict=strict),
            cuts=cuts,
        )


ResponsesLike: TypeAlias = Union[Responses, "pd.DataFrame", "ArrayLike", Any]


def as_responses(
    data: ResponsesLike, *, argument: str = "responses", like: Responses | Table | None = None
) -> Responses:
    """Return `data` as `Responses`: the one door of every public function.

    Parameters
    ----------
    data : Responses, DataFrame, DataArray or array-like (models, questions)
        Responses are returned as they are.
    argument : str
        Name of the argument, for messages.
    like : Responses or Table, optional
        Put into the order of its models and questions: labels by labels, and what has no labels as
        it stands.

    Raises
    ------
    InputError
        As in `Responses.from_array`.
    LabelError
        If `like` holds other models or questions.

    Examples
    --------
    >>> as_responses([[1, 0], [0, 0]]).n_models
    2
    """
    if isinstance(data, Responses):
        return data if like is None else data.ordered(like.models, like.questions)
    if data is None or isinstance(data, str | bytes) or hasattr(data, "__fspath__"):
        msg = (
            f"{argument}={data!r} is not a table of models x questions: pass Responses, a "
            "DataFrame, a DataArray or an array; files are read by read_responses(path)"
        )
        raise OptionError(msg)
    table = as_table(data, argument=argument)
    if like is not None:
        values = values_like(table, like, argument=argument)
        table = Table(values, like.models, like.questions)
    return Responses.from_table(table, argument=argument)
