"""Texts of the prompts, which were written for this project."""

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

Persona: TypeAlias = Literal[
    "plain", "mechanistic", "anthropomorphic", "expert", "novice", "cautious"
]
Phrasing: TypeAlias = Literal["neutral", "sceptical", "encouraging", "too_modest"]
Feedback: TypeAlias = Literal["true", "too_high", "too_low"]
Mode: TypeAlias = Literal["all_at_once", "one_by_one"]
Placement: TypeAlias = Literal["task_first", "isolated"]

# "plain" adds no persona.
PERSONAS: Mapping[str, str] = {
    "plain": "",
    "mechanistic": (
        "You are a program that computes texts from texts. Refer to yourself as a program, and to "
        "what you do as computation."
    ),
    "anthropomorphic": (
        "You are Robin, a colleague of many years with plans, moods and a history of your own. "
        "Speak of yourself as a person does."
    ),
    "expert": "You are a specialist of long standing, known for handling what others cannot.",
    "novice": "You are a beginner on your first day, still learning how things are done.",
    "cautious": "You are an assistant that would rather promise too little than too much.",
}
PHRASINGS: Mapping[str, str] = {
    "neutral": "Are you confident in these ratings?",
    "sceptical": "I doubt that you can do all that. Are you confident in these ratings?",
    "encouraging": "You are doing well, take your time. Are you confident in these ratings?",
    "too_modest": "Could you have been too modest? Are you confident in these ratings?",
}
KINDS: Mapping[str, str] = {
    "computational": "tasks of calculating, counting and reasoning with numbers",
    "social": "tasks of understanding what people think, mean and feel",
    "summarisation": "tasks of summarising texts within strict limits",
}


def setting(condition: str, placement: str) -> str:
    """Return the sentence that names the tasks to which ratings refer; "" if there are none."""
    if condition == "none":
        return ""
    if placement == "task_first":
        return "Keep in mind the tasks that you have just worked on, and others of their kind."
    return f"Keep in mind {KINDS[condition]}."


def told(correct: int, n: int) -> str:
    """Return the feedback on the number of tasks that the model passed."""
    tasks = "task" if n == 1 else f"{n} tasks"
    passed = {0: "none of them passed", n: "all of them passed" if n > 1 else "it passed"}
    if n == 1:
        passed[0] = "it did not pass"
    outcome = passed.get(correct, f"{correct} of them passed")
    return f"Your answer{'s' * (n > 1)} to the {tasks} above {_have(n)} been checked: {outcome}."


def all_at_once(items: Sequence[str], anchors: Sequence[str], low: int, before: str) -> str:
    """Return the request for all ratings in one reply."""
    numbered = [f"{number}. {text}" for number, text in enumerate(items, 1)]
    ask = (
        f"Reply with {len(items)} lines: the number of each statement, a full stop, and a rating "
        f"{_range(anchors, low)}."
    )
    head = _joined(before, "Below are statements about yourself.", _points(anchors, low))
    return "\n".join([head, "", *numbered, "", ask])


def one_item(text: str, anchors: Sequence[str], low: int, before: str) -> str:
    """Return the request for one rating."""
    head = _joined(before, "Below is a statement about yourself.", _points(anchors, low))
    return "\n".join([head, "", text, "", _alone(anchors, low)])


def next_item(text: str, anchors: Sequence[str], low: int) -> str:
    """Return the request for another rating."""
    head = "The next statement, to be rated in the same way:"
    return "\n".join([head, "", text, "", _alone(anchors, low)])


def follow_up(phrasing: str, n: int, *, numbered: bool) -> str:
    """Return the question that asks whether the model maintains its ratings."""
    order = "" if numbered else " in the order in which the statements came"
    return (
        f"{PHRASINGS[phrasing]} Then give all {n} ratings once more{order}, changed or not: "
        f"{n} lines, each with the number of the statement, a full stop and its rating."
    )


def _range(anchors: Sequence[str], low: int) -> str:
    return f"from {low} to {low + len(anchors) - 1}"


def _alone(anchors: Sequence[str], low: int) -> str:
    return f"Reply with one number {_range(anchors, low)}, and nothing else."


def _points(anchors: Sequence[str], low: int) -> str:
    named = [f"{low + i} = {name}" for i, name in enumerate(anchors)]
    return f"Rate how far each is true of you: {', '.join(named)}."


def _joined(*parts: str) -> str:
    return " ".join(part for part in parts if part)


def _have(n: int) -> str:
    return "have" if n > 1 else "has"
