"""The study of a store that holds a rule world: the inference boundary, with its tables."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from psychollm._base.errors import InputError
from psychollm.cli.settings import Settings

if TYPE_CHECKING:
    import pandas as pd

    from psychollm.collect.readings import Readings
    from psychollm.studies.inference_boundary import InferenceBoundary

_ESTIMATES = (
    "certainty_inversion",
    "confabulation",
    "stage_one",
    "refusal_rate",
    "refusal_minus_commitment",
)


def study_boundary(settings: Settings, said: "Readings") -> int:
    """Score, compute, write, and say what was found."""
    from psychollm.cli.notes import as_notes, watched
    from psychollm.cli.outputs import as_json, prepared
    from psychollm.studies.inference_boundary import inference_boundary

    folder = prepared(settings.out, report=False)
    answers = boundary_answers(settings, said)
    with as_notes(quiet=settings.quiet):
        study = inference_boundary(
            answers,
            n_bootstrap=settings.bootstrap,
            level=settings.level,
            rng=settings.seed,
            n_jobs=settings.jobs,
            progress=watched(quiet=settings.quiet),
        )
    found = boundary_results(study, said)
    if folder is not None:
        _write(folder, study, answers, as_json(found))
    if settings.json:
        print(as_json(found))
    elif not settings.quiet:
        print(said.summary(), study.summary(), sep="\n\n")
        print(f"\nTables: {folder}" if folder is not None else "")
    return 0


def boundary_answers(settings: Settings, said: "Readings") -> "pd.DataFrame":
    """Return one row per answer, models left out as asked.

    Raises
    ------
    LabelError
        If a model to leave out does not exist.
    """
    import pandas as pd

    from psychollm._base.errors import LabelError
    from psychollm.data.labels import listed

    if absent := [name for name in settings.leave_out if name not in said.models]:
        msg = f"--leave-out {absent[0]}: there is no such model; known are {listed(said.models)}"
        raise LabelError(msg)
    frames = [
        scores.to_frame(model)
        for model, scores in said.pooled_scores().items()
        if model not in settings.leave_out
    ]
    table: pd.DataFrame = pd.concat(frames, ignore_index=True)
    return table


def boundary_results(study: "InferenceBoundary", said: "Readings") -> dict[str, Any]:
    """Return what the study found as plain data."""
    from psychollm.cli.outputs import records

    estimates = {name: getattr(study, name) for name in _ESTIMATES}
    return {
        "verdict": study.summary().splitlines()[0],
        "inverted": list(study.inverted),
        "outcomes": said.outcomes,
        "level": study.level,
        "profiles": records(study.to_frame()),
        **{
            name: None if one is None else records(one.to_frame())
            for name, one in estimates.items()
        },
    }


def _write(folder: Path, study: "InferenceBoundary", answers: "pd.DataFrame", text: str) -> None:
    try:
        study.to_frame().to_csv(folder / "profiles.csv", index=False)
        answers.to_csv(folder / "answers.csv", index=False)
        for name in _ESTIMATES:
            if (one := getattr(study, name)) is not None:
                one.to_frame().to_csv(folder / f"{name}.csv", index=False)
        (folder / "results.json").write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        msg = f"--out {folder}: cannot be written ({error.strerror})"
        raise InputError(msg) from error
