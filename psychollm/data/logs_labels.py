"""Names of respondents and of questions, so that the same name means the same.

A respondent is a model in one configuration: two runs of one model on one task that differ in
their settings are two respondents, and their names say in what they differ. A question is known
by what was asked, not by its position: the same question has one name in all runs, and two
questions that stand in the same place in two runs have two.
"""

from collections.abc import Mapping, Sequence

from psychollm.data.readers.logs.run import Run, Sample, digest

_LONG = 40
UNSET = "unset"


def respondents(runs: Sequence[Run]) -> list[str]:
    """Return the name of the respondent of each run."""
    # Settings that differ between tasks only, such as the number of examples shown, are no
    # difference between respondents.
    differing: dict[str, dict[str, None]] = {}
    by_place: dict[tuple[str, str], list[Mapping[str, str]]] = {}
    for run in runs:
        by_place.setdefault((run.model, run.task), []).append(run.configuration)
    for (model, _), settings in by_place.items():
        names = dict.fromkeys(name for one in settings for name in one)
        found = {name: None for name in names if len({one.get(name) for one in settings}) > 1}
        differing.setdefault(model, {}).update(found)
    return [_respondent(run, list(differing[run.model])) for run in runs]


def _respondent(run: Run, differing: Sequence[str]) -> str:
    if not differing:
        return run.model
    short = [name.split(".")[-1] for name in differing]
    names = short if len(set(short)) == len(short) else differing
    values = [_brief(run.configuration.get(name, UNSET)) for name in differing]
    pairs = (f"{name}={value}" for name, value in zip(names, values, strict=True))
    return f"{run.model} [{', '.join(pairs)}]"


def _brief(value: str) -> str:
    return value if len(value) <= _LONG else f"{value[: _LONG - 16]}~{digest(value)[:8]}"


def questions(
    runs: Sequence[Sequence[Sample]], *, by_content: bool = True
) -> tuple[list[list[str]], int]:
    """Return the label of each sample's question, and how many labels were taken."""
    if not by_content:
        return [[one.question for one in samples] for samples in runs], 0
    taken: dict[str, tuple[str, int]] = {}
    labels: dict[tuple[str, int], str] = {}
    keys = [_keys(samples) for samples in runs]
    n_apart = 0
    for samples, found in zip(runs, keys, strict=True):
        for one, key in zip(samples, found, strict=True):
            if key is None or key in labels:
                continue
            label = one.question
            if label in taken:
                n_apart += 1
                label = f"{label}~{digest(*key)[:8]}"
            taken[label], labels[key] = key, label
    named = [
        [one.question if key is None else labels[key] for one, key in zip(*both, strict=True)]
        for both in zip(runs, keys, strict=True)
    ]
    return named, n_apart


def _keys(samples: Sequence[Sample]) -> list[tuple[str, int] | None]:
    """Return what identifies each question: its content and a count; None without content."""
    seen: dict[str, dict[str, int]] = {}
    found: list[tuple[str, int] | None] = []
    for one in samples:
        twins = seen.setdefault(one.content, {})
        place = twins.setdefault(one.question, len(twins))
        found.append((one.content, place) if one.content else None)
    return found
