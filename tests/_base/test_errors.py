"""The tree of errors is the one drawn at the top of the file."""

import re

import pytest

from psychollm._base import errors


def drawn() -> set[str]:
    return set(re.findall(r"\b[A-Z]\w*(?:Error|Warning)\b", errors.__doc__ or ""))


def test_every_class_is_drawn() -> None:
    defined = {name for name in vars(errors) if name.endswith(("Error", "Warning"))}
    assert drawn() - {"ValueError", "ImportError", "UserWarning", "FutureWarning"} == defined


@pytest.mark.parametrize("name", ["ShapeError", "LabelError", "CodeError", "OptionError"])
def test_input_errors_are_value_errors(name: str) -> None:
    cls = getattr(errors, name)
    assert issubclass(cls, errors.InputError)
    assert issubclass(cls, ValueError)


def test_one_name_catches_all() -> None:
    raised = [cls for name, cls in vars(errors).items() if name.endswith("Error")]
    assert all(issubclass(cls, errors.PsychollmError) for cls in raised)


def test_one_name_filters_all() -> None:
    issued = [cls for name, cls in vars(errors).items() if name.endswith("Warning")]
    assert all(issubclass(cls, errors.PsychollmWarning) for cls in issued)
