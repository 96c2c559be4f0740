"""A subpackage whose names load their module on first use."""

import importlib
import subprocess
import sys

import pytest

from psychollm import studies


def test_a_function_keeps_its_name_where_its_folder_has_the_same() -> None:
    program = (
        "import psychollm.studies.difficulty.study, sys; import psychollm.studies as room;"
        "from psychollm.studies import difficulty; assert difficulty is room.difficulty;"
        "print(type(difficulty).__name__, difficulty.__module__)"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert found.stdout.split() == ["function", "psychollm.studies.difficulty.study"], found.stderr


def test_every_name_is_there_and_listed() -> None:
    for name in studies.__all__:
        assert getattr(studies, name).__name__ == name
        assert name in dir(studies)


def test_other_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match=r"'psychollm.studies' has no attribute 'compair'"):
        _ = studies.compair


def test_a_name_may_be_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(studies, "compare", len)
    assert importlib.import_module("psychollm.studies").compare is len
