"""Columns of tables with several attempts in a row: counts of successes, or one column each."""

import re
from collections.abc import Sequence
from typing import Any

from psychollm._base.frames import SCORES, is_called

_SUCCESSES = ("successes", "n_successes", "num_successes", "n_correct", "num_correct", "n_passed")
_TRIALS = (
    "trials", "n_trials", "num_trials", "attempts", "n_attempts", "num_attempts", "tries",
    "n_samples", "num_samples", "n",
)  # fmt: skip
_NUMBERED = re.compile(r"(try|attempt|trial|run|repeat|epoch|sample)[\W_]*(\d+)")
_NEVER_MODELS = {"try", "attempt", "trial"}  # "run 1" may also be the name of a model


def counts_in(header: Sequence[Any]) -> tuple[Any, Any] | None:
    """Return the columns of successes and attempts, if no column has a recognised name for scores.

    Examples
    --------
    >>> counts_in(["model", "task", "Successes", "trials"]), counts_in(["model", "n"])
    (('Successes', 'trials'), None)
    """
    if any(is_called(name, SCORES) for name in header):
        return None
    found = [
        [name for name in header if isinstance(name, str) and _plain(name) in names]
        for names in (_SUCCESSES, _TRIALS)
    ]
    return (found[0][0], found[1][0]) if [len(one) for one in found] == [1, 1] else None


def tries_in(header: Sequence[Any], *, models: bool = True) -> tuple[Any, ...]:
    """Return the columns that contain one attempt each, in order: at least two columns, or none.

    Without `models`, names that may also be names of models, such as "run 1", do not count as
    attempts.

    Examples
    --------
    >>> tries_in(["model", "task", "try2", "try1"]), tries_in(["task", "run 1", "run 2"])
    (('try1', 'try2'), ('run 1', 'run 2'))
    """
    if any(is_called(name, SCORES) for name in header):
        return ()
    found: dict[str, dict[int, Any]] = {}
    for name in header:
        number = _NUMBERED.fullmatch(name.strip().lower()) if isinstance(name, str) else None
        if number and (models or number[1] in _NEVER_MODELS):
            found.setdefault(number[1], {})[int(number[2])] = name
    several = [tries for tries in found.values() if len(tries) > 1]
    return tuple(several[0][place] for place in sorted(several[0])) if len(several) == 1 else ()


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", "_", name.strip().lower())
