"""Type aliases for signatures."""

from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
CodeArray: TypeAlias = NDArray[np.int16]
BoolArray: TypeAlias = NDArray[np.bool_]
WordArray: TypeAlias = NDArray[np.uint64]
AnyArray: TypeAlias = NDArray[Any]
RandomState: TypeAlias = np.random.Generator | int | None

Axis: TypeAlias = Literal["models", "questions"]
EmptyCells: TypeAlias = Literal["keep_margins", "add_half", "add_half_all", "none"]
Missing: TypeAlias = Literal["pairwise", "global"]
MatrixOrder: TypeAlias = Literal["loading", "clusters", "threshold", "given"]
