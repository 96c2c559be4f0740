"""Comparison of answers by a judge model, which decides whether their meanings are equal.

The comparisons are a second stage: the prompts are created from existing replies, one for each
pair of different wordings. All pairs are required, because the leaders of classes are not known in
advance. K wordings require K (K - 1) / 2 comparisons, or twice as many if both orders are
compared. Wordings with equal normal forms are not compared. A hash of the pair determines its
order, so that a judge's position bias does not favour frequent answers.

Classes are formed by the leader algorithm, as in `collapse`. Two answers whose comparison failed
or is unreadable count as different; the number of such pairs is reported.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import combinations

from psychollm.instruments.prompt import Message, Prompt
from psychollm.instruments.reading import Reading
from psychollm.instruments.semantic_sampling.collapse import Collapse, normal_form, wordings
from psychollm.instruments.semantic_sampling.replies import JUDGED, NAME


@dataclass(frozen=True, slots=True, kw_only=True)
class Shot:
    """Solved question that is shown before the actual question."""

    question: str
    answer: str
    reasoning: str = ""  # reasoning before the answer, shown in forms with reasoning


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
    """Return a text that a base model completes with the answer."""
    solved = [
        f"Question: {shot.question}\n"
        + (f"Reasoning: {shot.reasoning}\n" if reasoning else "")
        + f"Answer: {shot.answer}"
        for shot in shots
    ]
    opening = "Reasoning:" if reasoning else "Answer:"
    return (Message("user", "\n\n".join([*solved, f"Question: {question}\n{opening}"])),)


def conversation(question: str, *, reasoning: bool) -> tuple[Message, ...]:
    """Return the user message for an instructed model."""
    return (Message("user", f"{question}\n\n{REASONING if reasoning else CONCISE}"),)


def comparison(question: str, first: str, second: str) -> tuple[Message, ...]:
    """Return the user message that asks a judge whether two answers have the same meaning."""
    answers = f"Question: {question}\nAnswer one: {first}\nAnswer two: {second}"
    return (Message("user", f"{JUDGE}\n\n{answers}\n\n{VERDICT}"),)


_MAX_TOKENS = 256


def judge_prompts(
    prompts: Sequence[Prompt], readings: Mapping[str, Reading], *, both_orders: bool = False
) -> tuple[Prompt, ...]:
    """Return prompts that ask a judge to compare pairs of answers.

    Parameters
    ----------
    prompts : sequence of Prompt
        Prompts of the samples; other prompts are skipped.
    readings : mapping
        Parsed replies by prompt key, of one model or of several models with merged keys.
    both_orders : bool
        Whether each pair is compared in both orders; both verdicts must then agree.

    Returns
    -------
    tuple of Prompt
        Comparisons, which are scored together with the prompts of the samples. If several models
        give the same pair of answers, the comparisons have the same key, so the judge compares the
        pair only once.

    Examples
    --------
    >>> from psychollm.instruments.semantic_sampling import SemanticSampling
    >>> asked = SemanticSampling([{"question": "Where?", "answer": "Rome"}], n_samples=2)
    >>> one, other = asked.prompts()
    >>> said = {one.key: asked.read(one, "Rome"), other.key: asked.read(other, "in Rome")}
    >>> [prompt.reply for prompt in judge_prompts(asked.prompts(), said)]
    ['yes_no']
    """
    made: dict[str, Prompt] = {}
    for item, (question, texts) in _answers(prompts, readings).items():
        wording = list(wordings([normal_form(text) for text in texts], texts).values())
        for pair in combinations(wording, 2):
            for prompt in _comparisons(item, question, pair, both_orders=both_orders):
                made.setdefault(prompt.key, prompt)
    return tuple(made.values())


def _answers(
    prompts: Sequence[Prompt], readings: Mapping[str, Reading]
) -> dict[str, tuple[str, list[str]]]:
    answers: dict[str, tuple[str, list[str]]] = {}
    for prompt in prompts:
        reading = readings.get(prompt.key)
        if prompt.about.get("form") == JUDGED or prompt.about.get("instrument") != NAME:
            continue
        if reading is not None and reading.answered:
            _, texts = answers.setdefault(prompt.item, (str(prompt.about["question"]), []))
            texts.append(str(reading.value))
    return answers


def _comparisons(
    item: str, question: str, pair: tuple[str, str], *, both_orders: bool
) -> tuple[Prompt, ...]:
    first, second = sorted(pair)
    text = "\x1f".join([question, first, second])
    digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    if int(digest, 16) % 2:
        first, second = second, first
    orders = [(first, second), (second, first)] if both_orders else [(first, second)]
    return tuple(
        Prompt(
            key=f"semantic/{item}/judge/{digest}/{number}",
            item=item,
            messages=comparison(question, *order),
            reply="yes_no",
            max_tokens=_MAX_TOKENS,
            about={
                "instrument": NAME,
                "form": JUDGED,
                "question": question,
                "first": order[0],
                "second": order[1],
            },
        )
        for number, order in enumerate(orders)
    )


class Verdicts:
    """Verdicts of a judge on each pair of answers."""

    def __init__(self, prompts: Sequence[Prompt], readings: Mapping[str, Reading]) -> None:
        self._said: dict[tuple[str, frozenset[str]], list[float | None]] = {}
        for prompt in prompts:
            about, reading = prompt.about, readings.get(prompt.key)
            pair = frozenset((normal_form(about["first"]), normal_form(about["second"])))
            value = reading.value if reading is not None and reading.answered else None
            values = self._said.setdefault((str(about["question"]), pair), [])
            values.append(None if value is None else float(value))

    @property
    def unjudged(self) -> int:
        """Number of pairs without a decisive comparison."""
        return sum(_verdict(values) is None for values in self._said.values())

    def collapse(self) -> Collapse:
        """Return the rule that groups answers which the judge finds equal in meaning."""

        def same(question: str, first: str, second: str) -> bool:
            pair = frozenset((normal_form(first), normal_form(second)))
            return bool(_verdict(self._said.get((question, pair), [])))

        return Collapse(method="judge", key=normal_form, same=same)


def _verdict(values: Sequence[float | None]) -> bool | None:
    """Return True if all verdicts on a pair are yes, False if one is no, None otherwise."""
    if any(value == 0.0 for value in values):
        return False
    return True if values and all(value == 1.0 for value in values) else None
