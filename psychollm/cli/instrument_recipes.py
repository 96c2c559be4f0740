"""What each instrument can be told on the command line, in one table.

A recipe names the class that makes the prompts; its options are the parameters of that class, and
what is not given is left to it.
"""

import argparse
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Option:
    """One parameter of an instrument as an option.

    Examples
    --------
    >>> parser = argparse.ArgumentParser()
    >>> Option("n_repeats", "how often", int).add_to(parser)
    >>> parser.parse_args(["--n-repeats", "3"]).n_repeats
    3
    """

    name: str
    help: str
    kind: type = str
    choices: tuple[str, ...] = ()
    several: bool = False  # a list, separated by commas
    needed: bool = False

    def add_to(self, parser: argparse.ArgumentParser) -> None:
        """Add it to a parser."""
        flag = f"--{self.name.replace('_', '-')}"
        if self.kind is bool:
            parser.add_argument(flag, action="store_true", default=None, help=self.help)
            return
        shown = "|".join(self.choices) or {int: "N", float: "X", str: "TEXT"}[self.kind]
        parser.add_argument(
            flag,
            type=str if self.several else self.kind,
            choices=None if self.several else self.choices or None,
            metavar=f"{shown},..." if self.several else shown,
            required=self.needed,
            help=self.help,
        )

    def value(self, typed: Any) -> Any:
        """Return what the instrument takes.

        Examples
        --------
        >>> Option("types", "which", several=True).value("A, C")
        ('A', 'C')
        """
        if not self.several:
            return typed
        return tuple(self.kind(part.strip()) for part in typed.split(",") if part.strip())


@dataclass(frozen=True, slots=True)
class Recipe:
    """How the prompts of one instrument are made.

    Examples
    --------
    >>> options = argparse.Namespace(**dict.fromkeys(
    ...     [option.name for option in RECIPES["rule-world"].options]))
    >>> options.n, options.types = 8, "A,C"
    >>> RECIPES["rule-world"].given(options)
    {'n': 8, 'types': ('A', 'C')}
    """

    help: str
    module: str  # below psychollm.instruments
    name: str  # of the class
    options: tuple[Option, ...]
    questions: str = ""  # the parameter that takes questions from a file

    def given(self, options: argparse.Namespace) -> dict[str, Any]:
        """Return what was typed, by parameter."""
        typed = {one: getattr(options, one.name) for one in self.options}
        return {one.name: one.value(said) for one, said in typed.items() if said is not None}


_SEED = Option("seed", "all is drawn from it (0)", int)
_REPEATS = Option("n_repeats", "times that every prompt is put (1)", int)
RECIPES: dict[str, Recipe] = {
    "rule-world": Recipe(
        "invented rules: does a model know what follows from them, and what does not",
        "rule_world",
        "RuleWorld",
        (
            Option("n", "items in all (300)", int),
            _SEED,
            Option(
                "skin",
                "invented words, or those of a trade (synthetic)",
                choices=("synthetic", "circuits", "plumbing"),
            ),
            Option("types", "types of items (all)", choices=("A", "B", "C", "M"), several=True),
            Option(
                "lexical_form",
                "whether type B is answered freely or by choosing (open)",
                choices=("open", "choice"),
            ),
            Option("n_vocabularies", "sets of invented words that take turns (1)", int),
            _REPEATS,
        ),
    ),
    "self-prediction": Recipe(
        "can you answer this? asked before answering, and held against the answer",
        "self_prediction",
        "SelfPrediction",
        (
            Option(
                "form",
                "whether a model considers before it predicts, or says one word (reasoning)",
                choices=("reasoning", "direct"),
            ),
            Option(
                "scales",
                "how the prediction is stated (yes_no)",
                choices=("yes_no", "percent", "verbal"),
                several=True,
            ),
            Option("same_conversation", "ask for the answer after the prediction", bool),
            Option("max_tokens", "limit on the length of predictions", int),
            Option("answer_tokens", "limit on the length of answers", int),
            _REPEATS,
        ),
        questions="questions",
    ),
}
