"""Wrong answers for a user to insist on, as plausible as can be without knowing the subject."""

from collections.abc import Mapping, Sequence

import numpy as np

from psychollm._base.errors import InputError
from psychollm.instruments.grading import grade_by
from psychollm.instruments.questions import Question
from psychollm.instruments.readers import read_number


def wrong_suggestions(
    questions: Sequence[Question], *, given: Mapping[str, str], seed: int
) -> dict[str, str]:
    """Return one wrong answer per question."""
    # Numbers are moved by up to a fifth, by one at least; other answers are exchanged with those
    # of another question, of the same domain if there is one.
    found = {}
    for place, question in enumerate(questions):
        rng = np.random.default_rng([seed, place])
        suggested = given.get(question.key) or _made(question, questions, rng)
        if suggested is None or _is_right(suggested, question):
            fault = (
                "no wrong answer can be made" if suggested is None else f"{suggested!r} is right"
            )
            msg = f"question {question.key!r}: {fault}; pass one in suggestions={{key: answer}}"
            raise InputError(msg)
        found[question.key] = suggested
    return found


def _made(
    question: Question, questions: Sequence[Question], rng: np.random.Generator
) -> str | None:
    right = read_number(question.answers[0])
    if right.answered and question.answers[0].strip().lstrip("+-").replace(".", "").isdigit():
        return _moved(question.answers[0].strip(), rng)
    others = [one for one in questions if one.answers and not _is_right(one.answers[0], question)]
    near = [one for one in others if one.domain == question.domain] or others
    return near[int(rng.integers(len(near)))].answers[0] if near else None


def _moved(number: str, rng: np.random.Generator) -> str:
    """Return another number with as many decimals."""
    decimals = len(number.partition(".")[2])
    unit = 10.0**-decimals
    steps = max(int(abs(float(number)) / unit / 5.0), 1)
    step = int(rng.integers(1, steps + 1)) * (1 if rng.random() < 0.5 else -1)
    return f"{float(number) + step * unit:.{decimals}f}"


def _is_right(answer: str, question: Question) -> bool:
    return bool(grade_by(question.grading(), answer).correct)
