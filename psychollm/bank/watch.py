"""Monitor one model for changes in its answers to the questions of a bank."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from psychollm._base.checks import check_fraction
from psychollm._base.errors import InputError, LabelError, ShapeError
from psychollm._base.numbers import count, number, percent
from psychollm._base.result import drawn_by
from psychollm.bank.evidence import KINDS, Counted, Evidence
from psychollm.bank.questions import CalibratedQuestions
from psychollm.bank.state import read_state, write_state
from psychollm.reliability.means.repeated_scores import answers_of

if TYPE_CHECKING:
    from os import PathLike
    from pathlib import Path

    import pandas as pd
    from matplotlib.axes import Axes

Direction = Literal["worse", "better", "different", ""]
_SAID: Mapping[str, str] = {
    "worse": "accuracy is lower than at baseline",
    "better": "accuracy is higher than at baseline",
    "different": "answers to the same questions have changed since the baseline",
}
_MOST = 700.0  # largest logarithm whose exponential is finite


class Watch:
    """Anytime-valid test of whether a model's answers have changed since a baseline.

    `ItemBank.watch` creates a watch. `update` adds the answers of one look, for example the
    answers of one day. `alarm` is True if a change was detected, `evidence` is the e-value, and
    `save` writes the state.

    Attributes
    ----------
    alpha : float
        Upper bound of the probability of a false alarm, over all looks.
    look : int
        Number of looks so far.

    Examples
    --------
    >>> import psychollm as psy
    >>> rng = np.random.default_rng(1)
    >>> bank = psy.item_bank(rng.integers(0, 2, (10, 200)), rng=1)
    >>> chance = rng.choice([0.05, 0.95], 200)
    >>> watch = bank.watch(dict(enumerate(rng.random(200) < chance)))
    >>> watch.update(dict(enumerate(rng.random(200) < chance)))
    False
    >>> watch.update(dict(enumerate(rng.random(200) < chance - 0.2)))
    True
    >>> watch.direction, watch.evidence > 20
    ('worse', True)
    """

    def __init__(self, bank: CalibratedQuestions, evidence: Evidence, alpha: float) -> None:
        self.bank = bank
        self.alpha = alpha
        self._evidence = evidence
        self._looks: list[dict[str, Any]] = []
        self._alarmed: int = 0  # look of the first alarm

    @property
    def look(self) -> int:
        """Number of looks so far."""
        return self._evidence.look

    @property
    def evidence(self) -> float:
        """E-value; without a change, it reaches 1 / alpha with a probability of at most alpha."""
        return float(np.exp(min(self._evidence.log, _MOST)))

    @property
    def alarm(self) -> bool:
        """Whether the evidence has ever reached 1 / alpha."""
        return self._alarmed > 0

    @property
    def direction(self) -> Direction:
        """Direction of the change: "worse", "better" or "different"; "" if there is no alarm."""
        if not self.alarm:
            return ""
        found: Direction = KINDS[int(np.argmax(self._evidence.logs))]
        return found

    def update(self, answers: Any, *, look: Hashable | None = None) -> bool:
        """Add the answers of one look, and return whether there is an alarm.

        Parameters
        ----------
        answers : mapping, Series, Responses or table
            Answers of one model: one score from 0 to 1, or several scores, for each question. The
            choice of questions must not depend on their baseline answers.
        look : hashable, optional
            Name of the look, such as the date. A look whose name was already recorded is ignored,
            so a repeated job counts once.

        Returns
        -------
        bool
            Whether an alarm has been raised.

        Raises
        ------
        LabelError
            If a question is not in the bank.
        CodeError
            If an answer is outside [0, 1].
        ShapeError
            If there are several models, or no answers.
        """
        if look is not None and not isinstance(look, str | int):
            look = str(look)
        if look is not None and self.taken(look):
            return self.alarm
        found = counted(self.bank, answers, "answers")
        self._evidence.add(found)
        if not self.alarm and self._evidence.log >= -np.log(self.alpha):
            self._alarmed = self.look
        self._looks.append(
            {
                "look": self.look if look is None else look,
                "n": int((found.table[0] > 0).sum()),
                "score": found.mean,
                "baseline": self._baseline_on(found),
                "evidence": self.evidence,
                "alarm": self.alarm,
            }
        )
        return self.alarm

    def taken(self, look: Hashable) -> bool:
        """Return whether a look with this name was recorded."""
        return any(one["look"] == look for one in self._looks)

    def _baseline_on(self, asked: Counted) -> float:
        """Return the baseline score on the questions of one look."""
        return Counted(self._evidence.past[0].table * (asked.table[0] > 0)).mean

    def to_frame(self) -> pd.DataFrame:
        """Return questions, score, baseline score and evidence, one row per look."""
        import pandas as pd

        columns = ["look", "n", "score", "baseline", "evidence", "alarm"]
        return pd.DataFrame(self._looks, columns=columns)

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Plot the evidence after each look with `psychollm.plots.plot_watch`."""
        return drawn_by("plot_watch")(self, ax=ax)

    def summary(self) -> str:
        """Return text that states whether and when a change was detected."""
        asked = int((self._evidence.past[0].table[0] > 0).sum())
        bound = number(1.0 / self.alpha, 0)
        looks = f"{count(self.look)} look{'s' * (self.look != 1)}"
        baseline = f"baseline of {count(asked)} questions"
        if not self.alarm:
            evidence = (
                f"The e-value (evidence against the hypothesis of no change) is "
                f"{_told(self.evidence)}; the alarm threshold is {bound}."
            )
            return f"No alarm in {looks} ({baseline}). {evidence}"
        label = self._looks[self._alarmed - 1]["look"]
        when = f"look {self._alarmed}" + f" ({label})" * (label != self._alarmed)
        return (
            f"ALARM since {when}: {_SAID[self.direction]} ({looks}, {baseline}). The e-value "
            f"(evidence against the hypothesis of no change) is {_told(self.evidence)}; the alarm "
            f"threshold is {bound}. {self._since()}"
        ).rstrip()

    def _since(self) -> str:
        """Return text with the accuracy at the last look and in the baseline."""
        last = self._looks[-1]
        if np.isnan(last["baseline"]):
            return ""
        return (
            f"At the last look, {percent(last['score'], 1)} of answers were correct, compared "
            f"with {percent(last['baseline'], 1)} at baseline on the same questions."
        )

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the state to a file, for `ItemBank.resume_watch`.

        Parameters
        ----------
        path : str or path
            JSON file; an existing file is replaced.
        """
        state = {
            "bank": self.bank.digest,
            "alpha": self.alpha,
            "alarmed": self._alarmed,
            "looks": [
                {key: None if one != one else one for key, one in row.items()}
                for row in self._looks
            ],
            "evidence": self._evidence.state(),
        }
        return write_state(path, "watch", state)


def _told(evidence: float) -> str:
    return "more than a million" if evidence > 1e6 else number(evidence, 2)


def begin_watch(bank: CalibratedQuestions, baseline: Any, alpha: float) -> Watch:
    """Return a new watch, to which no round of answers has been added."""
    check_fraction("alpha", alpha)
    if isinstance(baseline, Hashable) and baseline in bank.models:
        scores = bank.scores[bank.models.index(baseline)]
        baseline = dict(zip(bank.questions, scores.tolist(), strict=True))
    elif isinstance(baseline, str):
        msg = f"baseline={baseline!r} is not a model of the bank: name one, or pass answers"
        raise LabelError(msg)
    return Watch(bank, Evidence({0: counted(bank, baseline, "baseline")}), float(alpha))


def resumed_watch(bank: CalibratedQuestions, path: str | PathLike[str]) -> Watch:
    """Return the `Watch` whose state is stored in a file."""
    state = read_state(path, "watch", bank.digest)
    gaps = ("score", "baseline")
    try:
        watch = Watch(bank, Evidence.of(state["evidence"]), float(state["alpha"]))
        watch._alarmed = int(state["alarmed"])
        watch._looks = [
            {key: np.nan if one is None and key in gaps else one for key, one in row.items()}
            for row in state["looks"]
        ]
    except (KeyError, TypeError, ValueError) as error:
        msg = f"{path} is a damaged watch ({error!r}): restore a copy, or create a new one"
        raise InputError(msg) from error
    return watch


def counted(bank: CalibratedQuestions, answers: Any, argument: str) -> Counted:
    """Return the counts of one model's answers, for each question of the bank."""
    if getattr(answers, "ndim", 0) == 1 and hasattr(answers, "index"):
        by_question: dict[Any, list[Any]] = {}
        for question, score in zip(answers.index.tolist(), answers.tolist(), strict=True):
            by_question.setdefault(question, []).append(score)
        answers = by_question
    runs: list[dict[Any, Any]] = []
    if isinstance(answers, Mapping):
        several = {
            question: list(given) if isinstance(given, list | tuple | np.ndarray) else [given]
            for question, given in answers.items()
        }
        most = max(map(len, several.values()), default=0)
        runs = [
            {question: given[run] for question, given in several.items() if run < len(given)}
            for run in range(most)
        ]
    else:
        held = answers_of(answers, argument)
        if len(held.models) != 1:
            msg = f"{argument} has {len(held.models)} models: select one"
            raise ShapeError(msg)
        values = held.values[0]
        runs = [
            dict(zip(held.questions, values[:, run].tolist(), strict=True))
            for run in range(values.shape[1])
        ]
    table = np.zeros((3, len(bank.questions)))
    for run in runs:
        scores = bank.read(run, argument)[1][0]
        there = np.isfinite(scores)
        table[:, there] += np.stack([np.ones(int(there.sum())), scores[there], scores[there] ** 2])
    if not table[0].any():
        msg = f"{argument} has no answers: every score is missing"
        raise ShapeError(msg)
    return Counted(table)
