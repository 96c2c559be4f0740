"""Floor 8: the command ``psychollm``, one file per subcommand.

Exit codes: 0 done; 1 the machine failed us (a bug, a full disk); 2 the input or an option cannot
be used, said in one line; 130 interrupted.
"""

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout

from psychollm._base.errors import PsychollmError
from psychollm._base.shown import Screen
from psychollm.cli.notes import complain, in_options

DONE, FAILED, UNUSABLE, INTERRUPTED = 0, 1, 2, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments without the name of the program; those of the process by default.

    Examples
    --------
    >>> from psychollm.cli import main
    >>> main(["version"]) == DONE
    psychollm ...
    True
    """
    try:
        from psychollm.cli.parser import read_arguments

        with redirect_stdout(sys.stdout and Screen(sys.stdout)):
            return read_arguments(sys.argv[1:] if argv is None else argv)()
    except PsychollmError as error:
        from psychollm.cli.parser import options_of

        known = options_of(sys.argv[1:] if argv is None else argv)
        complain(f"error: {in_options(str(error), known)}")
        return UNUSABLE
    except KeyboardInterrupt:
        complain("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has stopped: nothing is left to say, nor to flush at exit.
        sys.stdout = None
        return FAILED
