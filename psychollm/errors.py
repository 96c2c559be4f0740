"""Errors and warnings that the library raises, importable by name, as warning filters require."""

from psychollm._base.errors import CodeError as CodeError
from psychollm._base.errors import ConvergenceWarning as ConvergenceWarning
from psychollm._base.errors import EmptyCellWarning as EmptyCellWarning
from psychollm._base.errors import InputError as InputError
from psychollm._base.errors import LabelError as LabelError
from psychollm._base.errors import MissingPackageError as MissingPackageError
from psychollm._base.errors import OptionError as OptionError
from psychollm._base.errors import PsychollmError as PsychollmError
from psychollm._base.errors import PsychollmWarning as PsychollmWarning
from psychollm._base.errors import RenamedWarning as RenamedWarning
from psychollm._base.errors import ShapeError as ShapeError
from psychollm._base.errors import SparseError as SparseError
from psychollm._base.errors import ValidityWarning as ValidityWarning
