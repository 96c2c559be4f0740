"""``psychollm collect``: a plan in, a store with replies out."""

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from psychollm.collect.client import Collection
    from psychollm.collect.plan import Plan
    from psychollm.collect.progress import ModelProgress

    Commands = argparse._SubParsersAction[Any]

DESCRIPTION = """\
Ask models what a plan says, and keep every reply in a store, one SQLite file. Interrupted, killed
or out of budget, the same command goes on where it stopped; nothing answered is asked again.
Secrets come from environment variables that the plan names.
"""
EPILOG = """\
examples:
  psychollm collect plan.toml --dry-run
  psychollm collect plan.toml --budget 2.50
  psychollm collect plan.toml --export replies.csv

exit codes: 0 all is answered; 1 something is missing, and the summary says what; 2 the plan or
the store cannot be used; 130 interrupted.
"""
MISSING, INTERRUPTED = 1, 130


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectSettings:
    """What was asked for on the command line."""

    plan: Path
    dry_run: bool
    budget: float | None
    export: Path | None
    progress: bool
    json: bool
    quiet: bool


def add_options(commands: "Commands") -> None:
    """Add the subcommand and its options to the parser."""
    parser = commands.add_parser(
        "collect",
        help="ask models what a plan says, and keep every reply",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("plan", type=Path, metavar="PLAN.toml", help="what is asked, of whom, where")
    add("--dry-run", action="store_true", help="print prompts, counts and cost; ask nothing")
    add("--budget", type=float, metavar="SUM", help="in place of the budget of the plan")
    add("--export", type=Path, metavar="FILE", help="write the replies as .csv or .parquet, too")
    add(
        "--progress",
        action="store_true",
        help="report progress every half minute where there is no terminal, too",
    )
    add("--json", action="store_true", help="print what was collected as JSON and nothing else")
    add("--quiet", action="store_true", help="no progress and no summary on the screen")


def settings_of(options: argparse.Namespace) -> CollectSettings:
    """Return what was typed."""
    return CollectSettings(**{name: getattr(options, name) for name in CollectSettings.__slots__})


def run(settings: CollectSettings) -> int:
    """Ask, keep, and say what became of it."""
    from dataclasses import replace

    from psychollm.cli.notes import as_notes, at_terminal
    from psychollm.collect.plan import read_plan

    plan = read_plan(settings.plan)
    if settings.budget is not None:
        plan = replace(plan, budget=settings.budget)
    if settings.dry_run:
        return _preview(plan, settings)
    from psychollm.collect.client import INTERRUPTED as BY_HAND
    from psychollm.collect.client import collect

    terminal = at_terminal()
    watched = sys.stderr is not None and not settings.quiet and (terminal or settings.progress)
    screen = _Screen() if watched else None
    with as_notes(quiet=settings.quiet):
        found = collect(plan, watch=screen, every=1.0 if terminal else 30.0)
    if screen is not None:
        screen.clear()
    if settings.export is not None:
        _export(plan, settings.export)
    _tell(found, settings)
    if found.stopped == BY_HAND:
        return INTERRUPTED
    return 0 if found.complete else MISSING


def _preview(plan: "Plan", settings: CollectSettings) -> int:
    from psychollm.cli.outputs import as_json
    from psychollm.collect.preview import preview

    found = preview(plan)
    print(as_json(found.to_dict()) if settings.json else found.summary())
    return 0


def _tell(found: "Collection", settings: CollectSettings) -> None:
    from psychollm.cli.outputs import as_json

    if settings.json:
        print(as_json(found.to_dict()))
    elif not settings.quiet:
        print(found.summary())
        print(f"Store: {found.store} (to read it: psychollm score {found.store})")


def _export(plan: "Plan", path: Path) -> None:
    from psychollm.collect.export import export
    from psychollm.collect.store import Store

    with Store(plan.store, create=False) as store:
        export(store, path)


class _Screen:
    """Progress on standard error: rewritten in place at a terminal, appended elsewhere."""

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
        print("\n".join(lines), file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Take away what stands at a terminal: the summary says it once more."""
        if self._lines:
            print(f"\x1b[{self._lines}A\x1b[J", end="", file=sys.stderr, flush=True)
        self._lines = 0


def fitted(lines: list[str], width: int, height: int) -> list[str]:
    """Return lines that fit a terminal, the last ones if there are too many.

    Examples
    --------
    >>> fitted(["a: 1/9 answered", "b: 2/9 answered", "In all: 3/18 answered"], 12, 3)
    ['b: 2/9 answe', 'In all: 3/18']
    """
    return [line[:width] for line in lines[-max(height - 1, 1) :]]
