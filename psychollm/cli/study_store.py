"""``psychollm study`` for stores: run the study of the store's instrument."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psychollm._base.checks import check_unique
from psychollm._base.errors import InputError
from psychollm.cli.carry_out import Found
from psychollm.cli.options import in_studies
from psychollm.cli.study import OfTables
from psychollm.cli.study_arms import Source, sources_of

if TYPE_CHECKING:
    import pandas as pd

    from psychollm.collect.readings import Readings
    from psychollm.collect.store import Store

    Scores = Mapping[Any, Any]  # by model
    Read = Callable[[OfTables, Readings], Callable[[], Found]]
    Compute = Callable[[OfTables, Scores, Readings], "Studied"]

MANY = 50_000  # number of requests above which replies are parsed in parallel processes
_OPEN = """\
from pathlib import Path
{imports}
with psy.collect.Store(Path({path!r})) as store:
"""
READ = "psy.collect.readings(store, instrument={instrument!r}{arm})"
SCORES = f"    scores = {READ}.pooled_scores()"
_ASKED = f"\n    asked = {READ}.prompts"
WITHOUT = "scores = {model: one for model, one in scores.items() if model not in absent}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Studied:
    """Result of the study of a store's replies, with the Python code that computes it."""

    study: Any
    more: "Mapping[str, pd.DataFrame]" = field(default_factory=dict)  # further tables by file name
    imports: str = ""
    read: str = SCORES
    without: str = WITHOUT  # code that excludes models
    rest: str = ""
    options: str = ""  # code of options that precede the common options of the call


def of_stores() -> "dict[str, Read]":
    """Return the study of each instrument, as declared by `STORES` in modules ``command.py``."""
    return {
        instrument: read
        for module in in_studies()
        for instrument, read in getattr(module, "STORES", {}).items()
    }


def studied(compute: "Compute") -> "Read":
    """Return a function that reads the replies of included models and computes the study."""

    def read(command: OfTables, readings: "Readings") -> Callable[[], Found]:
        command = command.with_people(one for own in readings.prompts.values() for one in own)
        absent = list(command.absent(readings.models))
        scores = readings.pooled_scores()
        own = {model: one for model, one in scores.items() if model not in absent}
        return partial(_judged, compute, command, readings, own, absent)

    return read


def read_store(command: OfTables) -> Callable[[], Found]:
    """Read one or several stores, and return a function that studies them."""
    from psychollm.collect.readings import arms_in
    from psychollm.collect.store import Store

    held: dict[Path, tuple[str, ...]] = {}
    names: dict[str, Path] = {}
    check_unique("store", [str(path) for path in command.inputs])
    for path in command.inputs:
        with Store(path, create=False) as store:
            name = _chosen(store, command.instrument)
            held[path] = arms_in(store, instrument=name)
        names.setdefault(name, path)
    if len(names) > 1:
        first, second, *_ = (f"{path} holds {name}" for name, path in names.items())
        msg = f"{first} and {second}: arms need one instrument: choose it with --instrument"
        raise InputError(msg)
    read = of_stores()[next(iter(names))]
    sources = sources_of(held, command.arm)
    own = {arm: (one, _readings(command, one, name)) for arm, one in sources.items()}
    if len(own) > 1:
        of_arms = next(one.ARMS for one in in_studies() if hasattr(one, "ARMS"))
        compute: Callable[[], Found] = of_arms(command, own, read)
        return compute
    source, found = next(iter(own.values()))
    return read(replace(command, inputs=(source.path,), arm=source.arm), found)


def _readings(command: OfTables, source: Source, name: str) -> "Readings":
    from joblib import parallel_config

    from psychollm.collect.readings import readings
    from psychollm.collect.store import Store

    with Store(source.path, create=False) as store, parallel_config(backend="loky"):
        asked = sum(sum(kinds.values()) for kinds in store.counts().values())
        n_jobs = command.jobs if asked > MANY else 1
        return readings(store, instrument=name, arm=source.arm, n_jobs=n_jobs)


def _chosen(store: "Store", asked: str | None) -> str:
    """Return the instrument to study, by default the only one in the store with a study."""
    from psychollm.collect.readings import instruments_in

    known = of_stores()
    held = instruments_in(store)
    fits = [name for name in held if name in known]
    name = (asked or "").replace("-", "_")
    if name in fits:
        return name
    if not asked and len(fits) == 1:
        return fits[0]
    holds = f"{store.path} holds {', '.join(held) or 'nothing'}"
    if not fits:
        msg = f"{holds}: only {', '.join(known)} have a study"
        if held:
            msg += f"; 'psychollm score {store.path}' scores its replies"
        raise InputError(msg)
    msg = f"{holds}: choose one with --instrument {'|'.join(fits)}"
    raise InputError(msg)


def _judged(
    compute: "Compute",
    command: OfTables,
    readings: "Readings",
    scores: "Scores",
    absent: list[Any],
) -> Found:
    made = compute(command, scores, readings)
    study = made.study
    summary = study.summary(smallest=command.smallest)
    options = f"bootstrap={command.bootstrap}, level={command.level}, rng={command.seed}"
    path, name = str(command.inputs[0]), readings.instrument
    people = command.people_code("sum(asked.values(), ())")
    read = made.read + (_ASKED if people else "")
    head = (_OPEN + read).format(
        imports=made.imports, path=path, instrument=name, arm=command.arm_code
    )
    left_out = f"absent = {absent!r}\n{made.without}" if absent else ""
    source = "\n".join(filter(None, (head, left_out, made.rest, people)))
    options = f"people=people, {options}" if people else options
    numbers = {
        "verdict": summary.splitlines()[0],
        "summary": summary,
        "outcomes": readings.outcomes,
        "level": command.level,
        "seed": command.seed,
    }
    found = command.of_study(study, "", numbers, remark=f"{readings.summary()}\n")
    page = command.page_of(study, source, ", ".join(filter(None, (made.options, options))))
    return replace(found, tables=lambda: {**found.tables(), **made.more}, page=page)


def answers_table(scores: "Scores") -> "pd.DataFrame":
    """Return the answers of all models as one table."""
    import pandas as pd

    frames: list[pd.DataFrame] = [one.to_frame(model) for model, one in scores.items()]
    return pd.concat(frames, ignore_index=True)


@dataclass(frozen=True, kw_only=True)
class Study(OfTables):
    """Command `psychollm study`."""

    @property
    def reads(self) -> str:
        """Name of the command's input."""
        return "the replies" if self.stores else super().reads

    def read(self) -> Callable[[], Found]:
        """Read the tables, or the store."""
        return read_store(self) if self.stores else super().read()
