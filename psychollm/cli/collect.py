"""``psychollm collect``: send the requests of a plan and store the replies."""

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING

from psychollm._base.csv_text import check_table_name
from psychollm._base.errors import OptionError
from psychollm._base.shown import on_screen
from psychollm.cli.options import Command, option

if TYPE_CHECKING:
    from psychollm.collect.client import Collection
    from psychollm.collect.plan import Plan
    from psychollm.collect.progress import ModelProgress

DESCRIPTION = """\
Send the prompts of a plan to models and keep every reply in a store, one SQLite file. After an
interruption, a crash or an exhausted budget, the same command resumes: no answered prompt is sent
again. Secrets come from environment variables named in the plan.
"""
EPILOG = """\
examples:
  psychollm collect plan.toml --dry-run
  psychollm collect plan.toml --budget 2.50
  psychollm collect plan.toml --export replies.csv

exit codes: 0 every prompt is answered; 1 replies are missing (the summary lists them); 2 the plan
or the store cannot be used; 130 interrupted.
"""
MISSING, INTERRUPTED = 1, 130


@dataclass(frozen=True, kw_only=True)
class Collect(Command):
    """Command `psychollm collect`."""

    NAME = "collect"
    HELP = "send the prompts of a plan to models and store every reply"
    DESCRIPTION = DESCRIPTION
    EPILOG = EPILOG

    plan: Path = option("prompts, models and endpoints", "PLAN.toml", positional=True)
    dry_run: bool = option("print prompts, counts and cost; send nothing", default=False)
    budget: float | None = option("a budget that replaces the plan's", "SUM", default=None)
    export: Path | None = option("also write the replies as .csv or .parquet", default=None)
    progress: bool = option(
        "report progress every half minute also without a terminal", default=False
    )
    json: bool = option("print only the summary as JSON", default=False)
    quiet: bool = option("print no progress and no summary", default=False)

    def run(self) -> int:
        """Send the prompts, store the replies, and print a summary."""
        from psychollm.collect.plan import read_plan

        plan = read_plan(self.plan)
        if self.budget is not None:
            plan = replace(plan, budget=self.budget)
        if self.export is not None:
            check_table_name(self.export)
            same = self.export.resolve() == plan.store.resolve()
            if same or not self.export.parent.is_dir():
                fault = "is the store of the plan" if same else "is in a missing folder"
                msg = f"--export {self.export} {fault}: pass another file"
                raise OptionError(msg)
        if self.dry_run:
            from psychollm.collect.preview import preview

            shown = preview(plan)
            replace(self, quiet=False).say(shown.to_dict(), shown.summary())
            return 0
        collection = asked(plan, quiet=self.quiet, progress=self.progress)
        if self.export is not None:
            from psychollm.collect.export import export
            from psychollm.collect.store import Store

            with Store(plan.store, create=False) as store:
                export(store, self.export)
        kept = collection.store
        where = f"Store: {kept} (to read it: psychollm score {kept})"
        self.say(collection.to_dict(), collection.summary(), where)
        return exit_code(collection)


def asked(plan: "Plan", *, quiet: bool, progress: bool) -> "Collection":
    """Run a plan, and show progress."""
    from psychollm.cli.notes import as_notes, at_terminal
    from psychollm.collect.client import collect

    terminal = at_terminal()
    watched = sys.stderr is not None and not quiet and (terminal or progress)
    screen = _Screen() if watched else None
    with as_notes(Collect.arguments(), quiet=quiet):
        collection = collect(plan, watch=screen, every=1.0 if terminal else 30.0)
    if screen is not None:
        screen.clear()
    return collection


def exit_code(collection: "Collection") -> int:
    """Return the exit code of a collection."""
    from psychollm.collect.client import INTERRUPTED as BY_HAND

    if collection.stopped == BY_HAND:
        return INTERRUPTED
    return 0 if collection.complete else MISSING


class _Screen:
    """Progress on standard error, rewritten in place at a terminal and appended elsewhere."""

    def __init__(self) -> None:
        self._lines = 0

    def __call__(self, models: "Sequence[ModelProgress]") -> None:
        now = time.monotonic()
        lines = [one.line(now) for one in models]
        if len(models) > 1:
            from psychollm.collect.progress import total_line

            lines.append(total_line(models, now))
        if sys.stderr.isatty():
            self.clear()
            lines = fitted(lines, *get_terminal_size())
            self._lines = len(lines)
        print(on_screen("\n".join(lines), sys.stderr), file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Clear the progress lines at a terminal, because the summary repeats their contents."""
        if self._lines:
            print(f"\x1b[{self._lines}A\x1b[J", end="", file=sys.stderr, flush=True)
        self._lines = 0


def fitted(lines: list[str], width: int, height: int) -> list[str]:
    """Return the lines that fit a terminal, omitting the first lines if there are too many."""
    return [line[:width] for line in lines[-max(height - 1, 1) :]]
