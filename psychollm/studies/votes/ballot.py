"""Parse votes: find their columns and convert values to numbers."""

import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.checks import float_array, is_missing_value, shown
from psychollm._base.errors import CodeError, InputError, LabelError, OptionError, ShapeError
from psychollm._base.frames import in_pandas, long_table
from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm._base.wording import parameter
from psychollm.data.engines import header_in, read_columns
from psychollm.data.labels import Labels, listed
from psychollm.data.readers.votes_file import is_path, read_votes
from psychollm.data.votes import GAMES, ONE_HOT, PROMPTS, UNSIDED, VOTERS, WINNERS, sides_in
from psychollm.studies.votes.columns import column_of, covariates_of

if TYPE_CHECKING:
    import pandas as pd

_WORDS = {
    0: "left|model a|model 1|model1|system a|system 1|system1|model left|first|option a|chosen|"
    "winner model a",
    1: "tie|tie bothbad|tie both bad|bothbad|both bad|both good|draw|tied|equal|same|winner tie",
    2: "right|model b|model 2|model2|system b|system 2|system2|model right|second|option b|"
    "rejected|winner model b",
}
_LETTERS = {"a": 0, "b": 2}
OUTCOMES = {word: side for side, words in _WORDS.items() for word in words.split("|")}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ballot:
    """Votes with integer codes, in the order of the input, and the labels of the codes."""

    left: IntArray  # (votes,)
    right: IntArray
    wins: FloatArray  # (3, votes)
    voter: IntArray  # (votes,) empty if voters are unknown
    prompt: IntArray  # (votes,) empty if prompts are unknown
    kind: IntArray  # (votes,) kind of the voter; empty if there is only one
    x: FloatArray  # (votes, covariates)
    models: Labels
    voters: Labels
    prompts: Labels
    kinds: Labels
    covariates: tuple[str, ...]
    sided: bool  # whether the model on the left is known
    n_without: int  # number of rows without a winner


def ballot_of(
    votes: Any,
    *,
    left: Any,
    right: Any,
    winner: Any,
    voter: Any,
    kind: Any,
    prompt: Any,
    covariates: Any,
    weights: Any,
) -> Ballot:
    """Return votes of any format with integer codes."""
    given = {"left": left, "right": right, "winner": winner, "voter": voter, "kind": kind}
    columns = {one for one in (*given.values(), prompt, weights) if isinstance(one, str)}
    frame = _frame(_without_texts(votes, columns, covariates), given)
    frame = _games(frame)
    first, second = _sides(frame, left, right)
    sides = [column_of(frame, given, name) for given, name in ((first, "left"), (second, "right"))]
    n = len(sides[0])
    if not n:
        msg = "votes is empty: pass one row per vote"
        raise ShapeError(msg)
    codes, models = _numbered_together(sides, ("left", "right"))
    same = np.flatnonzero(codes[0] == codes[1])
    if same.size:
        label = models[codes[0][same[0]]]
        msg = (
            f"votes: row {same[0]} compares {label!r} with itself ({same.size:,} such rows): "
            "remove them"
        )
        raise LabelError(msg)
    sided = not (isinstance(first, str) and first in UNSIDED)
    wins = _wins(frame, winner, codes, models, certain=not sided)
    weight = _weights(frame, weights, n)
    wins = wins * weight
    kept = np.isfinite(wins).all(axis=0) & (wins.sum(axis=0) > 0.0)
    if not kept.any():
        msg = "votes: every winner is missing, or every weight is 0"
        raise ShapeError(msg)
    names = dict.fromkeys(map(str, (first, second, winner)))
    who, voters = _optional(frame, voter, "voter", VOTERS, names, n, kept)
    asked, prompts = _optional(frame, prompt, "prompt", PROMPTS, names, n, kept)
    of, kinds = _optional(frame, kind, "kind", (), names, n, kept)
    x, named = covariates_of(frame, covariates, (first, second), n)
    models, (one, other) = _used(models, [side[kept] for side in codes])
    return Ballot(
        left=one, right=other, wins=wins[:, kept], voter=who, prompt=asked, kind=of, x=x[kept],
        models=models, voters=voters, prompts=prompts, kinds=kinds, covariates=named,
        sided=sided, n_without=int(np.isnan(wins).any(axis=0).sum()),
    )  # fmt: skip


def _without_texts(votes: Any, named: AbstractSet[str], covariates: Any) -> Any:
    """Read only the required columns of a table that is read in batches.

    All other columns are kept without their values, so that error messages can name them.
    """
    import pandas as pd

    header = header_in(votes)
    if header is None:
        return votes
    of_sides = [*(sides_in(header) or ())]
    wanted = {*named, *of_sides, *WINNERS, *VOTERS, *PROMPTS, *ONE_HOT, *GAMES}
    parts = [covariates] if isinstance(covariates, str) else list(covariates)
    if isinstance(covariates, Mapping):
        values = [one if isinstance(one, tuple) else (one,) for one in covariates.values()]
        wanted |= {one for pair in values for one in pair if isinstance(one, str)}
    read = [one for one in header if one in wanted or any(part in one for part in parts)]
    frame = read_columns(votes, read or header[:1])
    empty = pd.Categorical.from_codes(np.full(len(frame), -1), dtype=pd.CategoricalDtype([]))
    return frame.assign(**dict.fromkeys({*header} - {*frame}, empty))[header]


def _frame(votes: Any, given: Mapping[str, Any]) -> "pd.DataFrame | None":
    """Return votes as a pandas table; None if every column is an array."""
    import pandas as pd

    if votes is None:
        absent = [name for name in ("left", "right") if given[name] is None]
        if absent or isinstance(given["left"], str):
            msg = (
                "votes=None needs arrays: pass left=, right= and winner= with one value per "
                "vote, or a table of votes"
            )
            raise InputError(msg)
        return None
    if is_path(votes):
        votes = read_votes(votes)
    if isinstance(votes, Mapping):
        votes = pd.DataFrame(dict(votes))
    votes = in_pandas(votes)
    if not hasattr(votes, "iloc"):
        try:
            rows = votes if isinstance(votes, np.ndarray) else [tuple(row) for row in votes]
            width = {len(row) for row in rows}
        except TypeError:
            width = set()
        if width not in ({3}, {4}, {5}):
            msg = (
                f"votes is a {type(votes).__name__}: pass a table with one row per vote, or "
                "rows of left, right, winner and, if known, voter and prompt"
            )
            raise InputError(msg)
        names = ["left", "right", "winner", "voter", "prompt"][: width.pop()]
        votes = pd.DataFrame(list(map(list, rows)), columns=names).infer_objects()
    return long_table(votes, [], argument="votes", row="vote").reset_index(drop=True)


def _games(frame: "pd.DataFrame | None") -> "pd.DataFrame | None":
    """Split each row of two games with swapped sides (MT-bench format) into two rows."""
    import pandas as pd

    if frame is None or "winner" in frame or not {*GAMES, "model_1", "model_2"} <= {*frame}:
        return frame
    rest = [name for name in frame if name not in GAMES]
    second = {"model_1": "model_2", "model_2": "model_1"}
    swapped = (
        frame[rest]
        .rename(columns=second)
        .assign(winner=frame[GAMES[1]].map(lambda word: second.get(word, word)))
    )
    return pd.concat([frame[rest].assign(winner=frame[GAMES[0]]), swapped], ignore_index=True)


def _sides(frame: "pd.DataFrame | None", left: Any, right: Any) -> tuple[Any, Any]:
    if left is not None and right is not None:
        return left, right
    if (left is None) != (right is None):
        given, lacks = ("left", "right") if right is None else ("right", "left")
        msg = f"{parameter(given)} needs {parameter(lacks)}: name the columns of both sides"
        raise OptionError(msg)
    header = [] if frame is None else list(frame.columns)
    pair = sides_in(header)
    if pair is not None:
        return pair
    how = parameter(
        "columns",
        python="left= and right=, as in left='model_a', right='model_b'",
        command="{} left=COLUMN,right=COLUMN,winner=COLUMN",
    )
    msg = f"votes: no columns of two models found among {listed(header)}; pass {how}"
    raise LabelError(msg)


def _numbered_together(
    columns: Sequence["pd.Series[Any]"], names: Sequence[str]
) -> tuple[list[IntArray], Labels]:
    """Return integer codes of several columns, and their common labels."""
    import pandas as pd

    number: dict[Any, int] = {}
    found = []
    for column, name in zip(columns, names, strict=True):
        if len(column) != len(columns[0]):
            msg = f"{name} has {len(column):,} values but {names[0]} has {len(columns[0]):,}"
            raise ShapeError(msg)
        codes, labels = pd.factorize(column)
        if (codes < 0).any():
            row = int(np.argmax(codes < 0))
            msg = (
                f"votes: row {row} has no model in {name} ({(codes < 0).sum():,} such rows): "
                "remove them, or name the model"
            )
            raise LabelError(msg)
        own = [number.setdefault(one, len(number)) for one in _plain(labels)]
        found.append(np.array(own, dtype=np.int64)[codes])
    return found, tuple(number)


def _plain(labels: Any) -> list[Any]:
    """Return labels as Python objects; whole floats among missing values become integers."""
    plain = [one.item() if isinstance(one, np.generic) else one for one in list(labels)]
    if plain and all(isinstance(one, float) and one.is_integer() for one in plain):
        return [int(one) for one in plain]
    return plain


def _used(models: Labels, codes: list[IntArray]) -> tuple[Labels, list[IntArray]]:
    """Drop models without votes."""
    there = np.unique(np.concatenate(codes))
    place = np.searchsorted(there, np.arange(len(models)))
    return tuple(models[one] for one in there), [place[one] for one in codes]


def _optional(
    frame: "pd.DataFrame | None",
    given: Any,
    argument: str,
    known: Sequence[str],
    taken: Mapping[str, Any],
    n: int,
    kept: BoolArray,
) -> tuple[IntArray, Labels]:
    """Return integer codes of optional labels; each missing label gets a code of its own."""
    import pandas as pd

    if given is None and frame is not None:
        given = next((name for name in known if name in frame and name not in taken), None)
    if given is None:
        return np.empty(0, dtype=np.int64), ()
    column = column_of(frame, given, argument)
    if len(column) != n:
        msg = f"{argument} has {len(column):,} values for {n:,} votes: pass one per vote"
        raise ShapeError(msg)
    try:
        codes, labels = pd.factorize(column[kept])
    except TypeError as error:
        msg = f"{argument} contains {shown(column.iloc[0])}: labels must be text or numbers"
        raise LabelError(msg) from error
    if (codes < 0).all():
        return np.empty(0, dtype=np.int64), ()
    named = [*_plain(labels)]
    gaps = codes < 0
    if gaps.any():  # a missing label may be a different voter or prompt each time
        codes = codes.copy()
        codes[gaps] = len(named) + np.arange(gaps.sum())
        named += [f"unknown {i + 1}" for i in range(gaps.sum())]
    return codes.astype(np.int64), tuple(named)


def _wins(
    frame: "pd.DataFrame | None",
    winner: Any,
    codes: Sequence[IntArray],
    models: Labels,
    *,
    certain: bool,
) -> FloatArray:
    """Return the weight of left, tie and right (3, votes); NaN if the winner is missing."""
    n = codes[0].size
    if winner is None:
        header = () if frame is None else tuple(frame.columns)
        if certain:
            return np.stack([np.ones(n), np.zeros(n), np.zeros(n)])
        if frame is not None and all(name in header for name in ONE_HOT):
            return np.stack([float_array(frame[name], f"column {name!r}") for name in ONE_HOT])
        winner = next((name for name in WINNERS if name in header), None)
        if winner is None:
            how = parameter(
                "columns",
                python="winner=",
                command="{} left=COLUMN,right=COLUMN,winner=COLUMN",
            )
            msg = (
                f"votes: no column of winners found among {listed(header)}; pass {how} with the "
                "values 'left', 'right', 'tie' or the name of a model"
            )
            raise LabelError(msg)
    column = column_of(frame, winner, "winner")
    if len(column) != n:
        msg = f"winner has {len(column):,} values for {n:,} votes: pass one per vote"
        raise ShapeError(msg)
    return outcomes(column, codes[0], codes[1], models)


def outcomes(
    column: "pd.Series[Any]", left: IntArray, right: IntArray, models: Labels
) -> FloatArray:
    """Convert outcomes (words, names or numbers) to weights of left, tie and right (3, votes)."""
    import pandas as pd

    values, labels = pd.factorize(column)
    plain = [one.item() if isinstance(one, np.generic) else one for one in list(labels)]
    place = {model: i for i, model in enumerate(models)}
    side = np.full(len(plain) + 1, -1)  # -1 for no side; the last entry is for missing values
    model = np.full(len(plain) + 1, -2)
    for i, one in enumerate(plain):
        word = re.sub(r"[\W_]+", " ", one.strip().lower()).strip() if isinstance(one, str) else one
        named = one in place
        if isinstance(word, str) and word in OUTCOMES:
            side[i] = OUTCOMES[word]
            if named:
                msg = (
                    f"winner {one!r} is both a side and a model: rename the model, or "
                    "pass 1 for left and 0 for right"
                )
                raise LabelError(msg)
        elif named:
            model[i] = place[one]
        elif isinstance(word, str) and word in _LETTERS:
            side[i] = _LETTERS[word]
    absent = np.array([isinstance(one, str) and not one.strip() for one in plain] + [True])
    gap = absent[values]
    found = side[values]
    found = np.where(model[values] == left, 0, np.where(model[values] == right, 2, found))
    if (gap | (found >= 0)).all():
        wins = np.zeros((3, left.size))
        wins[np.maximum(found, 0), np.arange(left.size)] = 1.0
        wins[:, gap] = np.nan
        return wins
    shares = _shares(plain, side[:-1])
    if shares is not None:
        return np.stack([*shares[:, values]])
    row = int(np.argmax(~gap & (found < 0)))
    msg = (
        f"votes: row {row} has the winner {shown(plain[values[row]])}, not one of its models "
        f"{models[left[row]]!r} and {models[right[row]]!r}: use 'left', 'right', 'tie', the name "
        "of the model, or a number from 1 for left to 0 for right, or from 1 for left to 2 for "
        "right"
    )
    raise CodeError(msg)


def _shares(plain: Sequence[Any], side: IntArray) -> FloatArray | None:
    """Return the weights of numeric codes (3, values + 1); NaN if missing, None if invalid."""
    try:
        number = np.array(
            [np.nan if is_missing_value(one) or one == "" else float(one) for one in plain]
        )
    except (TypeError, ValueError):
        return None
    known = number[np.isfinite(number)]
    if (side >= 0).any() or not known.size or np.isinf(number).any():
        return None
    low, high = known.min(), known.max()
    if low >= 0.0 and high <= 1.0:
        share = number
    elif low >= 1.0 and high <= 2.0:
        share = 2.0 - number
    else:
        return None
    share = np.append(share, np.nan)
    ties = np.zeros(share.size)
    if np.isin(share[np.isfinite(share)], (0.0, 0.5, 1.0)).all():
        ties = np.where(share == 0.5, 1.0, 0.0)
    return np.stack([share * (1.0 - ties), ties, (1.0 - share) * (1.0 - ties)])


def _weights(frame: "pd.DataFrame | None", weights: Any, n: int) -> FloatArray:
    if weights is None:
        return np.ones(n)
    found = float_array(column_of(frame, weights, "weights"), "weights")
    if found.size != n:
        msg = f"weights has {found.size:,} values for {n:,} votes: pass one per vote"
        raise ShapeError(msg)
    wrong = ~(np.isfinite(found) & (found >= 0.0))
    if wrong.any():
        row = int(np.argmax(wrong))
        msg = f"weights: row {row} has {found[row]:g}: weights must be finite and at least 0"
        raise CodeError(msg)
    return found
