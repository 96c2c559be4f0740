"""The two tables of a study, from files or from the embedded example."""

from collections.abc import Collection, Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from psychollm._base.errors import LabelError
from psychollm.cli.settings import Settings
from psychollm.data.alignment import common
from psychollm.data.examples import load_example
from psychollm.data.labels import listed
from psychollm.data.readers import read_responses
from psychollm.data.responses import Responses


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """Confidence and correctness, and where they come from."""

    confidence: Responses
    correctness: Responses
    source: tuple[str, ...]  # names of the files, or of the example
    code: str  # lines of Python that make the two tables
    left_out: str  # what takes no part, "" where nothing was left out


def read_tables(settings: Settings) -> Tables:
    """Read both tables.

    Raises
    ------
    InputError
        If a file does not exist or cannot be used; names file, line and column.
    """
    if settings.example:
        example = load_example("shared_confidence")
        return Tables(
            confidence=example.confidence,
            correctness=example.correctness,
            source=("the embedded example",),
            code=_EXAMPLE_CODE,
            left_out="",
        )
    first, second = _calls(settings)
    confidence, correctness = first.run(), second.run()
    code = [f"confidence = psy.{first.text()}", f"correctness = psy.{second.text()}"]
    confidence, correctness, lines, left_out = reduced(settings, confidence, correctness)
    files = (settings.confidence, settings.correctness)
    return Tables(
        confidence=confidence,
        correctness=correctness,
        source=tuple(str(file) for file in files if file is not None),
        code="\n".join([*code, *lines]),
        left_out=left_out,
    )


def reduced(
    settings: Settings, confidence: Responses, correctness: Responses
) -> tuple[Responses, Responses, list[str], str]:
    """Leave out what is to take no part; return the lines that do so, and what to say of it.

    Raises
    ------
    LabelError
        If a model to leave out does not exist.
    """
    code: list[str] = []
    remarks = []
    if settings.common:
        shared = common(confidence, correctness)
        confidence, correctness = shared.first, shared.second
        code.append(_COMMON_CODE)
        if any(map(len, (*shared.models_left_out, *shared.questions_left_out))):
            remarks.append(shared.summary())
    absent = _absent(settings, confidence, correctness)
    if absent:
        confidence, correctness = _without(confidence, absent), _without(correctness, absent)
        code.append(f"absent = {list(absent)!r}")
        code += [_SELECT_CODE.format(name) for name in ("confidence", "correctness")]
        remarks.append(f"Left out: {', '.join(f'{m} ({why})' for m, why in absent.items())}.")
    return confidence, correctness, code, " ".join(remarks)


def _absent(
    settings: Settings, confidence: Responses, correctness: Responses
) -> dict[Hashable, str]:
    """Return the models that are to take no part, each with its reason."""
    known = {str(model): model for model in (*confidence.models, *correctness.models)}
    absent: dict[Hashable, str] = {}
    for name in settings.leave_out:
        if name not in known:
            msg = f"--leave-out {name}: there is no such model; known are {listed(list(known))}"
            raise LabelError(msg)
        absent[known[name]] = "as asked"
    for what, table in (("confidence", confidence), ("correctness", correctness)):
        for model, n in zip(table.models, table.answered, strict=True):
            if n < settings.least_answers and model not in absent:
                absent[model] = f"{n} answers in {what}"
    return absent


def _without(table: Responses, absent: Collection[Hashable]) -> Responses:
    return table.select(models=[model for model in table.models if model not in absent])


_EXAMPLE_CODE = """\
example = psy.load_example("shared_confidence")
confidence, correctness = example.confidence, example.correctness"""
_COMMON_CODE = """\
shared = psy.data.common(confidence, correctness)
confidence, correctness = shared.first, shared.second"""
_SELECT_CODE = "{0} = {0}.select(models=[m for m in {0}.models if m not in absent])"
_DEFAULTS = {"layout": "auto", "duplicates": "error", "strict": True}


@dataclass(frozen=True, slots=True)
class _Reading:
    """A call of `read_responses` that can be made and be shown."""

    path: Path | None
    options: dict[str, Any]

    def run(self) -> Responses:
        return read_responses(str(self.path), **self.options)

    def text(self) -> str:
        """Return the call with the options that are not the default."""
        given = [
            f"{name}={value!r}"
            for name, value in self.options.items()
            if value is not None and value != _DEFAULTS.get(name)
        ]
        return f"read_responses({', '.join([repr(str(self.path)), *given])})"


def _calls(settings: Settings) -> tuple[_Reading, _Reading]:
    """Return how each of the two tables is read."""
    both = {
        "layout": settings.layout,
        "model": settings.model_column,
        "question": settings.question_column,
        "duplicates": settings.duplicates,
    }
    split = {
        "codes": settings.codes,
        "threshold": settings.threshold,
        "strict": not settings.at_least,
    }
    first = {**both, "value": settings.confidence_column, **split}
    second = {**both, "value": settings.correctness_column, "codes": settings.codes}
    if settings.threshold is not None:
        second["codes"] = None
    return _Reading(settings.confidence, first), _Reading(
        settings.correctness or settings.confidence, second
    )
