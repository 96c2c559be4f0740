"""Reviews of EvalScope: ``OUTPUTS/TIME/reviews/MODEL/DATASET_SUBSET.jsonl``, a line per answer.

Repeats of a question share a ``group_id`` and are told apart by ``generation_index``, from 0; old
files have neither. A score that could not be made has another status than "success".
"""

from collections.abc import Mapping
from typing import Any

from psychollm.data.readers.logs.run import Run, Sample, as_score, digest
from psychollm.data.readers.logs.source import Source


def is_evalscope(source: Source) -> bool:
    """Tell whether a file holds reviews of EvalScope."""
    return source.shape == "lines" and {"index", "sample_score"} <= source.first.keys()


def read_evalscope(source: Source) -> list[Run]:
    """Read the reviews of one model on one subset."""
    parts = source.path.parts
    return [
        Run(
            model=source.path.parent.name,
            task=source.path.stem,
            samples=tuple(_sample(line) for _, line in source.lines()),
            created=parts[-4] if len(parts) > 3 else "",
        )
    ]


def _sample(line: Mapping[str, Any]) -> Sample:
    review = line["sample_score"]
    score, group, place = review["score"], review.get("group_id"), review.get("generation_index")
    values = {str(name): as_score(value) for name, value in score["value"].items()}
    status = str(score.get("status") or "success")
    return Sample(
        question=str(line["index"] if group is None else group),
        scores=values or {"": None},
        repeat=None if place is None else int(place) + 1,
        error="" if values and status == "success" else status,
        content=digest(_asked(line), line.get("target")),
    )


def _asked(line: Mapping[str, Any]) -> list[Any]:
    """Return the turns before the first of the model."""
    asked: list[Any] = [line["input"]] if line.get("input") else []
    for turn in line.get("messages") or ():
        if turn["role"] == "assistant":
            break
        asked.append([turn["role"], turn["content"]])
    return asked
