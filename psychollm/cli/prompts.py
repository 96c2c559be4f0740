"""What the commands that write prompts share: a subcommand for each source, and the file."""

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
    """A command that writes prompts, with one of its own for each source of them.

    The options of a source are not told to the command line: they are the fields of its class or
    the keywords of its function, their help is its docstring, and what is not given is left to it.
    """

    out: Path = option("where the prompts go", "FILE.jsonl")
    json: bool = option("print what was written as JSON and nothing else", default=False)
    quiet: bool = option("print nothing", default=False)
    # Everything that was typed, for the source.
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
        """Return the command that was typed."""
        return cls(**typed_values(cls, typed), typed=typed)

    @classmethod
    @abstractmethod
    def sources(cls) -> Iterator[tuple[str, str, list[Callable[..., Any]]]]:
        """Yield the name of each source, what it does, and what declares its options."""

    @abstractmethod
    def prompts(self) -> "tuple[Prompt, ...]":
        """Return the prompts that the options ask for."""

    @abstractmethod
    def told(self, prompts: "Sequence[Prompt]") -> tuple[dict[str, Any], str, str]:
        """Return what is said of prompts: for JSON, after their number, and how to ask them."""

    @property
    def source(self) -> str:
        """The name of the source."""
        return str(getattr(self.typed, self.NAME))

    def run(self) -> int:
        """Make the prompts, write them, and say what to do with them."""
        from psychollm.cli.notes import busy

        with (
            self.noting(),
            busy("making the prompts", quiet=self.quiet),
        ):
            prompts = self.prompts()
            write_prompts(prompts, self.out)
        found, about, plan = self.told(prompts)
        head = {self.NAME: self.source, "n_prompts": len(prompts)}
        self.say(
            {**head, **found, "out": str(self.out)},
            f"{counted(len(prompts), 'prompt')} {about}: {self.out}",
            f'To ask them, write prompts = "{self.out.name}" {plan}.',
        )
        return 0


def write_prompts(prompts: "Sequence[Prompt]", path: Path) -> None:
    """Write prompts, one JSON object a line."""
    from psychollm.cli.carry_out import writing

    lines = [json.dumps(prompt.to_dict(), ensure_ascii=False) + "\n" for prompt in prompts]
    with writing(f"--out {path}"):
        path.write_text("".join(lines), encoding="utf-8", newline="\n")


def counted(n: int, what: str) -> str:
    """Return a number with what it counts."""
    return f"{n:,} {what}" + ("" if n == 1 else "s")
