"""Traces to be coded: from a file with one a line, or from the replies of a store."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psychollm._base.errors import InputError
from psychollm.cli.settings import is_store

if TYPE_CHECKING:
    from psychollm.instruments.coding.transcripts import Transcript


def read_transcripts(path: Path) -> "tuple[Transcript, ...]":
    """Return the traces of a file of JSON lines, or of all replies of a store.

    Of a reply the trace is its reasoning, where the server sent it apart, and then its text.

    Raises
    ------
    InputError
        If the file cannot be read, or holds no trace.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "traces.jsonl"
    >>> _ = path.write_text('{"key": "a", "text": "Let me see."}')
    >>> read_transcripts(path)[0].text
    'Let me see.'
    """
    from psychollm.instruments.coding.transcripts import as_transcripts

    return as_transcripts(_of_store(path) if is_store(path) else _of_lines(path))


def _of_lines(path: Path) -> list[dict[str, Any]]:
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        msg = f"{path} cannot be read: {getattr(error, 'strerror', None) or 'it is not UTF-8'}"
        raise InputError(msg) from error
    found = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            found.append(dict(json.loads(line)))
        except (ValueError, TypeError) as error:
            msg = f"{path}, line {number}: no trace ({error})"
            raise InputError(msg) from error
    return found


def _of_store(path: Path) -> list[dict[str, Any]]:
    from psychollm.collect.export import replies
    from psychollm.collect.store import Store

    found = []
    with Store(path, create=False) as store:
        for prompt, row in replies(store):
            text = "\n\n".join(filter(None, (row["reasoning"], row["text"]))).strip()
            if text:
                run = row["sample"] + 1
                key = f"{row['model']}/{prompt.key}/{run}"
                one = {"key": key, "text": text, "model": row["model"], "item": prompt.item}
                found.append({**one, "run": run, "tokens": row["output_tokens"]})
    return found
