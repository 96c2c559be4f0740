"""``psychollm completion``: the script by which a shell completes the command."""

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from psychollm._base.optional import require
from psychollm.cli.options import Command, option

DESCRIPTION = """\
Print a script by which a shell completes commands, options, their choices and names of files.
Needs the extra "completion".
"""
EPILOG = """\
to have it in this shell, or in every new one:
  bash   source <(psychollm completion bash)
         psychollm completion bash > ~/.local/share/bash-completion/completions/psychollm
  zsh    psychollm completion zsh > ~/.zfunc/_psychollm
         (with fpath+=~/.zfunc before compinit in ~/.zshrc)
  fish   psychollm completion fish > ~/.config/fish/completions/psychollm.fish
"""


@dataclass(frozen=True, kw_only=True)
class Completion(Command):
    """The command."""

    NAME = "completion"
    HELP = "print the script by which a shell completes this command"
    DESCRIPTION = DESCRIPTION
    EPILOG = EPILOG

    shell: Literal["bash", "zsh", "fish"] = option(
        "one of bash, zsh, fish", "SHELL", positional=True
    )

    def run(self) -> int:
        """Print the script."""
        from psychollm.cli.parser import build_parser

        print(script(build_parser(), self.shell), end="")
        return 0


def script(parser: argparse.ArgumentParser, shell: str) -> str:
    """Return the script of a parser for a shell."""
    shtab = require("shtab", extra="completion", purpose="shell completion")
    _offer_files(parser, shtab.FILE)
    return str(shtab.complete(parser, shell=shell)).rstrip() + "\n"


def _offer_files(parser: argparse.ArgumentParser, files: object) -> None:
    """Mark what takes a path, in a parser and in those of its subcommands."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                _offer_files(below, files)
        elif action.type is Path:
            action.complete = files  # type: ignore[attr-defined]
