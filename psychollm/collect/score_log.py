"""Replies of a store as a record of scores, as `psychollm.read_scores` makes one of logs."""

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from psychollm._base.errors import InputError
from psychollm.collect.readings import instruments_in, readings
from psychollm.collect.store import Store
from psychollm.data.logs import COLUMNS
from psychollm.data.logs_result import ScoreLog

_STATED = ("confidence", "percent", "verbal", "said")  # confidences, the finest first


def read_store(path: str | PathLike[str], *, instrument: str | None = None) -> ScoreLog:
    """Read the replies of a store as a record of scores: who was right, and how sure it was.

    Parameters
    ----------
    path : path
        The store of a run; nothing is asked.
    instrument : str, optional
        Whose prompts; needed where the store holds several whose answers are right or wrong.

    Returns
    -------
    ScoreLog
        Confidence is what a model stated: its wager, percentage, phrase, or yes and no as 1 and 0.

    Raises
    ------
    InputError
        If no answers of the store are right or wrong, or those of several instruments are.
    StoreError
        If there is nothing to read.
    LabelError
        If a prompt names no instrument, there are several and none is chosen, or one key stands
        for several prompts.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "run.sqlite"
    >>> with Store(path):
    ...     pass
    >>> read_store(path)
    Traceback (most recent call last):
    psychollm._base.errors.InputError: ...run.sqlite holds nothing: there is nothing to compare ...
    """
    import pandas as pd

    file = Path(path)
    found: dict[str, pd.DataFrame] = {}
    with Store(file, create=False) as store:
        held = list(instruments_in(store))
        for name in held if instrument is None else [instrument.replace("-", "_")]:
            scores = readings(store, instrument=name).pooled_scores()
            frames = [one.to_frame(model) for model, one in scores.items()]
            if frames and {"question", "correct"} <= set(frames[0]):
                found[name] = pd.concat(frames, ignore_index=True)
    if len(found) != 1:
        msg = f"{file} holds {', '.join(held) or 'nothing'}: " + (
            f"choose one with instrument=, of {', '.join(found)}"
            if found
            else "there is nothing to compare with right answers"
        )
        raise InputError(msg)
    name, rows = found.popitem()
    return ScoreLog(
        frame=_record(rows, name, str(file)),
        scorers={name: ""},
        filters={name: ""},
        n_logs=1,
        left_out=(),
        notes=(),
    )


def _record(rows: Any, name: str, source: str) -> Any:
    """Return the frame of a score log; what is known of questions beside it stays."""
    stated = next((one for one in _STATED if one in rows and rows[one].notna().any()), None)
    frame = rows.rename(columns={"correct": "score"}).assign(
        task=name,
        repeat=rows["repeat"] + 1 if "repeat" in rows else 1,
        scorer="",
        filter="",
        error=np.where(rows["correct"].isna(), "no answer could be read", ""),
        confidence=np.nan if stated is None else rows[stated],
        format="psychollm",
        source=source,
    )
    about = [one for one in ("domain",) if one in frame]
    return frame[[*COLUMNS, *about]]
