"""Tasks of Inspect AI that ask what an item bank draws, until the interval is narrow enough.

Inspect asks its `EarlyStopping` before each sample, in the order of the dataset, and what it skips
does not come back. The questions are therefore drawn before the first one is asked, so that no
answer can change which come, and the dataset is put into the order of the draw: what was asked
when the task stops is then the beginning of a random order, whatever the order of the file.

Inspect tells of samples that were scored. Of those that failed it tells its hooks alone.
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
    """Return what makes a task of Inspect AI ask the questions that a bank draws.

    Parameters
    ----------
    bank : ItemBank
        Its questions are the samples of the dataset.
    size : int, optional
        The most questions that are asked.
    half_width : float, optional
        Ask no more when the interval reaches no further than this from its middle; without it,
        `size` questions are asked. Where the dataset is not in the order of the draw (`ordered`),
        no answer can say when to stop, and as many are asked as ``bank.plan`` says.
    rng : numpy.random.Generator or int, optional
        The same seed draws the same questions, for each model. The seed stands in the log.
    scorer : str, optional
        Whose score counts, where there are several; ``"scorer.part"`` where one gives several
        values.
    worth : callable, optional
        From an Inspect ``Score`` to a number from 0 to 1. By default "C" is 1, "P" a half, "I" and
        "N" are 0, as Inspect counts them, and numbers are what they are.
    label : callable, optional
        From an Inspect ``Sample`` to the label of its question in the bank; by default its id.

    Returns
    -------
    StopEarly
        For the argument ``early_stopping`` of a task.

    Raises
    ------
    OptionError
        If neither `size` nor `half_width` is given, or `rng` is no generator or seed.
    MissingPackageError
        If Inspect AI is not installed.

    Notes
    -----
    Repeats (Inspect's epochs) of a question are averaged; the first epoch decides how many
    questions are asked. A sample that failed has no answer: it counts as missing, even if Inspect
    was told to score it, and the flag says so.

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

    After ``(log,) = eval(task, model=...)`` what was found is
    ``log.results.early_stopping.metadata``.
    """
    require("inspect_ai", extra="inspect", purpose="stopping a task of Inspect AI")
    if size is None and half_width is None:
        msg = "say when to stop: give half_width=, size=, or both"
        raise OptionError(msg)
    if size is not None:
        size = check_count("size", size)
    seed = rng if isinstance(rng, int) else int(check_generator(rng).integers(2**53))
    check_generator(seed)
    return StopEarly(
        bank, size=size, half_width=half_width, seed=seed, scorer=scorer, worth=worth, label=label
    )


class StopEarly:
    """An ``EarlyStopping`` of Inspect AI; made by `stop_early`."""

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
        """Return a dataset in the order of the draw; what is not drawn comes last.

        Parameters
        ----------
        dataset : Dataset or iterable of Sample
            All questions of the bank; samples without an id are numbered from 1, as by Inspect.

        Raises
        ------
        LabelError
            If a question of the bank is not there, or stands for two samples.
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
                f"bank, such as {absent[0]!r}: give all of them, or say with label= what they "
                "are called in the bank"
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
        """Return where the sample of each question stands."""
        at: dict[str, int] = {}
        for place, sample in enumerate(samples):
            name = self._label(sample)
            if name in at:
                msg = f"two samples of the dataset stand for the question {name!r}"
                raise LabelError(msg)
            at[name] = place
        return at

    def begin(self) -> Session:
        """Return a session from its beginning."""
        return self.bank.session(size=self.size, half_width=self.half_width, rng=self.seed)

    def draw(self, session: Session) -> tuple[Any, ...]:
        """Draw all that may be asked, in blocks that grow as those of a session do."""
        # Wherever it stops, it stops near the end of a block, which is spread over the whole bank.
        drawn: tuple[Any, ...] = ()
        while new := session.next(max(_FIRST, len(drawn) // 2)):
            drawn += new
        return drawn

    def planned(self) -> int:
        """Return how many questions the half-width takes, for the model that takes the most."""
        return int(self.bank.plan(half_width=self.half_width).needed.max())

    # -- what Inspect calls --------------------------------------------------------------------

    async def start_task(self, task: "EvalSpec", samples: "list[Sample]", epochs: int) -> str:
        """Take note that a model is about to be asked."""
        if task.config.log_samples is False:
            msg = "early stopping needs log_samples=True: without it Inspect asks everything"
            raise OptionError(msg)
        _listen()
        run = _Run(self, samples)
        _RUNS[task.eval_id] = run
        _THIS.set(run)
        return "psychollm"

    async def schedule_sample(self, id: str | int, epoch: int) -> "EarlyStop | None":  # noqa: A002
        """Say whether a sample is skipped, and why."""
        from inspect_ai.util import EarlyStop

        why = _THIS.get().refuse(id)
        return None if why is None else EarlyStop(id=id, epoch=epoch, reason=why)

    async def complete_sample(
        self,
        id: str | int,  # noqa: A002
        epoch: int,
        scores: "dict[str, SampleScore]",
    ) -> None:
        """Take the scores of a sample."""
        run = _THIS.get()
        if (str(id), epoch) not in run.failed:
            run.take(id, epoch, self.answer(id, scores))

    async def complete_task(self) -> dict[str, Any]:
        """Return what was found, for the log."""
        run = _THIS.get()
        for name in [name for name, one in _RUNS.items() if one is run]:
            del _RUNS[name]
        return run.found()

    def answer(self, sample: Any, scores: "Mapping[str, SampleScore]") -> float:
        """Return what the scores of a sample are worth, from 0 to 1; NaN where there is none."""
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
                f"sample {sample!r}: the score {value!r} by {chosen!r} lies not between 0 and 1: "
                "say what it is worth with worth="
            )
            raise CodeError(msg)
        return worth


def _number(value: Any) -> float | None:
    """Return what a value of Inspect is worth; None where that must be said."""
    if value is None or (isinstance(value, float) and isnan(value)):  # its sign for "not scored"
        return nan
    grade = grade_of(value)
    if isinstance(grade, Word):
        return None
    return 0.0 if grade == NO_ANSWER else grade


class _Run:
    """One model under way: what was drawn, what was let through, and what came back."""

    def __init__(self, stop: StopEarly, samples: "Sequence[Sample]") -> None:
        self._stop = stop
        self._session = stop.begin()
        drawn = stop.draw(self._session)
        places = stop.places(samples)
        there = [one for one in drawn if str(one) in places]
        if len(there) < len(drawn) and [*drawn[: len(there)]] != there:
            absent = next(one for one in drawn if str(one) not in places)
            msg = (
                f"question {absent!r} was drawn and is not among the {len(samples)} samples: "
                f"{_ORDERED}, or leave out what limits it"
            )
            raise LabelError(msg)
        order = [places[str(one)] for one in there]
        if stop.size is None and any(first > second for first, second in pairwise(order)):
            there = there[: stop.planned()]  # no answer can say how many
        # Inspect names samples by their ids, as numbers or as texts.
        self._drawn = {str(samples[places[str(one)]].id): one for one in there}
        self._answers: dict[Any, dict[int, float]] = {}  # of what was let through, by epoch
        self.failed: set[tuple[str, int]] = set()

    def refuse(self, sample: Any) -> str | None:
        """Return why a sample is not asked; what was let through once is, whatever comes."""
        question = self._drawn.get(str(sample), _NONE)
        if question is _NONE:
            return "not drawn"
        if question not in self._answers:
            if self._session.done:
                return self._session.why
            self._answers[question] = {}
        return None

    def take(self, sample: Any, epoch: int, answer: float) -> None:
        """Take one answer; the first one of a question says when to stop."""
        question = self._drawn.get(str(sample), _NONE)
        if question is _NONE:  # of an earlier attempt at the task, with another draw
            return
        own = self._answers.setdefault(question, {})
        if not own:
            self._session.record(question, answer)
        own[epoch] = answer

    def note(self, sample: Any, epoch: int, *, failed: bool) -> None:
        """Note whether a sample failed: such a one may be scored, too, or run once more."""
        if failed:
            self.failed.add((str(sample), epoch))
            self.take(sample, epoch, nan)
        else:
            self.failed.discard((str(sample), epoch))

    def found(self) -> dict[str, Any]:
        """Return the score over the bank from all epochs, beside how many were asked and why."""
        session = self._stop.begin()
        answers = {}
        for question in self._stop.draw(session):
            if question in self._answers:
                each = [one for one in self._answers[question].values() if not isnan(one)]
                answers[question] = fmean(each) if each else nan
                session.record(question, answers[question])
        why = self._session.why if self._session.done else "all that were drawn are asked"
        return outcome(self._stop.bank, session, answers, why) | {"seed": self._stop.seed}


_NONE = object()
_FIRST = 20  # questions drawn before any is answered
_ORDERED = "make the dataset with stop.ordered(dataset)"
# One object stands in the task of several models; each runs in a context of its own.
_THIS: ContextVar[_Run] = ContextVar("psychollm_run")
_RUNS: dict[str, _Run] = {}  # by Inspect's name of the run


def _listen() -> None:
    """Hear of samples that failed, once in a process."""
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
