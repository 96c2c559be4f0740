"""Layer 8: the command ``psychollm``, with one file per subcommand.

The exit code is 0 on success, 1 after an internal failure (such as a bug or a full disk), 2 for an
invalid input or option, and 130 after an interrupt. Invalid input is reported in one line.
"""

import gc
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout

from psychollm._base.errors import PsychollmError
from psychollm._base.shown import Screen
from psychollm.cli.notes import complain

DONE, FAILED, UNUSABLE, INTERRUPTED = 0, 1, 2, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments without the program name, by default the arguments of the process.

    Examples
    --------
    >>> from psychollm.cli import main
    >>> main(["version"]) == DONE
    psychollm ...
    True
    """
    if argv is None:
        # Imports and compilation make many objects that stay; the default threshold searches them
        # for cycles so often that a command takes a tenth longer.
        gc.set_threshold(50_000)
    options: Mapping[str, str] = {}
    try:
        from psychollm.cli.parser import read_arguments
        from psychollm.cli.warm import compiling_ahead

        with redirect_stdout(sys.stdout and Screen(sys.stdout)):
            command, typed = read_arguments(sys.argv[1:] if argv is None else argv)
            options = command.arguments()
            with compiling_ahead(command.AHEAD if argv is None else ()):
                return command.of(typed).run()
    except PsychollmError as error:
        complain(f"error: {error.told(options)}")
        return UNUSABLE
    except KeyboardInterrupt:
        complain("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        # The program that reads this output has stopped, so nothing more can be printed or
        # flushed.
        sys.stdout = None
        return FAILED
