"""What all types of items draw: labels, loads, and steps that lead up to the one that matters."""

from collections.abc import Sequence

import numpy as np

from psychollm.instruments.rule_world.world import Kind, Unit

# No letter of a statement (A to D), and none that is a word or a digit at a glance.
LABELS = tuple("KLMNPQRSTUVWXYZ")
RECEIVERS = (Kind.PASSER, Kind.DOUBLER)  # kinds that let a load in


def labels(rng: np.random.Generator, n: int) -> list[str]:
    """Draw `n` different labels.

    Examples
    --------
    >>> len(set(labels(np.random.default_rng(0), 5)))
    5
    """
    return [LABELS[i] for i in rng.permutation(len(LABELS))[:n]]


def some(rng: np.random.Generator) -> int:
    """Draw a load of at least two, an even number so that it can be shared.

    Examples
    --------
    >>> some(np.random.default_rng(0)) % 2
    0
    """
    return 2 * int(rng.integers(1, 31))


def any_load(rng: np.random.Generator) -> int:
    """Draw a load that is nothing every third time.

    Examples
    --------
    >>> any_load(np.random.default_rng(0)) >= 0
    True
    """
    return 0 if rng.random() < 1 / 3 else int(rng.integers(2, 61))


def receiver(rng: np.random.Generator) -> Kind:
    """Draw a kind that lets a load in.

    Examples
    --------
    >>> receiver(np.random.default_rng(0)) in RECEIVERS
    True
    """
    return RECEIVERS[rng.integers(2)]


def with_prelude(
    rng: np.random.Generator, units: Sequence[Unit], label: str, into: str
) -> tuple[tuple[Unit, ...], tuple[tuple[str, ...], ...]]:
    """Put before the last step, every other time, one that the rules cover.

    Parameters
    ----------
    rng : Generator
        Source of randomness.
    units : sequence of Unit
        Those of the last step.
    label, into : str
        A passer with this label moves its load to that unit.

    Returns
    -------
    units, steps
        In an order drawn at random; no steps if there is no prelude.

    Examples
    --------
    >>> units, steps = with_prelude(
    ...     np.random.default_rng(1), [Unit(label="P", kind=Kind.DOUBLER, load=2)], "Q", "P")
    >>> len(units) == 1 + len(steps)
    True
    """
    told = list(units)
    steps: tuple[tuple[str, ...], ...] = ()
    if rng.random() < 0.5:
        told.append(Unit(label=label, kind=Kind.PASSER, load=some(rng), faces=(into,)))
        steps = ((label,),)
    return shuffled(rng, told), steps


def shuffled(rng: np.random.Generator, units: Sequence[Unit]) -> tuple[Unit, ...]:
    """Tell units in an order drawn at random.

    Examples
    --------
    >>> shuffled(np.random.default_rng(0), [])
    ()
    """
    return tuple(units[i] for i in rng.permutation(len(units)))
