"""Parser of all commands, and shell completion."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from psychollm._base.errors import OptionError
from psychollm._base.optional import require
from psychollm.cli.bank import Bank
from psychollm.cli.calibrate import Calibrate
from psychollm.cli.collect import Collect
from psychollm.cli.doctor import Doctor, Version
from psychollm.cli.gate import MakeGate
from psychollm.cli.import_logs import Import, split_name
from psychollm.cli.instrument import WriteInstrument
from psychollm.cli.irt import Irt
from psychollm.cli.kit import Kits
from psychollm.cli.options import PARSING, Command, Parser, in_studies, option
from psychollm.cli.run import Run
from psychollm.cli.score import Score
from psychollm.cli.stage import WriteStage
from psychollm.cli.study_store import Study
from psychollm.cli.warm import Warm

COMPLETION = """\
Print a shell script that completes commands, options, choices and file names.
Needs the extra "completion".
"""
IN_A_SHELL = """\
to activate it in this shell, or in all new ones:
  bash   source <(psychollm completion bash)
         psychollm completion bash > ~/.local/share/bash-completion/completions/psychollm
  zsh    psychollm completion zsh > ~/.zfunc/_psychollm
         (with fpath+=~/.zfunc before compinit in ~/.zshrc)
  fish   psychollm completion fish > ~/.config/fish/completions/psychollm.fish
"""


@dataclass(frozen=True, kw_only=True)
class Completion(Command):
    """Command `psychollm completion`."""

    NAME = "completion"
    HELP = "print a completion script for a shell"
    DESCRIPTION = COMPLETION
    EPILOG = IN_A_SHELL

    shell: Literal["bash", "zsh", "fish"] = option(
        "one of bash, zsh, fish", "SHELL", positional=True
    )

    def run(self) -> int:
        """Print the script."""
        print(script(build_parser(), self.shell), end="")
        return 0


class Help(Command):
    """Command that runs if the user names no command."""

    def run(self) -> int:
        """Print the commands."""
        build_parser(only="").print_help()
        return 0


def script(parser: argparse.ArgumentParser, shell: str) -> str:
    """Return the completion script of a parser for a shell."""
    shtab = require("shtab", extra="completion", purpose="shell completion")
    _offer_files(parser, shtab.FILE)
    return str(shtab.complete(parser, shell=shell)).rstrip() + "\n"


def _offer_files(parser: argparse.ArgumentParser, files: object) -> None:
    """Mark arguments that are paths, so that shells complete names of files."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                _offer_files(below, files)
        elif action.type is Path:
            action.complete = files  # type: ignore[attr-defined]


_FIRST = ("compare", "judge", "card")  # most frequent commands, listed first
_OF_STUDIES = sorted(
    (one.COMMAND for one in in_studies() if hasattr(one, "COMMAND")),
    key=lambda command: _FIRST.index(command.NAME) if command.NAME in _FIRST else len(_FIRST),
)
COMMANDS: dict[str, type[Command]] = {
    command.NAME: command
    for command in (
        *_OF_STUDIES, Study, Calibrate, MakeGate, Irt, Bank, Run, Kits, WriteInstrument, Collect,
        WriteStage, Score, Import, Doctor, Warm, Version, Completion,
    )
}  # fmt: skip
_WRITTEN = ("out", "export")  # options that name a file or folder to write
DESCRIPTION = (
    "Psychometrics of language models: compare models, check judges and confidence, calibrate "
    "items."
)
EPILOG = """\
to begin:
  psychollm compare --example
  psychollm study --example
  psychollm COMMAND --help

exit codes: 0 done; 1 failed, or something is missing; 2 invalid input or option (named in one
line); 130 interrupted. With --json every command except completion prints exactly one JSON object;
undefined values are null.
"""


def build_parser(only: str | None = None) -> argparse.ArgumentParser:
    """Return the parser of all commands; with `only`, only that subcommand gets its options."""
    # Only the requested subcommand needs its options, some of which require slow imports.
    parser = Parser(prog="psychollm", description=DESCRIPTION, epilog=EPILOG, **PARSING)
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    commands = parser.add_subparsers(metavar="COMMAND", title="commands", dest="command")
    for name, command in COMMANDS.items():
        below = commands.add_parser(
            name,
            usage=command.USAGE,
            help=command.HELP,
            description=command.DESCRIPTION or f"{command.HELP[0].upper()}{command.HELP[1:]}.",
            epilog=command.EPILOG,
            **PARSING,
        )
        if only in (None, name):
            command.add_to(below)
    return parser


def read_arguments(argv: Sequence[str]) -> tuple[type[Command], argparse.Namespace]:
    """Return the requested command, and its typed arguments."""
    parser = build_parser(only=next((one for one in argv if not one.startswith("-")), ""))
    typed = parser.parse_args(_joined(argv))
    if typed.version or typed.command is None:
        return (Version if typed.version else Help), typed
    _check_written(vars(typed))
    return COMMANDS[typed.command].chosen_by(typed), typed


def _joined(argv: Sequence[str]) -> list[str]:
    """Join an option and its value if the value starts with a hyphen, such as -99."""
    joined: list[str] = []
    for one in argv:
        if joined and joined[-1] == "--missing":
            joined[-1] += f"={one}"
        else:
            joined.append(one)
    return joined


def _check_written(typed: Mapping[str, Any]) -> None:
    """Raise an error if an output file would overwrite an input or the store of a run."""
    read = [one for name, one in typed.items() if name not in _WRITTEN]
    for name in _WRITTEN:
        path = Path(typed.get(name) or "")
        if not path.is_file():
            continue
        with path.open("rb") as file:
            is_store = file.read(15) == b"SQLite format 3"
        files = [one for value in read for one in (value if isinstance(value, list) else [value])]
        if is_store or any(_is(path, one) for one in files):
            msg = f"--{name} {path} is an input, or the store of a run: pass another file"
            raise OptionError(msg)


def _is(path: Path, given: object) -> bool:
    given = split_name(given)[1] if isinstance(given, Path) else given
    try:
        return isinstance(given, str | Path) and path.samefile(given)
    except (OSError, ValueError):  # the argument is not the path of a file
        return False
