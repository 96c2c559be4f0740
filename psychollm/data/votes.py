"""Names of columns in tables of votes on pairs of models."""

from collections.abc import Sequence

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
UNSIDED = {"chosen", "chosen_model"}  # columns that name the winner on either side
WINNERS = ("winner", "preference", "outcome", "vote", "result", "label", "score")
VOTERS = ("voter", "worker", "judge", "annotator", "user", "rater", "evaluator", "person")
PROMPTS = ("prompt", "prompt_id", "question_id", "question", "instruction", "task", "item")
ONE_HOT = ("winner_model_a", "winner_tie", "winner_model_b")
GAMES = ("g1_winner", "g2_winner")
_NAMED = {*ONE_HOT, *GAMES, *WINNERS}
# Arguments of `bradley_terry` that name a column.
COLUMNS_OF_VOTES = ("left", "right", "winner", "voter", "kind", "prompt", "weights")
# Tables of scores may have columns with these names, too; only the columns below indicate votes.
_UNSURE = {("baseline", "model"): {"winner", "preference"}}
OF_VOTES = (
    "it contains votes between two models, but columns of models, questions and scores are "
    "needed here"
)


def are_votes(header: Sequence[str]) -> bool:
    """Return whether a table with the given columns contains votes on pairs of models.

    Examples
    --------
    >>> are_votes(["model_a", "model_b", "winner"]), are_votes(["model", "question", "score"])
    (True, False)
    """
    names = set(header)
    for pair in SIDES[:-1]:
        if names >= set(pair):
            return bool(names & _UNSURE.get(pair, _NAMED)) or pair[0] in UNSIDED
    return False
