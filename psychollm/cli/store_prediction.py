"""The study of a store that holds self-predictions: shared confidence, with its report."""

from typing import TYPE_CHECKING

from psychollm.cli.inputs import Tables, reduced
from psychollm.cli.settings import Settings

if TYPE_CHECKING:
    from psychollm.collect.readings import Readings

_CODE = """\
from pathlib import Path
from psychollm.instruments.self_prediction import tables

with psy.collect.Store(Path({path!r})) as store:
    said = psy.collect.readings(store, instrument="self_prediction")
confidence, correctness = tables(said.pooled_scores(){repeats})"""


def study_prediction(settings: Settings, said: "Readings") -> int:
    """Make the two tables, compute, write, and say where it is."""
    from psychollm.cli.notes import as_notes, busy, computing
    from psychollm.cli.outputs import Outputs
    from psychollm.cli.study import compute

    outputs = Outputs.prepare(settings)
    with as_notes(quiet=settings.quiet):
        tables = prediction_tables(settings, said)
        with computing(quiet=settings.quiet):
            study = compute(settings, tables)
        with busy("writing the report", quiet=settings.quiet):
            outputs.write(study, tables)
    outputs.tell(study, tables)
    return 0


def prediction_tables(settings: Settings, said: "Readings") -> Tables:
    """Return who said yes and who was right, with the lines that make the tables.

    Raises
    ------
    OptionError
        If prompts were put several times, and nothing says what becomes of it.
    """
    from psychollm.instruments.self_prediction import tables

    confidence, correctness = tables(said.pooled_scores(), repeats=settings.repeats)
    given = "" if settings.repeats == "error" else f", repeats={settings.repeats!r}"
    path = str(settings.confidence)
    confidence, correctness, code, left_out = reduced(settings, confidence, correctness)
    return Tables(
        confidence=confidence,
        correctness=correctness,
        source=(path,),
        code="\n".join([_CODE.format(path=path, repeats=given), *code]),
        left_out=left_out,
    )
