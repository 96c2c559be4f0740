"""Old names work, warn, and do not outlive their time."""

import re
from importlib import import_module
from pathlib import Path

import pytest

import psychollm as psy
from psychollm._base.deprecation import renamed, renamed_argument
from psychollm._base.errors import PsychollmWarning, RenamedWarning

TABLE = {"tetra": ("psychollm.correlation.tetrachoric", "0.4")}


def interval(*, n_bootstrap: int = 2000, boots: int | None = None) -> int:
    if boots is not None:
        n_bootstrap = renamed_argument(boots, "boots", "n_bootstrap", gone="99.0")
    return n_bootstrap


def release(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def test_an_old_name_is_the_new_one() -> None:
    said = "psychollm.tetra is psychollm.correlation.tetrachoric now; version 0.4 drops"
    with pytest.warns(RenamedWarning, match=said) as caught:
        value = renamed("psychollm", "tetra", TABLE)
    assert value is psy.correlation.tetrachoric
    assert len(caught) == 1


def test_a_name_that_never_was_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'psychollm' has no attribute 'tetrach'"):
        renamed("psychollm", "tetrach", TABLE)


@pytest.mark.parametrize("room", sorted(set(psy._SUBMODULES) - {"errors"}))
def test_names_of_subpackages_say_where_they_are(room: str) -> None:
    exported = set(import_module(psy._SUBMODULES[room]).__all__) - set(psy.__all__)
    assert exported
    for name in exported:
        with pytest.raises(AttributeError, match=rf"it is .*psychollm\.{room}\.{name}\b"):
            getattr(psy, name)


def test_an_old_argument_is_passed_on() -> None:
    with pytest.warns(RenamedWarning, match="boots is n_bootstrap now") as caught:
        assert interval(boots=10) == 10
    assert caught[0].filename == __file__  # the line to change is the caller's


def test_the_new_argument_is_silent() -> None:
    assert interval(n_bootstrap=5) == 5


def test_everyone_sees_the_warning() -> None:
    """Python shows a FutureWarning unless told not to; a DeprecationWarning it often hides."""
    assert issubclass(RenamedWarning, FutureWarning)
    assert issubclass(RenamedWarning, PsychollmWarning)


def test_no_old_name_outlives_its_time() -> None:
    modules = ["psychollm", *psy._SUBMODULES.values()]
    tables = {name: getattr(import_module(name), "_RENAMED", {}) for name in modules}
    ends = [
        (f"{m}.{old}", gone) for m, table in tables.items() for old, (_, gone) in table.items()
    ]
    for path in Path(psy.__file__).parent.rglob("*.py"):
        calls = re.findall(
            r"= renamed_argument\(.*?gone=\"([\d.]+)\"", path.read_text("utf-8"), re.S
        )
        ends += [(path.name, gone) for gone in calls]
    assert [name for name, gone in ends if release(gone) <= release(psy.__version__)] == []
