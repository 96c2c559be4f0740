"""``psychollm warm``, and what is told while kernels are compiled."""

import json
from types import FunctionType

import numba

from psychollm.calibration import brier, cox
from psychollm.cli import main, notes, warm


def test_it_runs_the_examples_and_says_where_the_code_is_kept(capsys, monkeypatch) -> None:
    def broken() -> None:
        """Fail.

        >>> raise OSError("this machine has no such file")
        """

    def warns_of() -> None:
        """Show an error.

        >>> raise ValueError("as it should")
        Traceback (most recent call last):
        ValueError: as it should
        """

    chosen = {"brier": brier, "broken": broken, "warns_of": warns_of}
    monkeypatch.setattr(warm, "public_functions", lambda: chosen)
    assert main(["warm", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["skipped"] == ["broken"]
    assert found["examples"] == 2
    assert found["seconds"] > 0
    assert main(["warm", "--quiet"]) == 0
    out = capsys.readouterr().out
    assert "kept in" in out
    assert "broken" in out


def test_every_subpackage_that_computes_is_compiled() -> None:
    functions = warm.public_functions()
    assert cox in functions.values()
    assert {name.partition(".")[0] for name in functions} >= {
        "calibration", "correlation", "data", "factor", "irt", "nulls", "reliability", "studies"
    }  # fmt: skip


def test_compiling_is_told_once_also_where_nobody_watches(capsys) -> None:
    def kernel(x: float) -> float:
        return x + 1.0

    def of_the_library() -> FunctionType:
        copied = FunctionType(kernel.__code__, {}, "kernel")
        copied.__module__ = "psychollm.kernels.tried"
        return copied

    with notes.compilation(tell=True) as kernels:
        numba.njit(kernel)(1.0)
        assert kernels == []
        for _ in range(2):
            numba.njit(of_the_library())(1.0)
    err = capsys.readouterr().err
    assert len(kernels) == 2
    assert err.count("\n") == 1
    assert "compiling kernels.tried." in err
    assert "once on a machine" in err
    numba.njit(of_the_library())(1.0)
    assert len(kernels) == 2
