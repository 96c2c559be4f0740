"""Read and write the states of sessions and watches as JSON files."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psychollm._base.errors import InputError
from psychollm._base.saving.whole import whole_file

if TYPE_CHECKING:
    from os import PathLike


def write_state(path: "str | PathLike[str]", kind: str, state: Mapping[str, Any]) -> Path:
    """Write a state atomically, so that an interruption does not damage an existing file."""
    file = Path(path)
    with whole_file(file) as beside:
        beside.write(json.dumps({f"psychollm {kind}": 1, **state}).encode())
    return file


def read_state(path: "str | PathLike[str]", kind: str, bank: str) -> dict[str, Any]:
    """Return the state from a file, after checking its kind and bank."""
    file, named = Path(path), kind.title()
    try:
        state = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        msg = f"{file}: not a readable {kind}: {error}"
        raise InputError(msg) from error
    if not isinstance(state, dict) or state.get(f"psychollm {kind}") != 1:
        msg = f"{file} is not a saved {kind}: pass what {named}.save wrote"
        raise InputError(msg)
    if state.get("bank") != bank:
        msg = (
            f"{file} is a {kind} of the bank {state.get('bank')}, not of {bank}: "
            "load the bank that created it"
        )
        raise InputError(msg)
    return state
