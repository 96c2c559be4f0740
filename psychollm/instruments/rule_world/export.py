"""Items on disk: one JSON object a line, with the prompt, the right answer and why."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from psychollm.instruments.rule_world.instrument import RuleWorld


def item_records(world: RuleWorld) -> Iterator[dict[str, Any]]:
    """Yield what can be written of every item: its prompt and its parts."""
    for item, prompt in zip(world.items, world.prompts(), strict=False):
        yield {**item.to_dict(), "prompt": prompt.to_dict()}


def write_items(world: RuleWorld, path: str | Path) -> int:
    """Write the items of an instrument as JSON lines; return how many.

    Parameters
    ----------
    world : RuleWorld
        The items.
    path : path
        Written anew, in UTF-8.

    Raises
    ------
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_items(RuleWorld(n=10, seed=1), Path(folder) / "items.jsonl")
    10
    """
    records = list(item_records(world))
    lines = [json.dumps(record, ensure_ascii=False) for record in records]
    Path(path).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
    return len(records)
