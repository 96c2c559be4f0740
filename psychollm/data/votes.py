"""Tables of votes on pairs of models: their column names, and a reader."""

import json
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psychollm._base.errors import InputError
from psychollm._base.optional import require
from psychollm.data.readers.csv_file import header_of

if TYPE_CHECKING:
    import pandas as pd

# Common column names of the two sides: the first of each pair is shown on the left.
SIDES = (
    ("left", "right"),
    ("model_a", "model_b"),
    ("model_1", "model_2"),
    ("model_left", "model_right"),
    ("generator_1", "generator_2"),
    ("baseline", "model"),
    ("chosen_model", "rejected_model"),
    ("chosen", "rejected"),
    ("option_a", "option_b"),
    ("a", "b"),
)
UNSIDED = {"chosen", "chosen_model"}  # the winner, on either side
WINNERS = ("winner", "preference", "outcome", "vote", "result", "label", "score")
VOTERS = ("voter", "worker", "judge", "annotator", "user", "rater", "evaluator", "person")
PROMPTS = ("prompt", "prompt_id", "question_id", "question", "instruction", "task", "item")
ONE_HOT = ("winner_model_a", "winner_tie", "winner_model_b")
GAMES = ("g1_winner", "g2_winner")
_NAMED = {*ONE_HOT, *GAMES, *WINNERS}


def are_votes(header: Sequence[str]) -> bool:
    """Return whether a table with these columns holds votes on pairs of models.

    Examples
    --------
    >>> are_votes(["model_a", "model_b", "winner"]), are_votes(["model", "question", "score"])
    (True, False)
    """
    names = set(header)
    for pair in SIDES[:-1]:
        if names >= set(pair):
            return bool(names & _NAMED) or pair[0] in UNSIDED
    return False


def is_path(votes: Any) -> bool:
    """Return whether votes are a file."""
    return isinstance(votes, str | PathLike)


def header_of_votes(path: Path) -> list[str]:
    """Return the columns of a file of rows, none for other files."""
    if not path.is_file():
        return []
    end = path.suffix.lower()
    if end in {".csv", ".tsv"}:
        return header_of(path)
    if end == ".parquet":
        parquet = require("pyarrow.parquet", extra="io", purpose="reading Parquet")
        return list(parquet.read_schema(path).names)
    if end == ".jsonl":
        with path.open(encoding="utf-8") as file:
            try:
                first = json.loads(file.readline(1 << 20))
            except ValueError:
                return []
        return list(first) if isinstance(first, dict) else []
    return []


def read_votes(path: "str | PathLike[str]") -> "pd.DataFrame":
    """Read a table of votes from CSV, JSON (lines) or Parquet, keeping only known columns.

    Raises
    ------
    InputError
        If the file does not exist, or has another format.
    """
    import pandas as pd

    path = Path(path)
    if not path.is_file():
        msg = f"{path}: no such file of votes"
        raise InputError(msg)
    end = path.suffix.lower()
    try:
        if end in {".csv", ".tsv", ".gz"}:
            return pd.read_csv(
                path, sep=None if end == ".tsv" else ",", engine="python" if end == ".tsv" else "c"
            )
        if end == ".jsonl":
            return pd.read_json(path, lines=True)
        if end == ".json":
            return pd.read_json(path)
        if end == ".parquet":
            return pd.read_parquet(path)
    except (ValueError, OSError) as error:
        msg = f"{path} cannot be read as a table of votes: {error}"
        raise InputError(msg) from error
    msg = f"{path} is not a CSV, JSON, JSONL or Parquet file: convert the votes to one of these"
    raise InputError(msg)
