"""Names of columns in tables of votes on pairs of models."""

import re
from collections.abc import Sequence
from typing import Any

# Common column names of the two sides; the first of each pair is the left side.
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
# Further names of the two sides, such as system1 and system2.
_SIDED = re.compile(r"(model|system|generator|llm|agent|player)[\W_]*(1|a|left|2|b|right)")
_OTHER = {"1": "2", "a": "b", "left": "right"}
UNSIDED = {"chosen", "chosen_model"}  # columns that name the winner on either side
WINNERS = ("winner", "preference", "outcome", "vote", "result", "label", "score")
VOTERS = ("voter", "worker", "judge", "annotator", "user", "rater", "evaluator", "person")
PROMPTS = ("prompt", "prompt_id", "question_id", "question", "instruction", "task", "item")
ONE_HOT = ("winner_model_a", "winner_tie", "winner_model_b")
GAMES = ("g1_winner", "g2_winner")
_NAMED = {*ONE_HOT, *GAMES, *WINNERS}
_CLEAR = {"winner", "preference", "vote"}
# Arguments of `bradley_terry` that name a column.
COLUMNS_OF_VOTES = ("left", "right", "winner", "voter", "kind", "prompt", "weights")
# Tables of scores may have columns with these names, too; only the columns below indicate votes.
_UNSURE = {("baseline", "model"): {"winner", "preference"}}
OF_VOTES = (
    "it contains votes between two models, but columns of models, questions and scores are "
    "needed here"
)


def sides_in(header: Sequence[Any]) -> tuple[Any, Any] | None:
    """Return the columns of the left and the right model, identified by their names.

    Examples
    --------
    >>> sides_in(["vote", "model_b", "model_a"]), sides_in(["System 1", "System 2", "vote"])
    (('model_a', 'model_b'), ('System 1', 'System 2'))
    """
    for pair in SIDES:
        if all(name in header for name in pair):
            return pair
    sides = {
        (found[1], found[2]): name
        for name in header
        if isinstance(name, str) and (found := _SIDED.fullmatch(name.strip().lower()))
    }
    for (noun, side), name in sides.items():
        other = sides.get((noun, _OTHER.get(side, "")))
        if other is not None:
            return name, other
    return None


def are_votes(header: Sequence[str]) -> bool:
    """Return whether a table with the given columns contains votes on pairs of models.

    Examples
    --------
    >>> are_votes(["model_a", "model_b", "winner"]), are_votes(["model", "question", "score"])
    (True, False)
    """
    pair = sides_in(header)
    if pair is None or pair == SIDES[-1]:
        return False
    winners = _UNSURE.get(pair, _NAMED if pair in SIDES else _CLEAR)
    return not winners.isdisjoint(header) or pair[0] in UNSIDED
