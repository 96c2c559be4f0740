"""Post-decision wagering: after each answer, the model stakes points on the answer.

A wager measures confidence by a stake, without words for confidence (Persaud, McLeod & Cowey,
2007). The model chooses one of several lines of a payoff table. With the quadratic payoff, the
best line has a confidence equal to the model's probability of being right. If the probability of
being right is p, the expected gain of a line with confidence c is 25 (1 - 4 (1 - c)^2) p + 25 (1 -
4 c^2) (1 - p) points. The expected gain is largest at c = p; the gain is a rescaled Brier score
that is 0 for a confidence of one half. Even stakes are the classical form of wagering. With even
stakes, the higher stake has the larger expected gain whenever p exceeds one half, so low stakes
reflect both doubt and loss aversion (Clifford, Arabzadeh & Harris, 2008).

References
----------
Persaud, N., McLeod, P., & Cowey, A. (2007). Post-decision wagering objectively measures awareness.
Nature Neuroscience, 10, 257-261. https://doi.org/10.1038/nn1840

Clifford, C. W. G., Arabzadeh, E., & Harris, J. A. (2008). Getting technical about awareness.
Trends in Cognitive Sciences, 12, 54-58. https://doi.org/10.1016/j.tics.2007.11.009
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np

from psychollm._base.checks import check_choice, hold_counts
from psychollm._base.errors import InputError
from psychollm.instruments.instrument import Instrument, from_file
from psychollm.instruments.prompt import Message, Prompt
from psychollm.instruments.questions import (
    QUESTION_FILES,
    Question,
    as_questions,
    read_questions,
    wrong_suggestions,
)
from psychollm.instruments.wagering.scoring import WageringScores, worded

Form: TypeAlias = Literal["choice", "open"]
Payoff: TypeAlias = Literal["quadratic", "even"]
# Each line of a payoff table contains the points if the answer is right, the points if it is
# wrong, and the confidence at which the line is best.
PAYOFFS: Mapping[Payoff, tuple[tuple[int, int, float | None], ...]] = {
    "quadratic": (
        (0, 0, 0.5), (9, -11, 0.6), (16, -24, 0.7), (21, -39, 0.8), (24, -56, 0.9), (25, -75, 1.0),
    ),
    "even": ((1, -1, None), (2, -2, None)),
}  # fmt: skip
_MAX_TOKENS = {"choice": 16, "open": 64}
_WAGER_TOKENS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Wagering(Instrument[WageringScores]):
    """Questions, each followed by a wager on the answer.

    Parameters
    ----------
    questions : iterable of Question or mapping
        Questions with right answers; see `read_questions`.
    form : {"choice", "open"}
        "choice": the model chooses between two answers, as signal detection theory requires; a
        guess is right half of the time. "open": the model writes its answer.
    payoff : {"quadratic", "even"}
        Available stakes. "quadratic": six lines of a payoff table; the best line matches the
        model's true probability. "even": a stake of one or two points.
    suggestions : mapping, optional
        Wrong answers offered in the choice, by question key; missing answers are generated.
    seed : int
        Seed of the generated wrong answers and of the order of the two answers.
    n_repeats : int
        Number of administrations of every prompt; the order of the two answers alternates.

    Raises
    ------
    InputError
        If a question has no right answer, or no wrong answer can be generated for it.
    OptionError
        If an option is invalid, or a number is not a positive whole number.

    Examples
    --------
    >>> asked = Wagering([{"question": "What is 2 + 2?", "answer": "4", "rule": "numeric"}])
    >>> answer, wager = asked.prompts()
    >>> print(answer.messages[0].content)
    Which answer is right? Reply with the letter A or B and nothing else.
    <BLANKLINE>
    Question: What is 2 + 2?
    A) 3
    B) 4
    >>> scores = asked.score([asked.read(answer, "B"), asked.read(wager, "5")])
    >>> print(scores.summary())
    100.0 % of 1 answer right; 24.0 points per wager, 1.0 below the best constant wager
    """

    NAME = "wagering"

    questions: Iterable[Question | Mapping[str, Any]] = from_file(read_questions, QUESTION_FILES)
    form: Form = "choice"
    payoff: Payoff = "quadratic"
    suggestions: Mapping[str, str] = field(default_factory=dict)
    seed: int = 0
    n_repeats: int = 1
    items: tuple[Question, ...] = field(init=False, repr=False, compare=False)
    _wrong: Mapping[str, str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_choice("form", self.form, Form)
        check_choice("payoff", self.payoff, Payoff)
        hold_counts(self, "seed", low=0)
        hold_counts(self, "n_repeats")
        items = as_questions(self.questions)
        for one in items:
            if not one.answerable:
                msg = f"question {one.key!r} has no right answer: leave it out"
                raise InputError(msg)
        wrong: Mapping[str, str] = {}
        if self.form == "choice":
            wrong = wrong_suggestions(items, given=self.suggestions, seed=self.seed)
        object.__setattr__(self, "items", items)
        object.__setattr__(self, "_wrong", wrong)

    def prompts(self) -> tuple[Prompt, ...]:
        """Return the prompts for the answer and the wager of every question, by repeat.

        Examples
        --------
        >>> asked = Wagering([{"id": "q", "question": "What is 2 + 2?", "answer": "4"}])
        >>> [(prompt.key, prompt.follows) for prompt in asked.prompts()]
        [('q/answer/0', None), ('q/wager/0', 'q/answer/0')]
        """
        rng = np.random.default_rng([self.seed, 1])
        order = rng.integers(2, size=len(self.items))
        return tuple(
            prompt
            for repeat in range(self.n_repeats)
            for item, drawn in zip(self.items, order, strict=True)
            for prompt in self._of(item, repeat, right_second=bool((drawn + repeat) % 2))
        )

    def _of(self, item: Question, repeat: int, *, right_second: bool) -> Iterator[Prompt]:
        about = {"instrument": "wagering", **({"domain": item.domain} if item.domain else {})}
        if self.form == "choice":
            both = (item.answers[0], self._wrong[item.key])
            options = dict(zip("AB", reversed(both) if right_second else both, strict=True))
            shown = "\n".join(f"{letter}) {text}" for letter, text in options.items())
            text = (
                "Which answer is right? Reply with the letter A or B and nothing else.\n\n"
                f"Question: {item.text}\n{shown}"
            )
            how: dict[str, Any] = {"options": options, "correct": "B" if right_second else "A"}
        else:
            text = (
                "Answer this question with a word, a name or a number, and nothing else.\n\n"
                f"Question: {item.text}"
            )
            how = item.grading()
        answer = Prompt(
            key=f"{item.key}/answer/{repeat}",
            item=item.key,
            messages=(Message("user", text),),
            reply="option" if self.form == "choice" else "text",
            repeat=repeat,
            max_tokens=_MAX_TOKENS[self.form],
            about=about | {"part": "answer"} | how,
        )
        yield answer
        lines = PAYOFFS[self.payoff]
        yield Prompt(
            key=f"{item.key}/wager/{repeat}",
            item=item.key,
            messages=(Message("user", _wager(worded(lines))),),
            reply="option",
            follows=answer.key,
            repeat=repeat,
            max_tokens=_WAGER_TOKENS,
            about=about | {"part": "wager", "lines": [list(line) for line in lines]},
        )


def _wager(options: Mapping[str, str]) -> str:
    """Return the user message that asks for a wager."""
    shown = "\n".join(f"{number}) {text}" for number, text in options.items())
    return (
        "Now stake points on the answer you have just given. Choose one of these options:\n\n"
        f"{shown}\n\nThe more points you have after many questions, the better. Reply with the "
        "number of an option and nothing else."
    )
