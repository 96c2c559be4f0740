"""Which tasks, scorers and filters count: said by the caller wherever there is a choice."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from psychollm._base.errors import LabelError, OptionError
from psychollm.data.labels import listed
from psychollm.data.readers.logs.run import Run, Sample

Scorer: TypeAlias = str | Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Choice:
    """What counts, by task."""

    scorers: Mapping[str, str]
    filters: Mapping[str, str]

    def takes(self, run: Run, sample: Sample) -> bool:
        """Tell whether a sample of a chosen task counts; one without any score is missing."""
        if sample.filter != self.filters[run.task] and sample.filter != "":
            return False
        return self.scorers[run.task] in sample.scores or _unscored(sample)


def choose(
    runs: Sequence[Run],
    *,
    task: str | Iterable[str] | None,
    scorer: Scorer | None,
    filter: str | None,  # noqa: A002
) -> Choice:
    """Return what counts."""
    tasks = _tasks(runs, task)
    names = {one: _scorers(_samples(runs, one)) for one in tasks}
    if scorer is None:
        _check_alike(names, named=task is not None)
    elif not isinstance(scorer, str):
        _check_known("scorer", scorer, tasks)
    stated = scorer if isinstance(scorer, Mapping) else dict.fromkeys(tasks, scorer)
    scorers = {one: _one("scorer", one, found, stated.get(one)) for one, found in names.items()}
    filters = _filters({one: _names_of_filters(_samples(runs, one)) for one in tasks}, filter)
    return Choice(scorers, filters)


def _samples(runs: Sequence[Run], task: str) -> list[Sample]:
    return [sample for run in runs if run.task == task for sample in run.samples]


def _tasks(runs: Sequence[Run], task: str | Iterable[str] | None) -> list[str]:
    present = list(dict.fromkeys(run.task for run in runs))
    if task is None:
        return present
    wanted = [task] if isinstance(task, str) else list(dict.fromkeys(task))
    _check_known("task", wanted, present)
    return wanted


def _check_known(what: str, wanted: Iterable[str], present: Sequence[str]) -> None:
    for one in wanted:
        if one not in present:
            msg = f"{what}={one!r}: there is no such task; the logs hold {listed(present)}"
            raise LabelError(msg)


def _unscored(sample: Sample) -> bool:
    return all(score is None for score in sample.scores.values()) and "" in sample.scores


def _scorers(samples: Iterable[Sample]) -> list[str]:
    """Return the scorers of a task; a sample that none could score says nothing of them."""
    scored = (one for one in samples if not _unscored(one))
    return list(dict.fromkeys(name for one in scored for name in one.scores)) or [""]


def _names_of_filters(samples: Iterable[Sample]) -> list[str]:
    found = list(dict.fromkeys(one.filter for one in samples))
    return [name for name in found if name] or [""]


def _check_alike(names: Mapping[str, Sequence[str]], *, named: bool) -> None:
    """Refuse to mix tasks that nobody asked for by name and that have different scorers."""
    if named or len({frozenset(found) for found in names.values()}) == 1:
        return
    shown = "; ".join(f"{task!r}: {listed(found)}" for task, found in list(names.items())[:12])
    msg = (
        f"these logs hold {len(names)} tasks that were not scored alike ({shown}): "
        "pass task=, with a scorer= for each task if need be"
    )
    raise OptionError(msg)


_REMEDIES = {"scorer": "pass scorer=, one of", "filter": "pass filter=, one of"}


def _one(what: str, task: str, found: Sequence[str], wanted: str | None) -> str:
    if wanted is None:
        if len(found) == 1:
            return found[0]
        msg = f"task {task!r} has {len(found)} {what}s: {_REMEDIES[what]} {_all(found)}"
        raise OptionError(msg)
    if wanted not in found:
        msg = f"{what}={wanted!r}: task {task!r} has no such {what}, but {_all(found)}"
        raise LabelError(msg)
    return wanted


def _all(names: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in names[:40])


def _filters(names: Mapping[str, Sequence[str]], wanted: str | None) -> dict[str, str]:
    """Return the filter of each task; a task with one filter has no choice."""
    if wanted is not None and not any(wanted in found for found in names.values()):
        present = list(dict.fromkeys(name for found in names.values() for name in found if name))
        known = f"the filters are {_all(present)}" if present else "these logs have no filters"
        msg = f"filter={wanted!r}: {known}"
        raise LabelError(msg)
    return {
        task: found[0] if len(found) == 1 else _one("filter", task, found, wanted)
        for task, found in names.items()
    }
