"""Probability of each possible verdict (for example, yes or no) in each reply.

The probabilities are computed from raw replies in the store, and no request is repeated. The
values are "yes" and "no" for a yes/no prompt, and the option letters for multiple choice. For a
number or percentage, the values are its leading digits, or all its digits if a token can contain
up to three digits.
"""

import math
import re
from typing import TYPE_CHECKING, Any

from psychollm.collect.store import Store
from psychollm.collect.wire import WIRES
from psychollm.collect.wire.probabilities import (
    MARK,
    NUMBER_MARK,
    Token,
    listed_at,
    verdict_at,
    word_of,
)
from psychollm.collect.wire.protocol import UnreadableReplyError

if TYPE_CHECKING:
    import pandas as pd

_NUMBERS = ("integer", "number", "percent", "rating")
_VALUES = {
    "yes_no": re.compile("yes|no"),
    "option": re.compile("[a-z]"),
    **dict.fromkeys(_NUMBERS, re.compile("[0-9]{1,3}")),
}
_QUERY = """
SELECT request.model AS model, prompt_key, item, repeat, sample, raw, wire,
       json_extract(prompt, '$.reply') AS reply
FROM request JOIN attempt ON attempt.id = request.answer
WHERE superseded = 0 AND (sequence_tokens IS NOT NULL OR yes_mass IS NOT NULL)
ORDER BY request.id
"""
_COLUMNS = (
    "model", "prompt_key", "item", "repeat", "sample", "reply", "value", "raw", "normalised",
    "captured", "said", "chosen", "where", "position",
)  # fmt: skip


def verdict_probabilities(store: Store) -> "pd.DataFrame":
    """Return the probability of each possible value at the position of a reply's verdict.

    Parameters
    ----------
    store : Store
        Store of a run that requested log probabilities.

    Returns
    -------
    DataFrame
        Table with one row per reply and value. ``raw`` is the total probability of all spellings
        of the value among the listed tokens. ``normalised`` is ``raw`` divided by ``captured``,
        the sum of ``raw`` over all values. ``said`` and ``chosen`` are the sampled token and its
        probability. ``where`` is "answer" if "Answer:" precedes the verdict (for a number also
        "Confidence:", "Probability:", "Rating:" or "Score:"), and "first" if the verdict begins
        the reply. ``position`` is the index of the verdict's token in the reply. Replies without
        log probabilities and replies to free-text prompts have no row.

    Examples
    --------
    >>> with Store(getfixture("tmp_path") / "run.sqlite") as store:
    ...     len(verdict_probabilities(store))
    0
    """
    import pandas as pd

    rows: list[tuple[Any, ...]] = []
    for row in store.rows(_QUERY):
        if row["reply"] not in _VALUES or row["raw"] is None:
            continue
        try:
            tokens = WIRES[row["wire"]].read(row["raw"]).tokens
        except UnreadableReplyError:  # a later version may have changed the API format
            continue
        found = verdict_at(tokens, mark=NUMBER_MARK if row["reply"] in _NUMBERS else MARK)
        if found is None:
            continue
        at, where = found
        masses = values_at(tokens[at], row["reply"])
        captured = math.fsum(masses.values())
        about = tuple(row[name] for name in _COLUMNS[:6])
        logprob = tokens[at].logprob
        chosen = math.nan if logprob is None else math.exp(logprob)
        end = (captured, tokens[at].text, chosen, where, at)
        rows += [(*about, value, mass, mass / captured, *end) for value, mass in masses.items()]
    return pd.DataFrame(rows, columns=list(_COLUMNS))


def values_at(token: Token, reply: str) -> dict[str, float]:
    """Return the probability of each value at a token, in decreasing order."""
    masses = dict.fromkeys(("yes", "no"), 0.0) if reply == "yes_no" else {}
    for text, probability in listed_at(token).items():
        word = word_of(text)
        if _VALUES[reply].fullmatch(word):
            masses[word] = masses.get(word, 0.0) + probability
    if not any(masses.values()):
        return {}
    return dict(sorted(masses.items(), key=lambda one: -one[1]))
