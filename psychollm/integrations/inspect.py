"""Inspect AI tasks whose questions an item bank selects until the score is precise enough.

Inspect calls its `EarlyStopping` before each sample, in the order of the dataset; a skipped sample
is not offered again. Therefore, all questions are drawn in advance, so that no answer can
influence the selection, and the dataset is sorted in the order of the draw. When the task stops,
the answered questions are the first questions in a random order, which does not depend on the
order of the file.

Inspect reports scored samples to `EarlyStopping`, but failed samples only to its hooks.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from itertools import pairwise
from math import isnan, nan
from statistics import fmean
from typing import TYPE_CHECKING, Any

from psychollm._base.checks import check_count, check_generator
from psychollm._base.drawing import Bank, Session, outcome
from psychollm._base.errors import CodeError, LabelError, OptionError
from psychollm._base.optional import require
from psychollm._base.types import RandomState
from psychollm.data.readers.logs.inspect_log import grade_of, parts_of
from psychollm.data.readers.logs.run import NO_ANSWER, Word

if TYPE_CHECKING:
    from inspect_ai.dataset import Dataset, Sample
    from inspect_ai.log import EvalSpec
    from inspect_ai.scorer import SampleScore, Score
    from inspect_ai.util import EarlyStop

    Label = Callable[[Sample], str]
    Worth = Callable[[Score], float]


def stop_early(
    bank: Bank,
    *,
    size: int | None = None,
    half_width: float | None = None,
    rng: RandomState = None,
    scorer: str | None = None,
    worth: "Worth | None" = None,
    label: "Label | None" = None,
) -> "StopEarly":
    """Return an object that makes an Inspect AI task use the questions selected by an item bank.

    Parameters
    ----------
    bank : ItemBank
        Item bank whose questions are the samples of the dataset.
    size : int, optional
        Maximum number of questions.
    half_width : float, optional
        Margin of error of the interval at which the task stops; without it, `size` questions are
        used. If the dataset is not in the order of the draw (`ordered`), answers cannot determine
        when to stop. The number of questions is then taken from ``bank.plan``.
    rng : numpy.random.Generator or int, optional
        Seed of the draw, which is the same for each model and recorded in the log.
    scorer : str, optional
        Scorer to use, if there are several; ``"scorer.part"`` if its score has several values.
    worth : callable, optional
        Function that converts an Inspect ``Score`` to a number from 0 to 1. By default, "C" is 1,
        "P" is 0.5, "I" and "N" are 0, as in Inspect, and numbers are unchanged.
    label : callable, optional
        Function that returns the label in the bank for an Inspect ``Sample``, by default its id.

    Returns
    -------
    StopEarly
        Object for the argument ``early_stopping`` of a task.

    Raises
    ------
    OptionError
        If `size` and `half_width` are both missing, or `rng` is not a generator or seed.
    MissingPackageError
        If Inspect AI is not installed.

    Notes
    -----
    Repeats (Inspect's epochs) of a question are averaged; the first epoch determines the number of
    questions. A failed sample counts as missing, even if Inspect is configured to score it, and a
    flag of the score reports the failure.

    Examples
    --------
    >>> import numpy as np
    >>> import psychollm as psy
    >>> from inspect_ai import Task
    >>> from inspect_ai.dataset import Sample
    >>> right = np.random.default_rng(1).integers(0, 2, (10, 50))
    >>> stop = stop_early(psy.item_bank(right, rng=1), half_width=0.1, rng=1)
    >>> dataset = [Sample(id=str(k), input=f"What is {k} + {k}?") for k in range(50)]
    >>> task = Task(dataset=stop.ordered(dataset), early_stopping=stop)
    >>> [sample.id for sample in task.dataset[:3]], stop.draw(stop.begin())[:3]
    (['43', '23', '4'], (43, 23, 4))

    After ``(log,) = eval(task, model=...)``, the result is in
    ``log.results.early_stopping.metadata``.
    """
    require("inspect_ai", extra="inspect", purpose="stopping a task of Inspect AI")
    if size is None and half_width is None:
        msg = "no stopping rule: pass half_width=, size=, or both"
        raise OptionError(msg)
    if size is not None:
        size = check_count("size", size)
    seed = rng if isinstance(rng, int) else int(check_generator(rng).integers(2**53))
    check_generator(seed)
    return StopEarly(
        bank, size=size, half_width=half_width, seed=seed, scorer=scorer, worth=worth, label=label
    )


class StopEarly:
    """The ``EarlyStopping`` object that `stop_early` creates for Inspect AI."""

    def __init__(
        self,
        bank: Bank,
        *,
        size: int | None,
        half_width: float | None,
        seed: int,
        scorer: str | None,
        worth: "Worth | None",
        label: "Label | None",
    ) -> None:
        self.bank = bank
        self.seed = seed
        self.size, self.half_width = size, half_width
        self._scorer, self._worth = scorer, worth
        self._label = label or (lambda sample: str(sample.id))

    def ordered(self, dataset: "Iterable[Sample]") -> "Dataset":
        """Return a dataset with the drawn samples first, in order, and then all other samples.

        Parameters
        ----------
        dataset : Dataset or iterable of Sample
            Samples that include all questions of the bank; samples without an id are numbered from
            1, as in Inspect.

        Raises
        ------
        LabelError
            If a question of the bank is missing, or belongs to two samples.
        """
        from inspect_ai.dataset import MemoryDataset

        samples = list(dataset)
        for place, sample in enumerate(samples, start=1):
            if sample.id is None:
                sample.id = place
        at = self.places(samples)
        if absent := [one for one in self.bank.questions if str(one) not in at]:
            msg = (
                f"the dataset lacks {len(absent)} of {len(self.bank.questions)} questions of the "
                f"bank, such as {absent[0]!r}: include all of them, or map samples to their "
                "labels in the bank with label="
            )
            raise LabelError(msg)
        first = [at[str(one)] for one in self.draw(self.begin())]
        rest = sorted(set(range(len(samples))).difference(first))
        return MemoryDataset(
            [samples[place] for place in (*first, *rest)],
            name=getattr(dataset, "name", None),
            location=getattr(dataset, "location", None),
            shuffled=True,
        )

    def places(self, samples: "Sequence[Sample]") -> dict[str, int]:
        """Map each question to the index of its sample."""
        at: dict[str, int] = {}
        for place, sample in enumerate(samples):
            name = self._label(sample)
            if name in at:
                msg = f"two samples of the dataset have the question {name!r}"
                raise LabelError(msg)
            at[name] = place
        return at

    def begin(self) -> Session:
        """Return a new session of the item bank."""
        return self.bank.session(size=self.size, half_width=self.half_width, rng=self.seed)

    def draw(self, session: Session) -> tuple[Any, ...]:
        """Draw all questions in blocks of increasing size."""
        # Each block covers the whole bank, and any stopping point is near the end of a block.
        drawn: tuple[Any, ...] = ()
        while new := session.next(max(_FIRST, len(drawn) // 2)):
            drawn += new
        return drawn

    def planned(self) -> int:
        """Return the number of questions that `half_width` requires for the worst-case model."""
        return int(self.bank.plan(half_width=self.half_width).needed.max())

    # -- called by Inspect ---------------------------------------------------------------------

    async def start_task(self, task: "EvalSpec", samples: "list[Sample]", epochs: int) -> str:
        """Begin the evaluation of a model."""
        if task.config.log_samples is False:
            msg = "early stopping needs log_samples=True: without it Inspect asks everything"
            raise OptionError(msg)
        _listen()
        run = _Run(self, samples)
        _RUNS[task.eval_id] = run
        _THIS.set(run)
        return "psychollm"

    async def schedule_sample(self, id: str | int, epoch: int) -> "EarlyStop | None":  # noqa: A002
        """Return the reason why a sample is skipped, or None if it is not skipped."""
        from inspect_ai.util import EarlyStop

        why = _THIS.get().refuse(id)
        return None if why is None else EarlyStop(id=id, epoch=epoch, reason=why)

    async def complete_sample(
        self,
        id: str | int,  # noqa: A002
        epoch: int,
        scores: "dict[str, SampleScore]",
    ) -> None:
        """Record the scores of a sample."""
        run = _THIS.get()
        if (str(id), epoch) not in run.failed:
            run.take(id, epoch, self.answer(id, scores))

    async def complete_task(self) -> dict[str, Any]:
        """Return the result that Inspect writes to the log."""
        run = _THIS.get()
        for name in [name for name, one in _RUNS.items() if one is run]:
            del _RUNS[name]
        return run.found()

    def answer(self, sample: Any, scores: "Mapping[str, SampleScore]") -> float:
        """Return the value of a sample's scores, from 0 to 1, or NaN if it has no score."""
        found: dict[str, Any] = {name: one.score for name, one in scores.items()}
        if self._worth is None:
            parts = [parts_of(name, one.value) for name, one in found.items()]
            found = {name: value for one in parts for name, value in one.items()}
        if not found:
            return nan
        chosen = next(iter(found)) if self._scorer is None and len(found) == 1 else self._scorer
        if chosen not in found:
            none = "there are several scores" if chosen is None else f"no score is {chosen!r}"
            msg = f"{none}: choose one with scorer=, of {', '.join(map(repr, found))}"
            raise OptionError(msg)
        value = found[chosen]
        worth = _number(value) if self._worth is None else float(self._worth(value))
        if worth is None or not (isnan(worth) or 0 <= worth <= 1):
            msg = (
                f"sample {sample!r}: the score {value!r} by {chosen!r} is not between 0 and 1: "
                "convert it with worth="
            )
            raise CodeError(msg)
        return worth


def _number(value: Any) -> float | None:
    """Return the numeric value of an Inspect score; None if the caller must define it."""
    if value is None or (isinstance(value, float) and isnan(value)):  # "not scored" in Inspect
        return nan
    grade = grade_of(value)
    if isinstance(grade, Word):
        return None
    return 0.0 if grade == NO_ANSWER else grade


class _Run:
    """The evaluation of one model, with drawn questions, admitted samples and answers."""

    def __init__(self, stop: StopEarly, samples: "Sequence[Sample]") -> None:
        self._stop = stop
        self._session = stop.begin()
        drawn = stop.draw(self._session)
        places = stop.places(samples)
        there = [one for one in drawn if str(one) in places]
        if len(there) < len(drawn) and [*drawn[: len(there)]] != there:
            absent = next(one for one in drawn if str(one) not in places)
            msg = (
                f"question {absent!r} was drawn but is not among the {len(samples)} samples: "
                f"{_ORDERED}, or remove the option that limits it"
            )
            raise LabelError(msg)
        order = [places[str(one)] for one in there]
        if stop.size is None and any(first > second for first, second in pairwise(order)):
            there = there[: stop.planned()]  # answers cannot determine when to stop
        # Convert ids to text, because Inspect may have numbers or text.
        self._drawn = {str(samples[places[str(one)]].id): one for one in there}
        self._answers: dict[Any, dict[int, float]] = {}  # answers of admitted questions, by epoch
        self.failed: set[tuple[str, int]] = set()

    def refuse(self, sample: Any) -> str | None:
        """Return the reason to skip a sample, or None; admitted questions are never skipped."""
        question = self._drawn.get(str(sample), _NONE)
        if question is _NONE:
            return "not drawn"
        if question not in self._answers:
            if self._session.done:
                return self._session.why
            self._answers[question] = {}
        return None

    def take(self, sample: Any, epoch: int, answer: float) -> None:
        """Record one answer; the first answer to each question determines when to stop."""
        question = self._drawn.get(str(sample), _NONE)
        if question is _NONE:  # an answer from an earlier attempt with another draw
            return
        own = self._answers.setdefault(question, {})
        if not own:
            self._session.record(question, answer)
        own[epoch] = answer

    def note(self, sample: Any, epoch: int, *, failed: bool) -> None:
        """Record whether a sample failed; a failed sample may still be scored or retried."""
        if failed:
            self.failed.add((str(sample), epoch))
            self.take(sample, epoch, nan)
        else:
            self.failed.discard((str(sample), epoch))

    def found(self) -> dict[str, Any]:
        """Return the bank score from all epochs, with the reason for stopping."""
        session = self._stop.begin()
        answers = {}
        for question in self._stop.draw(session):
            if question in self._answers:
                each = [one for one in self._answers[question].values() if not isnan(one)]
                answers[question] = fmean(each) if each else nan
                session.record(question, answers[question])
        why = self._session.why if self._session.done else "all drawn questions were asked"
        return outcome(self._stop.bank, session, answers, why) | {"seed": self._stop.seed}


_NONE = object()
_FIRST = 20  # number of questions in the first block
_ORDERED = "make the dataset with stop.ordered(dataset)"
# Tasks of several models may share one `StopEarly`, but each runs in a separate context.
_THIS: ContextVar[_Run] = ContextVar("psychollm_run")
_RUNS: dict[str, _Run] = {}  # by Inspect's id of the evaluation


def _listen() -> None:
    """Register a hook for failed samples, once per process."""
    if _LISTENING:
        return
    from inspect_ai.hooks import Hooks, SampleEnd, hooks

    class Failures(Hooks):  # type: ignore[misc]  # untyped where Inspect is not installed
        def enabled(self) -> bool:
            return bool(_RUNS)

        async def on_sample_end(self, data: SampleEnd) -> None:
            run, sample = _RUNS.get(data.eval_id), data.sample
            if run is not None:
                run.note(sample.id, sample.epoch, failed=sample.error is not None)

    hooks(name="psychollm", description="counts samples that failed")(Failures)
    _LISTENING.append(Failures)


_LISTENING: list[type] = []
