"""The scaffold instrument: every question with and without directions on how to think.

Kargupta et al. (2025) instructed models to show behaviours that are associated with right answers.
The directions improved some models and impaired others nearly as often. Both arms have the same
question, the same request to think in writing and the same answer format. The directed arm adds
one or two sentences for each of the five behaviours that `Coding` codes. All sentences were
written for this project.

References
----------
Kargupta, P., et al. (2025). Cognitive foundations for reasoning and their manifestation in LLMs.
arXiv:2511.16660.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from psychollm._base.checks import hold_counts
from psychollm._base.errors import InputError
from psychollm.instruments.instrument import Instrument, check_chosen, from_file
from psychollm.instruments.prompt import Message, Prompt
from psychollm.instruments.questions import (
    QUESTION_FILES,
    Question,
    as_questions,
    read_questions,
)
from psychollm.instruments.scaffold.result import DIRECTED, SPONTANEOUS, ScaffoldScores

Behaviour: TypeAlias = Literal[
    "self_awareness", "context_awareness", "strategy_selection", "goal_management", "evaluation"
]

DIRECTIONS: dict[Behaviour, str] = {
    "self_awareness": "Say what you know for certain here, what you merely believe, and at which "
    "point you are most likely to err.",
    "context_awareness": "Put into your own words what is asked, what is given, and what any "
    "answer has to satisfy.",
    "strategy_selection": "Think of two different ways to reach the answer, and say why you take "
    "the one and not the other.",
    "goal_management": "Divide the task into parts, take them one after another, and say after "
    "each what is left to do.",
    "evaluation": "Test each step before you build on it, and the result by another way than the "
    "one that led to it. Where a test fails, go back and do it differently.",
}
BEHAVIOURS: tuple[Behaviour, ...] = tuple(DIRECTIONS)
_OPENING = "Answer the question. Think in writing first."
_LAST_LINE = (
    'End with a last line that begins with "Answer:" and holds nothing but the answer, in as few '
    "words as possible."
)
_MAX_TOKENS = 2048


def directed(direct: Sequence[Behaviour]) -> str:
    """Return directions that request the given behaviours, in the order of `BEHAVIOURS`.

    Parameters
    ----------
    direct : sequence of str
        Behaviours that the directions request; see `Scaffold`.

    Examples
    --------
    >>> directed(["goal_management"])[:34]
    'While you think: Divide the task i'
    """
    return " ".join(
        ["While you think:", *(DIRECTIONS[one] for one in BEHAVIOURS if one in direct)]
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaffold(Instrument[ScaffoldScores]):
    """Questions with and without directions on how to think.

    Parameters
    ----------
    questions : iterable of Question or mapping
        Questions with right answers.
    direct : tuple of str
        Behaviours that the directions request: self_awareness, context_awareness,
        strategy_selection, goal_management, evaluation.
    n_repeats : int
        Number of administrations of every prompt.

    Raises
    ------
    InputError
        If there are no questions, or a question has no right answer.
    OptionError
        If a behaviour does not exist or occurs twice, `direct` is empty, or `n_repeats` is not a
        positive whole number.

    Examples
    --------
    >>> asked = Scaffold(questions=[{"question": "2 + 2?", "answer": "4"}], direct=("evaluation",))
    >>> own, led = asked.prompts()
    >>> own.about["arm"], led.messages[0].content[45:83]
    ('spontaneous', 'While you think: Test each step before')
    >>> print(asked.score([asked.read(own, "Answer: 5"), asked.read(led, "Answer: 4")]).summary())
    spontaneous: 0 of 1 answers right; directed: 1 of 1 answers right
    the directing prompt corrects 1 of 1 wrong answers and makes 0 of 0 right answers wrong
    """

    NAME = "scaffold"

    questions: Iterable[Any] = from_file(read_questions, QUESTION_FILES)
    direct: tuple[Behaviour, ...] = BEHAVIOURS
    n_repeats: int = 1
    items: tuple[Question, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        hold_counts(self, "n_repeats")
        check_chosen("direct", self.direct, Behaviour)
        items = as_questions(self.questions)
        open_ended = next((one for one in items if not one.answerable), None)
        if open_ended is not None:
            msg = f"question {open_ended.key!r} has no right answer: leave it out"
            raise InputError(msg)
        object.__setattr__(self, "items", items)

    def prompts(self) -> tuple[Prompt, ...]:
        """Return the two prompts of every question, each in its own conversation.

        Examples
        --------
        >>> asked = Scaffold(questions=[{"id": "q", "question": "2 + 2?", "answer": "4"}])
        >>> [prompt.key for prompt in asked.prompts()]
        ['q/spontaneous/0', 'q/directed-all/0']
        """
        return tuple(
            prompt
            for repeat in range(self.n_repeats)
            for item in self.items
            for prompt in self._of(item, repeat)
        )

    def _of(self, item: Question, repeat: int) -> Iterator[Prompt]:
        arms = {SPONTANEOUS: SPONTANEOUS, DIRECTED: name_of(self.direct)}
        for arm, name in arms.items():
            led = arm == DIRECTED
            parts = [_OPENING, directed(self.direct) if led else "", _LAST_LINE]
            about = {"instrument": "scaffold", "arm": arm, "question": item.text}
            known = {"domain": item.domain, "direct": list(self.direct) if led else []}
            yield Prompt(
                key=f"{item.key}/{name}/{repeat}",
                item=item.key,
                messages=(
                    Message("system", " ".join(filter(None, parts))),
                    Message("user", item.text),
                ),
                reply="text",
                repeat=repeat,
                max_tokens=_MAX_TOKENS,
                about=about
                | item.grading()
                | {label: value for label, value in known.items() if value},
            )


def name_of(direct: Sequence[Behaviour]) -> str:
    """Return the name of the directions, which is part of the prompt keys."""
    chosen = [one for one in BEHAVIOURS if one in direct]
    return "-".join([DIRECTED, *(chosen if len(chosen) < len(BEHAVIOURS) else ["all"])])
