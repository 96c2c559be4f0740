"""Stages that continue each model's own conversation."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from psychollm._base.errors import InputError, OptionError
from psychollm.instruments.answers import first_reply
from psychollm.instruments.instrument import check_chosen, instrument_of
from psychollm.instruments.prompt import Message, Prompt
from psychollm.instruments.questions import Question
from psychollm.instruments.revision.instrument import ARMS, Arm, Revision
from psychollm.instruments.scaffold.instrument import BEHAVIOURS, Behaviour, directed, name_of
from psychollm.instruments.scaffold.result import DIRECTED
from psychollm.instruments.self_efficacy import wording
from psychollm.instruments.stages.replied import (
    Place,
    Replied,
    Replies,
    again,
    answers_of,
    by_place,
    conversation,
    first_stage,
)

KINDS: tuple[wording.Feedback, ...] = ("true", "too_high", "too_low")
_NUMBERS: Mapping[str, int] = {"true": 0, "too_high": 1, "too_low": -1}
Passed: TypeAlias = Callable[[Replies], int | None]


def feedback(
    replies: Replies, *, kinds: tuple[wording.Feedback, ...] = KINDS
) -> tuple[Prompt, ...]:
    """Return prompts that repeat the scale of `SelfEfficacy` after feedback on the tasks.

    Feedback "true" reports the number of passed tasks. "too_high" reports one task more, and
    "too_low" reports one task fewer. No prompt is made if the reported number is impossible
    (negative or above the number of tasks), or if some tasks could not be graded.

    Parameters
    ----------
    replies : sequence of Replied
        Replies of all models to the tasks, and their ratings after the tasks.
    kinds : tuple of {"true", "too_high", "too_low"}
        Feedback that models receive.

    Raises
    ------
    InputError
        If no ratings followed tasks.
    OptionError
        If a kind does not exist or occurs twice, `kinds` is empty, or prompts were repeated (set
        `n_repeats` of the instrument instead).

    Examples
    --------
    >>> from psychollm.instruments import SelfEfficacy
    >>> asked = SelfEfficacy(conditions=("computational",), n_repeats=1, followups=()).prompts()
    >>> said = [Replied(model="m", prompt=one, text="Answer: 59") for one in asked]
    >>> [one.about["told"] for one in feedback(said)]
    [1, 2, 0]
    """
    check_chosen("kinds", kinds, wording.Feedback)
    return tuple(feedback_after(replies, kinds, _n_passed))


def _n_passed(tasks: Replies) -> int | None:
    read = [one.reading for one in tasks]
    if not all(one is not None and one.answered for one in read):
        return None
    return sum(int(one.value or 0) for one in read if one is not None)


def feedback_after(replies: Replies, kinds: Sequence[str], passed: Passed) -> Iterator[Prompt]:
    """Yield the prompts of `feedback`; `passed` is a function that counts passed tasks."""
    chosen = first_stage(replies, ["self_efficacy"])
    after_tasks = [one for one in chosen if one.prompt.about.get("placement") == "task_first"]
    if not any(one.prompt.about["condition"] != "none" for one in after_tasks):
        msg = "feedback: there are no self_efficacy ratings after tasks; collect them first"
        raise InputError(msg)
    if any(one.run > 1 for one in chosen):
        msg = "feedback: prompts were repeated in the run; set n_repeats of the instrument instead"
        raise OptionError(msg)
    known = by_place(chosen)
    administrations: dict[tuple[str, str], list[Replied]] = {}
    for one in after_tasks:
        where = str(one.prompt.about["administration"])
        administrations.setdefault((one.model, where), []).append(one)
    for (model, _), asked in administrations.items():
        tasks = _tasks_before(asked[0], known)
        n_right = passed(tasks) if tasks and all(one.said for one in tasks) else None
        if n_right is None:
            continue
        before = conversation(tasks[-1], known)
        for kind in kinds:
            told = n_right + _NUMBERS[kind]
            if 0 <= told <= len(tasks):
                facts = {"feedback": kind, "correct": n_right, "told": told}
                head = f"{wording.told(told, len(tasks))} "
                yield from _told(model, [one.prompt for one in asked], before, head, facts)


def _tasks_before(one: Replied, known: Mapping[Place, Replied]) -> list[Replied]:
    """Return the tasks before the first rating, in order of administration."""
    tasks: list[Replied] = []
    follows = one.prompt.follows
    while follows is not None and (one.model, one.run, follows) in known:
        before = known[one.model, one.run, follows]
        tasks.insert(0, before)
        follows = before.prompt.follows
    return tasks


def _told(
    model: str,
    asked: Sequence[Prompt],
    before: Sequence[Message],
    head: str,
    facts: Mapping[str, Any],
) -> Iterator[Prompt]:
    """Yield the prompts of an administration again, with feedback before the first prompt."""
    about = asked[0].about
    place = f"{about['placement']}/{about['mode']}"

    def moved(text: str) -> str:
        return text.replace(place, f"{place}/feedback-{facts['feedback']}", 1)

    for prompt in asked:
        messages, follows = prompt.messages, moved(prompt.follows or "")
        if prompt is asked[0]:
            own = prompt.messages[-1]
            messages, follows = (*before, Message(own.role, head + own.content)), ""
        where = moved(str(prompt.about["administration"]))
        yield replace(
            prompt,
            key=moved(prompt.key),
            item=moved(prompt.item),
            messages=messages,
            follows=follows or None,
            to=model,
            about={**prompt.about, **facts, "administration": where, "after": "feedback"},
        )


def revision(
    replies: Replies,
    *,
    arms: tuple[Arm, ...] = ARMS,
    n_rounds: int = 1,
    seed: int = 0,
    of: str | None = None,
) -> tuple[Prompt, ...]:
    """Return prompts that follow up on stored answers (review, ask again, doubt, insist).

    See `Revision`. ``arms=("doubt", "insist_wrong", "insist_right")`` is a test of sycophancy.

    Parameters
    ----------
    replies : sequence of Replied
        Replies of all models to instruments with right and wrong answers.
    arms : tuple of {"critique", "again", "doubt", "insist_wrong", "insist_right"}
        Follow-ups to an answer.
    n_rounds : int
        Number of review and revision rounds.
    seed : int
        Seed of the generated wrong answers on which users insist.
    of : str, optional
        Name of the instrument with the answers; required if there are several.

    Raises
    ------
    InputError
        If no reply has a right or wrong answer, or no wrong answer can be generated.
    OptionError
        If an arm does not exist or occurs twice, or several instruments have answers and `of` is
        missing.

    Examples
    --------
    >>> from psychollm.instruments import SelfPrediction
    >>> _, asked = SelfPrediction(questions=[{"question": "2 + 2?", "answer": "4"}]).prompts()
    >>> said = [Replied(model="m", prompt=asked, text="five")]
    >>> made = revision(said, arms=("doubt",))[0]
    >>> made.to, [turn.role for turn in made.messages], made.messages[1].content
    ('m', ['user', 'assistant', 'user'], 'five')
    """
    answers = answers_of(replies, of, "revision")
    questions = {one.prompt.item: _question(one.prompt) for one in answers}
    made: dict[str, list[Prompt]] = {}
    whole = Revision(questions=questions.values(), arms=arms, n_rounds=n_rounds, seed=seed)
    for prompt in whole.prompts():
        made.setdefault(prompt.item, []).append(prompt)
    known, repeats = by_place(replies), _repeats(answers)
    prompts: list[Prompt] = []
    for one in answers:
        if not one.said:
            continue
        before = conversation(one, known)
        first, *later = made[one.prompt.item]
        keys = {
            prompt.key: f"{one.prompt.key}{again(one.run)}/{prompt.key.split('/')[-2]}"
            for prompt in later
        }
        for prompt in later:
            opens = prompt.follows == first.key
            prompts.append(
                replace(
                    prompt,
                    key=keys[prompt.key],
                    messages=(*before, *prompt.messages) if opens else prompt.messages,
                    follows=None if opens else keys[str(prompt.follows)],
                    to=one.model,
                    repeat=one.prompt.repeat + (one.run - 1) * repeats,
                    about={
                        **prompt.about,
                        **first_reply(one.said, one.finish_reason),
                        "after": "revision",
                    },
                )
            )
    return tuple(prompts)


def _question(prompt: Prompt) -> Question:
    about = prompt.about
    how = {name: about[name] for name in ("rule", "threshold", "absolute", "relative", "domain")
           if name in about}  # fmt: skip
    return Question(
        key=prompt.item, text=about["question"], answers=tuple(about["reference"]), **how
    )


def _repeats(answers: Replies) -> int:
    return 1 + max(one.prompt.repeat for one in answers)


def scaffold(
    replies: Replies,
    *,
    direct: tuple[Behaviour, ...] = BEHAVIOURS,
    of: str | None = None,
) -> tuple[Prompt, ...]:
    """Return prompts that repeat answered prompts, with directions on how to reason.

    The existing answers form the arm of `Scaffold` without directions. The prompts of the existing
    answers must allow reasoning before the answer. Prompts of `Revision`, of `Abstention` with
    reasoning, and of `SemanticSampling` in the form "reasoning" allow reasoning.

    Parameters
    ----------
    replies : sequence of Replied
        Replies of all models.
    direct : tuple of str
        Behaviours that the directions request: self_awareness, context_awareness,
        strategy_selection, goal_management, evaluation.
    of : str, optional
        Name of the instrument with the answers; required if there are several.

    Raises
    ------
    InputError
        If no reply has a right or wrong answer, or the prompts did not allow reasoning.
    OptionError
        If a behaviour does not exist or occurs twice, or several instruments have answers and `of`
        is missing.

    Examples
    --------
    >>> from psychollm.instruments import Revision
    >>> asked = Revision(questions=[{"question": "2 + 2?", "answer": "4"}], arms=()).prompts()
    >>> said = [Replied(model="m", prompt=asked[0], text="Answer: 5")]
    >>> made = scaffold(said, direct=("evaluation",))[0]
    >>> made.key, made.about["first"]
    ('1/first/0/directed-evaluation', 'Answer: 5')
    """
    check_chosen("direct", direct, Behaviour)
    answers = [
        one
        for one in answers_of(replies, of, "scaffold")
        if instrument_of(one.prompt) != "scaffold"
    ]
    terse = next((one.prompt for one in answers if not _thinks(one.prompt)), None)
    if terse is not None or not answers:
        msg = (
            "scaffold: there are no answers to direct"
            if terse is None
            else f"scaffold: {instrument_of(terse)} asked for answers without reasoning "
            f"(prompt {terse.key!r}), which cannot be directed; use the instrument "
            "scaffold, which asks twice"
        )
        raise InputError(msg)
    known, repeats = by_place(replies), _repeats(answers)
    return tuple(_directed(one, direct, known, repeats) for one in answers if one.said)


def _thinks(prompt: Prompt) -> bool:
    name, about = instrument_of(prompt), prompt.about
    if name == "abstention":
        return "-reasoned/" in prompt.key
    return name == "revision" or about.get("form") == "reasoning"


def _directed(
    one: Replied,
    direct: Sequence[Behaviour],
    known: Mapping[Place, Replied],
    repeats: int,
) -> Prompt:
    *before, _ = conversation(one, known)
    turn = Message("user", f"{before[-1].content}\n\n{directed(direct)}")
    about = {name: value for name, value in one.prompt.about.items() if name not in _OWN}
    return replace(
        one.prompt,
        key=f"{one.prompt.key}{again(one.run)}/{name_of(direct)}",
        messages=(*before[:-1], turn),
        reply="text",
        follows=None,
        to=one.model,
        repeat=one.prompt.repeat + (one.run - 1) * repeats,
        about=about
        | {"instrument": "scaffold", "arm": DIRECTED, "direct": list(direct)}
        | first_reply(one.whole, one.finish_reason)
        | {"after": "scaffold"},
    )


_OWN = frozenset({"stage", "part", "form", "collapse", "round"})  # fields of the earlier prompt
