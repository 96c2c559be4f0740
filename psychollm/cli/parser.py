"""What is typed, taken apart: each subcommand adds its own options."""

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from typing import NoReturn

from psychollm._base.errors import OptionError
from psychollm.cli import (
    calibrate,
    collect,
    doctor,
    import_logs,
    instrument,
    score,
    study,
    version,
)
from psychollm.cli.calibrate_settings import calibrate_settings_of
from psychollm.cli.help import CommandHelp
from psychollm.cli.settings import settings_of

DESCRIPTION = "The psychometrics of language models: do they know what they know?"


class _Parser(argparse.ArgumentParser):
    """A parser whose complaints are one line, as all others are."""

    def error(self, message: str) -> NoReturn:
        msg = f"{message} (see '{self.prog} --help')"
        raise OptionError(msg)


def read_arguments(argv: Sequence[str] | None) -> Callable[[], int]:
    """Return the command that the arguments ask for, ready to run.

    Raises
    ------
    OptionError
        If there is no such command or option.
    """
    parser = _Parser(prog="psychollm", description=DESCRIPTION, formatter_class=CommandHelp)
    parser.add_argument("--version", action="store_true", help="print the version and stop")
    commands = parser.add_subparsers(metavar="COMMAND", title="commands", dest="command")
    instrument.add_options(commands)
    collect.add_options(commands)
    score.add_options(commands)
    study.add_options(commands)
    calibrate.add_options(commands)
    import_logs.add_options(commands)
    doctor.add_options(commands)
    version.add_options(commands)
    options = parser.parse_args(argv)
    if options.version:
        return version.run
    if options.command is None:
        parser.print_help()
        return lambda: 0
    if options.command == "version":
        return version.run
    if options.command == "calibrate":
        return partial(calibrate.run, calibrate_settings_of(options))
    if options.command == "import":
        return partial(import_logs.run, import_logs.settings_of(options))
    if options.command == "doctor":
        return partial(doctor.run, options)
    if options.command == "instrument":
        return partial(instrument.run, options)
    if options.command == "score":
        return partial(score.run, options)
    if options.command == "collect":
        return partial(collect.run, collect.settings_of(options))
    return partial(study.run, settings_of(options))
