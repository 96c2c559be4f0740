"""Base class for saving and printing results: frozen arrays, public fields, plain data."""

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

    from psychollm._base.axes import Axes


class Shown(Protocol):
    """Attributes of a result that the printing functions use."""

    def to_frame(self) -> "pd.DataFrame": ...
    def _axes(self) -> "Axes | None": ...
    def _public(self) -> list[str]: ...
    def _title(self) -> list[str]: ...


def plain_data(value: Any) -> Any:
    """Return a value as JSON-compatible data: arrays as lists, NaN as None."""
    if isinstance(value, Record):
        return value.to_dict()
    if isinstance(value, np.ndarray):
        return plain_data(value.tolist())
    if isinstance(value, np.generic) and not isinstance(value, np.longdouble):
        return plain_data(value.item())
    if isinstance(value, float | np.longdouble):
        value = float(value)
        return value if np.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain_data(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_data(item) for item in value]
    if hasattr(value, "__dataclass_fields__"):
        held = (field.name for field in fields(value) if field.metadata.get("data", True))
        return {name: plain_data(getattr(value, name)) for name in held}
    if hasattr(value, "to_dict") and hasattr(value, "columns"):
        return plain_data(value.to_dict(orient="records"))
    return value


def as_json(results: Mapping[str, Any]) -> str:
    """Return plain data as JSON, with undefined values as null."""
    plain = plain_data(results)
    return json.dumps(plain, indent=2, ensure_ascii=False, allow_nan=False, default=str)


class Record:
    """Base class of `Result` that makes arrays read-only and converts fields to plain data."""

    __slots__ = ()
    _SAVED: ClassVar[tuple[str, ...]] = ()  # constructor arguments, if they differ from the fields

    def __post_init__(self) -> None:
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray) and value.flags.writeable:
                value.flags.writeable = False

    @classmethod
    def _of_fields(cls, values: Mapping[str, Any]) -> Self:
        """Return a result made from saved fields."""
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        """Return the public fields as JSON-safe values."""
        return {name: plain_data(getattr(self, name)) for name in self._public()}

    def _public(self) -> list[str]:
        """Return the names of the public fields."""
        return [field.name for field in fields(self) if not field.name.startswith("_")]  # type: ignore[arg-type]
