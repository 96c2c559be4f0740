"""``psychollm stage``: from the replies of a store to the prompts of the next stage.

A stage is not told to the command line: its options are the keywords of its function, their help
is its docstring.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from psychollm.cli.options import PARSING, Command, add_options, option, typed_values

DESCRIPTION = """\
Write the prompts of a second stage, which depend on what models replied in the first: one JSON
object a line, for a plan to name. The same replies write the same file.

Put them into a plan with the same store, so that study and score find both. Where a judge is
asked, its models are the judges; where models go on by themselves, they are those of the first
plan. 'psychollm run' does all stages in order.
"""
EPILOG = """\
examples:
  psychollm stage grading run.sqlite --out verdicts.jsonl
  psychollm stage revision run.sqlite --arms doubt,insist_wrong,insist_right --out pressed.jsonl
  psychollm stage coding --help
"""


@dataclass(frozen=True, kw_only=True)
class MakeStage(Command):
    """The command, with one of its own for each stage."""

    NAME = "stage"
    HELP = "write the prompts of a second stage, from the replies of a store"
    DESCRIPTION = DESCRIPTION
    EPILOG = EPILOG

    store: Path = option("the store of the stages before", "RUN.sqlite", positional=True)
    out: Path = option("where the prompts go", "FILE.jsonl")
    json: bool = option("print what was written as JSON and nothing else", default=False)
    quiet: bool = option("say nothing on the screen", default=False)
    typed: argparse.Namespace | None = None  # everything, for the stage

    @classmethod
    def add_to(cls, parser: argparse.ArgumentParser) -> None:
        """Add the stages, each with its options."""
        from psychollm.instruments.stages import STAGES

        names = parser.add_subparsers(metavar="NAME", title="stages", dest="stage", required=True)
        for name, stage in STAGES.items():
            does = (stage.make.__doc__ or "").partition("\n\n")[0].partition(": see")[0]
            does = does.rstrip(".").replace("`", "").replace("Return", "Write", 1)
            below = names.add_parser(
                name, help=does[0].lower() + does[1:], description=f"{does}.", **PARSING
            )
            add_options(below, stage.make)
            add_options(below, cls)

    @classmethod
    def of(cls, typed: argparse.Namespace) -> Self:
        """Return the command that was typed."""
        return cls(**typed_values(cls, typed), typed=typed)

    def run(self) -> int:
        """Make the prompts, write them, and say what to do with them."""
        from psychollm.cli.instrument import counted, write_prompts
        from psychollm.cli.notes import as_notes, busy
        from psychollm.collect.export import replied
        from psychollm.collect.store import Store
        from psychollm.instruments.stages import STAGES

        assert self.typed is not None  # noqa: S101 -- `of` has seen to it
        name = self.typed.stage
        stage = STAGES[name]
        with (
            as_notes(quiet=self.quiet),
            busy("making the prompts", quiet=self.quiet),
            Store(self.store, create=False) as store,
        ):
            prompts = stage.make(replied(store), **typed_values(stage.make, self.typed))
            write_prompts(prompts, self.out)
        asked = "judges" if stage.judged else "the same models"
        if self.json:
            from psychollm.cli.outputs import as_json

            found = {"stage": name, "n_prompts": len(prompts), "asked": asked}
            print(as_json(found | {"out": str(self.out)}))
        elif not self.quiet:
            print(f"{counted(len(prompts), 'prompt')} for {asked}: {self.out}")
            files = f'prompts = "{self.out.name}" and store = "{self.store.name}"'
            print(f"To ask them, write {files} in a plan of {asked}.")
        return 0
