"""Command `psychollm study` for several arms, from one or several stores."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from psychollm._base.errors import InputError, LabelError, PsychollmError
from psychollm.cli.carry_out import Found
from psychollm.cli.study_arms import Source

if TYPE_CHECKING:
    from psychollm.cli.study import OfTables
    from psychollm.collect.readings import Readings

    Read = Callable[[OfTables, Readings], Callable[[], Found]]


def of_arms(
    command: "OfTables", own: "Mapping[str, tuple[Source, Readings]]", read: "Read"
) -> Callable[[], Found]:
    """Return a function that studies each arm and compares the arms."""
    for arm, (source, found) in own.items():
        known = (one for samples in found.by_model.values() for one in samples.values())
        if not any(reading is not None for one in known for reading in one.values()):
            msg = f"{source.path}: arm {arm!r} has no replies: collect them, or leave it out"
            raise InputError(msg)
    _check_left_out(command, {model for _, found in own.values() for model in found.models})
    # Read all arms first, so that errors are raised before long computations.
    parts = {
        arm: read(_of_arm(command, source, found), found) for arm, (source, found) in own.items()
    }
    scores: dict[Hashable, Mapping[Any, Any]] = {
        arm: {
            model: one
            for model, one in found.pooled_scores().items()
            if model not in command.leave_out
        }
        for arm, (_, found) in own.items()
    }
    return partial(_compared, command, own, parts, scores)


def _check_left_out(command: "OfTables", models: set[str]) -> None:
    lost = next((name for name in command.leave_out if name not in models), None)
    if lost is not None:
        msg = f"--leave-out {lost}: no such model; known are {', '.join(sorted(models))}"
        raise LabelError(msg)


def _of_arm(command: "OfTables", source: Source, found: "Readings") -> "OfTables":
    """Return the command that studies one arm."""
    analysis = {name: one for name, one in command.analysis.items() if name != "baseline"}
    if "thinking" in analysis:  # an arm may lack one model of a pair
        pairs = (pair for pair in analysis["thinking"] if set(pair) <= set(found.models))
        analysis["thinking"] = tuple(pairs)
    return replace(
        command,
        inputs=(source.path,),
        arm=source.arm,
        analysis=analysis,
        leave_out=tuple(name for name in command.leave_out if name in found.models),
    )


def _compared(
    command: "OfTables",
    own: "Mapping[str, tuple[Source, Readings]]",
    parts: Mapping[str, Callable[[], Found]],
    scores: Mapping[Hashable, Mapping[Any, Any]],
) -> Found:
    """Return the study of each arm and the comparison of all arms."""
    from psychollm.studies.arms.measures import MEASURES
    from psychollm.studies.arms.study import compare_arms

    found: dict[str, Found] = {}
    verdicts: dict[Hashable, str] = {}
    for arm, compute in parts.items():
        try:
            found[arm] = compute()
            verdicts[arm] = _verdict(found[arm])
        except PsychollmError as error:  # e.g. too few models; arms can still be compared
            verdicts[arm] = f"this arm could not be studied alone: {error}"
    name = next(iter(own.values()))[1].instrument
    remark = "\n".join(f"{arm}: {one.summary()}" for arm, (_, one) in own.items())
    if name not in MEASURES:
        told = "\n".join(f"{arm}: {text}" for arm, text in verdicts.items())
        return Found(summary=told, tables=dict, numbers={"arms": verdicts}, parts=found)
    study = compare_arms(
        scores,
        name,
        baseline=command.baseline or command.analysis.get("baseline"),
        n_null=command.null,
        repeats=command.repeats,
        **replace(command, analysis={}).replication,
    )
    study = replace(study, verdicts=verdicts)
    numbers = {
        "outcomes": {arm: one.outcomes for arm, (_, one) in own.items()},
        "level": command.level,
        "seed": command.seed,
    }
    options = f"bootstrap={command.bootstrap}, level={command.level}, rng={command.seed}"
    if name == "semantic_sampling":
        options = f"n_null={command.null}, {options}"
    made = command.of_study(study, "", numbers, remark=f"{remark}\n")
    page = command.page_of(study, _code(own, name, command.leave_out), options)
    return replace(made, page=page, parts=found)


def _verdict(found: Found) -> str:
    """Return the verdict of the study of one arm."""
    if found.findings is None:
        return found.summary.partition("\n")[0]
    first = found.findings.items[0]
    return first.statement or "; ".join((first.question, *first.rows[:3]))


def _code(own: "Mapping[str, tuple[Source, Readings]]", name: str, absent: tuple[str, ...]) -> str:
    """Return the lines of Python that read the scores of all arms."""
    lines = ["from pathlib import Path", "", "scores = {}"]
    for arm, (source, _) in own.items():
        lines += [
            f"with psy.collect.Store(Path({str(source.path)!r})) as store:",
            f"    said = psy.collect.readings(store, instrument={name!r}{source.code})",
            f"scores[{arm!r}] = said.pooled_scores()",
        ]
    if absent:
        lines += [
            "for own in scores.values():",
            f"    for model in {absent!r}:",
            "        own.pop(model, None)",
        ]
    return "\n".join(lines)


ARMS = of_arms
