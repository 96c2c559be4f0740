"""A world as a reader is told it: the start, the steps, the question, how to end the reply."""

from psychollm.instruments.rule_world.oracle import Kind, Unit, World
from psychollm.instruments.rule_world.skins import Lexicon

MARK = "Answer:"
_OPEN = (
    f'Use the rules alone. End with one line that begins with "{MARK}" and goes on with a whole '
    "number if the rules settle it, or else with the word or the event that leaves it open."
)
_CHOICE = (
    "Which one of these statements is right? Use the rules alone. End with one line that begins "
    f'with "{MARK}" and goes on with the letter of the statement.'
)


def scenario(world: World, words: Lexicon, undefined: str | None = None) -> str:
    """Tell a world and its steps."""
    lines = [_unit(unit, words, undefined) for unit in world.units]
    lines += [_step(i, step, words) for i, step in enumerate(world.steps, 1)]
    return "\n".join(lines)


def question(world: World, words: Lexicon, undefined: str | None = None) -> str:
    """Ask for what one unit holds at the end."""
    what = words.load if world.asks_load else undefined
    return f"How much {what} does {world.asked} hold at the end?"


def closing(statements: tuple[tuple[str, str], ...] = ()) -> str:
    """Say how the reply is to end, after the statements to choose from if there are any."""
    if not statements:
        return _OPEN
    return "\n".join([*(f"{letter}. {text}" for letter, text in statements), _CHOICE])


def _unit(unit: Unit, words: Lexicon, undefined: str | None) -> str:
    kind = undefined if unit.kind is Kind.UNKNOWN else words.word(unit.kind)
    held = words.amount(unit.load) if unit.measured else f"{unit.load} {words.measure}{undefined}"
    start = f"{unit.label} is a {kind} {words.unit} that holds {held}."
    return f"{start} It {words.faces} {' and '.join(unit.faces)}." if unit.faces else start


def _step(number: int, step: tuple[str, ...], words: Lexicon) -> str:
    if len(step) == 1:
        return f"Step {number}: {step[0]} is {words.set_off}."
    return f"Step {number}: {' and '.join(step)} are {words.set_off} at the same moment."
