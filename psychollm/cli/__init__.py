"""Layer 8: the command ``psychollm``, one file per subcommand.

Exit codes: 0 done; 1 internal failure (a bug, a full disk); 2 invalid input or option, reported in
one line; 130 interrupted.
"""

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
        Arguments without the program name; by default those of the process.

    Examples
    --------
    >>> from psychollm.cli import main
    >>> main(["version"]) == DONE
    psychollm ...
    True
    """
    options: Mapping[str, str] = {}
    try:
        from psychollm.cli.parser import read_arguments

        with redirect_stdout(sys.stdout and Screen(sys.stdout)):
            command, typed = read_arguments(sys.argv[1:] if argv is None else argv)
            options = command.arguments()
            return command.of(typed).run()
    except PsychollmError as error:
        complain(f"error: {error.told(options)}")
        return UNUSABLE
    except KeyboardInterrupt:
        complain("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        # The program that reads our output has stopped reading, so nothing more is printed or
        # flushed.
        sys.stdout = None
        return FAILED
