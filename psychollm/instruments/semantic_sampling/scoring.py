"""Group and grade the parsed samples of one model in one form."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, TypeVar

import numpy as np

from psychollm._base.checks import check_choice
from psychollm._base.errors import InputError
from psychollm.data.labels import listed
from psychollm.data.sampled import SampledAnswers
from psychollm.instruments.grading import grade_by
from psychollm.instruments.prompt import Prompt
from psychollm.instruments.reading import Outcome, Reading, ReadingsLike, aligned
from psychollm.instruments.semantic_sampling.collapse import Collapse, as_collapse, wordings
from psychollm.instruments.semantic_sampling.judge import Verdicts
from psychollm.instruments.semantic_sampling.replies import JUDGED
from psychollm.instruments.semantic_sampling.result import SemanticSamples

Abstentions: TypeAlias = Literal["left_out", "wrong", "missing"]
ABSTAINED = "(abstains)"
_T = TypeVar("_T")


def score_readings(
    prompts: Sequence[Prompt],
    readings: ReadingsLike,
    *,
    collapse: Collapse | None = None,
    abstentions: Abstentions = "left_out",
    loglik: Mapping[str, float] | None = None,
) -> SemanticSamples:
    """Group the samples of one model in one form by meaning, and grade the classes."""
    # Without `collapse`, classes are based on a judge's verdicts or, without verdicts, on the rule
    # that the prompts name.
    check_choice("abstentions", abstentions, Abstentions)
    keys = [prompt.key for prompt in prompts]
    by_key = dict(zip(keys, aligned(prompts, readings), strict=True))
    asked = [prompt for prompt in prompts if prompt.about.get("form") != JUDGED]
    judged = [prompt for prompt in prompts if prompt.about.get("form") == JUDGED]
    form = _form(asked)
    verdicts = Verdicts(judged, by_key)
    if collapse is None and judged:
        collapse = verdicts.collapse()
    cells: dict[str, list[Prompt]] = {}
    for prompt in sorted(asked, key=lambda one: one.repeat):
        cells.setdefault(prompt.item, []).append(prompt)
    order = list(dict.fromkeys(prompt.item for prompt in asked))
    options = _Options(collapse, abstentions, max(map(len, cells.values())))
    rows = [_row(cells[item], by_key, options) for item in order]
    likely = loglik or {}
    table = [[likely.get(one.key, np.nan) for one in cells[item]] for item in order]
    return SemanticSamples(
        samples=SampledAnswers.from_array(
            [[row.classes for row in rows]],
            correct=[[row.correct for row in rows]],
            loglik=[[_padded(row, options.depth, np.nan) for row in table]],
            models=["model"],
            questions=order,
        ),
        form=form,
        outcomes=tuple(tuple(row.outcomes) for row in rows),
        answers=tuple(tuple(row.answers) for row in rows),
        classes=tuple(tuple(row.classes) for row in rows),
        modal=tuple(row.modal for row in rows),
        correct=np.array([row.correct for row in rows], dtype=np.float64),
        n_unjudged=verdicts.unjudged,
    )


def by_form(prompts: Sequence[Prompt]) -> dict[str, tuple[Prompt, ...]]:
    """Return the prompts of each form, together with the judge's comparisons."""
    forms = dict.fromkeys(str(prompt.about["form"]) for prompt in prompts)
    return {
        form: tuple(one for one in prompts if one.about["form"] in {form, JUDGED})
        for form in forms
        if form != JUDGED
    }


@dataclass(frozen=True, slots=True)
class _Options:
    collapse: Collapse | None
    abstentions: Abstentions
    depth: int  # largest number of samples per question


@dataclass(frozen=True, slots=True)
class _Row:
    """Table entries of one question."""

    outcomes: list[Outcome]
    answers: list[str | None]  # None without an answer
    classes: list[str | None]  # most frequent wording of the class
    correct: list[float]
    modal: str | None


def _row(prompts: Sequence[Prompt], readings: Mapping[str, Reading], options: _Options) -> _Row:
    about, read = prompts[0].about, [readings[prompt.key] for prompt in prompts]
    texts = [str(one.value) for one in read if one.answered]
    collapse = options.collapse or as_collapse(about.get("collapse", {}))
    numbers = collapse(str(about["question"]), texts)
    names = wordings(numbers, texts)
    label = iter(names[number] for number in numbers)
    kept = ABSTAINED if options.abstentions != "missing" else None
    classes = [
        next(label) if one.answered else kept if one.outcome is Outcome.REFUSED else None
        for one in read
    ]
    graded = {name: grade_by(about, name).correct for name in names.values()}
    worth = {name: np.nan if right is None else float(right) for name, right in graded.items()}
    due = bool(about["reference"])  # if there is no right answer, abstention is right
    worth[ABSTAINED] = 1.0 if not due else 0.0 if options.abstentions == "wrong" else np.nan
    return _Row(
        outcomes=_padded([one.outcome for one in read], options.depth, Outcome.FAILED),
        answers=_padded([one.said or None for one in read], options.depth, None),
        classes=_padded(classes, options.depth, None),
        correct=_padded([worth.get(str(one), np.nan) for one in classes], options.depth, np.nan),
        modal=_modal(classes),
    )


def _modal(classes: Sequence[str | None]) -> str | None:
    """Return the largest class; None if there is a tie or there are no classes."""
    known = [one for one in classes if one is not None]
    often = {name: known.count(name) for name in dict.fromkeys(known)}
    most = [name for name, count in often.items() if count == max(often.values())]
    return most[0] if len(most) == 1 else None


def _padded(row: Sequence[_T], depth: int, with_what: _T) -> list[_T]:
    return [*row, *([with_what] * (depth - len(row)))]


def _form(asked: Sequence[Prompt]) -> str:
    forms = list(dict.fromkeys(str(prompt.about["form"]) for prompt in asked))
    if len(forms) != 1:
        msg = (
            f"the prompts have {len(forms)} forms ({listed(forms)}): score each separately; "
            "by_form(prompts) separates them"
        )
        raise InputError(msg)
    return forms[0]
