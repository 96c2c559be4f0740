"""What all types of items draw: labels, loads, and steps that lead up to the one that matters."""

from collections.abc import Sequence

import numpy as np

from psychollm.instruments.rule_world.oracle import Kind, Unit

# No letter of a statement (A to D), and none that is a word or a digit at a glance.
LABELS = tuple("KLMNPQRSTUVWXYZ")
RECEIVERS = (Kind.PASSER, Kind.DOUBLER)  # kinds that let a load in


def labels(rng: np.random.Generator, n: int) -> list[str]:
    """Draw `n` different labels."""
    return [LABELS[i] for i in rng.permutation(len(LABELS))[:n]]


def some(rng: np.random.Generator) -> int:
    """Draw a load of at least two, an even number so that it can be shared."""
    return 2 * int(rng.integers(1, 31))


def any_load(rng: np.random.Generator) -> int:
    """Draw a load that is nothing every third time."""
    return 0 if rng.random() < 1 / 3 else int(rng.integers(2, 61))


def receiver(rng: np.random.Generator) -> Kind:
    """Draw a kind that lets a load in."""
    return RECEIVERS[rng.integers(2)]


def with_prelude(
    rng: np.random.Generator, units: Sequence[Unit], label: str, into: str
) -> tuple[tuple[Unit, ...], tuple[tuple[str, ...], ...]]:
    """Put before the last step, every other time, one that the rules cover."""
    # A passer with this label moves its load to the unit `into`. Units come in an order drawn at
    # random; there are no steps if there is no prelude.
    told = list(units)
    steps: tuple[tuple[str, ...], ...] = ()
    if rng.random() < 0.5:
        told.append(Unit(label=label, kind=Kind.PASSER, load=some(rng), faces=(into,)))
        steps = ((label,),)
    return shuffled(rng, told), steps


def shuffled(rng: np.random.Generator, units: Sequence[Unit]) -> tuple[Unit, ...]:
    """Tell units in an order drawn at random."""
    return tuple(units[i] for i in rng.permutation(len(units)))
