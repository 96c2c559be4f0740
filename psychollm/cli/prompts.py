"""Common parts of commands that write prompts to a file, with one subcommand per source."""

import argparse
import json
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from psychollm.cli.options import PARSING, Command, add_options, option, typed_values

if TYPE_CHECKING:
    from psychollm.instruments.prompt import Prompt


@dataclass(frozen=True, kw_only=True)
class WritePrompts(Command):
    """Command that writes prompts, with one subcommand per source.

    The options of a source are the fields of its class or the keyword-only parameters of its
    function, described in the docstring of the class or function. Omitted options keep their
    defaults.
    """

    out: Path = option("file of the prompts", "FILE.jsonl")
    json: bool = option("print only a summary as JSON", default=False)
    quiet: bool = option("print nothing", default=False)
    # all arguments of the command line; a source uses only those that it declares
    typed: argparse.Namespace = field(metadata={"typed": False})

    @classmethod
    def add_to(cls, parser: argparse.ArgumentParser) -> None:
        """Add the sources, each with its options."""
        names = parser.add_subparsers(
            metavar="NAME", title=f"{cls.NAME}s", dest=cls.NAME, required=True
        )
        for name, does, kinds in cls.sources():
            below = names.add_parser(
                name, help=does[0].lower() + does[1:].rstrip("."), description=does, **PARSING
            )
            for kind in kinds:
                add_options(below, kind)
            add_options(below, cls)

    @classmethod
    def of(cls, typed: argparse.Namespace) -> Self:
        """Return the command with the values of the parsed arguments."""
        return cls(**typed_values(cls, typed), typed=typed)

    @classmethod
    @abstractmethod
    def sources(cls) -> Iterator[tuple[str, str, list[Callable[..., Any]]]]:
        """Yield the name, the description and the option declarations of each source."""

    @abstractmethod
    def prompts(self) -> "tuple[Prompt, ...]":
        """Return the prompts for the typed options."""

    @abstractmethod
    def told(self, prompts: "Sequence[Prompt]") -> tuple[dict[str, Any], str, str]:
        """Return the prompts described as data, the number of prompts in words, and a hint."""

    @property
    def source(self) -> str:
        """Name of the source."""
        return str(getattr(self.typed, self.NAME))

    def run(self) -> int:
        """Create and write the prompts, and print how to use them."""
        from psychollm.cli.notes import busy

        with (
            self.noting(),
            busy("creating the prompts", quiet=self.quiet),
        ):
            prompts = self.prompts()
            write_prompts(prompts, self.out)
        found, about, plan = self.told(prompts)
        head = {self.NAME: self.source, "n_prompts": len(prompts)}
        self.say(
            {**head, **found, "out": str(self.out)},
            f"{counted(len(prompts), 'prompt')} {about}: {self.out}",
            f'To send them, write prompts = "{self.out.name}" {plan}.',
        )
        return 0


def write_prompts(prompts: "Sequence[Prompt]", path: Path) -> None:
    """Write prompts, one JSON object per line."""
    from psychollm.cli.carry_out import writing

    lines = [json.dumps(prompt.to_dict(), ensure_ascii=False) + "\n" for prompt in prompts]
    with writing(f"--out {path}"):
        path.write_text("".join(lines), encoding="utf-8", newline="\n")


def counted(n: int, what: str) -> str:
    """Return a number followed by its noun in the singular or plural."""
    return f"{n:,} {what}" + ("" if n == 1 else "s")
