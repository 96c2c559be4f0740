"""How help is laid out."""

import argparse


class CommandHelp(argparse.RawDescriptionHelpFormatter):
    """Help in which the longest command, too, has its explanation beside it.

    Examples
    --------
    >>> parser = argparse.ArgumentParser(prog="p", formatter_class=CommandHelp)
    >>> commands = parser.add_subparsers(metavar="COMMAND")
    >>> _ = commands.add_parser("calibrate", help="explained")
    >>> parser.format_help().splitlines()[4]
    '    calibrate  explained'
    """

    def add_argument(self, action: argparse.Action) -> None:
        """Add an action, the indentation of commands below it counted."""
        super().add_argument(action)
        below = [len(one.dest) for one in getattr(action, "_choices_actions", [])]
        longest = self._current_indent + self._indent_increment + max(below, default=0)
        self._action_max_length = max(self._action_max_length, longest)
