"""Conversion of a store's replies to a score log in the format of `psychollm.read_scores`."""

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from psychollm._base.errors import InputError
from psychollm.collect.readings import instruments_in, readings
from psychollm.collect.store import Store
from psychollm.data.logs import COLUMNS
from psychollm.data.logs_result import ScoreLog

_STATED = ("confidence", "percent", "verbal", "said")  # kinds of reports, the most precise first


def read_store(path: str | PathLike[str], *, instrument: str | None = None) -> ScoreLog:
    """Read the replies of a store as a score log of correctness and confidence.

    Parameters
    ----------
    path : path
        Store with the requests and replies of a run; no requests are sent.
    instrument : str, optional
        Name of the instrument; required if the store has graded answers of several instruments.

    Returns
    -------
    ScoreLog
        Score log with the correctness and confidence of the replies. The confidence is the model's
        report (a wager, a percentage or a phrase); yes and no count as 1 and 0.

    Raises
    ------
    InputError
        If the store has no graded answers, or graded answers of several instruments.
    StoreError
        If the store is empty.
    LabelError
        If a prompt names no instrument, if `instrument` is missing although the store has several,
        or if one key belongs to several prompts.

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
    """Return the DataFrame of a score log, with the questions' known properties as columns."""
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
