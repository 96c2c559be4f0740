"""``psychollm version``."""

import argparse
import platform
from typing import TYPE_CHECKING, Any

from psychollm._base.version import __version__

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[Any]


def add_options(commands: "Commands") -> None:
    """Add the subcommand to the parser."""
    parser = commands.add_parser(
        "version", help="print the version", description="Print the version.", allow_abbrev=False
    )
    parser.add_argument("--json", action="store_true", help="print it as JSON and nothing else")


def run(options: argparse.Namespace) -> int:
    """Print the version of the library and of Python."""
    if options.json:
        from psychollm.cli.outputs import as_json

        print(as_json({"psychollm": __version__, "python": platform.python_version()}))
    else:
        print(f"psychollm {__version__} (Python {platform.python_version()})")
    return 0
