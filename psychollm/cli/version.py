"""``psychollm version``."""

import argparse
import platform
from typing import TYPE_CHECKING, Any

from psychollm._base.version import __version__

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[Any]


def add_options(commands: "Commands") -> None:
    """Add the subcommand to the parser."""
    commands.add_parser("version", help="print the version", description="Print the version.")


def run() -> int:
    """Print the version of the library and of Python."""
    print(f"psychollm {__version__} (Python {platform.python_version()})")
    return 0
