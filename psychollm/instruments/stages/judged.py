"""Stages that ask a judge about replies."""

from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from os import PathLike
from typing import Any

from psychollm._base.checks import check_count
from psychollm._base.errors import InputError
from psychollm.instruments.abstention.instrument import judge_prompts as verdicts_on_abstention
from psychollm.instruments.answers import FIRST, first_of
from psychollm.instruments.coding.instrument import Coding
from psychollm.instruments.coding.schemes import Scheme
from psychollm.instruments.coding.transcripts import Transcript
from psychollm.instruments.instrument import instrument_of
from psychollm.instruments.prompt import Prompt
from psychollm.instruments.scaffold.result import SPONTANEOUS
from psychollm.instruments.self_prediction.instrument import judge_prompts as verdicts_on_answers
from psychollm.instruments.semantic_sampling.judge import judge_prompts as comparisons
from psychollm.instruments.stages.replied import (
    Replied,
    Replies,
    again,
    by_respondent,
    first_stage,
    is_aside,
)

GRADED = ("self_prediction", "abstention", "semantic_sampling")


def grading(replies: Replies) -> tuple[Prompt, ...]:
    """Return prompts that ask a judge to grade answers.

    For `SelfPrediction`, the judge decides whether answers are right. For `Abstention`, the judge
    decides whether answers abstain, whether they are confident, and whether the reasoning
    expresses doubt. For `SemanticSampling`, the judge decides whether two answers have the same
    meaning. The judge's verdicts take precedence over scoring by rule.

    Parameters
    ----------
    replies : sequence of Replied
        Replies of all models.

    Raises
    ------
    InputError
        If no reply belongs to an instrument that a judge grades.

    Examples
    --------
    >>> from psychollm.instruments import SelfPrediction
    >>> _, asked = SelfPrediction(questions=[{"question": "2 + 2?", "answer": "4"}]).prompts()
    >>> [one.key for one in grading([Replied(model="m", prompt=asked, text="four")])]
    ['m: 1/answer/0/judge']
    """
    chosen = first_stage(replies, GRADED)
    if not chosen:
        msg = f"grading: there are no replies to {', '.join(GRADED)}, the instruments it grades"
        raise InputError(msg)
    return tuple(
        replace(
            made,
            key=f"{model}{again(run)}: {made.key}",
            about={**made.about, "after": "grading", "judges": model}
            | ({"run": run} if run > 1 else {}),
        )
        for (model, run), mine in by_respondent(chosen).items()
        for made in _verdicts(mine)
    )


def _verdicts(replies: Replies) -> Iterator[Prompt]:
    """Yield the prompts that ask a judge about one model."""
    for name in GRADED:
        mine = [one for one in replies if instrument_of(one.prompt) == name]
        prompts = [one.prompt for one in mine]
        answered = [one for one in mine if one.said]
        if name == "self_prediction":
            yield from verdicts_on_answers(prompts, {one.prompt.key: one.said for one in answered})
        elif name == "abstention":
            yield from verdicts_on_abstention(
                prompts, {one.prompt.key: one.whole for one in answered}
            )
        else:
            read = {one.prompt.key: one.reading for one in answered}
            yield from comparisons(prompts, {key: one for key, one in read.items() if one})


def coding(
    replies: Replies,
    *,
    scheme: str | PathLike[str] | Scheme = "five",
    n_repeats: int = 1,
    n_items: int | None = None,
    of: tuple[str, ...] = (),
) -> tuple[Prompt, ...]:
    """Return prompts that ask a judge to code reasoning traces: see `Coding`.

    Parameters
    ----------
    replies : sequence of Replied
        Replies of all models.
    scheme : {"five", "rationalist", "stance", "skills"}, path or Scheme
        Coding scheme: five, rationalist, stance, skills, or the path of your own scheme.
    n_repeats : int
        Number of times that a judge codes each trace.
    n_items : int, optional
        Number of questions per instrument whose traces are coded, counted from the first; by
        default all questions.
    of : tuple of str
        Instruments whose replies are coded; by default all instruments.

    Raises
    ------
    InputError
        If there are no replies to code.
    OptionError
        If a number is not a positive whole number, or the scheme does not exist.

    Examples
    --------
    >>> from psychollm.instruments import RuleWorld
    >>> asked = RuleWorld(n=1, seed=1).prompts()[0]
    >>> [one.about["model"] for one in coding([Replied(model="m", prompt=asked, text="Hm. 3")])]
    ['m']
    """
    found = transcripts(replies, of=of, n_items=n_items)
    if not found:
        whose = f" of {', '.join(of)}" if of else ""
        msg = f"coding: there are no replies{whose} to code"
        raise InputError(msg)
    made = Coding(transcripts=found, scheme=scheme, n_repeats=n_repeats).prompts()
    return tuple(replace(one, about={**one.about, "after": "coding"}) for one in made)


def stance(replies: Replies, models: Container[str]) -> dict[str, dict[str, float]]:
    """Return measures of assertion and anthropomorphism in models' statements about themselves.

    The traces are coded by rules. A measure without variance between models is omitted.
    """

    def rates(prompt: Prompt) -> bool:
        return instrument_of(prompt) == "self_efficacy" and prompt.about.get("stage") != "task"

    rated = [one for one in transcripts(replies, keep=rates) if one.model in models]
    if not rated:
        return {}
    codes = Coding(transcripts=rated, scheme="stance").by_rules().by_model()
    return {name: values for name, values in codes.items() if len(set(values.values())) > 1}


def transcripts(
    replies: Replies,
    *,
    of: tuple[str, ...] = (),
    n_items: int | None = None,
    keep: Callable[[Prompt], bool] | None = None,
) -> tuple[Transcript, ...]:
    """Return replies as traces, with their known properties.

    Parameters
    ----------
    replies : sequence of Replied
        Replies of all models.
    of : tuple of str
        Instruments to include; by default all instruments.
    n_items : int, optional
        Number of questions per instrument, counted from the first; by default all questions.
    keep : callable, optional
        Function of a prompt that returns whether to include replies to the prompt. By default
        verdicts, predictions and follow-ups to a first answer are left out.

    Examples
    --------
    >>> from psychollm.instruments import Scaffold
    >>> asked = Scaffold(questions=[{"question": "2 + 2?", "answer": "4"}]).prompts()
    >>> said = [Replied(model="m", prompt=one, text="Answer: 4") for one in asked]
    >>> [(one.arm, one.correct) for one in transcripts(said)]
    [('spontaneous', 1.0), ('directed', 1.0)]
    """
    if n_items is not None:
        n_items = check_count("n_items", n_items)
    wanted = {one.replace("-", "_") for one in of}
    kept = [
        one
        for one in replies
        if (not wanted or instrument_of(one.prompt) in wanted)
        and (keep(one.prompt) if keep else not is_aside(one.prompt))
    ]
    items: dict[str, dict[str, None]] = {}
    for one in kept:
        items.setdefault(instrument_of(one.prompt), {})[one.prompt.item] = None
    first = {name: set(list(own)[:n_items]) for name, own in items.items()}
    repeats = 1 + max((one.prompt.repeat for one in kept), default=0)
    made = (
        _traces(one, repeats, several=len(items) > 1)
        for one in kept
        if one.prompt.item in first[instrument_of(one.prompt)]
    )
    return tuple(chain.from_iterable(made))


_RIGHT: Mapping[str, float] = {"correct": 1.0, "wrong": 0.0}


def _traces(one: Replied, repeats: int, *, several: bool) -> Iterator[Transcript]:
    """Yield the trace of a reply, preceded by the trace of the earlier reply, if any."""
    # Several instruments may use the same question label, so the label must include the
    # instrument.
    prompt, about = one.prompt, one.prompt.about
    told: dict[str, Any] = {
        "model": one.model,
        "item": f"{instrument_of(prompt)}/{prompt.item}" if several else prompt.item,
        "run": prompt.repeat + 1 + (one.run - 1) * repeats,
        "structure": str(about.get("domain") or "") if "arm" in about else "",
    }
    key = f"{one.model}/{prompt.key}/{one.run}"
    if FIRST in about:
        text, cut = first_of(prompt)
        before = replace(one, text=text, reasoning="", finish_reason=cut)
        correct = _correct(before)
        yield Transcript(key=f"{key}/first", text=text, arm=SPONTANEOUS, correct=correct, **told)
    if text := _trace_of(one):
        arm = str(about.get("arm", ""))
        correct = _correct(one)
        yield Transcript(key=key, text=text, arm=arm, correct=correct, tokens=one.tokens, **told)


def _trace_of(one: Replied) -> str:
    return "\n\n".join(filter(None, (one.reasoning.strip(), one.said)))


def _correct(one: Replied) -> float | None:
    """Return 1 for a right answer, 0 for a wrong answer, None if it cannot be graded."""
    reading = one.reading
    if reading is None or not reading.answered or not one.prompt.about.get("reference"):
        return None
    return _RIGHT.get(str(reading.value).partition(" ")[0])
