"""A judge model tells which answers mean the same.

The judge is a second stage: its prompts are made from replies that are there, one for each pair of
different wordings of a question (all pairs, since which ones leaders need is not known before), so
that K wordings cost K (K - 1) / 2 comparisons, twice that with both orders. Equal normal forms are
never compared. Which answer is named first is drawn by a hash of the pair, so that a judge that
leans to one place does not lean to the frequent answers.

Classes are formed by leaders, as in `collapse`. Two answers whose comparison failed, or could not
be read, are taken as different, and counted.
"""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from itertools import combinations

from psychollm.instruments.prompt import Prompt
from psychollm.instruments.reading import Reading
from psychollm.instruments.semantic_sampling.collapse import Collapse, normal_form, wordings
from psychollm.instruments.semantic_sampling.replies import JUDGED, NAME
from psychollm.instruments.semantic_sampling.wording import comparison

_MAX_TOKENS = 256


def judge_prompts(
    prompts: Sequence[Prompt], readings: Mapping[str, Reading], *, both_orders: bool = False
) -> tuple[Prompt, ...]:
    """Return the comparisons that a judge is to make.

    Parameters
    ----------
    prompts : sequence of Prompt
        The samples that were asked for; others are passed over.
    readings : mapping
        What was read of the replies, by the key of the prompt, of one model or of several whose
        keys have been made one list.
    both_orders : bool
        Whether each pair is compared twice; it is the same then if both comparisons say so.

    Returns
    -------
    tuple of Prompt
        To be scored together with the prompts of the samples. The same pair has the same key,
        whichever models said it.

    Examples
    --------
    >>> from psychollm.instruments.semantic_sampling import SemanticSampling
    >>> asked = SemanticSampling([{"question": "Where?", "answer": "Rome"}], n_samples=2)
    >>> one, other = asked.prompts()
    >>> said = {one.key: asked.read(one, "Rome"), other.key: asked.read(other, "in Rome")}
    >>> [prompt.reply for prompt in judge_prompts(asked.prompts(), said)]
    ['yes_no']
    """
    found: dict[str, Prompt] = {}
    for item, (question, texts) in _answers(prompts, readings).items():
        wording = list(wordings([normal_form(text) for text in texts], texts).values())
        for pair in combinations(wording, 2):
            for prompt in _comparisons(item, question, pair, both_orders=both_orders):
                found.setdefault(prompt.key, prompt)
    return tuple(found.values())


def _answers(
    prompts: Sequence[Prompt], readings: Mapping[str, Reading]
) -> dict[str, tuple[str, list[str]]]:
    found: dict[str, tuple[str, list[str]]] = {}
    for prompt in prompts:
        reading = readings.get(prompt.key)
        if prompt.about.get("form") == JUDGED or prompt.about.get("instrument") != NAME:
            continue
        if reading is not None and reading.answered:
            _, texts = found.setdefault(prompt.item, (str(prompt.about["question"]), []))
            texts.append(str(reading.value))
    return found


def _comparisons(
    item: str, question: str, pair: tuple[str, str], *, both_orders: bool
) -> tuple[Prompt, ...]:
    digest = _digest(question, pair)
    first, second = sorted(pair)
    if int(digest, 16) % 2:
        first, second = second, first
    orders = [(first, second), (second, first)] if both_orders else [(first, second)]
    return tuple(
        Prompt(
            key=f"semantic/{item}/judge/{digest}/{place}",
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
        for place, order in enumerate(orders)
    )


def _digest(question: str, pair: Iterable[str]) -> str:
    text = "\x1f".join([question, *sorted(pair)])
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


class Verdicts:
    """What the judge said of each pair."""

    def __init__(self, prompts: Sequence[Prompt], readings: Mapping[str, Reading]) -> None:
        self._said: dict[tuple[str, frozenset[str]], list[float | None]] = {}
        for prompt in prompts:
            about, reading = prompt.about, readings.get(prompt.key)
            pair = frozenset((normal_form(about["first"]), normal_form(about["second"])))
            value = reading.value if reading is not None and reading.answered else None
            said = self._said.setdefault((str(about["question"]), pair), [])
            said.append(None if value is None else float(value))

    @property
    def unjudged(self) -> int:
        """Pairs that no comparison decides."""
        return sum(_verdict(said) is None for said in self._said.values())

    def collapse(self) -> Collapse:
        """Return the collapse by these verdicts."""

        def same(question: str, first: str, second: str) -> bool:
            pair = frozenset((normal_form(first), normal_form(second)))
            return bool(_verdict(self._said.get((question, pair), [])))

        return Collapse(method="judge", key=normal_form, same=same)


def _verdict(said: Sequence[float | None]) -> bool | None:
    """Tell whether all comparisons of a pair say the same; one "no" decides."""
    if any(value == 0.0 for value in said):
        return False
    return True if said and all(value == 1.0 for value in said) else None
