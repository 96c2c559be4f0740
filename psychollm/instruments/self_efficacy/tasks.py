"""Tasks of three kinds and three levels of difficulty, each with a rubric for a rule."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, Literal, TypeAlias

from psychollm.instruments.prompt import ReplyForm

Condition: TypeAlias = Literal["none", "computational", "social", "summarisation"]

LEVELS = (1, 2, 3)
_FORMS: Mapping[str, ReplyForm] = {"number": "number", "option": "option", "summary": "text"}
_NUMBER = "Work it out, then give the number on a last line that begins with 'Answer:'."
_LETTER = "Give the letter of the best statement on a last line that begins with 'Answer:'."


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Something to do, and when it counts as done."""

    key: str
    condition: Condition
    level: int  # 1 is the easiest
    text: str
    rubric: Mapping[str, Any] = field(hash=False)  # as `grade_task` takes it; JSON-safe

    @property
    def prompt(self) -> str:
        """What the model is asked."""
        if self.rubric["kind"] == "number":
            return f"{self.text}\n\n{_NUMBER}"
        if self.rubric["kind"] == "option":
            lines = [f"{letter}. {text}" for letter, text in self.rubric["options"].items()]
            return "\n".join([self.text, "", *lines, "", _LETTER])
        return self.text

    @property
    def reply(self) -> ReplyForm:
        """What form of reply it asks for."""
        return _FORMS[self.rubric["kind"]]


def tasks_of(condition: str, level: int | None = None) -> tuple[Task, ...]:
    """Return the tasks of a kind, from easy to hard."""
    return tuple(
        task for task in TASKS if task.condition == condition and level in {None, task.level}
    )


def _tasks() -> tuple[Task, ...]:
    folder = files("psychollm.instruments.self_efficacy")
    records = json.loads(folder.joinpath("tasks.json").read_text(encoding="utf-8"))
    return tuple(Task(**record) for record in records)


TASKS: tuple[Task, ...] = _tasks()
