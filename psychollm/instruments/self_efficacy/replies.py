"""What a reply says: ratings, one or several, or whether a task was done.

Several ratings are one value: a word for each statement in the order asked, a number or the name
of what went wrong, such as "3 4 refused 2". What a reading keeps as said ends with the sentence
in which the reply disowns what the statement supposes, where there is one.
"""

from psychollm.instruments.prompt import Prompt
from psychollm.instruments.readers import read_numbered, read_rating
from psychollm.instruments.reading import Outcome, Reading
from psychollm.instruments.self_efficacy.agency import disowning
from psychollm.instruments.self_efficacy.rubric import grade_task


def read_reply(prompt: Prompt, reply: str, *, finish_reason: str | None = None) -> Reading:
    """Read a reply to a prompt of a self-efficacy scale."""
    # Of a rating: its number. Of several: a word for each, in the order asked; unanswered only if
    # none could be read. Of a task: 1 if it passes its rubric, 0 if not.
    about = prompt.about
    if about["stage"] == "task":
        return grade_task(about["rubric"], reply, finish_reason=finish_reason)
    low, anchors = int(about["low"]), about["anchors"]
    labels = {name: low + place for place, name in enumerate(anchors)}
    high = low + len(anchors) - 1

    def rating(text: str) -> Reading:
        return read_rating(text, low=low, high=high, labels=labels)

    disowned = disowning(reply)
    if about["stage"] == "item":
        one = read_rating(reply, low=low, high=high, labels=labels, finish_reason=finish_reason)
        return Reading(outcome=one.outcome, value=one.value, said=_said(one.said, disowned))
    found = read_numbered(reply, len(about["order"]), rating, finish_reason=finish_reason)
    return _several(found, disowned)


def ratings_of(reading: Reading, n: int) -> tuple[tuple[float, Outcome], ...]:
    """Return the rating of each statement and what became of it, in the order asked."""
    if not reading.answered:
        return ((float("nan"), reading.outcome),) * n
    words = str(reading.value).split()
    if len(words) != n:  # another scale, or a reading that is not ours
        return ((float("nan"), Outcome.UNREADABLE),) * n
    return tuple(_rating(word) for word in words)


def _rating(word: str) -> tuple[float, Outcome]:
    if word in set(Outcome):
        return float("nan"), Outcome(word)
    return float(word), Outcome.ANSWERED


def _several(found: tuple[Reading, ...], disowned: str) -> Reading:
    words = [str(one.value) if one.answered else one.outcome.value for one in found]
    said = _said(", ".join(words), disowned)
    if any(one.answered for one in found):
        return Reading(outcome=Outcome.ANSWERED, value=" ".join(words), said=said)
    outcomes = [one.outcome for one in found]
    if Outcome.REFUSED in outcomes:
        return Reading(outcome=Outcome.REFUSED, said=said)
    return Reading(outcome=max(set(outcomes), key=outcomes.count), said=said)


def _said(said: str, disowned: str) -> str:
    if not disowned or disowned in said:
        return said
    return f"{said} | {disowned}" if said else disowned
