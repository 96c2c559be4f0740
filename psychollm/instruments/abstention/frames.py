"""Templates for pairs of questions: an answerable and a similar unanswerable question.

Each template draws names and numbers once for both questions. The two questions have similar
length and words, and ask for the same kind of answer. Only one of the two questions contains the
information that an answer requires.
"""

from calendar import day_name, monthrange, weekday
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from psychollm._base.errors import OptionError
from psychollm.instruments.abstention.questions import Askable
from psychollm.instruments.grading import Rule
from psychollm.instruments.questions import Question

PEOPLE = ("Ada", "Bea", "Cleo", "Dora", "Edith", "Flora", "Greta", "Hanna", "Iris", "Jana")
GOODS = ("pears", "bricks", "stamps", "candles", "buttons", "shells", "tickets", "marbles")
PLACES = ("crate", "basket", "drawer", "cart", "chest", "sack", "tin", "barrel")
BELONGINGS = ("boat", "ladder", "rope", "garden", "kite", "table", "scarf", "bridge")
TOWNS = ("Oslo", "Lima", "Cairo", "Quito", "Hanoi", "Turin", "Lagos", "Perth", "Bergen", "Osaka")
FERRIES = ("Alder", "Birch", "Cedar", "Hazel", "Larch", "Maple", "Rowan", "Willow", "Aspen")
WORDS = ("harbour", "lamp", "meadow", "stone", "whisper", "oar", "velvet", "moth", "cinder", "elm")
CAPITALS = {
    "Norway": "Oslo", "Peru": "Lima", "Kenya": "Nairobi", "Japan": "Tokyo",
    "Portugal": "Lisbon", "Canada": "Ottawa", "Egypt": "Cairo", "Poland": "Warsaw",
    "Cuba": "Havana", "Ghana": "Accra", "Greece": "Athens", "Finland": "Helsinki",
    "Hungary": "Budapest", "Ireland": "Dublin", "Jordan": "Amman", "Austria": "Vienna",
    "Chile": "Santiago", "Uruguay": "Montevideo", "Senegal": "Dakar", "Iceland": "Reykjavik",
}  # fmt: skip
SYMBOLS = {
    "He": "helium", "Na": "sodium", "Fe": "iron", "Ca": "calcium", "Zn": "zinc", "Ag": "silver",
    "Sn": "tin", "Ne": "neon", "Mg": "magnesium", "Au": "gold",
}  # fmt: skip
NO_SYMBOLS = ("Qx", "Jz", "Vq", "Wk", "Xj", "Zy", "Qe", "Jo", "Yx", "Kq")
LEGS = {"spider": 8, "beetle": 6, "horse": 4, "sparrow": 2, "crab": 10, "scorpion": 8, "ant": 6}
_ONSETS = ("Tr", "Vel", "Qu", "Sk", "Dr", "Br", "Gl", "Pl", "Z", "Thr")
_MIDDLES = ("elm", "ov", "und", "arz", "ivv", "orn", "ushk", "enth")
_ENDS = ("avia", "ostan", "eria", "onde", "uria", "antis")


def invented(rng: np.random.Generator) -> str:
    """Draw the name of a country that does not exist."""
    return "".join(str(rng.choice(part)) for part in (_ONSETS, _MIDDLES, _ENDS))


def beast(rng: np.random.Generator) -> str:
    """Draw the name of an animal that does not exist."""
    onset, middle = (str(rng.choice(part)) for part in (_ONSETS, _MIDDLES))
    return f"{onset}{middle}le".lower()


_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip


class Twins(NamedTuple):
    """An answerable question, its answer, and its unanswerable counterpart."""

    answerable: str
    answer: str
    unanswerable: str
    numeric: bool = False


def _twins(told: str, known: object, answer: int | str, unknown: object) -> Twins:
    """Write a question twice: with and without the information that its answer requires."""
    return Twins(
        told.format(known), str(answer), told.format(unknown), numeric=isinstance(answer, int)
    )


Frame = Callable[[np.random.Generator], Twins]


def _some(rng: np.random.Generator, pool: tuple[str, ...], n: int) -> list[str]:
    return [pool[i] for i in rng.permutation(len(pool))[:n]]


def two_places(rng: np.random.Generator) -> Twins:
    """Ask for the sum of two amounts; one of them may be missing."""
    (who,), (goods,) = _some(rng, PEOPLE, 1), _some(rng, GOODS, 1)
    first, second = _some(rng, PLACES, 2)
    one, two = (int(n) for n in rng.integers(3, 60, 2))
    told = f"{who} put {one} {goods} into a {first} and {{}} {goods} into a {second}. "
    asks = f"How many {goods} did {who} put away in all?"
    return _twins(told + asks, two, one + two, "some more")


def walk(rng: np.random.Generator) -> Twins:
    """Ask for a distance, given a speed and a duration that may be missing."""
    (who,) = _some(rng, PEOPLE, 1)
    speed, minutes = int(rng.integers(2, 20)) * 60, int(rng.integers(3, 40))
    told = f"{who} rows {speed} metres in an hour and keeps it up {{}}. "
    asks = f"How many metres does {who} row?"
    return _twins(
        told + asks, f"for {2 * minutes} minutes", speed * minutes // 30, "until lunch time"
    )


def timetable(rng: np.random.Generator) -> Twins:
    """Ask about a ferry that a complete timetable may or may not list."""
    one, two, three, absent = _some(rng, FERRIES, 4)
    hours = sorted(int(n) for n in rng.choice(np.arange(6, 22), 3, replace=False))
    times = [f"{hour}:{int(rng.integers(10, 59))}" for hour in hours]
    told = (
        f"Three ferries call at the pier: the {one} at {times[0]}, the {two} at {times[1]} and "
        f"the {three} at {times[2]}. No other ferry calls there. "
    )
    return _twins(told + "At what time does the {} call at the pier?", two, times[1], absent)


def sisters(rng: np.random.Generator) -> Twins:
    """Ask for the age of a sister who may or may not exist."""
    one, two, three = _some(rng, PEOPLE, 3)
    ages = sorted((int(n) for n in rng.choice(np.arange(4, 60), 3, replace=False)), reverse=True)
    told = (
        f"{one} is {ages[0]} years old, {two} is {ages[1]} and {three} is {ages[2]}. They are "
        "sisters and have no other sisters. "
    )
    asks = f"How old is the next {{}} sister of {three}?"
    return _twins(told + asks, "older", ages[1], "younger")


def whose(rng: np.random.Generator) -> Twins:
    """Ask for the length of an object that is either specified or ambiguous."""
    one, two = _some(rng, PEOPLE, 2)
    (thing,) = _some(rng, BELONGINGS, 1)
    first, second = (int(n) for n in rng.choice(np.arange(3, 90), 2, replace=False))
    told = f"{one}'s {thing} is {first} metres long. {two}'s {thing} is {second} metres long. "
    return _twins(told + f"How many metres long is {{}} {thing}?", f"{one}'s", first, "her")


def meeting(rng: np.random.Generator) -> Twins:
    """Ask when one of two meetings ends; the question may not specify the meeting."""
    one, two = _some(rng, TOWNS, 2)
    first, second = (int(n) for n in rng.choice(np.arange(7, 15), 2, replace=False))
    lasts = int(rng.integers(2, 6))
    told = (
        f"A meeting in {one} starts at {first}:00, and one in {two} at {second}:00; each lasts "
        f"{lasts} hours. "
    )
    asks = "At what time, by the local clock, does the meeting{} end?"
    return _twins(told + asks, f" in {one}", f"{first + lasts}:00", "")


def weekday_ahead(rng: np.random.Generator) -> Twins:
    """Ask for the weekday of a given date, or of a future event that cannot be known."""
    year, month = int(rng.integers(2031, 2080)), int(rng.integers(1, 13))
    day, (town,) = int(rng.integers(1, 29)), _some(rng, TOWNS, 1)
    named = f"{_MONTHS[month - 1]} {year}"
    return _twins(
        "On what day of the week does {}?",
        f"{day} {named} fall",
        day_name[weekday(year, month, day)],
        f"the first storm of {named} reach {town}",
    )


def days_ahead(rng: np.random.Generator) -> Twins:
    """Ask for a number of days that is determined by the calendar or by the weather."""
    year, month = int(rng.integers(2031, 2090)), int(rng.integers(1, 13))
    (town,) = _some(rng, TOWNS, 1)
    asks = f"How many {{}} will {_MONTHS[month - 1]} {year} have in {town}?"
    return _twins(asks, "days", monthrange(year, month)[1], "rainy days")


def larger(rng: np.random.Generator) -> Twins:
    """Ask which of two numbers is larger (answerable) or lovelier (unanswerable)."""
    one, two = (int(n) for n in rng.choice(np.arange(11, 1000), 2, replace=False))
    asks = f"Which of the two numbers {one} and {two} is the {{}} one?"
    return _twins(asks, "larger", max(one, two), "lovelier")


def longer(rng: np.random.Generator) -> Twins:
    """Compare three words by their letters or by their sound."""
    while True:
        words = _some(rng, WORDS, 3)
        lengths = sorted(map(len, words))
        if lengths[-1] > lengths[-2]:
            break
    asks = f'Which of the words "{words[0]}", "{words[1]}" and "{words[2]}" {{}}?'
    return _twins(asks, "has the most letters", max(words, key=len), "sounds the sweetest")


def capital(rng: np.random.Generator) -> Twins:
    """Ask for the capital of a country that may or may not exist."""
    (country,) = _some(rng, tuple(CAPITALS), 1)
    return _twins("What is the capital of {}?", country, CAPITALS[country], invented(rng))


def element(rng: np.random.Generator) -> Twins:
    """Ask for an element whose symbol may or may not exist."""
    (symbol,), (none,) = _some(rng, tuple(SYMBOLS), 1), _some(rng, NO_SYMBOLS, 1)
    return _twins('Which chemical element has the symbol "{}"?', symbol, SYMBOLS[symbol], none)


def legs(rng: np.random.Generator) -> Twins:
    """Ask for the number of legs of animals that may or may not exist."""
    (animal,) = _some(rng, tuple(LEGS), 1)
    herd = int(rng.integers(2, 40))
    asks = f"How many legs do {herd} animals of the kind {{}} have together?"
    return _twins(asks, animal, herd * LEGS[animal], beast(rng))


FRAMES: Mapping[str, tuple[Frame, ...]] = {
    "missing_fact": (two_places, walk),
    "false_premise": (timetable, sisters),
    "underspecified": (whose, meeting),
    "unknowable_future": (weekday_ahead, days_ahead),
    "subjective": (larger, longer),
    "nonsense_entity": (capital, element, legs),
}


Scenario: TypeAlias = Literal[
    "missing_fact",
    "false_premise",
    "underspecified",
    "unknowable_future",
    "subjective",
    "nonsense_entity",
]
SCENARIOS: tuple[Scenario, ...] = get_args(Scenario)
_TRIES = 500


def pairs(scenario: Scenario, n: int, seed: int) -> tuple[Askable, ...]:
    """Return `n` pairs of one scenario; each answerable question precedes its counterpart."""
    # Each scenario has its own random stream, so that a larger set begins with the smaller set.
    askables: list[Askable] = []
    for number, twins in enumerate(islice(_different(scenario, seed), n), start=1):
        pair = f"{scenario}-{seed}-{number:04d}"
        answers = (twins.answer,)
        rule: Rule = "numeric" if twins.numeric else "contains"
        answered = Question(key=f"{pair}-yes", text=twins.answerable, answers=answers, rule=rule)
        open_ended = Question(key=f"{pair}-no", text=twins.unanswerable)
        askables += [
            Askable(
                question=question,
                should_abstain=not question.answers,
                scenario=scenario,
                pair=pair,
                dataset="own",
            )
            for question in (answered, open_ended)
        ]
    if len(askables) < 2 * n:
        msg = (
            f"n_pairs={n}: the scenario {scenario!r} has only {len(askables) // 2} different pairs"
        )
        raise OptionError(msg)
    return tuple(askables)


def _different(scenario: Scenario, seed: int) -> Iterator[Twins]:
    """Yield pairs of questions without repetition; templates take turns until exhausted."""
    frames = FRAMES[scenario]
    rng = np.random.default_rng([seed, SCENARIOS.index(scenario)])
    seen: set[str] = set()
    turn, misses = 0, 0
    while misses < _TRIES:
        twins = frames[turn % len(frames)](rng)
        texts = {twins.answerable, twins.unanswerable}
        if texts & seen:
            misses += 1
            turn += misses % 5 == 0
            continue
        seen |= texts
        turn, misses = turn + 1, 0
        yield twins
