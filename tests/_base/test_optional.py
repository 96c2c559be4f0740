"""A missing package is named together with the extra that brings it."""

import json
import sys
from pathlib import Path

import pytest

from psychollm._base.errors import MissingPackageError
from psychollm._base.optional import require


def test_present() -> None:
    assert require("json", extra="io", purpose="this") is json


def test_absent() -> None:
    expected = r'reading Parquet needs nowhere: pip install "psychollm\[io\]"'
    with pytest.raises(MissingPackageError, match=expected) as caught:
        require("nowhere.at_all", extra="io", purpose="reading Parquet")
    assert caught.value.name == "nowhere"
    with pytest.raises(MissingPackageError, match="this needs nowhere: pip install nowhere$"):
        require("nowhere", extra="", purpose="this")
    assert isinstance(caught.value, ImportError)


def test_a_fault_inside_the_package_is_not_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "half_installed.py").write_text("import nowhere_either\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="nowhere_either") as caught:
        require("half_installed", extra="io", purpose="this")
    assert not isinstance(caught.value, MissingPackageError)
    assert "half_installed" not in sys.modules
