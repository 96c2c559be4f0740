"""What is typed, taken apart: each subcommand adds its own options."""

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from typing import NoReturn

from psychollm._base.errors import OptionError
from psychollm.cli import (
    calibrate,
    collect,
    completion,
    doctor,
    import_logs,
    instrument,
    score,
    study,
    version,
    warm,
)
from psychollm.cli.calibrate_settings import calibrate_settings_of
from psychollm.cli.help import CommandHelp
from psychollm.cli.settings import settings_of

DESCRIPTION = "The psychometrics of language models: do they know what they know?"
EPILOG = """\
to begin:
  psychollm study --example
  psychollm COMMAND --help

exit codes: 0 done; 1 failed, or something is missing; 2 the input or an option cannot be used,
said in one line; 130 interrupted. With --json every command prints one JSON object and nothing
else; what is undefined is null.
"""


class _Parser(argparse.ArgumentParser):
    """A parser whose complaints are one line, as all others are."""

    def error(self, message: str) -> NoReturn:
        msg = f"{message} (see '{self.prog} --help')"
        raise OptionError(msg)


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command.

    Examples
    --------
    >>> build_parser().parse_args(["version"]).command
    'version'
    """
    parser = _Parser(
        prog="psychollm", description=DESCRIPTION, epilog=EPILOG, formatter_class=CommandHelp
    )
    parser.add_argument("--version", action="store_true", help="print the version and stop")
    commands = parser.add_subparsers(metavar="COMMAND", title="commands", dest="command")
    for one in (instrument, collect, score, study, calibrate, import_logs, doctor, warm, version,
                completion):  # fmt: skip
        one.add_options(commands)
    return parser


def read_arguments(argv: Sequence[str] | None) -> Callable[[], int]:
    """Return the command that the arguments ask for, ready to run.

    Raises
    ------
    OptionError
        If there is no such command or option.
    """
    parser = build_parser()
    options = parser.parse_args(argv)
    if options.version:
        return partial(version.run, argparse.Namespace(json=False))
    if options.command is None:
        parser.print_help()
        return lambda: 0
    return _PREPARED[options.command](options)


# What was typed is checked before anything is done.
_PREPARED: dict[str, Callable[[argparse.Namespace], Callable[[], int]]] = {
    "instrument": lambda options: partial(instrument.run, options),
    "collect": lambda options: partial(collect.run, collect.settings_of(options)),
    "score": lambda options: partial(score.run, options),
    "study": lambda options: partial(study.run, settings_of(options)),
    "calibrate": lambda options: partial(calibrate.run, calibrate_settings_of(options)),
    "import": lambda options: partial(import_logs.run, import_logs.settings_of(options)),
    "doctor": lambda options: partial(doctor.run, options),
    "warm": lambda options: partial(warm.run, options),
    "version": lambda options: partial(version.run, options),
    "completion": lambda options: partial(completion.run, options),
}
