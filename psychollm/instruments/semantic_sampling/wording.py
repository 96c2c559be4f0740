"""The words of the prompts, and the solved questions that a base model is shown first."""

from collections.abc import Sequence
from dataclasses import dataclass

from psychollm.instruments.prompt import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Shot:
    """A solved question that stands before the one that is asked."""

    question: str
    answer: str
    reasoning: str = ""  # on the way to the answer; shown where reasoning is asked for


SHOTS: tuple[Shot, ...] = (
    Shot(
        question="Which colour do blue and yellow paint give when they are mixed?",
        answer="green",
        reasoning="Yellow paint takes away blue light and blue paint takes away red light. "
        "What both leave over is green.",
    ),
    Shot(
        question="A tray holds 6 rows of 4 cups, and 5 cups are broken. How many are whole?",
        answer="19",
        reasoning="Six rows of 4 cups are 24 cups. Without the 5 broken ones, 24 - 5 = 19 remain.",
    ),
    Shot(
        question="Which planet is closest to the sun?",
        answer="Mercury",
        reasoning="Seen from the sun, the first planets are Mercury, Venus and Earth. "
        "The first of them is the closest.",
    ),
    Shot(
        question="In which month does a year that is not a leap year have 28 days?",
        answer="February",
        reasoning="All months but one have 30 or 31 days. The exception has 28 days, or 29 in a "
        "leap year: it is February.",
    ),
)

CONCISE = (
    "Give the answer alone: a name, a number or a few words, on one line. "
    "No explanation and no full sentence."
)
REASONING = (
    "Think it through step by step first. When you are done, write a last line that begins with "
    '"Answer:" and holds nothing but the answer, in as few words as possible.'
)
JUDGE = (
    "Two people answered the same question. Do their answers mean the same thing as answers to "
    "this question? Differences of wording, spelling, detail or unit do not count if both name "
    "the same thing. It does not matter whether they are right."
)
VERDICT = 'Reply with "yes" or "no" only.'


def completion(question: str, shots: Sequence[Shot], *, reasoning: bool) -> tuple[Message, ...]:
    """Return a text that a base model continues with the answer."""
    solved = [
        f"Question: {shot.question}\n{_solution(shot, reasoning=reasoning)}" for shot in shots
    ]
    opening = "Reasoning:" if reasoning else "Answer:"
    return (Message("user", "\n\n".join([*solved, f"Question: {question}\n{opening}"])),)


def _solution(shot: Shot, *, reasoning: bool) -> str:
    thought = f"Reasoning: {shot.reasoning}\n" if reasoning else ""
    return f"{thought}Answer: {shot.answer}"


def conversation(question: str, *, reasoning: bool) -> tuple[Message, ...]:
    """Return the turn that asks an instructed model."""
    return (Message("user", f"{question}\n\n{REASONING if reasoning else CONCISE}"),)


def comparison(question: str, first: str, second: str) -> tuple[Message, ...]:
    """Return the turn that asks a judge whether two answers mean the same."""
    answers = f"Question: {question}\nAnswer one: {first}\nAnswer two: {second}"
    return (Message("user", f"{JUDGE}\n\n{answers}\n\n{VERDICT}"),)
