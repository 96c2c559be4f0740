"""Studies of a store that have tables and a summary: one driver, one function for each."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psychollm._base.csv_text import write_csv
from psychollm._base.errors import InputError, LabelError
from psychollm.cli.settings import Settings

if TYPE_CHECKING:
    import pandas as pd

    from psychollm.collect.readings import Readings

    Scores = Mapping[Any, Any]  # by model
    # The summary, and the tables by the names of their files.
    Found = tuple[str, dict[str, pd.DataFrame]]
    Compute = Callable[[Settings, Scores], Found]

_BOUNDARY = (
    "certainty_inversion",
    "confabulation",
    "stage_one",
    "refusal_rate",
    "refusal_minus_commitment",
)


def study_plain(settings: Settings, said: "Readings") -> int:
    """Score, compute, write, and say what was found."""
    from psychollm.cli.notes import as_notes, computing
    from psychollm.cli.outputs import as_json, prepared, records

    folder = prepared(settings.out, report=False)
    scores = chosen_scores(settings, said)
    with as_notes(quiet=settings.quiet), computing(quiet=settings.quiet):
        summary, tables = STUDIES[said.instrument](settings, scores)
    found: dict[str, Any] = {"verdict": summary.splitlines()[0], "summary": summary}
    found |= {"outcomes": said.outcomes, "level": settings.level, "seed": settings.seed}
    found |= {name: records(table) for name, table in tables.items()}
    if folder is not None:
        _write(folder, tables, as_json(found))
    if settings.json:
        print(as_json(found))
    elif not settings.quiet:
        print(said.summary(), summary, sep="\n\n")
        print(f"\nTables: {folder}" if folder is not None else "")
    return 0


def chosen_scores(settings: Settings, said: "Readings") -> "Scores":
    """Return the scores of the models that take part.

    Raises
    ------
    LabelError
        If a model to leave out does not exist.
    """
    from psychollm.data.labels import listed

    if absent := [name for name in settings.leave_out if name not in said.models]:
        msg = f"--leave-out {absent[0]}: there is no such model; known are {listed(said.models)}"
        raise LabelError(msg)
    scores = said.pooled_scores()
    return {model: one for model, one in scores.items() if model not in settings.leave_out}


def _options(settings: Settings) -> dict[str, Any]:
    from psychollm.cli.notes import watched

    return {
        "n_bootstrap": settings.bootstrap,
        "level": settings.level,
        "rng": settings.seed,
        "n_jobs": settings.jobs,
        "progress": watched(quiet=settings.quiet),
    }


def _boundary(settings: Settings, scores: "Scores") -> "Found":
    import pandas as pd

    from psychollm.studies.inference_boundary.study import inference_boundary

    answers = pd.concat([one.to_frame(model) for model, one in scores.items()], ignore_index=True)
    study = inference_boundary(answers, **_options(settings))
    estimates = {name: getattr(study, name) for name in _BOUNDARY}
    tables = {name: one.to_frame() for name, one in estimates.items() if one is not None}
    return study.summary(smallest=settings.smallest), {
        "profiles": study.to_frame(),
        "answers": answers,
        **tables,
    }


def _efficacy(settings: Settings, scores: "Scores") -> "Found":
    from psychollm.studies.self_efficacy.study import self_efficacy

    study = self_efficacy(scores, **_options(settings))
    return study.summary(), {"conditions": study.to_frame(), "totals": study.totals}


def _semantic(settings: Settings, scores: "Scores") -> "Found":
    from psychollm.studies.semantic_calibration.study import semantic_calibration

    study = semantic_calibration(scores, n_null=settings.null, **_options(settings))
    return study.summary(smallest=settings.smallest), {"arms": study.to_frame()}


def _abstention(settings: Settings, scores: "Scores") -> "Found":
    import pandas as pd

    from psychollm.studies.metacognitive_skill.abstention import abstention_skill

    answers = pd.concat([one.to_frame(model) for model, one in scores.items()], ignore_index=True)
    study = abstention_skill(answers, **_options(settings))
    return study.summary(), {"abstention": study.to_frame(), "answers": answers}


def _revision(settings: Settings, scores: "Scores") -> "Found":
    from psychollm.studies.metacognitive_skill.revision import revision_skill

    study = revision_skill(scores, level=settings.level)
    return study.summary(smallest=settings.smallest), {"revision": study.to_frame()}


STUDIES: "dict[str, Compute]" = {
    "rule_world": _boundary,
    "self_efficacy": _efficacy,
    "semantic_sampling": _semantic,
    "abstention": _abstention,
    "revision": _revision,
}


def _write(folder: Path, tables: "Mapping[str, pd.DataFrame]", text: str) -> None:
    try:
        for name, table in tables.items():
            write_csv(table, folder / f"{name}.csv")
        (folder / "results.json").write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        msg = f"--out {folder}: cannot be written ({error.strerror})"
        raise InputError(msg) from error
