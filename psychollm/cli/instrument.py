"""``psychollm instrument``: the prompts of an instrument in a file that a plan can name."""

import argparse
import json
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psychollm.cli.help import CommandHelp
from psychollm.cli.instrument_recipes import RECIPES, Recipe

if TYPE_CHECKING:
    from psychollm.instruments.prompt import Prompt

    Commands = argparse._SubParsersAction[Any]

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


def add_options(commands: "Commands") -> None:
    """Add the subcommand, with one of its own for each instrument."""
    parser = commands.add_parser(
        "instrument",
        help="write the prompts of an instrument, for a plan to ask",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=CommandHelp,
        allow_abbrev=False,
    )
    names = parser.add_subparsers(
        metavar="NAME", title="instruments", dest="instrument", required=True
    )
    for name, recipe in RECIPES.items():
        _add_recipe(names, name, recipe)


def _add_recipe(names: "Commands", name: str, recipe: Recipe) -> None:
    parser = names.add_parser(
        name,
        help=recipe.help,
        description=f"{recipe.help[0].upper()}{recipe.help[1:]}.",
        allow_abbrev=False,
    )
    if recipe.source is not None:
        recipe.source.add_to(parser)
    for option in recipe.options:
        option.add_to(parser)
    parser.add_argument(
        "--out", type=Path, required=True, metavar="FILE.jsonl", help="where the prompts go"
    )
    parser.add_argument(
        "--json", action="store_true", help="print what was written as JSON and nothing else"
    )
    parser.add_argument("--quiet", action="store_true", help="say nothing on the screen")


def run(options: argparse.Namespace) -> int:
    """Make the prompts, write them, and say what to do with them."""
    from psychollm.cli.notes import as_notes, busy

    with as_notes(quiet=options.quiet), busy("making the prompts", quiet=options.quiet):
        prompts = made(options)
        _write(prompts, options.out)
    n_items = len({prompt.item for prompt in prompts})
    if options.json:
        from psychollm.cli.outputs import as_json

        about = {"instrument": options.instrument, "n_prompts": len(prompts), "n_items": n_items}
        print(as_json({**about, "out": str(options.out)}))
    elif not options.quiet:
        items = _counted(n_items, "item")
        print(f"{_counted(len(prompts), 'prompt')} about {items}: {options.out}")
        print(f'To ask them, write prompts = "{options.out.name}" in a plan beside it.')
    return 0


def made(options: argparse.Namespace) -> "tuple[Prompt, ...]":
    """Return the prompts that the options ask for."""
    recipe = RECIPES[options.instrument]
    build = getattr(import_module(f"psychollm.instruments.{recipe.module}"), recipe.name)
    prompts: tuple[Prompt, ...] = build(**recipe.given(options)).prompts()
    return prompts


def _write(prompts: "Sequence[Prompt]", path: Path) -> None:
    from psychollm._base.errors import InputError

    lines = [json.dumps(prompt.to_dict(), ensure_ascii=False) + "\n" for prompt in prompts]
    try:
        path.write_text("".join(lines), encoding="utf-8", newline="\n")
    except OSError as error:
        msg = f"--out {path}: cannot be written ({error.strerror})"
        raise InputError(msg) from error


def _counted(n: int, what: str) -> str:
    return f"{n:,} {what}" + ("" if n == 1 else "s")
