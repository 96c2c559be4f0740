"""Progress bars: tqdm where asked for, nothing otherwise."""

from typing import Protocol

from psychollm._base.optional import require


class Progress(Protocol):
    """What replication needs of a progress bar."""

    def update(self, n: int) -> object:
        """Advance by `n` units."""

    def close(self) -> None:
        """Release the terminal line."""


class _Silent:
    """A progress bar that draws nothing."""

    def update(self, n: int) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


def progress_bar(*, show: bool, total: int, label: str) -> Progress:
    """Return a bar of `total` units, or a silent one."""
    if not show:
        return _Silent()
    tqdm = require("tqdm.auto", extra="progress", purpose="progress=True")
    bar: Progress = tqdm.tqdm(total=total, desc=label, leave=False)
    return bar
