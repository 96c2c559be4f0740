"""How hard property tests try: the same draws every time, or fresh ones and ten times as many.

``nox -s fuzz`` sets ``PSYCHOLLM_FUZZ``. Without it draws do not depend on chance, so that whoever
changes one thing is not stopped by another; what fresh draws find becomes an ``@example``.
"""

import os

from hypothesis import settings

FUZZ = bool(os.environ.get("PSYCHOLLM_FUZZ"))
TIMES = 10 if FUZZ else 1
USUAL = 25  # examples of a property that says nothing else


def examples(n: int, **others: object) -> settings:
    """Return the settings of a property that is tried on n examples, or on ten times as many."""
    return settings(max_examples=TIMES * n, **others)  # type: ignore[arg-type]


def load_profile() -> None:
    """Make these the settings of all properties."""
    # Compilation makes the first example slow, whatever the example: no deadlines.
    settings.register_profile(
        "house", deadline=None, derandomize=not FUZZ, max_examples=TIMES * USUAL, print_blob=True
    )
    settings.load_profile("house")
