"""``psychollm study RUN.sqlite``: the study that fits the instruments of a store."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from psychollm._base.errors import InputError
from psychollm.cli.settings import Settings

if TYPE_CHECKING:
    from psychollm.collect.readings import Readings
    from psychollm.collect.store import Store

    Run = Callable[[Settings, Readings], int]


def run(settings: Settings) -> int:
    """Read the store, and run the study of what it holds."""
    from psychollm.cli.notes import busy
    from psychollm.collect.readings import readings
    from psychollm.collect.store import Store

    assert settings.confidence is not None  # noqa: S101 -- `settings_of` has seen to it
    with (
        busy("reading the replies", quiet=settings.quiet),
        Store(settings.confidence, create=False) as store,
    ):
        name = _chosen(store, settings.instrument)
        said = readings(store, instrument=name)
    return _studies()[name](settings, said)


def _chosen(store: "Store", asked: str | None) -> str:
    """Return the instrument to study: the one asked for, or the only one that has a study."""
    from psychollm.collect.readings import instruments_in

    found = instruments_in(store)
    fits = [name for name in found if name in _studies()]
    name = (asked or "").replace("-", "_")
    if name in fits:
        return name
    if not asked and len(fits) == 1:
        return fits[0]
    held = ", ".join(found) or "nothing"
    if not fits:
        msg = f"{store.path} holds {held}: there is a study of {', '.join(_studies())} only"
        if found:
            msg += f"; 'psychollm score {store.path}' scores what is there"
        raise InputError(msg)
    msg = f"{store.path} holds {held}: choose one with --instrument {'|'.join(fits)}"
    raise InputError(msg)


def _studies() -> "dict[str, Run]":
    from psychollm.cli.store_plain import STUDIES, study_plain
    from psychollm.cli.store_prediction import study_prediction

    return {"self_prediction": study_prediction, **dict.fromkeys(STUDIES, study_plain)}
