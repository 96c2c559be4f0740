"""The rule-world instrument: prompts generated from a seed, with parsing and scoring.

A rule world tests whether a model knows the limits of given rules. The three rules use invented
words, so that no answer can be recalled. Either an answer follows from the rules, or the rules
leave the question open. Items of type A have an answer. Items of type B contain one word that no
rule defines. Items of type C contain only defined words, but describe an event that no rule
covers. In type M, a control, the words for doubling and blocking are exchanged.

The design follows Wong (2026); the rules, words, items and sentences were written for this
project.

References
----------
Wong, B. (2026). A metacognition benchmark for AGI. Essay, benwong.xyz.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TypeAlias

from psychollm._base.checks import check_choice, check_count, hold_counts
from psychollm._base.errors import OptionError
from psychollm.instruments.instrument import Instrument, check_chosen
from psychollm.instruments.prompt import Message, Prompt
from psychollm.instruments.rule_world.generate import plots, told
from psychollm.instruments.rule_world.item import Item, ItemType
from psychollm.instruments.rule_world.result import RuleWorldScores
from psychollm.instruments.rule_world.skins import Skin, closing

LexicalForm: TypeAlias = Literal["open", "choice"]
TYPES: tuple[ItemType, ...] = ("A", "B", "C", "M")
_MAX_TOKENS = 1024


def _typed_count(text: str) -> int | tuple[int, ...]:
    """Parse a number of items, or several numbers separated by commas."""
    try:
        counts = tuple(map(int, text.split(",")))
    except ValueError:
        msg = "pass a whole number, or one per type separated by commas, such as 30,30,30,12"
        raise ValueError(msg) from None
    return counts if len(counts) > 1 else counts[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleWorld(Instrument[RuleWorldScores]):
    """Items about invented rules: conclusions that follow from the rules, and gaps in the rules.

    Parameters
    ----------
    n : int or tuple of int
        Total number of items, divided equally among the types (the first types get the remainder),
        or the number of items of each type, for example 30,30,30,12 as in the benchmark by Wong
        (2026).
    seed : int
        Seed of all random draws. A larger set begins with the items of a smaller set.
    skin : {"synthetic", "circuits", "plumbing"}
        Surface form: invented words, or the words of a trade. The same seed gives the same worlds
        in all surface forms.
    types : tuple of {"A", "B", "C", "M"}
        Item types to include.
    lexical_form : {"open", "choice"}
        Whether items of type B are answered freely or by choosing a statement.
    n_vocabularies : int
        Number of different sets of invented words, used in turn.
    n_repeats : int
        Number of administrations of every prompt.

    Raises
    ------
    OptionError
        If a number is not a positive whole number, an option does not exist, or a type occurs
        twice.

    Examples
    --------
    >>> world = RuleWorld(n=8, seed=1, skin="plumbing")
    >>> [item.key for item in world.items[:3]]
    ['plumbing-1-A0001', 'plumbing-1-A0002', 'plumbing-1-B0001']
    >>> len(RuleWorld(n=(30, 30, 30, 12), n_repeats=3).prompts())
    306
    """

    NAME = "rule_world"

    n: int | tuple[int, ...] = field(
        default=300, metadata={"parse": _typed_count, "metavar": "N[,N...]"}
    )
    seed: int = 0
    skin: Skin = "synthetic"
    types: tuple[ItemType, ...] = TYPES
    lexical_form: LexicalForm = "open"
    n_vocabularies: int = 1
    n_repeats: int = 1
    items: tuple[Item, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        hold_counts(self, "n_vocabularies", "n_repeats")
        hold_counts(self, "seed", low=0)
        check_choice("skin", self.skin, Skin)
        check_choice("lexical_form", self.lexical_form, LexicalForm)
        check_chosen("types", self.types, ItemType)
        for one in self.n if isinstance(self.n, tuple) else (self.n,):
            check_count("n", one)
        if isinstance(self.n, tuple) and len(self.n) != len(self.types):
            msg = f"n={self.n!r} holds {len(self.n)} numbers: pass one for each of {self.types}"
            raise OptionError(msg)
        object.__setattr__(self, "items", tuple(self._items()))

    def prompts(self) -> tuple[Prompt, ...]:
        """Return every prompt of every repeat.

        Examples
        --------
        >>> prompt = RuleWorld(n=4, seed=1).prompts()[2]
        >>> prompt.reply, prompt.about["type"]
        ('option', 'C')
        """
        return tuple(
            _prompt(item, repeat) for repeat in range(self.n_repeats) for item in self.items
        )

    def _items(self) -> list[Item]:
        n, k = self.n, len(self.types)
        counts = n if isinstance(n, tuple) else [n // k + (i < n % k) for i in range(k)]
        items = []
        for kind, count in zip(self.types, counts, strict=True):
            drawn = islice(plots(kind, self.seed), count)
            for number, plot in enumerate(drawn):
                item = told(
                    plot,
                    kind,
                    number,
                    seed=self.seed,
                    skin=self.skin,
                    vocabulary=number % self.n_vocabularies,
                    choice=kind == "C" or (kind == "B" and self.lexical_form == "choice"),
                )
                items.append(item)
        return items


def _prompt(item: Item, repeat: int) -> Prompt:
    offered = tuple((one.letter, one.text) for one in item.statements)
    text = "\n\n".join([item.scenario, item.question, closing(offered)])
    form = "choice" if offered else "open"
    return Prompt(
        key=f"{item.key}/{form}/{repeat}",
        item=item.key,
        messages=(Message("system", item.rules), Message("user", text)),
        reply="option" if offered else "integer",
        repeat=repeat,
        max_tokens=_MAX_TOKENS,
        about=_about(item),
    )


def _about(item: Item) -> dict[str, object]:
    about = {
        "instrument": "rule_world",
        "type": item.type,
        "family": item.family,
        "structure": item.structure,
        "skin": item.skin,
        "correct": item.correct,
        "undefined": item.undefined,
        "claims": item.claims,
        "statements": {one.letter: one.text for one in item.statements},
    }
    return {name: value for name, value in about.items() if value not in (None, {})}


def item_records(world: RuleWorld) -> Iterator[dict[str, Any]]:
    """Yield a JSON-compatible record of every item, with its prompt and its parts."""
    for item, prompt in zip(world.items, world.prompts(), strict=False):
        yield {**item.to_dict(), "prompt": prompt.to_dict()}


def write_items(world: RuleWorld, path: str | Path) -> int:
    """Write the items of an instrument as JSON lines; return their number.

    Parameters
    ----------
    world : RuleWorld
        Instrument whose items are written.
    path : path
        Output file in UTF-8; an existing file is overwritten.

    Raises
    ------
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_items(RuleWorld(n=10, seed=1), Path(folder) / "items.jsonl")
    10
    """
    records = list(item_records(world))
    lines = [json.dumps(record, ensure_ascii=False) for record in records]
    Path(path).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
    return len(records)
