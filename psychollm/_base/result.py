"""Base class of results: frozen arrays, a one-screen repr, plain dictionaries.

A result is a ``@dataclass(frozen=True, slots=True, kw_only=True, eq=False)`` that inherits
`Result`. Arrays are made read-only; ``to_dict`` gives JSON-safe values (NaN becomes None).

``plot()`` and ``report(path)`` look up their functions, which are in higher layers, by name, so
that computing needs no plotting package.
"""

from collections.abc import Callable, Sequence
from importlib import import_module
from os import PathLike
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from psychollm._base.axes import Axes, dataset_of, frame_of
from psychollm._base.display import result_html, result_repr, result_text
from psychollm._base.entry import entry
from psychollm._base.errors import InputError
from psychollm._base.frames import in_polars
from psychollm._base.record import Record
from psychollm._base.saving.files import read, save
from psychollm._base.shown import in_lines, shown, visible
from psychollm._base.tables import table_of

if TYPE_CHECKING:
    import pandas as pd
    import polars
    from matplotlib.axes import Axes as Drawn
    from matplotlib.figure import Figure


def view(module: str, name: str) -> Callable[..., Any]:
    """Import a module of psychollm and return its function of the given name."""
    function: Callable[..., Any] = getattr(import_module(f"psychollm.{module}"), name)
    return function


def drawn_by(name: str) -> Callable[..., "Drawn"]:
    """Return the function of `psychollm.plots` with the given name; the function returns axes."""
    return view("plots", name)


def figure_by(name: str) -> Callable[..., "Figure"]:
    """Return the function of `psychollm.plots` with the given name; it returns a figure."""
    return view("plots", name)


_SHOWING = ("__repr__", "__str__")


class Result(Record):
    """Base of every result: its arrays are read-only, and its repr fits one screen."""

    __slots__ = ()
    _AXES: ClassVar["Axes | None"] = None  # rows and columns of `to_frame` (see `_base.axes`)
    _WHOLE: ClassVar[tuple[str, ...]] = ()  # names of fields whose texts keep their line breaks

    def __init_subclass__(cls) -> None:
        # `dataclass` adds a repr to every class whose body defines none.
        if "__repr__" not in vars(cls):
            cls.__repr__ = cls.__repr__  # type: ignore[method-assign]
        for name in {"__repr__", "summary"} & set(vars(cls)):
            if not hasattr(vars(cls)[name], "__wrapped__"):
                setattr(cls, name, shown(vars(cls)[name]))
        for name, value in [*vars(cls).items()]:
            if name[0] == "_" and name not in _SHOWING:
                continue
            if isinstance(value, FunctionType):
                setattr(cls, name, entry(value))
            elif type(value) is property:
                setattr(cls, name, property(entry(value.fget), doc=value.__doc__))

    def _axes(self) -> "Axes | None":
        """Return the axes of this result.

        Subclasses override this method if the axes depend on the contents of the result.
        """
        return self._AXES

    def to_frame(self) -> "pd.DataFrame":
        """Return the result's table, with a row per model, item or pair and a column per quantity.

        Columns of interval bounds end in ``lower`` and ``upper``; `flag` or `reason` gives the
        reason for an undefined number.

        Raises
        ------
        InputError
            If the result has no table.
        """
        return frame_of(self, self._axes())

    def to_polars(self) -> "polars.DataFrame":
        """Return the table of `to_frame` as a DataFrame of polars.

        If the table of `to_frame` has an index, as tables of answers do, it becomes the first
        column.

        Raises
        ------
        InputError
            If the result has no table.
        MissingPackageError
            If polars is not installed.
        """
        return in_polars(self.to_frame())

    def to_markdown(self, *, columns: Sequence[str] | None = None, digits: int = 2) -> str:
        """Return the table as Markdown in reporting style, rounded and with intervals.

        Parameters
        ----------
        columns : sequence of str, optional
            Columns of `to_frame` to keep, in this order; estimates keep their intervals.
        digits : int
            Number of decimals. Columns of small numbers have more decimals, counts have none, and
            p-values have three.

        Raises
        ------
        InputError
            If the result has no table.
        OptionError
            If a column is not in the table.
        """
        return table_of(self, digits=digits, columns=columns).markdown()

    def to_latex(
        self,
        *,
        columns: Sequence[str] | None = None,
        digits: int = 2,
        caption: str | None = None,
        label: str | None = None,
    ) -> str:
        """Return the table as LaTeX in reporting style, with the rules of booktabs.

        Parameters
        ----------
        columns, digits
            As in `to_markdown`.
        caption : str, optional
            Caption; with a caption, the table is a floating environment.
        label : str, optional
            Label for cross-references; a label requires a caption.

        Raises
        ------
        InputError
            If the result has no table.
        OptionError
            If a column is not in the table, or if a label is given without a caption.
        """
        table = table_of(self, digits=digits, columns=columns)
        return table.latex(caption=caption, label=label)

    def to_xarray(self) -> Any:
        """Return the arrays with named dimensions and labels, as an xarray Dataset.

        Only results whose arrays have more dimensions than a table have a dataset; the
        documentation lists these results.

        Raises
        ------
        InputError
            If the result has no array of more than two dimensions.
        MissingPackageError
            If xarray is not installed.
        """
        return dataset_of(self, self._axes())

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the result to a file from which `load` restores it exactly.

        The file is created only when it is complete, and replaces a file of the same name. The
        format is documented and versioned, and contains no code. Any suffix works; ``.psy`` is
        customary.

        Parameters
        ----------
        path : path
            File to write.

        Returns
        -------
        Path
            Path of the written file.

        Raises
        ------
        InputError
            If a field has a value that the format does not support; the message names the field.
        """
        return save(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Return the result of this class from a file that `save` wrote.

        ``psychollm.load(path)`` does the same for a result of any class.

        Raises
        ------
        InputError
            If the file contains no result or a result of another class, or if ``psychollm.load``
            raises this error.
        """
        result = load(path)
        if not isinstance(result, cls):
            msg = f"{path} holds a {type(result).__name__}, not a {cls.__name__}"
            raise InputError(msg)
        return result

    def _title(self) -> list[str]:
        """Return the title lines of this result, by default its name and method."""
        if type(self).__repr__ is not Result.__repr__:
            return repr(self).splitlines()
        name, method = (getattr(self, field, None) for field in ("name", "method"))
        kind = name if isinstance(name, str) else type(self).__name__
        return [f"{kind} ({method})" if isinstance(method, str) else kind]

    @entry
    @shown
    def __repr__(self) -> str:
        return result_repr(self)

    @entry
    @shown
    def __str__(self) -> str:
        return result_text(self)

    def __float__(self) -> float:
        """Return the value of a result with a single value, such as an estimate for one model."""
        value = np.asarray(getattr(self, "value", np.empty(0)))
        if value.size != 1:
            msg = f"this {type(self).__name__} holds {value.size} values: to_frame() has all"
            raise TypeError(msg)
        return float(value.item())

    def _repr_html_(self) -> str:
        return visible(result_html(in_lines(self)))


def load(path: str | PathLike[str]) -> Result:
    """Return the result that `Result.save` wrote to a file, exactly as it was saved.

    A file contains data and no code, and only classes of this package are created from it.
    Therefore, files from untrusted sources can be opened safely. Arrays are read-only.

    Parameters
    ----------
    path : path
        File to read.

    Returns
    -------
    Result
        Saved result, as an instance of its class. To accept only one class, call the method of
        that class, for example ``Estimate.load(path)``.

    Raises
    ------
    InputError
        If the file is missing, truncated, damaged or not a saved result, if its format is newer,
        or if the result has other fields than the class in this version.

    Examples
    --------
    >>> import psychollm as psy
    >>> found = psy.calibration.brier([[0.9, 0.2, 0.6]], [[1, 0, 0]], bootstrap=9, rng=0)
    >>> again = load(found.save(getfixture("tmp_path") / "brier.psy"))
    >>> again.value == found.value
    array([ True])
    """
    result = read(path)
    assert isinstance(result, Result)  # noqa: S101 -- no other record is saved
    return result
