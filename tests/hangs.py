"""A guard against work that would not end, such as a pattern that backtracks."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

CPU_SECONDS = 120.0  # a hundred times what the slowest of these tests takes


@contextmanager
def ends(seconds: float = CPU_SECONDS) -> Iterator[None]:
    """Fail where the block has used CPU time without end."""

    def stop(*_: Any) -> None:
        msg = f"this has not ended within {seconds:.0f} s of CPU time"
        raise AssertionError(msg)

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, before)
