"""How fast a server is asked: how many at once, how many per minute, how long after a failure."""

from collections.abc import Callable
from dataclasses import dataclass, field

Draw = Callable[[], float]  # a number from 0 to 1

FIRST_DELAY = 0.5  # seconds
LONGEST_DELAY = 60.0


def backoff(tries: int, draw: Draw) -> float:
    """Return the seconds to wait after `tries` failures: doubled each time, capped."""
    # Between half and all of the delay is kept, so that requests which failed together do not come
    # back together.
    delay = min(FIRST_DELAY * 2.0 ** min(tries - 1, 30), LONGEST_DELAY)
    return delay * (0.5 + 0.5 * draw())


@dataclass(slots=True)
class Window:
    """How many requests may be under way at once: additive increase, multiplicative decrease."""

    # Until the first sign of crowding it grows by one with each answer (it doubles in a round);
    # from then on by one in a round. It is halved at most once for the requests that were under
    # way together, and never falls below one, so that it always recovers.

    limit: int
    size: float
    cut_at: float = -1.0
    slow_start: bool = True

    def grow(self, in_flight: int) -> None:
        """Note an answer; what is not used does not grow."""
        if in_flight >= int(self.size):
            step = 1.0 if self.slow_start else 1.0 / self.size
            self.size = min(self.size + step, float(self.limit))

    def shrink(self, *, started: float, now: float) -> None:
        """Note a sign of crowding from a request that was sent at `started`."""
        self.slow_start = False
        if started > self.cut_at:
            self.size = max(self.size / 2.0, 1.0)
            self.cut_at = now


@dataclass(slots=True)
class Allowance:
    """So many units per minute, spent as they come in, saved for no more than a few seconds."""

    per_minute: float | None
    saved_seconds: float = 1.0
    free_at: float = field(default=-1e18)  # when all that was taken will have come in

    def take(self, units: float, *, now: float) -> float:
        """Take units, and return how many seconds to wait before using them."""
        if self.per_minute is None:
            return 0.0
        wait = max(self.free_at - now - self.saved_seconds, 0.0)
        self.free_at = max(self.free_at, now) + units * 60.0 / self.per_minute
        return wait

    def give_back(self, units: float) -> None:
        """Return units that were taken and not used; negative ones were used beyond."""
        if self.per_minute is not None:
            self.free_at -= units * 60.0 / self.per_minute
