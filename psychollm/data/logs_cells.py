"""Combination of repeated answers into one score per model and question."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from psychollm._base.checks import check_choice
from psychollm._base.errors import CodeError, OptionError
from psychollm._base.types import FloatArray
from psychollm._base.wording import parameter

if TYPE_CHECKING:
    import pandas as pd

Repeats: TypeAlias = Literal["mean", "first", "majority", "keep"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """Scores and confidence of each cell (model and question), NaN if missing."""

    frame: "pd.DataFrame"  # model, question, score, confidence
    n_ties: int  # number of cells without a majority


def one_per_cell(
    frame: "pd.DataFrame", *, repeats: str | None, threshold: float | None, strict: bool
) -> Cells:
    """Return one score per model and question."""
    if repeats is not None:
        check_choice("repeats", repeats, Repeats)
    groups = frame.groupby(["model", "question"], sort=False, observed=True)
    _check_repeats(frame, repeats)
    split = (
        frame if threshold is None else frame.assign(score=_split(frame, threshold, strict=strict))
    )
    ties = 0
    if repeats == "keep":
        labels = frame["model"].astype(str) + " #" + frame["repeat"].astype(str)
        cells = split.assign(model=labels)
    elif repeats == "mean":
        means = groups[["score", "confidence"]].mean().reset_index()
        cells = (
            means
            if threshold is None
            else means.assign(score=_split(means, threshold, strict=strict))
        )
    elif repeats == "majority":
        _check_binary(split, repeats)
        cells, ties = _majority(split)
    else:
        cells = split.sort_values("repeat", kind="stable")
        cells = cells.drop_duplicates(["model", "question"]).sort_index()
    _check_binary(cells, repeats)
    return Cells(frame=cells[["model", "question", "score", "confidence"]], n_ties=ties)


def _check_repeats(frame: "pd.DataFrame", repeats: str | None) -> None:
    again = frame.duplicated(["model", "question"]).to_numpy()
    if repeats is not None or not again.any():
        return
    first = frame.iloc[int(np.flatnonzero(again)[0])]
    same = (frame["model"] == first["model"]) & (frame["question"] == first["question"])
    scores = frame[["model", "question", "score"]].drop_duplicates()
    alike = len(scores) == len(frame) - int(again.sum())
    cut = parameter("threshold", python="a threshold=")
    twice = ", each time with the same score: were rows written twice?" * alike
    msg = (
        f"model {first['model']!r} answered question {first['question']!r} {int(same.sum())} "
        f"times ({int(again.sum()):,} answers more than questions in all{twice}): "
        f"pass {parameter('repeats')}, one of 'mean' (with {cut}), 'first', 'majority', 'keep'"
    )
    raise OptionError(msg)


def _split(frame: "pd.DataFrame", threshold: float, *, strict: bool) -> FloatArray:
    score = frame["score"].to_numpy(dtype=np.float64)
    above = score > threshold if strict else score >= threshold
    return np.asarray(np.where(np.isnan(score), np.nan, above), dtype=np.float64)


def _majority(frame: "pd.DataFrame") -> tuple["pd.DataFrame", int]:
    groups = frame.groupby(["model", "question"], sort=False, observed=True)
    cells = groups[["score", "confidence"]].mean().reset_index()
    share = cells["score"].to_numpy()
    tied = share == 0.5
    winner = np.where(np.isnan(share) | tied, np.nan, share > 0.5)
    return cells.assign(score=winner), int(tied.sum())


def _check_binary(frame: "pd.DataFrame", repeats: str | None) -> None:
    score: Any = frame["score"].to_numpy(dtype=np.float64)
    graded = np.unique(score[~np.isnan(score) & (score != 0.0) & (score != 1.0)])
    if not graded.size:
        return
    shown = ", ".join(f"{value:.4g}" for value in graded[:4])
    more = ", ..." if graded.size > 4 else ""
    cause = "means of repeats" if repeats == "mean" else "scores"
    msg = (
        f"the {cause} are not all 0 or 1 ({shown}{more}): pass {parameter('threshold')}; "
        "answers above it count as right"
    )
    raise CodeError(msg)
