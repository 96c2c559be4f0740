"""Results of OpenCompass: ``WORK_DIR/TIME/results/MODEL/DATASET.json``.

Answers are there only after ``--dump-eval-details``, under ``details``: by position, or as a
list, each with ``correct``. A position is no identity: what was asked is, where it is recorded.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from psychollm._base.errors import InputError
from psychollm.data.readers.logs.run import Run, Sample, as_score, digest
from psychollm.data.readers.logs.source import Source


def is_opencompass(source: Source) -> bool:
    """Tell whether a file holds results of OpenCompass."""
    if not (whole := source.object):
        return False
    details = whole.get("details")
    if isinstance(details, dict):
        return "type" in details or all(place.isdigit() for place in details)
    if isinstance(details, list):
        return bool(details) and all(isinstance(one, dict) for one in details)
    # Without details: known by its place, so that the error can say what is lacking.
    numbers = all(isinstance(value, int | float) for value in whole.values())
    return source.path.parent.parent.name == "results" and numbers


def read_opencompass(source: Source) -> list[Run]:
    """Read the results of one model on one dataset."""
    details = list(_details(source.document.get("details") or {}))
    if not any("correct" in one for _, one in details):
        msg = (
            f"{source.path} does not say which answers are correct: run OpenCompass with "
            "--dump-eval-details, and with an evaluator that judges answers one by one"
        )
        raise InputError(msg)
    samples = [sample for place, one in details for sample in _samples(place, one)]
    return [
        Run(
            model=source.path.parent.name,
            task=source.path.stem,
            samples=tuple(samples),
            created=source.path.parts[-4] if len(source.path.parts) > 3 else "",
        )
    ]


def _details(found: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield position and details of each answer; among the positions stands a key ``type``."""
    pairs = enumerate(found) if isinstance(found, list) else found.items()
    for place, one in pairs:
        if isinstance(one, Mapping):
            yield str(place), one


def _samples(place: str, found: Mapping[str, Any]) -> Iterator[Sample]:
    """Yield one sample, or one for each repeat."""
    correct = found.get("correct")
    verdicts = correct if isinstance(correct, list) else [correct]
    asked = found.get("prompt") or found.get("origin_prompt")
    content = digest(asked, found.get("references") or found.get("gold")) if asked else ""
    for verdict in verdicts:
        score = as_score(verdict)
        yield Sample(
            question=place,
            scores={"correct": score},
            error="" if score is not None else "not judged",
            content=content,
        )
