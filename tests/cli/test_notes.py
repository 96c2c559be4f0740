"""What is said while something takes long, and to whom."""

import time
from functools import partial

import pytest

from psychollm.cli import notes


@pytest.mark.parametrize(
    ("terminal", "quiet", "takes", "said"),
    [
        (True, False, 0.1, "psychollm: waiting ...\r\x1b[K"),
        (True, False, 0.0, ""),
        (True, True, 0.1, ""),
        (False, False, 0.1, ""),
    ],
)
def test_busy(capsys, monkeypatch, terminal, quiet, takes, said) -> None:
    monkeypatch.setattr(notes, "at_terminal", lambda: terminal)
    with notes.busy("waiting", quiet=quiet, after=0.02):
        time.sleep(takes)
    assert capsys.readouterr().err == said


def test_busy_takes_itself_away_on_an_error(capsys, monkeypatch) -> None:
    def fail() -> None:
        with notes.busy("waiting", quiet=False, after=0.0):
            time.sleep(0.05)
            raise ValueError("no")

    monkeypatch.setattr(notes, "at_terminal", lambda: True)
    with pytest.raises(ValueError, match="no"):
        fail()
    assert capsys.readouterr().err.endswith("\r\x1b[K")


@pytest.mark.parametrize(("bars", "said"), [(True, ""), (False, "psychollm[progress]")])
def test_where_there_are_no_bars_words_stand_in(capsys, monkeypatch, bars, said) -> None:
    monkeypatch.setattr(notes, "at_terminal", lambda: True)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: bars or None)
    monkeypatch.setattr(notes, "busy", partial(notes.busy, after=0.02))
    with notes.computing(quiet=False, bars=True):
        time.sleep(0.2)
    err = capsys.readouterr().err
    assert said in err
    assert bool(err) != bars
    # A command without bars says so that it computes, whether or not bars could be shown.
    with notes.computing(quiet=False):
        time.sleep(0.2)
    assert "computing ..." in capsys.readouterr().err
