"""What all results share: frozen arrays, a one-screen repr, plain dictionaries.

A result is a ``@dataclass(frozen=True, slots=True, kw_only=True, eq=False)`` that inherits
`Result`. Arrays are made read-only; ``to_dict`` gives JSON-safe values (NaN becomes None).

A result finds the functions that draw and report it, which live on floors above it, by name when
``plot()`` or ``report(path)`` is called: computing needs no plotting package.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from psychollm._base.errors import InputError
from psychollm._base.shown import in_lines, shown, visible

if TYPE_CHECKING:
    import pandas as pd
    import polars
    from matplotlib.axes import Axes as Drawn
    from matplotlib.figure import Figure

    from psychollm._base.axes import Axes


def view(module: str, name: str) -> Callable[..., Any]:
    """Return a function of a module of psychollm by name, importing the module."""
    function: Callable[..., Any] = getattr(import_module(f"psychollm.{module}"), name)
    return function


def drawn_by(name: str) -> Callable[..., "Drawn"]:
    """Return a function of `psychollm.plots` by name: what it returns are axes."""
    return view("plots", name)


def figure_by(name: str) -> Callable[..., "Figure"]:
    """Return a function of `psychollm.plots` by name: what it returns is a figure."""
    return view("plots", name)


def plain_data(value: Any) -> Any:
    """Return a value as what JSON can hold: arrays as lists, NaN as None."""
    if isinstance(value, Result):
        return value.to_dict()
    if isinstance(value, np.ndarray):
        return plain_data(value.tolist())
    if isinstance(value, np.generic) and not isinstance(value, np.longdouble):
        return plain_data(value.item())
    if isinstance(value, float | np.longdouble):
        value = float(value)
        return value if np.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): plain_data(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_data(item) for item in value]
    if hasattr(value, "__dataclass_fields__"):
        return {field.name: plain_data(getattr(value, field.name)) for field in fields(value)}
    if hasattr(value, "to_dict") and hasattr(value, "columns"):
        return plain_data(value.to_dict(orient="records"))
    return value


class Result:
    """Base of every result: owns its arrays, prints on one screen, converts to plain data."""

    __slots__ = ()
    _AXES: ClassVar["Axes | None"] = None  # the rows and columns of `to_frame`, as in `_base.axes`
    _WHOLE: ClassVar[tuple[str, ...]] = ()  # fields whose texts are shown with their lines

    def __init_subclass__(cls) -> None:
        # `dataclass` writes a repr of its own into every class that has none in its body.
        if "__repr__" not in vars(cls):
            cls.__repr__ = cls.__repr__  # type: ignore[method-assign]
        for name in {"__repr__", "summary"} & set(vars(cls)):
            if not hasattr(vars(cls)[name], "__wrapped__"):
                setattr(cls, name, shown(vars(cls)[name]))

    def __post_init__(self) -> None:
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray) and value.flags.writeable:
                value.flags.writeable = False

    @classmethod
    def _of_fields(cls, values: Mapping[str, Any]) -> Self:
        """Return the result that has these fields, as they were saved."""
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        """Return the public fields as JSON-safe values."""
        return {name: plain_data(getattr(self, name)) for name in self._public()}

    def _public(self) -> list[str]:
        """Return the names of the public fields."""
        return [field.name for field in fields(self) if not field.name.startswith("_")]  # type: ignore[arg-type]

    def _axes(self) -> "Axes | None":
        """Return the axes of this result: for classes where they depend on what it holds."""
        return self._AXES

    def to_frame(self) -> "pd.DataFrame":
        """Return the table of the result: a row per model, item, pair, ..., a column per quantity.

        Bounds of an interval are columns that end in ``lower`` and ``upper``; `flag` or `reason`
        says why a number is undefined.

        Raises
        ------
        InputError
            If the result has no table.
        """
        from psychollm._base.axes import frame_of

        return frame_of(self, self._axes())

    def to_polars(self) -> "polars.DataFrame":
        """Return the table of `to_frame` as a DataFrame of polars.

        Where `to_frame` has an index, as tables of answers have, it is the first column.

        Raises
        ------
        InputError
            If the result has no table.
        MissingPackageError
            If polars is not installed.
        """
        from psychollm._base.frames import in_polars

        return in_polars(self.to_frame())

    def to_markdown(self, *, columns: Sequence[str] | None = None, digits: int = 2) -> str:
        """Return the table as Markdown in reporting style: rounded, intervals beside estimates.

        Parameters
        ----------
        columns : sequence of str, optional
            Columns of `to_frame` to keep, in this order; intervals come with their estimates.
        digits : int
            Decimals; columns of tiny numbers have more, counts none, p-values three.

        Raises
        ------
        InputError
            If the result has no table.
        OptionError
            If a column is not there.
        """
        from psychollm._base.tables import table_of

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
            Text above; the table is then a floating one.
        label : str, optional
            To refer to it; needs a caption.

        Raises
        ------
        InputError
            If the result has no table.
        OptionError
            If a column is not there, or a label comes without a caption.
        """
        from psychollm._base.tables import table_of

        table = table_of(self, digits=digits, columns=columns)
        return table.latex(caption=caption, label=label)

    def to_xarray(self) -> Any:
        """Return the arrays with named dimensions and labels, as an xarray Dataset.

        For results whose arrays have more dimensions than a table; the page on results lists them.

        Raises
        ------
        InputError
            If the result is a table or less.
        MissingPackageError
            If xarray is not installed.
        """
        from psychollm._base.axes import dataset_of

        return dataset_of(self, self._axes())

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the result to a file that `load` reads, the same to the last bit.

        The file appears when it is complete and replaces one of the same name. Its format is
        documented, versioned and free of code; no suffix is demanded, and ``.psy`` is customary.

        Parameters
        ----------
        path : path
            The file.

        Returns
        -------
        Path
            The same.

        Raises
        ------
        InputError
            If the result holds what a file cannot; the message names the field.
        """
        from psychollm._base.saving.files import save

        return save(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Return the result of this class in a file that `save` wrote.

        ``psychollm.load(path)`` does the same for a result of any class.

        Raises
        ------
        InputError
            If the file holds no result, or one of another class; otherwise as in
            ``psychollm.load``.
        """
        from psychollm._base.saving.files import load

        result = load(path)
        if not isinstance(result, cls):
            msg = f"{path} holds a {type(result).__name__}, not a {cls.__name__}"
            raise InputError(msg)
        return result

    def _title(self) -> list[str]:
        """Say what this is: in the words of its class, or by its name and method."""
        if type(self).__repr__ is not Result.__repr__:
            return repr(self).splitlines()
        name, method = (getattr(self, field, None) for field in ("name", "method"))
        kind = name if isinstance(name, str) else type(self).__name__
        return [f"{kind} ({method})" if isinstance(method, str) else kind]

    @shown
    def __repr__(self) -> str:
        from psychollm._base.display import result_repr

        return result_repr(self)

    @shown
    def __str__(self) -> str:
        from psychollm._base.display import result_text

        return result_text(self)

    def __float__(self) -> float:
        """Return the value of a result that holds one, as an estimate for one model does."""
        value = np.asarray(getattr(self, "value", np.empty(0)))
        if value.size != 1:
            msg = f"this {type(self).__name__} holds {value.size} values: to_frame() has all"
            raise TypeError(msg)
        return float(value.item())

    def _repr_html_(self) -> str:
        from psychollm._base.display import result_html

        return visible(result_html(in_lines(self)))
