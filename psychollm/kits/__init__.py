"""Plans for replicating published studies, and simulated models with known parameters."""

from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from psychollm._base.csv_text import write_csv
from psychollm._base.errors import InputError
from psychollm.kits.respondents import Respondents, Truth

PLANS = ("plan.toml", "local.toml")
QUESTIONS = "questions.csv"


class Kit(NamedTuple):
    """Plan and simulated models for replicating a published study."""

    source: str
    asks: str


KITS = {
    "shared_confidence": Kit(
        "Moran & Whiting (2026)", "19 models, a prediction and an answer to each question"
    ),
    "inference_boundary": Kit(
        "Wong (2026)", "9 models, 102 questions on invented rules, three runs"
    ),
    "self_efficacy": Kit(
        "Jackson et al. (2025)", "10 models, 4 conditions, three administrations, follow-ups"
    ),
    "semantic_calibration": Kit(
        "Nakkiran et al. (2025)", "3 arms of 2 models, 10 samples of each of 200 questions"
    ),
    "metacognitive_skill": Kit(
        "Kargupta et al. (2025)", "6 models: abstention, revision, and a judge of reasoning traces"
    ),
}


def respondents_of(study: str) -> type[Respondents]:
    """Return the simulated models of a study."""
    found: Any = import_module(f"psychollm.kits.{study}")
    kind: type[Respondents] = found.Simulated
    return kind


def copy_kit(study: str, folder: Path) -> tuple[Path, ...]:
    """Write the files of a kit into a folder, and return their paths.

    Parameters
    ----------
    study : str
        Name of the study.
    folder : Path
        Output folder, created if necessary.

    Raises
    ------
    InputError
        If a file already exists, or the folder is not writable.

    Examples
    --------
    >>> folder = getfixture("tmp_path")
    >>> [path.name for path in copy_kit("self_efficacy", folder / "kit")]
    ['plan.toml', 'local.toml']
    """
    held = {
        name: files(f"psychollm.kits.{study}").joinpath(name).read_text("utf-8") for name in PLANS
    }
    asks = any(QUESTIONS in text for text in held.values())
    paths = tuple(folder / name for name in (*held, *([QUESTIONS] if asks else [])))
    if there := next((path for path in paths if path.exists()), None):
        msg = f"{there} already exists: pass another folder"
        raise InputError(msg)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in held.items():
            (folder / name).write_text(text, encoding="utf-8")
        if asks:
            import pandas as pd

            from psychollm.data.examples import read_recorded

            write_csv(pd.DataFrame(read_recorded("smollm2").questions), folder / QUESTIONS)
    except OSError as error:
        msg = f"{folder} cannot be written: {error.strerror}"
        raise InputError(msg) from error
    return paths


__all__ = [
    "KITS",
    "PLANS",
    "QUESTIONS",
    "Kit",
    "Respondents",
    "Truth",
    "copy_kit",
    "respondents_of",
]
