"""``psychollm instrument``: the prompts of an instrument in a file that a plan can name.

An instrument is not told to the command line: its options are the fields of its class, their help
is its docstring, and what is not given is left to it.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from psychollm.cli.import_logs import is_store
from psychollm.cli.options import PARSING, Command, add_options, declared_by, option, typed_values

if TYPE_CHECKING:
    from collections.abc import Callable

    from psychollm.instruments.coding import Transcript
    from psychollm.instruments.prompt import Prompt

DESCRIPTION = """\
Write the prompts of an instrument, one JSON object a line, for a plan to name. The same options
and seed write the same file.
"""
EPILOG = """\
examples:
  psychollm instrument rule-world --n 300 --seed 1 --out items.jsonl
  psychollm instrument self-prediction questions.csv --form direct --out items.jsonl
  psychollm instrument rule-world --help
"""


@dataclass(frozen=True, kw_only=True)
class MakePrompts(Command):
    """The command, with one of its own for each instrument."""

    NAME = "instrument"
    HELP = "write the prompts of an instrument, for a plan to ask"
    DESCRIPTION = DESCRIPTION
    EPILOG = EPILOG

    out: Path = option("where the prompts go", "FILE.jsonl")
    json: bool = option("print what was written as JSON and nothing else", default=False)
    quiet: bool = option("say nothing on the screen", default=False)
    typed: argparse.Namespace | None = None  # everything, for the instrument to be made of

    @classmethod
    def add_to(cls, parser: argparse.ArgumentParser) -> None:
        """Add the instruments, each with its options."""
        from psychollm.instruments.instrument import INSTRUMENTS, instrument_class, purpose

        names = parser.add_subparsers(
            metavar="NAME", title="instruments", dest="instrument", required=True
        )
        for name in INSTRUMENTS:
            does = purpose(name)
            below = names.add_parser(
                name.replace("_", "-"),
                help=does[0].lower() + does[1:].rstrip("."),
                description=does,
                **PARSING,
            )
            kind = instrument_class(name)
            add_options(below, kind)
            for one in declared_by(kind):
                if "read" in one.about:
                    add_options(below, one.about["read"])
            add_options(below, cls)

    @classmethod
    def of(cls, typed: argparse.Namespace) -> Self:
        """Return the command that was typed."""
        return cls(**typed_values(cls, typed), typed=typed)

    def run(self) -> int:
        """Make the prompts, write them, and say what to do with them."""
        from psychollm.cli.notes import as_notes, busy

        assert self.typed is not None  # noqa: S101 -- `of` has seen to it
        name = self.typed.instrument
        with as_notes(quiet=self.quiet), busy("making the prompts", quiet=self.quiet):
            prompts = made(name, self.typed)
            write_prompts(prompts, self.out)
        n_items = len({prompt.item for prompt in prompts})
        if self.json:
            from psychollm.cli.outputs import as_json

            counts = {"n_prompts": len(prompts), "n_items": n_items}
            print(as_json({"instrument": name, **counts, "out": str(self.out)}))
        elif not self.quiet:
            items = counted(n_items, "item")
            print(f"{counted(len(prompts), 'prompt')} about {items}: {self.out}")
            print(f'To ask them, write prompts = "{self.out.name}" in a plan beside it.')
        return 0


def made(name: str, typed: argparse.Namespace) -> "tuple[Prompt, ...]":
    """Return the prompts that the options ask for."""
    from psychollm.instruments.instrument import instrument_class

    kind = instrument_class(name.replace("-", "_"))
    given = typed_values(kind, typed)
    for one in declared_by(kind):
        if "read" in one.about and one.name in given:
            given[one.name] = _read(one.about, given[one.name], typed)
    prompts: tuple[Prompt, ...] = kind(**given).prompts()
    return prompts


def _read(about: Mapping[str, Any], path: Path, typed: argparse.Namespace) -> Any:
    """Read the file of a field; of a store, where the field takes replies, the replies."""
    if about.get("replies") and is_store(path):
        return traces_in(path)
    return about["read"](path, **typed_values(about["read"], typed))


def traces_in(
    path: Path, *, of: tuple[str, ...] = (), keep: "Callable[[Prompt], bool] | None" = None
) -> "tuple[Transcript, ...]":
    """Return the replies of a store as traces; options are those of `transcripts`."""
    from psychollm.collect.export import replied
    from psychollm.collect.store import Store
    from psychollm.instruments.stages.judged import transcripts

    with Store(path, create=False) as store:
        return transcripts(replied(store), of=of, keep=keep)


def write_prompts(prompts: "Sequence[Prompt]", path: Path) -> None:
    """Write prompts, one JSON object a line."""
    from psychollm.cli.outputs import writing

    lines = [json.dumps(prompt.to_dict(), ensure_ascii=False) + "\n" for prompt in prompts]
    with writing(f"--out {path}"):
        path.write_text("".join(lines), encoding="utf-8", newline="\n")


def counted(n: int, what: str) -> str:
    """Return a number with what it counts."""
    return f"{n:,} {what}" + ("" if n == 1 else "s")
