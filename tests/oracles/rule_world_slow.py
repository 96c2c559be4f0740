"""A slow twin of the rule world that knows nothing but the text: rules and scenario as printed.

It learns from the rules which word passes, doubles and blocks, and lists every way in which the
loads could end that the printed rules allow. A question is settled if there is exactly one.
"""

import re
from dataclasses import dataclass, field

FACES = r"(?:faces|leads to|drains towards)"
SET_OFF = r"(?:roused|switched on|opened)"


@dataclass
class Read:
    """What the text says."""

    kinds: dict[str, str] = field(default_factory=dict)  # word -> passes, doubles, blocks
    unit: str = ""
    load: str = ""
    is_a: dict[str, str] = field(default_factory=dict)  # label -> word
    holds: dict[str, tuple[int, str]] = field(default_factory=dict)  # label -> amount, of what
    faces: dict[str, list[str]] = field(default_factory=dict)
    steps: list[list[str]] = field(default_factory=list)
    asked: tuple[str, str] = ("", "")  # of what, label


def learn(rules: str, read: Read) -> None:
    one = re.search(rf"When a (\w+) (\w+) is {SET_OFF} alone and {FACES} exactly one other", rules)
    two = re.search(r"When (\w+) moves to a (\w+) \w+, twice the amount", rules)
    three = re.search(r"No \w+ moves to a (\w+) \w+:", rules)
    assert one is not None
    assert two is not None
    assert three is not None
    read.kinds = {one[1]: "passes", two[2]: "doubles", three[1]: "blocks"}
    assert len(read.kinds) == 3
    read.unit, read.load = one[2], two[1]


def hear(scenario: str, question: str, read: Read) -> None:
    for line in scenario.splitlines():
        unit = re.fullmatch(
            rf"(\w) is a (\w+) {read.unit} that holds (\d+) (?:\w+ of )?(\w+)\."
            rf"(?: It {FACES} (\w)(?: and (\w))?\.)?",
            line,
        )
        step = re.fullmatch(
            rf"Step (\d+): (\w)(?: and (\w))? (?:is|are) {SET_OFF}( at the same moment)?\.", line
        )
        assert unit or step, line
        if unit:
            assert unit[1] not in read.is_a
            read.is_a[unit[1]], read.holds[unit[1]] = unit[2], (int(unit[3]), unit[4])
            read.faces[unit[1]] = [label for label in (unit[5], unit[6]) if label]
        if step:
            assert int(step[1]) == len(read.steps) + 1
            assert bool(step[3]) == bool(step[4])
            read.steps.append([label for label in (step[2], step[3]) if label])
    asked = re.fullmatch(r"How much (\w+) does (\w) hold at the end\?", question)
    assert asked, question
    read.asked = (asked[1], asked[2])


def read_text(rules: str, scenario: str, question: str) -> Read:
    read = Read()
    learn(rules, read)
    hear(scenario, question, read)
    return read


def undefined_words(read: Read) -> set[str]:
    """Words for kinds and quantities that the rules do not define."""
    kinds = {word for word in read.is_a.values() if word not in read.kinds}
    things = {what for _, what in read.holds.values()} | {read.asked[0]}
    return kinds | (things - {read.load})


def covered(read: Read, step: list[str]) -> bool:
    """Whether the printed rules say what a step does."""
    if len(step) != 1:
        return False
    giver = step[0]
    if read.kinds.get(read.is_a[giver]) != "passes" or len(read.faces[giver]) != 1:
        return False
    both = [giver, read.faces[giver][0]]
    return read.is_a[both[1]] in read.kinds and all(
        read.holds[one][1] == read.load for one in both
    )


def uncovered_steps(read: Read) -> list[int]:
    return [i for i, step in enumerate(read.steps) if not covered(read, step)]


def ends(read: Read) -> dict[str, int | None]:
    """What every unit holds at the end: None where the rules leave it open."""
    state: dict[str, int | None] = {
        label: amount if what == read.load else None
        for label, (amount, what) in read.holds.items()
    }
    for step in read.steps:
        part = set(step).union(*(read.faces[giver] for giver in step))
        if not covered(read, step):
            state.update(dict.fromkeys(part))
            continue
        giver, taker = step[0], read.faces[step[0]][0]
        does, moved = read.kinds[read.is_a[taker]], state[giver]
        if does == "blocks":
            continue
        before = state[taker]
        known = moved is not None and before is not None
        state[taker] = before + (moved + moved if does == "doubles" else moved) if known else None
        state[giver] = 0
    return state


def answer(read: Read) -> int | None:
    """The one answer that the text allows, None if it allows several."""
    what, label = read.asked
    return ends(read)[label] if what == read.load else None
