"""What a store holds, as tables and as records for others to read.

One row per request: what was asked, what became of it, and the reply that counts. A request
without an answer has no text; it is missing, whatever was asked.
"""

import json
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import NAMESPACE_URL, uuid5

from psychollm._base.errors import InputError
from psychollm._base.optional import require
from psychollm.collect.store import Store
from psychollm.instruments.prompt import Prompt

if TYPE_CHECKING:
    import pandas as pd

EVERY_EVAL_EVER = "0.3.0"  # version of the schema that is written

_REPLIES = """
SELECT request.model AS model, prompt_key, item, repeat, sample, state, prompt,
       request.canonical AS canonical, request.key AS key, follows,
       text, reasoning, finish_reason, yes_mass, no_mass, served_model, provider, fingerprint,
       input_tokens, output_tokens, reasoning_tokens, cost, started, seconds, sent, wire,
       (SELECT count(*) FROM attempt AS every WHERE every.request = request.id) AS attempts,
       (SELECT kind FROM attempt AS latest WHERE latest.request = request.id
        ORDER BY latest.id DESC LIMIT 1) AS latest_kind
FROM request LEFT JOIN attempt ON attempt.id = request.answer
WHERE superseded = 0 ORDER BY request.id
"""
_COLUMNS = (
    "model", "prompt_key", "item", "repeat", "sample", "state", "text", "reasoning",
    "finish_reason", "yes_mass", "no_mass", "served_model", "provider", "fingerprint",
    "input_tokens", "output_tokens", "reasoning_tokens", "cost", "started", "seconds",
    "attempts", "failure", "key",
)  # fmt: skip


def replies(store: Store) -> Iterator[tuple[Prompt, Mapping[str, Any]]]:
    """Yield each request of a store as its prompt and a row of `to_frame`.

    This is what instruments read: ``instrument.read(prompt, row["text"],
    finish_reason=row["finish_reason"])`` wherever ``row["text"]`` is not None.

    Parameters
    ----------
    store : Store
        Of a run.

    Examples
    --------
    >>> with Store(getfixture("tmp_path") / "run.sqlite") as store:
    ...     list(replies(store))
    []
    """
    for row in store.rows(_REPLIES):
        table = {name: row[name] for name in _COLUMNS if name != "failure"}
        table["failure"] = None if row["state"] == "answered" else row["latest_kind"]
        yield Prompt.from_dict(json.loads(row["prompt"])), table


def to_frame(store: Store) -> "pd.DataFrame":
    """Return one row per request.

    Parameters
    ----------
    store : Store
        Of a run.

    Examples
    --------
    >>> with Store(getfixture("tmp_path") / "run.sqlite") as store:
    ...     to_frame(store).columns[:4].tolist()
    ['model', 'prompt_key', 'item', 'repeat']
    """
    import pandas as pd

    frame = pd.DataFrame([row for _, row in replies(store)], columns=list(_COLUMNS))
    counts = ("input_tokens", "output_tokens", "reasoning_tokens")
    return frame.astype(dict.fromkeys(counts, "Int64") | {"yes_mass": float, "no_mass": float})


def export(store: Store, path: Path) -> int:
    """Write one row per request to a CSV or Parquet file; return how many.

    Parameters
    ----------
    store : Store
        Of a run.
    path : Path
        Named ``.csv`` or ``.parquet``.

    Raises
    ------
    InputError
        If the file has another name, or cannot be written.
    MissingPackageError
        If a Parquet file is asked for and pyarrow is not installed.

    Examples
    --------
    >>> folder = getfixture("tmp_path")
    >>> with Store(folder / "run.sqlite") as store:
    ...     export(store, folder / "replies.csv")
    0
    """
    frame = to_frame(store)
    try:
        if path.suffix == ".csv":
            frame.to_csv(path, index=False)
        elif path.suffix == ".parquet":
            require("pyarrow", extra="io", purpose="writing Parquet files")
            frame.to_parquet(path, index=False)
        else:
            msg = f"{path}: name it .csv or .parquet"
            raise InputError(msg)
    except OSError as error:
        msg = f"{path} cannot be written: {error.strerror}"
        raise InputError(msg) from error
    return len(frame)


def every_eval_ever(
    store: Store, folder: Path, *, name: str, grades: Mapping[str, float]
) -> tuple[Path, ...]:
    """Write graded replies as instance-level records of Every Eval Ever, a file per model.

    Parameters
    ----------
    store : Store
        Of a run.
    folder : Path
        Files go to ``data/NAME/DEVELOPER/MODEL/`` below it.
    name : str
        Of the evaluation.
    grades : mapping of str to float
        Score, from 0 to 1, by the key of the request (column ``key`` of `to_frame`); 1 is
        correct. The schema has no place for a reply without a score: requests that are not in
        the mapping, failed ones among them, are left out.

    Returns
    -------
    tuple of Path
        The files, one per model.

    References
    ----------
    EvalEval Coalition. Every Eval Ever, schema 0.3.0.

    Examples
    --------
    >>> folder = getfixture("tmp_path")
    >>> with Store(folder / "run.sqlite") as store:
    ...     every_eval_ever(store, folder, name="quiz", grades={})
    ()
    """
    records: dict[str, list[str]] = {}
    for row in store.rows(_REPLIES):
        if row["state"] == "answered" and row["key"] in grades:
            record = _record(row, name, float(grades[row["key"]]))
            records.setdefault(row["model"], []).append(json.dumps(record))
    written = []
    for model, lines in records.items():
        place = folder / "data" / _safe(name) / "psychollm" / _safe(model)
        path = place / f"{uuid5(NAMESPACE_URL, f'{name}/{model}')}_samples.jsonl"
        try:
            place.mkdir(parents=True, exist_ok=True)
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        except OSError as error:
            msg = f"{path} cannot be written: {error.strerror}"
            raise InputError(msg) from error
        written.append(path)
    return tuple(written)


def _record(row: Any, name: str, score: float) -> dict[str, Any]:
    """Return one instance-level record."""
    prompt = json.loads(row["prompt"])
    sent = json.loads(row["sent"])
    turns = sent.get("messages", [{"role": "user", "content": sent.get("prompt", "")}])
    asked = prompt["messages"][-1]["content"]
    reference = [str(one) for one in prompt.get("about", {}).get("reference", [])]
    single = row["follows"] is None
    model_id = json.loads(row["canonical"])["model_id"]
    record: dict[str, Any] = {
        "schema_version": EVERY_EVAL_EVER,
        "evaluation_id": f"{name}/{row['model']}",
        "model_id": model_id,
        "evaluation_name": name,
        "sample_id": f"{row['prompt_key']}#{row['repeat']}.{row['sample']}",
        "sample_hash": sha256((asked + "".join(reference)).encode()).hexdigest(),
        "interaction_type": "single_turn" if single else "multi_turn",
        "input": {"raw": asked, "reference": reference},
        "output": {"raw": [row["text"]]} if single else None,
        "answer_attribution": [
            {
                "turn_idx": 0 if single else len(turns),
                "source": "output.raw" if single else "messages[turn_idx].content",
                "extracted_value": row["text"],
                "extraction_method": "psychollm",
                "is_terminal": True,
            }
        ],
        "evaluation": {"score": score, "is_correct": score == 1.0},
        "performance": {"latency_ms": 1000.0 * row["seconds"]},
        "metadata": {"respondent": row["model"], "item": row["item"]},
    }
    if not single:
        whole = [*turns, {"role": "assistant", "content": row["text"]}]
        record["messages"] = [
            {"turn_idx": place, "role": turn["role"], "content": turn["content"]}
            for place, turn in enumerate(whole)
        ]
    if row["input_tokens"] is not None and row["output_tokens"] is not None:
        used = {"input_tokens": row["input_tokens"], "output_tokens": row["output_tokens"]}
        record["token_usage"] = used | {"total_tokens": sum(used.values())}
    return record


def _safe(name: str) -> str:
    """Return a name that a folder can have."""
    kept = "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in name)
    return kept.strip(".") or "_"
