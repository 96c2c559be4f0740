"""``psychollm doctor``: what it says is so."""

import json
from importlib.metadata import version

import pytest

from psychollm.cli import main
from psychollm.cli.doctor import NOT_FOR_USERS, installed, needed, told


def test_it_tells_what_is_there_and_how_fast(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["packages"]["numpy"] == version("numpy")
    assert {"plot", "io", "logs", "collect", "bayes"} <= set(found["extras"])
    assert not NOT_FOR_USERS & set(found["extras"])
    assert found["machine"]["cores"] >= 1
    assert 0 < found["speed"]["seconds"] <= found["speed"]["first seconds"] + 1


def test_it_is_read_by_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--no-speed"]) == 0
    text = capsys.readouterr().out
    assert f"numpy         {version('numpy')}" in text
    assert "microseconds" not in text


def test_what_is_missing_comes_with_its_remedy() -> None:
    found = {
        "psychollm": "1",
        "python": "3",
        "platform": "p",
        "packages": {"numpy": None},
        "extras": {"bayes": {"pymc": None, "arviz": "1.0"}},
        "machine": {},
    }
    text = told(found)
    assert "numpy         missing" in text
    assert 'bayes         missing pymc: pip install "psychollm[bayes]"' in text
    assert installed("no-such-package") is None


def test_extras_are_those_of_the_package() -> None:
    packages = needed()
    assert {"numpy", "scipy", "numba", "pandas", "joblib"} <= set(packages[""])
    assert "matplotlib" in packages["plot"]
    assert all(packages.values())
