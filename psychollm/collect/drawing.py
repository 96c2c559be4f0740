"""Adaptive collection: an item bank selects questions until the score is precise enough.

A batch of questions is selected, sent, graded and recorded before the next batch is selected. The
selection depends only on the seed, the batch size and the answers, which are all in the store.
Therefore, a run that was killed and restarted selects the same questions again, finds their
answers in the store, and continues. Adaptive collection has no other state.
"""

import json
from collections.abc import Collection, Mapping
from math import nan
from typing import Any

from psychollm._base.drawing import outcome
from psychollm._base.errors import OptionError
from psychollm._base.numbers import with_interval
from psychollm.collect.adaptive import Adaptive
from psychollm.collect.export import replies
from psychollm.collect.plan import Plan
from psychollm.collect.readings import readings_of
from psychollm.collect.store import Store
from psychollm.instruments.instrument import instrument_of

_NOTE = "score of the bank: "  # key in the table `about`, followed by the model's name


class Drawing:
    """The adaptive selection of questions for one model of a plan."""

    def __init__(self, plan: Plan, adaptive: Adaptive, model: str, store: Store) -> None:
        self._plan, self._adaptive, self._model, self._store = plan, adaptive, model, store
        self._session = adaptive.session()
        self._batch: tuple[Any, ...] = ()
        self._answers: dict[Any, float] = {}

    def more(self) -> bool:
        """Record a completed batch and enter the next; return whether there is a next batch."""
        while not self._store.is_open(self._model):
            self._record()
            self._batch = () if self._session.done else self._session.next(self._adaptive.batch)
            if not self._batch:
                return False
            items = {str(one) for one in self._batch}
            self._store.enlist(self._plan.requests(model=self._model, items=items))
        return True

    def _record(self) -> None:
        if not self._batch:
            return
        right = answers(self._store, self._model, {str(one) for one in self._batch})
        for question in self._batch:
            self._answers[question] = right.get(str(question), nan)
            self._session.record(question, self._answers[question])
        why = self._session.why if self._session.done else "it is not done"
        adaptive = self._adaptive
        found = outcome(adaptive.bank, self._session, self._answers, why)
        self._store.note(f"{_NOTE}{self._model}", json.dumps(found | {"seed": adaptive.seed}))


def answers(store: Store, model: str, items: Collection[str]) -> dict[str, float]:
    """Return a model's mean grade on each question; NaN if no reply could be parsed."""
    rows = list(replies(store, model=model, items=items))
    name = instrument_of(rows[0][0])
    frame = readings_of(rows, name).pooled_scores()[model].to_frame(model)
    if not {"question", "correct"} <= set(frame):
        msg = f"adaptive: answers to {name.replace('_', '-')} are not graded as right or wrong"
        raise OptionError(msg)
    means = frame["correct"].astype(float).groupby(frame["question"]).mean()
    return {str(question): float(mean) for question, mean in means.items()}


def bank_scores(store: Store) -> dict[str, dict[str, Any]]:
    """Return each model's score over the whole bank, as estimated by adaptive collection.

    Parameters
    ----------
    store : Store
        Store with the requests and replies of a run.

    Returns
    -------
    dict
        A dictionary for each model with the score, its interval (lower and upper bound, level),
        the flag (reason) and method of the estimate, the reason for stopping, the bank's digest
        and the seed. The dictionary also contains the numbers of questions sent, of questions
        without an answer, and of questions in the bank. The result is empty without adaptive
        collection.

    Examples
    --------
    >>> with Store(getfixture("tmp_path") / "run.sqlite") as store:
    ...     bank_scores(store)
    {}
    """
    query = "SELECT name, value FROM about WHERE substr(name, 1, ?) = ? ORDER BY rowid"
    rows = store.rows(query, (len(_NOTE), _NOTE))
    return {row["name"].removeprefix(_NOTE): json.loads(row["value"]) for row in rows}


def told(model: str, found: Mapping[str, Any]) -> str:
    """Describe one model's bank score in a sentence."""
    nan_or = {name: nan if found[name] is None else found[name] for name in ("score", *_BOUNDS)}
    text = with_interval(nan_or["score"], [nan_or[name] for name in _BOUNDS], 3)
    flag = f"; {found['flag']}" if found["flag"] else ""
    return (
        f"{model}: {text} for all {found['questions']:,} questions of the bank, estimated from "
        f"{found['asked']:,} questions ({found['stopped']}{flag})"
    )


_BOUNDS = ("lower", "upper")
