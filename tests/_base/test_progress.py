"""Progress is drawn where asked for, and nowhere else."""

import sys

import pytest

from psychollm._base.errors import MissingPackageError
from psychollm._base.spread import progress_bar


def test_silent(capsys: pytest.CaptureFixture[str]) -> None:
    bar = progress_bar(show=False, total=3, label="replicates")
    bar.update(3)
    bar.close()
    assert capsys.readouterr() == ("", "")


def test_drawn_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tqdm")
    bar = progress_bar(show=True, total=3, label="replicates")
    bar.update(3)
    bar.close()
    out, err = capsys.readouterr()
    assert out == ""
    assert "replicates" in err


def test_without_tqdm_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.raises(MissingPackageError, match=r"psychollm\[progress\]"):
        progress_bar(show=True, total=1, label="replicates")
