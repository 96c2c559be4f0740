"""Instruments of a plan, with their prompts by arm."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psychollm._base.errors import OptionError

if TYPE_CHECKING:
    from psychollm.instruments.prompt import Prompt

_ARM = re.compile(r"\w[\w .-]{0,79}")  # names of arms must be valid names of folders


def asked(name: str, table: Any, path: Path, models: Sequence[str]) -> "Iterator[Prompt]":
    """Yield the prompts of an instrument with the settings of each arm."""
    from psychollm.cli.settings import at, settings
    from psychollm.instruments.arms import in_arm
    from psychollm.instruments.instrument import instrument_class

    kind = instrument_class(name)
    blocks = table if isinstance(table, list) else [table]
    names = [_arm(name, one, path) for one in blocks]
    for place, (arm, one) in enumerate(zip(names, blocks, strict=True)):
        where = f"{path}, [study.{name}]" + (f" {arm!r}" if arm else "")
        if arm in names[:place] or (arm is None and len(blocks) > 1):
            fault = f"the arm {arm!r} occurs twice" if arm else "an arm has no name"
            msg = f'{where}: {fault}: give each [[study.{name}]] an arm = "NAME" of its own'
            raise OptionError(msg)
        whom = _models_of(arm, one, where, models)
        own = {name: value for name, value in one.items() if name not in ("arm", "models")}
        given = settings(kind, own, where, path.parent)
        with at(where):
            prompts: tuple[Prompt, ...] = kind(**given).prompts()
        yield from prompts if arm is None else in_arm(prompts, arm, whom)


def _arm(name: str, table: Any, path: Path) -> str | None:
    """Return the name of an arm, after checking that it can be a folder name."""
    arm = table.get("arm") if isinstance(table, dict) else table
    if arm is None and isinstance(table, dict):
        return None
    if not isinstance(table, dict) or not isinstance(arm, str) or not _ARM.fullmatch(arm):
        msg = (
            f"{path}, [study.{name}]: arm = {arm!r:.80} must be a name of letters, digits, "
            "spaces, dots, hyphens and underscores"
        )
        raise OptionError(msg)
    return arm


def _models_of(
    arm: str | None, table: Mapping[str, Any], where: str, models: Sequence[str]
) -> dict[str, str] | None:
    """Map the models' names in a study arm to their names in the plan; None means all models."""
    given = table.get("models")
    if given is None:
        return None
    if arm is None:
        msg = f'{where}: models belong to an arm: add arm = "NAME" to the table'
        raise OptionError(msg)
    asked = {name: name for name in given} if isinstance(given, list) else given
    if not (isinstance(asked, dict) and asked and all(one in models for one in asked.values())):
        known = ", ".join(map(str, models))
        msg = (
            f"{where}: models = {given!r:.80} must list models of the plan ({known}), or name "
            'them in a table: models = { "NAME IN THE STUDY" = "MODEL" }'
        )
        raise OptionError(msg)
    if len(set(asked.values())) < len(asked):
        msg = f"{where}: models = {given!r:.80} names a model twice"
        raise OptionError(msg)
    return asked
