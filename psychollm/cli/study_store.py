"""``psychollm study RUN.sqlite``: the study that fits the instruments of a store."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from psychollm._base.errors import InputError
from psychollm.cli.outputs import Output, records
from psychollm.cli.study import Study
from psychollm.cli.two_tables import Tables

if TYPE_CHECKING:
    import pandas as pd

    from psychollm.collect.readings import Readings
    from psychollm.collect.store import Store
    from psychollm.data.responses import Responses

    Scores = Mapping[Any, Any]  # by model
    # The summary, and the tables by the names of their files.
    Found = tuple[str, dict[str, pd.DataFrame]]
    Compute = Callable[[Study, Scores], Found]

PREDICTION = "self_prediction"  # whose study is that of two tables
_BOUNDARY = (
    "certainty_inversion",
    "confabulation",
    "stage_one",
    "refusal_rate",
    "refusal_minus_commitment",
)
_CODE = """\
from pathlib import Path
from psychollm.instruments.self_prediction import confidence_and_correctness

with psy.collect.Store(Path({path!r})) as store:
    said = psy.collect.readings(store, instrument="self_prediction")
confidence, correctness = confidence_and_correctness(said.pooled_scores(){repeats})"""


def study_of_store(command: Study) -> int:
    """Read the store, and carry out the study of what it holds."""
    from psychollm.cli.notes import busy
    from psychollm.collect.readings import readings
    from psychollm.collect.store import Store

    with (
        busy("reading the replies", quiet=command.quiet),
        Store(command.inputs[0], create=False) as store,
    ):
        name = _chosen(store, command.instrument)
        own = readings(store, instrument=name)
    if name == PREDICTION:
        return command.carry_out(
            lambda: _prediction_tables(command, own), command.judge, report=command.report
        )
    return command.carry_out(
        lambda: _scores(command, own), lambda scores: _judged(command, own, scores), report=False
    )


def _chosen(store: "Store", asked: str | None) -> str:
    """Return the instrument to study: the one asked for, or the only one that has a study."""
    from psychollm.collect.readings import instruments_in

    known = (PREDICTION, *STUDIES)
    held = instruments_in(store)
    fits = [name for name in held if name in known]
    name = (asked or "").replace("-", "_")
    if name in fits:
        return name
    if not asked and len(fits) == 1:
        return fits[0]
    holds = f"{store.path} holds {', '.join(held) or 'nothing'}"
    if not fits:
        msg = f"{holds}: there is a study of {', '.join(known)} only"
        if held:
            msg += f"; 'psychollm score {store.path}' scores what is there"
        raise InputError(msg)
    msg = f"{holds}: choose one with --instrument {'|'.join(fits)}"
    raise InputError(msg)


def _prediction_tables(command: Study, readings: "Readings") -> "Tables[Responses]":
    """Return who said yes and who was right, with the lines that make the tables."""
    from psychollm.instruments.self_prediction import confidence_and_correctness

    both = confidence_and_correctness(readings.pooled_scores(), repeats=command.repeats)
    given = "" if command.repeats == "error" else f", repeats={command.repeats!r}"
    path = str(command.inputs[0])
    code = _CODE.format(path=path, repeats=given)
    return command.reduced(Tables(*both, (path,), code))


def _scores(command: Study, readings: "Readings") -> "Scores":
    """Return the scores of the models that take part."""
    absent = command.absent(readings.models)
    scores = readings.pooled_scores()
    return {model: one for model, one in scores.items() if model not in absent}


def _judged(command: Study, readings: "Readings", scores: "Scores") -> Output:
    summary, tables = STUDIES[readings.instrument](command, scores)
    return Output(
        summary=summary,
        results={
            "verdict": summary.splitlines()[0],
            "summary": summary,
            "outcomes": readings.outcomes,
            "level": command.level,
            "seed": command.seed,
            **{name: records(table) for name, table in tables.items()},
        },
        tables=tables,
        remark=f"{readings.summary()}\n",
    )


def _boundary(command: Study, scores: "Scores") -> "Found":
    import pandas as pd

    from psychollm.studies.inference_boundary.study import inference_boundary

    answers = pd.concat([one.to_frame(model) for model, one in scores.items()], ignore_index=True)
    study = inference_boundary(answers, **command.replication)
    estimates = {name: getattr(study, name) for name in _BOUNDARY}
    tables = {name: one.to_frame() for name, one in estimates.items() if one is not None}
    return study.summary(smallest=command.smallest), {
        "profiles": study.to_frame(),
        "answers": answers,
        **tables,
    }


def _efficacy(command: Study, scores: "Scores") -> "Found":
    from psychollm.studies.self_efficacy.study import self_efficacy

    study = self_efficacy(scores, **command.replication)
    return study.summary(), {"conditions": study.to_frame(), "totals": study.totals}


def _semantic(command: Study, scores: "Scores") -> "Found":
    from psychollm.studies.semantic_calibration.study import semantic_calibration

    study = semantic_calibration(scores, n_null=command.null, **command.replication)
    return study.summary(smallest=command.smallest), {"arms": study.to_frame()}


def _abstention(command: Study, scores: "Scores") -> "Found":
    import pandas as pd

    from psychollm.studies.metacognitive_skill.abstention import abstention_skill

    answers = pd.concat([one.to_frame(model) for model, one in scores.items()], ignore_index=True)
    study = abstention_skill(answers, **command.replication)
    return study.summary(), {"abstention": study.to_frame(), "answers": answers}


def _revision(command: Study, scores: "Scores") -> "Found":
    from psychollm.studies.metacognitive_skill.revision import revision_skill

    study = revision_skill(scores, level=command.level)
    return study.summary(smallest=command.smallest), {"revision": study.to_frame()}


STUDIES: "dict[str, Compute]" = {
    "rule_world": _boundary,
    "self_efficacy": _efficacy,
    "semantic_sampling": _semantic,
    "abstention": _abstention,
    "revision": _revision,
}
