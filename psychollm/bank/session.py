r"""Adaptive sessions: one model answers sampled questions until a stopping rule is met.

Questions are sampled in blocks. Inclusion probabilities depend on the previous answers, and blocks
become larger as answers accumulate. Answers may arrive in any order. Estimates use the sampled
questions up to the first unanswered question, because using answers that arrive early would bias
the score.

Stopping at a margin of error biases the score; `psychollm.bank.full_score` corrects this bias.
Stopping at a significant difference from another score requires an interval that is simultaneous
over all numbers t of answers,

.. math:: \hat T_t \pm \hat\sigma_t \sqrt{\Big(1 + \frac{1}{t \rho^2}\Big)
          \log \frac{t \rho^2 + 1}{\alpha^2}},                                            \quad (1)

where :math:`\rho` is chosen so that the interval is narrowest at the planned number of questions.

References
----------
Waudby-Smith, I., Arbour, D., Sinha, R., Kennedy, E. H., & Ramdas, A. (2024). Time-uniform central
limit theory and asymptotic confidence sequences. Annals of Statistics, 52, 2613-2640.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.special import expit

from psychollm._base.checks import check_choice, check_count, check_fraction, choose_seed
from psychollm._base.errors import LabelError, OptionError
from psychollm._base.types import FloatArray, IntArray, RandomState
from psychollm.bank.calibration import block_size
from psychollm.bank.full_score import (
    FullScore,
    Method,
    Stop,
    assembled,
    interval_of,
    one_score,
)
from psychollm.bank.questions import CalibratedQuestions, numbers_of
from psychollm.bank.state import read_state, write_state
from psychollm.data.labels import Labels
from psychollm.estimates.corrected import Block

if TYPE_CHECKING:
    from os import PathLike
    from pathlib import Path


Select = Literal["random", "information"]
_FEWEST = 20  # minimum number of answers before a session may stop
_PLANNED = 100  # default number of questions at which (1) is narrowest


class Session:
    """Adaptive test of one model: its answers and the next questions.

    `ItemBank.session` creates a session. `next` samples questions, and `record` adds answers in
    any order. `done` is True if the session has ended, `estimate` returns the current score, and
    `save` writes the state.

    Examples
    --------
    >>> import psychollm as psy
    >>> right = np.random.default_rng(1).integers(0, 2, (10, 50))
    >>> session = psy.item_bank(right, rng=1).session(size=20, rng=1)
    >>> for question in session.next(20):
    ...     session.record(question, 1)
    >>> session.done, session.why
    (True, 'all 20 questions of the budget are answered')
    """

    def __init__(self, bank: CalibratedQuestions, options: Mapping[str, Any], seed: int) -> None:
        self.bank = bank
        self.seed = seed
        self._options = dict(options)
        self._blocks: list[Block] = []
        self._made: list[tuple[int, int]] = []  # per block: questions, previous answers
        self._order: list[int] = []
        self._handed = 0
        self._used = 0
        self._drawn: set[int] = set()  # indices of sampled questions
        self._answers: dict[int, float] = {}
        self._place = {question: j for j, question in enumerate(bank.questions)}
        self._judged: tuple[int, str] = (-1, "")

    @property
    def size(self) -> int:
        """Maximum number of questions."""
        return int(self._options["size"])

    @property
    def asked(self) -> Labels:
        """Sampled questions, in order."""
        return tuple(self.bank.questions[j] for j in self._order[: self._handed])

    @property
    def waiting(self) -> Labels:
        """Sampled questions that are not yet answered."""
        handed = self._order[: self._handed]
        return tuple(self.bank.questions[j] for j in handed if j not in self._answers)

    @property
    def answers(self) -> dict[Any, float]:
        """Score of each answered question; NaN for failed requests."""
        return {self.bank.questions[j]: value for j, value in self._answers.items()}

    @property
    def n_used(self) -> int:
        """Number of answers that the estimate uses, up to the first unanswered question."""
        while self._used < self._handed and self._order[self._used] in self._answers:
            self._used += 1
        return self._used

    def next(self, k: int = 1) -> Labels:
        """Return the next questions for the model.

        Parameters
        ----------
        k : int
            Number of questions. At the end of the session, fewer than k questions, or none, are
            returned.

        Returns
        -------
        tuple
            Labels of questions in the order of presentation.
        """
        k = check_count("k", k)
        if self.done:
            return ()
        end = min(self._handed + k, self.size)
        while len(self._order) < end:
            self._draw(end - len(self._order))
        drawn = self._order[self._handed : end]
        self._handed = end
        self._drawn.update(drawn)
        return tuple(self.bank.questions[j] for j in drawn)

    def record(self, question: Any, answer: float) -> None:
        """Record the answer to a question.

        Parameters
        ----------
        question : hashable
            Question returned by `next`.
        answer : float
            Score from 0 (wrong) to 1 (correct); NaN if the request failed or the model refused.
            Questions with NaN are treated as missing at random, and the estimate is flagged.

        Raises
        ------
        LabelError
            If the question was not sampled, or a different answer was recorded before.
        CodeError
            If the answer is outside [0, 1].
        """
        place = self._place.get(question, -1)
        if place not in self._drawn:
            msg = f"question {question!r} was not drawn: record only questions returned by next()"
            raise LabelError(msg)
        value = float(numbers_of([[answer]], ("answer",), (question,))[0, 0])
        before = self._answers.setdefault(place, value)
        if not (before == value or (np.isnan(before) and np.isnan(value))):
            msg = f"question {question!r} already has the answer {before:g}, not {value:g}"
            raise LabelError(msg)

    @property
    def done(self) -> bool:
        """Whether the session has ended; `why` is the reason."""
        return bool(self.why)

    @property
    def why(self) -> str:
        """Reason why the session has ended; empty if it has not ended."""
        used = self.n_used
        if self._judged[0] != used:
            self._judged = (used, self._reason(used))
        return self._judged[1]

    def _reason(self, used: int) -> str:
        if used >= self.size:
            whole = self.size == len(self.bank.questions)
            which = "of the bank" if whole else "of the budget"
            return f"all {self.size} questions {which} are answered"
        width, than = self._options["half_width"], self._options["better_than"]
        known = int(np.isfinite(self._scores(used)).sum())
        if known < _FEWEST or (width is None and than is None):
            return ""
        _, low, high, half = self._found(used)
        if width is not None and half <= width:
            return f"the margin of error is at most {width:g}"
        if than is not None and not low <= than <= high:
            return f"the score is significantly {'above' if low > than else 'below'} {than:g}"
        return ""

    @property
    def interval(self) -> FloatArray:
        """Interval of the current score (2,)."""
        return self._found(self.n_used)[1:3]

    @property
    def value(self) -> float:
        """Current estimate of the score."""
        return float(self._found(self.n_used)[0])

    def _found(self, used: int) -> FloatArray:
        """Return score, interval and margin of error (4,), based on the first `used` answers."""
        at_random = self._options["select"] == "random"
        drawn = self._blocks if at_random else None
        return interval_of(
            self.bank, self._scores(used), drawn, self._options["level"], self._stop(used)
        )

    def _stop(self, used: int) -> Stop:
        """Return the stopping rule."""
        level, anytime = self._options["level"], None
        if self._options["better_than"] is not None:
            anytime = _anytime(max(used, 1), self.size, level)
        return Stop(self._options["half_width"], anytime, level)

    def estimate(
        self, method: Method = "auto", *, domain: Any = None, label: Any = "model"
    ) -> FullScore:
        """Return the score on the whole bank, estimated from the current answers.

        Parameters
        ----------
        method : {"auto", "design", "assisted", "model"}
            Method of the returned score; `FullScore.values` has the scores of all methods.
        domain : hashable, optional
            Domain to score; by default the whole bank.
        label : hashable
            Name of the model.

        Raises
        ------
        OptionError
            If the method requires randomly sampled questions.
        """
        check_choice("method", method, Method)
        at_random = self._options["select"] == "random"
        if not at_random and method in ("design", "assisted"):
            msg = f'method={method!r} needs questions drawn at random, not select="information"'
            raise OptionError(msg)
        within = self.bank.within(domain)
        scores = self._scores(self.n_used)
        drawn, stop = self._blocks if at_random else None, self._stop(self.n_used)
        return assembled(
            self.bank,
            [one_score(self.bank, scores, drawn, within, stop if domain is None else None)],
            (label,),
            method=method,
            drawn=at_random,
            level=self._options["level"],
            domain=domain,
            within=within,
            stop=stop,
            missing=bool(np.isnan(list(self._answers.values())).any()),
        )

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the state to a file, for `ItemBank.resume`.

        Parameters
        ----------
        path : str or path
            JSON file; an existing file is replaced.
        """
        state = {
            "bank": self.bank.digest,
            "seed": self.seed,
            "options": self._options,
            "blocks": self._made,
            "handed": self._handed,
            "answers": [
                [j, None if np.isnan(value) else value] for j, value in self._answers.items()
            ],
        }
        return write_state(path, "session", state)

    def _scores(self, n: int) -> FloatArray:
        """Return the answers to the first n sampled questions, NaN elsewhere (J,)."""
        scores = np.full(len(self.bank.questions), np.nan)
        for j in self._order[:n]:
            scores[j] = self._answers[j]
        return scores

    def _draw(self, k: int) -> None:
        """Draw a block of at least k further questions."""
        used = self.n_used
        n = min(max(k, block_size(used)), self.size - len(self._order))
        self._add(n, used)

    def _add(self, n: int, used: int) -> None:
        """Sample a block of n questions, given the first `used` answers."""
        scores, drawing = self._scores(used), self.bank.drawing
        if self._options["select"] == "random":
            rng = np.random.default_rng([self.seed, len(self._blocks)])
            block = drawing.block(scores, self._blocks, n, rng)
        else:
            items = _most_informative(drawing.items, scores, self._order, n)
            block = Block(items, np.zeros(scores.size))
        self._blocks.append(block)
        self._made.append((n, used))
        self._order.extend(block.items.tolist())


def _most_informative(items: Any, scores: FloatArray, drawn: list[int], n: int) -> IntArray:
    """Return the questions whose answers reduce the variance of the ability most."""
    theta, spread = items.posterior(scores)
    slopes = items.items[:, 1:]
    p = expit(items.items[:, 0] + slopes @ theta)
    pulled = np.einsum("ja,ab,jb->j", slopes, spread, slopes) if theta.size else 1.0
    gain = p * (1.0 - p) * pulled
    gain[drawn] = -np.inf
    return np.asarray(np.argsort(-gain, kind="stable")[:n])


def _anytime(n: int, planned: int, level: float) -> float:
    """Return the margin of error in equation (1), in units of the standard error."""
    alpha = 1.0 - level
    odds = -2.0 * np.log(alpha) + np.log(1.0 - 2.0 * np.log(alpha))
    t = n * odds / min(planned, _PLANNED)
    return float(np.sqrt((1.0 + 1.0 / t) * np.log((t + 1.0) / alpha**2)))


def begin(
    bank: CalibratedQuestions,
    *,
    size: int | None,
    half_width: float | None,
    better_than: float | None,
    select: Select,
    level: float,
    rng: RandomState,
) -> Session:
    """Return a session without answers."""
    whole = len(bank.questions)
    size = whole if size is None else check_count("size", size)
    if size > whole:
        msg = f"size={size} is more than the {whole} questions of the bank"
        raise OptionError(msg)
    for name, value in (("half_width", half_width), ("better_than", better_than)):
        if value is not None:
            check_fraction(name, value)
    check_choice("select", select, Select)
    options = {
        "size": size,
        "half_width": half_width,
        "better_than": better_than,
        "select": select,
        "level": check_fraction("level", level),
    }
    return Session(bank, options, choose_seed(rng))


def resumed(bank: CalibratedQuestions, path: str | PathLike[str]) -> Session:
    """Return the session from a file."""
    state = read_state(path, "session", bank.digest)
    session = Session(bank, state["options"], state["seed"])
    answers = {j: np.nan if value is None else float(value) for j, value in state["answers"]}
    session._answers = answers
    for n, used in state["blocks"]:
        session._add(n, used)
    session._handed = state["handed"]
    session._drawn.update(session._order[: session._handed])
    return session
