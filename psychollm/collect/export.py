"""Conversion of the contents of a store to tables.

A table has one row per request, with the prompt, the outcome, and the valid reply. If a request
has no answer, its text is missing.
"""

import json
import sqlite3
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from psychollm._base.csv_text import write_table
from psychollm.collect.store import Store
from psychollm.instruments.arms import arm_of, label_of
from psychollm.instruments.prompt import Prompt
from psychollm.instruments.stages.replied import Replied

if TYPE_CHECKING:
    import pandas as pd

Row: TypeAlias = Mapping[str, Any] | sqlite3.Row  # cells by name of the column

REPLIES = """
SELECT request.model AS model, prompt_key, item, repeat, sample, state, prompt,
       request.canonical AS canonical, request.key AS key, follows,
       text, reasoning, finish_reason, yes_mass, no_mass, sequence_logprob, sequence_tokens,
       served_model, provider, fingerprint,
       input_tokens, output_tokens, reasoning_tokens, cost, started, seconds, sent, wire,
       (SELECT count(*) FROM attempt AS every WHERE every.request = request.id) AS attempts,
       (SELECT kind FROM attempt AS latest WHERE latest.request = request.id
        ORDER BY latest.id DESC LIMIT 1) AS latest_kind
FROM request LEFT JOIN attempt ON attempt.id = request.answer
WHERE superseded = 0 ORDER BY request.id
"""
# Columns that instruments need; request bodies and costs are omitted.
_SAID = """
SELECT request.model AS model, sample, state, prompt, request.key AS key,
       text, reasoning, finish_reason, sequence_logprob, sequence_tokens, output_tokens
FROM request LEFT JOIN attempt ON attempt.id = request.answer
WHERE superseded = 0 ORDER BY request.id
"""
_SOME = "AND request.model = ? AND item IN (SELECT value FROM json_each(?)) ORDER BY request.id"
_COLUMNS = (
    "model", "prompt_key", "item", "repeat", "sample", "state", "text", "reasoning",
    "finish_reason", "yes_mass", "no_mass", "sequence_logprob", "sequence_tokens",
    "served_model", "provider", "fingerprint",
    "input_tokens", "output_tokens", "reasoning_tokens", "cost", "started", "seconds",
    "attempts", "failure", "key",
)  # fmt: skip


def replies(
    store: Store, *, model: str | None = None, items: Collection[str] = ()
) -> Iterator[tuple[Prompt, Mapping[str, Any]]]:
    """Yield each request of a store as its prompt and a row of `to_frame`.

    An instrument parses a row whose text is not None with ``instrument.read(prompt, row["text"],
    finish_reason=row["finish_reason"])``.

    Parameters
    ----------
    store : Store
        Store with the requests and replies of a run.
    model : str, optional
        Name of a model; only requests to this model about `items` are returned. By default, all
        requests are returned.
    items : collection of str
        Labels of questions; they are used only with `model`.

    Examples
    --------
    >>> with Store(getfixture("tmp_path") / "run.sqlite") as store:
    ...     list(replies(store))
    []
    """
    query, values = REPLIES, tuple[str, ...]()
    if model is not None:
        query, values = (
            REPLIES.replace("ORDER BY request.id", _SOME),
            (model, json.dumps(sorted(items))),
        )
    for row in store.rows(query, values):
        table = {name: row[name] for name in _COLUMNS if name != "failure"}
        table["failure"] = None if row["state"] == "answered" else row["latest_kind"]
        yield prompt_of(row["prompt"]), table


def said(store: Store) -> Iterator[tuple[Prompt, Row]]:
    """Yield the prompt of each request with the columns that instruments need."""
    for row in store.rows(_SAID):
        yield prompt_of(row["prompt"]), row


@lru_cache(maxsize=1 << 15)
def prompt_of(text: str) -> Prompt:
    """Return the prompt that a JSON text describes, from a cache because models share prompts."""
    return Prompt.from_dict(json.loads(text))


def replied(store: Store, *, arm: str | None = None) -> list[Replied]:
    """Return all requests of a store as input of `psychollm.instruments.stages`.

    Parameters
    ----------
    store : Store
        Store with the requests and replies of a run.
    arm : str, optional
        Name of one arm of the study; its models then have the names used in the study. By default,
        all arms are returned.

    Examples
    --------
    >>> with Store(getfixture("tmp_path") / "run.sqlite") as store:
    ...     replied(store)
    []
    """
    return [
        Replied(
            model=row["model"] if arm is None else label_of(prompt, row["model"]),
            prompt=prompt,
            text=row["text"],
            reasoning=row["reasoning"] or "",
            finish_reason=row["finish_reason"],
            run=row["sample"] + 1,
            tokens=row["output_tokens"],
        )
        for prompt, row in said(store)
        if arm is None or arm_of(prompt) == arm
    ]


def to_frame(store: Store) -> "pd.DataFrame":
    """Return a data frame with one row per request.

    Parameters
    ----------
    store : Store
        Store with the requests and replies of a run.

    Examples
    --------
    >>> with Store(getfixture("tmp_path") / "run.sqlite") as store:
    ...     to_frame(store).columns[:4].tolist()
    ['model', 'prompt_key', 'item', 'repeat']
    """
    import pandas as pd

    frame = pd.DataFrame([row for _, row in replies(store)], columns=list(_COLUMNS))
    counts = ("input_tokens", "output_tokens", "reasoning_tokens", "sequence_tokens")
    numbers = ("yes_mass", "no_mass", "sequence_logprob")
    return frame.astype(dict.fromkeys(counts, "Int64") | dict.fromkeys(numbers, float))


def export(store: Store, path: Path) -> int:
    """Write one row per request to a CSV or Parquet file; return the number of rows.

    Parameters
    ----------
    store : Store
        Store with the requests and replies of a run.
    path : Path
        Output file with the suffix ``.csv`` or ``.parquet``.

    Raises
    ------
    InputError
        If the file has another suffix, or cannot be written.
    MissingPackageError
        If the file is Parquet and pyarrow is not installed.

    Examples
    --------
    >>> folder = getfixture("tmp_path")
    >>> with Store(folder / "run.sqlite") as store:
    ...     export(store, folder / "replies.csv")
    0
    """
    frame = to_frame(store)
    write_table(frame, path)
    return len(frame)
