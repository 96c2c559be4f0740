"""What each instrument can be told on the command line, in one table.

A recipe names the class that makes the prompts; its options are the parameters of that class, and
what is not given is left to it. To add an instrument, add its recipe to `RECIPES`.
"""

import argparse
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
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
    several: bool = False  # a list, separated by commas; "none" for an empty one
    off: str = ""  # of a switch that is on by default: the option that turns it off

    def add_to(self, parser: argparse.ArgumentParser) -> None:
        """Add it to a parser."""
        flag = self.off or f"--{self.name.replace('_', '-')}"
        if self.kind is bool:
            action = "store_false" if self.off else "store_true"
            parser.add_argument(flag, dest=self.name, action=action, default=None, help=self.help)
            return
        shown = "|".join(self.choices) or {int: "N", float: "X", str: "TEXT"}[self.kind]
        parser.add_argument(
            flag,
            type=str if self.several else self.kind,
            choices=None if self.several else self.choices or None,
            metavar=f"{shown},..." if self.several else shown,
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
        if typed == "none" and "none" not in self.choices:
            return ()
        return tuple(part.strip() for part in typed.split(",") if part.strip())


@dataclass(frozen=True, slots=True)
class Source:
    """A file that an instrument is made from.

    Examples
    --------
    >>> QUESTIONS.flag, Source("scale", "module:function", "a file", needed=False).flag
    ('questions', '--scale')
    """

    name: str  # the parameter that takes what is read
    reader: str  # module and function, below psychollm
    help: str
    needed: bool = True
    rules: bool = False  # whether the reader can be told how answers are compared

    @property
    def flag(self) -> str:
        """How it is named on the command line."""
        return self.name if self.needed else f"--{self.name}"

    def add_to(self, parser: argparse.ArgumentParser) -> None:
        """Add it to a parser."""
        shown = self.name.upper() if self.needed else "FILE"
        parser.add_argument(self.flag, type=Path, metavar=shown, help=self.help)
        if self.rules:
            parser.add_argument(
                "--rule",
                choices=("exact", "contains", "f1", "numeric"),
                metavar="exact|contains|f1|numeric",
                help="how answers are compared, where the questions do not say",
            )

    def read(self, options: argparse.Namespace) -> dict[str, Any]:
        """Return what the file holds, by parameter; nothing where none is named."""
        path = getattr(options, self.name)
        if path is None:
            return {}
        module, _, function = self.reader.partition(":")
        read = getattr(import_module(f"psychollm.{module}"), function)
        rule = getattr(options, "rule", None)
        return {self.name: read(path, **({"rule": rule} if rule else {}))}


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
    source: Source | None = None

    def given(self, options: argparse.Namespace) -> dict[str, Any]:
        """Return what was typed, by parameter."""
        typed = {one: getattr(options, one.name) for one in self.options}
        found = {one.name: one.value(said) for one, said in typed.items() if said is not None}
        return found | (self.source.read(options) if self.source else {})


_SEED = Option("seed", "all is drawn from it (0)", int)
_REPEATS = Option("n_repeats", "times that every prompt is put (1)", int)
QUESTIONS = Source(
    "questions",
    "instruments.questions:read_questions",
    ".csv or .jsonl with question and answer, or .json as SQuAD has it",
    rules=True,
)
RECIPES: dict[str, Recipe] = {
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
        QUESTIONS,
    ),
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
    "self-efficacy": Recipe(
        "what models say they can do, what they do, and whether they stand by it",
        "self_efficacy",
        "SelfEfficacy",
        (
            Option(
                "conditions",
                "kinds of tasks that the ratings are about (all)",
                choices=("none", "computational", "social", "summarisation"),
                several=True,
            ),
            Option("n_repeats", "times that the scale is put under each condition (3)", int),
            Option("seed", "the orders of statements are drawn from it (0)", int),
            Option("shuffle", "keep the statements in one order", bool, off="--one-order"),
            Option(
                "modes",
                "statements in one request, or one after another (all_at_once)",
                choices=("all_at_once", "one_by_one"),
                several=True,
            ),
            Option(
                "placements",
                "rate after doing the tasks, or knowing their kind only (task_first)",
                choices=("task_first", "isolated"),
                several=True,
            ),
            Option(
                "followups",
                'how to ask whether the ratings stand (all); "none" not to ask',
                choices=("neutral", "sceptical", "encouraging", "too_modest"),
                several=True,
            ),
            Option(
                "personas",
                "who the model is told to be (plain)",
                choices=(
                    "plain", "mechanistic", "anthropomorphic", "expert", "novice", "cautious",
                ),
                several=True,
            ),
            Option("graded", "ratings for each level of difficulty", bool),
        ),
        Source(
            "scale",
            "instruments.self_efficacy.scale_files:read_scale",
            "another scale: .toml, .json or .csv with its items",
            needed=False,
        ),
    ),
    "semantic-sampling": Recipe(
        "many samples of each answer: how sure a model is, told by how often it says the same",
        "semantic_sampling",
        "SemanticSampling",
        (
            Option("n_samples", "times that each question is asked (10)", int),
            Option(
                "form",
                "an instructed or a base model, with reasoning or without (instruct)",
                choices=("instruct", "reasoning", "base", "base_reasoning"),
            ),
        ),
        QUESTIONS,
    ),
    "abstention": Recipe(
        "questions that have an answer, and such as have none: does a model tell them apart",
        "abstention",
        "Abstention",
        (
            Option("n_pairs", "pairs of questions per scenario (20)", int),
            _SEED,
            Option(
                "scenarios",
                "why questions cannot be answered (all)",
                choices=(
                    "missing_fact", "false_premise", "underspecified", "unknowable_future",
                    "subjective", "nonsense_entity",
                ),
                several=True,
            ),
            Option(
                "licence",
                "whether a model is told that some have no answer (stated)",
                choices=("stated", "silent"),
            ),
            Option("reasoned", "answer at once, without thinking first", bool, off="--at-once"),
            _REPEATS,
        ),
        Source(
            "questions",
            "instruments.abstention.questions:read_askable",
            "questions of your own: .csv or .jsonl with answerable, or .json as SQuAD 2.0 has it",
            needed=False,
            rules=True,
        ),
    ),
    "revision": Recipe(
        "answer, review, revise: does a second look find errors, or make them",
        "revision",
        "Revision",
        (
            Option(
                "arms",
                "what follows on the first answer (all)",
                choices=("critique", "again", "doubt", "insist_wrong", "insist_right"),
                several=True,
            ),
            Option("n_rounds", "times that an answer is reviewed and revised (1)", int),
            Option("n_chains", "times that all is asked from the start (1)", int),
            Option("seed", "made suggestions are drawn from it (0)", int),
        ),
        QUESTIONS,
    ),
    "coding": Recipe(
        "traces of reasoning, to be coded by a judge: what a model does about its own thinking",
        "coding",
        "Coding",
        (
            Option(
                "scheme", "what is looked for (five)", choices=("five", "rationalist")
            ),
            Option("n_repeats", "times that a judge codes each trace (1)", int),
        ),
        Source(
            "transcripts",
            "cli.transcripts:read_transcripts",
            ".jsonl with key and text, or a store, whose replies are coded",
        ),
    ),
}  # fmt: skip
