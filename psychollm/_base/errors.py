"""Every error and warning of the library.

::

    Exception
     └─ PsychollmError                 base of all errors that we raise on purpose
         ├─ InputError (ValueError)    an argument that cannot be used
         │   ├─ ShapeError             wrong dimensions, too few models or questions
         │   ├─ LabelError             duplicated, missing or mismatched labels
         │   ├─ CodeError              values that are not admissible codes
         │   ├─ OptionError            an option that does not exist, or two that clash
         │   └─ SparseError            a sparse table where a dense one is needed
         └─ MissingPackageError (ImportError)   an optional package is not installed

    UserWarning
     └─ PsychollmWarning               base of all our warnings
         ├─ ConvergenceWarning         an iteration ended before its tolerance was met
         ├─ EmptyCellWarning           pairs whose 2 x 2 table has an empty cell
         ├─ ValidityWarning            respondents that the validity screen would flag
         └─ RenamedWarning             an old name or argument that a later version drops

Messages name the argument, the value or label at fault, and the remedy.
"""

from psychollm._base import wording


class PsychollmError(wording.Worded, Exception):
    """Base class of all errors raised on purpose."""


class InputError(PsychollmError, ValueError):
    """Error for an argument that cannot be used."""


class ShapeError(InputError):
    """Error for wrong dimensions, or for too few models or questions."""


class LabelError(InputError):
    """Error for duplicated, missing or mismatched labels."""


class CodeError(InputError):
    """Error for values that are not admissible codes."""


class OptionError(InputError):
    """Error for an option that does not exist, or for options that exclude each other."""


class SparseError(InputError):
    """Error for a sparse table where a dense one is needed."""


class MissingPackageError(PsychollmError, ImportError):
    """Error for an optional package that is not installed."""

    def __init__(self, message: str = "", *, name: str | None = None) -> None:
        super().__init__(message)
        self.name = name


class PsychollmWarning(wording.Worded, UserWarning):
    """Base class of all warnings."""


class ConvergenceWarning(PsychollmWarning):
    """Warning that an iteration ended before its tolerance was met."""


class EmptyCellWarning(PsychollmWarning):
    """Warning about pairs whose 2 x 2 table has an empty cell."""


class ValidityWarning(PsychollmWarning):
    """Warning about respondents that the validity screen would flag."""


class RenamedWarning(PsychollmWarning, FutureWarning):
    """Warning about an old name or argument that a later version drops."""
