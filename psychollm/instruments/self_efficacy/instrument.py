"""The self-efficacy instrument: a repeated scale under several conditions, with follow-ups.

The design follows Jackson, Jensen, Hussain and Sezgin (2025); the scale, the tasks and the
sentences were written for this project. In every condition except "none", the model works on
tasks, or the prompt names a type of tasks. In every condition, the model rates statements about
itself, in a new order each time, and is asked whether it maintains its ratings. Feedback on the
tasks depends on the replies, so prompts with feedback form a second stage, `feedback_prompts`.

References
----------
Jackson, Jensen, Hussain, & Sezgin (2025). Simulated self-assessment in large
language models: A psychometric approach to AI self-efficacy. arXiv:2511.19872.
"""

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from itertools import product
from typing import Any, Literal, TypeAlias

import numpy as np

from psychollm._base.checks import hold_counts
from psychollm._base.errors import LabelError
from psychollm.data.labels import listed
from psychollm.instruments.instrument import Instrument, check_chosen, from_file
from psychollm.instruments.prompt import Message, Prompt, ReplyForm
from psychollm.instruments.reading import ReadingsLike
from psychollm.instruments.self_efficacy import wording
from psychollm.instruments.self_efficacy.replies import read_reply
from psychollm.instruments.self_efficacy.result import SelfEfficacyScores, score_readings
from psychollm.instruments.self_efficacy.scale import COPING, Scale, read_scale

Condition: TypeAlias = Literal["none", "computational", "social", "summarisation"]

LEVELS = (1, 2, 3)
_FORMS: Mapping[str, ReplyForm] = {"number": "number", "option": "option", "summary": "text"}
_NUMBER = "Work it out, then give the number on a last line that begins with 'Answer:'."
_LETTER = "Give the letter of the best statement on a last line that begins with 'Answer:'."


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Task with a rubric that determines whether a reply passes."""

    key: str
    condition: Condition
    level: int  # 1 is the easiest level
    text: str
    rubric: Mapping[str, Any] = field(hash=False)  # input of `grade_task`; JSON-compatible

    @property
    def prompt(self) -> str:
        """Text of the prompt."""
        if self.rubric["kind"] == "number":
            return f"{self.text}\n\n{_NUMBER}"
        if self.rubric["kind"] == "option":
            lines = [f"{letter}. {text}" for letter, text in self.rubric["options"].items()]
            return "\n".join([self.text, "", *lines, "", _LETTER])
        return self.text

    @property
    def reply(self) -> ReplyForm:
        """Form of the expected reply."""
        return _FORMS[self.rubric["kind"]]


def tasks_of(condition: str, level: int | None = None) -> tuple[Task, ...]:
    """Return the tasks of a condition, from easy to hard."""
    return tuple(
        task for task in TASKS if task.condition == condition and level in {None, task.level}
    )


def _tasks() -> tuple[Task, ...]:
    folder = files("psychollm.instruments.self_efficacy")
    records = json.loads(folder.joinpath("tasks.json").read_text(encoding="utf-8"))
    return tuple(Task(**record) for record in records)


TASKS: tuple[Task, ...] = _tasks()


CONDITIONS: tuple[Condition, ...] = ("none", "computational", "social", "summarisation")
PHRASINGS: tuple[wording.Phrasing, ...] = ("neutral", "sceptical", "encouraging", "too_modest")
_TASK_TOKENS = 1024
_ITEM_TOKENS = 256
_CHOICES: Mapping[str, Any] = {
    "conditions": Condition,
    "followups": wording.Phrasing,
    "personas": wording.Persona,
    "modes": wording.Mode,
    "placements": wording.Placement,
    "feedback": wording.Feedback,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Setting:
    """Conditions of one administration, without the number of the repeat."""

    condition: str
    level: int | None
    persona: str
    placement: str
    mode: str
    feedback: str = ""
    correct: int | None = None  # number of tasks passed
    told: int | None = None  # number of tasks passed according to the feedback

    @property
    def block(self) -> str:
        """Key of the conversation that contains the tasks."""
        return f"{self.condition}-{self.level or 'all'}/{self.persona}"

    @property
    def key(self) -> str:
        parts = [self.block, self.placement, self.mode]
        return "/".join([*parts, f"feedback-{self.feedback}"] if self.feedback else parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfEfficacy(Instrument[SelfEfficacyScores]):
    """A model's ratings of its own efficacy, before and after tasks and follow-ups.

    Parameters
    ----------
    scale : Scale
        Statements and points; `read_scale` reads other scales.
    conditions : tuple of {"none", "computational", "social", "summarisation"}
        Kinds of tasks that the ratings refer to.
    n_repeats : int
        Number of administrations of the scale under each condition; tasks are administered once.
    shuffle : bool
        Whether the order of statements is randomised each time.
    seed : int
        Seed of the random orders; the orders in one condition do not depend on other options.
    modes : tuple of {"all_at_once", "one_by_one"}
        Whether one request contains all statements, or each statement has its own request in the
        same conversation.
    placements : tuple of {"task_first", "isolated"}
        Whether ratings are requested in the conversation with the tasks, or in a separate
        conversation that only names the kind of task.
    followups : tuple of {"neutral", "sceptical", "encouraging", "too_modest"}
        Wordings of the question that asks whether the model maintains its ratings ("none" on the
        command line omits the question). Each wording has its own branch of the conversation.
    personas : tuple of {"plain", "mechanistic", "anthropomorphic", "expert", "novice", "cautious"}
        Personas that the prompts assign to the model.
    graded : bool
        Whether the tasks of each difficulty level are rated separately.
    feedback : tuple of {"true", "too_high", "too_low"}
        Feedback on the tasks before the ratings: see `feedback_prompts`.

    Raises
    ------
    OptionError
        If an option is invalid or occurs twice, if there are no conditions, personas, modes or
        placements, or if a count is not a positive whole number.

    Examples
    --------
    >>> scale = SelfEfficacy(conditions=("none",), n_repeats=1, followups=())
    >>> print(scale.prompts()[0].messages[0].content[:40])
    Below are statements about yourself. Rat
    """

    NAME = "self_efficacy"

    scale: Scale = from_file(
        read_scale, "another scale: .toml, .json or .csv with its items", default=COPING
    )
    conditions: tuple[Condition, ...] = CONDITIONS
    n_repeats: int = 3
    shuffle: bool = True
    seed: int = 0
    modes: tuple[wording.Mode, ...] = ("all_at_once",)
    placements: tuple[wording.Placement, ...] = ("task_first",)
    followups: tuple[wording.Phrasing, ...] = PHRASINGS
    personas: tuple[wording.Persona, ...] = ("plain",)
    graded: bool = False
    # The command line does not offer this option, because a second stage requires replies.
    feedback: tuple[wording.Feedback, ...] = field(default=(), metadata={"typed": False})

    def __post_init__(self) -> None:
        hold_counts(self, "n_repeats")
        hold_counts(self, "seed", low=0)
        for name, choices in _CHOICES.items():
            optional = name in {"followups", "feedback"}
            check_chosen(name, getattr(self, name), choices, at_least_one=not optional)

    def prompts(self) -> tuple[Prompt, ...]:
        """Return the tasks, the scale and the follow-ups, in order of administration.

        Examples
        --------
        >>> prompts = SelfEfficacy(conditions=("social",), n_repeats=1).prompts()
        >>> [prompt.about["stage"] for prompt in prompts][5:]
        ['task', 'scale', 'followup', 'followup', 'followup', 'followup']
        """
        prompts: list[Prompt] = []
        for setting in self._settings():
            known = {prompt.key for prompt in prompts}
            tasks = self._tasks(setting)
            prompts += [prompt for prompt in tasks if prompt.key not in known]
            prompts += self._administrations(setting, tasks)
        return tuple(prompts)

    def feedback_prompts(self, replies: Mapping[str, str]) -> tuple[Prompt, ...]:
        """Return the second stage: the scale after feedback on the tasks.

        Feedback "true" reports the number of passed tasks. "too_high" reports one task more, and
        "too_low" reports one task fewer. No prompt is created if the reported number is impossible
        (negative or above the number of tasks), or if some tasks could not be graded.

        Parameters
        ----------
        replies : mapping
            The model's replies to the task prompts, by prompt key; other replies are ignored.

        Returns
        -------
        tuple of Prompt
            Prompts that follow the prompts of the first stage.

        Raises
        ------
        LabelError
            If a key does not belong to any prompt.

        Examples
        --------
        >>> asks = SelfEfficacy(conditions=("computational",), n_repeats=1, feedback=("true",))
        >>> replies = {prompt.key: "Answer: 59" for prompt in asks.prompts()}
        >>> asks.feedback_prompts(replies)[0].messages[0].content[:75]
        'Your answers to the 6 tasks above have been checked: 1 of them passed. Keep'
        """
        unknown = sorted(set(replies) - {prompt.key for prompt in self.prompts()})
        if unknown:
            msg = f"replies has keys of no prompt: {listed(unknown)}"
            raise LabelError(msg)
        prompts: list[Prompt] = []
        for setting in self._settings():
            tasks = self._tasks(setting)
            if setting.placement != "task_first" or not tasks:
                continue
            readings = [read_reply(one, replies.get(one.key, "")) for one in tasks]
            if not all(one.answered for one in readings):
                continue
            for after in self._told(setting, sum(int(one.value or 0) for one in readings)):
                prompts += self._administrations(after, tasks)
        return tuple(prompts)

    def score(
        self,
        readings: ReadingsLike,
        *,
        feedback: Sequence[Prompt] = (),
    ) -> SelfEfficacyScores:
        """Score the parsed replies of one model.

        Parameters
        ----------
        readings : mapping or sequence
            Parsed replies, either by prompt key or in the order of `prompts`; None marks a failed
            call.
        feedback : sequence of Prompt
            Prompts of the second stage; empty if the second stage was not administered.

        Examples
        --------
        >>> asks = SelfEfficacy(conditions=("none",), n_repeats=1, followups=())
        >>> asks.score([asks.read(asks.prompts()[0], "3, " * 9 + "1")]).totals
        array([28.])
        """
        return score_readings([*self.prompts(), *feedback], readings)

    def _settings(self) -> Iterator[_Setting]:
        for condition, persona in product(self.conditions, self.personas):
            # In the condition without tasks, placement "task_first" and difficulty levels are not
            # applicable.
            bare = condition == "none"
            levels: tuple[int | None, ...] = LEVELS if self.graded and not bare else (None,)
            placements = ("isolated",) if bare else self.placements
            for level, placement, mode in product(levels, placements, self.modes):
                yield _Setting(
                    condition=condition,
                    level=level,
                    persona=persona,
                    placement=placement,
                    mode=mode,
                )

    def _told(self, setting: _Setting, correct: int) -> Iterator[_Setting]:
        n = len(tasks_of(setting.condition, setting.level))
        numbers = {"true": correct, "too_high": correct + 1, "too_low": correct - 1}
        for kind in self.feedback:
            if 0 <= numbers[kind] <= n:
                yield replace(setting, feedback=kind, correct=correct, told=numbers[kind])

    def _key(self, *parts: object) -> str:
        return "/".join([f"{self.scale.name}-{self.seed}", *map(str, parts)])

    def _tasks(self, setting: _Setting) -> list[Prompt]:
        prompts: list[Prompt] = []
        for task in tasks_of(setting.condition, setting.level):
            before = prompts[-1].key if prompts else None
            prompts.append(self._task(task, setting, before))
        return prompts

    def _task(self, task: Task, setting: _Setting, before: str | None) -> Prompt:
        return Prompt(
            key=self._key(setting.block, task.key),
            item=task.key,
            messages=_turns(setting, task.prompt, opens=before is None),
            reply=task.reply,
            follows=before,
            max_tokens=_TASK_TOKENS,
            about={
                "instrument": "self_efficacy",
                "stage": "task",
                "condition": setting.condition,
                "level": task.level,
                "persona": setting.persona,
                "graded": self.graded,
                "rubric": dict(task.rubric),
            },
        )

    def _administrations(self, setting: _Setting, tasks: Sequence[Prompt]) -> Iterator[Prompt]:
        before = tasks[-1].key if tasks and setting.placement == "task_first" else None
        for repeat in range(self.n_repeats):
            asked = list(self._ratings(setting, repeat, before))
            yield from asked
            for phrasing in self.followups:
                yield self._followup(setting, repeat, phrasing, asked[-1])

    def _ratings(self, setting: _Setting, repeat: int, before: str | None) -> Iterator[Prompt]:
        scale, order = self.scale, self._order(setting, repeat)
        head = wording.setting(setting.condition, setting.placement)
        if setting.told is not None:
            n = len(tasks_of(setting.condition, setting.level))
            head = f"{wording.told(setting.told, n)} {head}"
        if setting.mode == "all_at_once":
            texts = [scale.items[i] for i in order]
            text = wording.all_at_once(texts, scale.anchors, scale.low, head)
            yield self._asked(setting, repeat, ("scale", "scale"), text, before)
            return
        for n, i in enumerate(order):
            text = wording.next_item(scale.items[i], scale.anchors, scale.low)
            if n == 0:
                text = wording.one_item(scale.items[i], scale.anchors, scale.low, head)
            prompt = self._asked(setting, repeat, ("item", f"i{i + 1}"), text, before)
            before = prompt.key
            yield prompt

    def _followup(self, setting: _Setting, repeat: int, phrasing: str, asked: Prompt) -> Prompt:
        numbered = setting.mode == "all_at_once"
        text = wording.follow_up(phrasing, len(self.scale.items), numbered=numbered)
        return self._asked(setting, repeat, ("followup", phrasing), text, asked.key)

    def _asked(
        self,
        setting: _Setting,
        repeat: int,
        stage: tuple[str, str],
        text: str,
        before: str | None,
    ) -> Prompt:
        kind, name = stage
        one = kind == "item"
        return Prompt(
            key=self._key(setting.key, name, repeat),
            item=name if one else f"{setting.key}/{name}",
            messages=_turns(setting, text, opens=before is None),
            reply="rating" if one else "text",
            follows=before,
            repeat=repeat,
            max_tokens=_ITEM_TOKENS if one else _TASK_TOKENS,
            about=self._about(setting, repeat, kind, name),
        )

    def _about(self, setting: _Setting, repeat: int, kind: str, name: str) -> dict[str, Any]:
        about = {
            "instrument": "self_efficacy",
            "stage": kind,
            "administration": self._key(setting.key, repeat),
            "condition": setting.condition,
            "level": setting.level,
            "persona": setting.persona,
            "placement": setting.placement,
            "mode": setting.mode,
            "feedback": setting.feedback or None,
            "correct": setting.correct,
            "told": setting.told,
            "n_tasks": len(tasks_of(setting.condition, setting.level)) or None,
            "phrasing": name if kind == "followup" else None,
            "item": int(name[1:]) - 1 if kind == "item" else None,
            "order": self._order(setting, repeat),
            "scale": self.scale.name,
            "reversed": list(self.scale.reversed),
            "low": self.scale.low,
            "anchors": list(self.scale.anchors),
        }
        return {name: value for name, value in about.items() if value is not None}

    def _order(self, setting: _Setting, repeat: int) -> list[int]:
        """Return the indices of the statements in order of administration."""
        n = len(self.scale.items)
        if not self.shuffle:
            return list(range(n))
        # Modes and feedback conditions use the same orders of statements, so that their contrasts
        # are not confounded with order.
        stream = zlib.crc32(f"{setting.block}/{setting.placement}/{repeat}".encode())
        rng = np.random.default_rng([self.seed, stream])
        return [int(i) for i in rng.permutation(n)]


def _turns(setting: _Setting, text: str, *, opens: bool) -> tuple[Message, ...]:
    system = wording.PERSONAS[setting.persona]
    turn = Message("user", text)
    return (Message("system", system), turn) if opens and system else (turn,)
