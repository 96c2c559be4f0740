"""`measurement_invariance`: the models of several groups from nothing equal to all equal."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from psychollm._base.checks import check_choice, check_fraction
from psychollm._base.errors import OptionError
from psychollm._base.result import Result
from psychollm.data.labels import listed
from psychollm.factor.invariance.difference import FitDifference, fit_difference
from psychollm.factor.invariance.fit import fit_sample
from psychollm.factor.invariance.layout import LEVELS, Invariance
from psychollm.factor.invariance.result import GroupFactors
from psychollm.factor.invariance.sample import (
    GroupCorrelations,
    LoadingPattern,
    Sample,
    sample_of,
)
from psychollm.factor.robust_test import RobustTest

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class MeasurementInvariance(Result):
    """Models of several groups with more and more in common.

    Attributes
    ----------
    levels : tuple of str
        What is the same in each, the least first.
    fits : tuple of GroupFactors
        The models.
    differences : tuple of FitDifference
        Each model against the one before it, one fewer than models.
    level : float
        Chance of rejecting a step that holds.
    """

    levels: tuple[Invariance, ...]
    fits: tuple[GroupFactors, ...]
    differences: tuple[FitDifference, ...]
    level: float

    @property
    def holds(self) -> Invariance | None:
        """The last level before the first step that is rejected; None if no step was tested."""
        if not self.differences:
            return None
        rejected = [step.p_value <= self.level for step in self.differences]
        return self.levels[rejected.index(True) if any(rejected) else len(rejected)]

    def to_frame(self) -> pd.DataFrame:
        """Return one row per model: its fit, and the difference from the one before."""
        import pandas as pd

        rows: list[dict[str, Any]] = []
        for k, found in enumerate(self.fits):
            names = ("chi_square", "df", "p_value", "cfi", "rmsea", "srmr")
            row: dict[str, Any] = {"invariance": found.invariance}
            row |= {name: getattr(found.fit, name) for name in names}
            step = self.differences[k - 1] if k else None
            row |= {
                f"difference_{name}": getattr(step, name) if step else float("nan")
                for name in names
            }
            rows.append(row)
        return pd.DataFrame(rows)

    def summary(self) -> str:
        """Say how far invariance goes."""
        first = self.fits[0]
        lines = [
            f"{len(first.labels)} items in groups {listed(first.groups)}; the {first.invariance} "
            f"model: {first.fit.summary()}."
        ]
        lines += [step.summary() for step in self.differences]
        if self.holds == self.levels[-1]:
            lines.append(f"No step is rejected at {self.level:g}.")
        elif self.holds is not None:
            broken = self.levels[self.levels.index(self.holds) + 1]
            lines.append(
                f"The {broken} model is rejected at {self.level:g}: see score_tests() of it."
            )
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"MeasurementInvariance: {self.summary()}"


def measurement_invariance(
    correlations: GroupCorrelations,
    model: LoadingPattern,
    *,
    levels: Sequence[Invariance] | None = None,
    free: Sequence[Hashable] = (),
    test: RobustTest = "scaled_shifted",
    level: float = 0.05,
) -> MeasurementInvariance:
    """Fit one factor model to several groups with more and more in common, and test each step.

    Parameters
    ----------
    correlations, model, free, test
        As in `confirmatory_groups`; items in `free` keep their own parameters at every level.
    levels : sequence of str, optional
        Levels to fit, the least first. By default those that the items can tell apart: of yes/no
        items "configural", "scalar" and "strict", since one threshold does not show whether a
        loading, an intercept or a scale differs; "thresholds" only where an item has four answers.
    level : float
        Chance of rejecting a step that holds.

    Returns
    -------
    MeasurementInvariance
        The models, and scaled difference tests between neighbours.

    Raises
    ------
    OptionError, LabelError, ShapeError, CodeError, InputError
        As in `confirmatory_groups`.

    Examples
    --------
    >>> import numpy as np
    >>> from psychollm.correlation.by_group import polychoric_by_group
    >>> rng = np.random.default_rng(1)
    >>> latent = 0.8 * rng.normal(size=900) + 0.6 * rng.normal(size=(6, 900))
    >>> yes = latent.T > np.linspace(-1, 1, 6)
    >>> halves = polychoric_by_group(yes.T, np.arange(900) % 2)
    >>> found = measurement_invariance(halves, {"F": range(6)})
    >>> found.levels, found.holds
    (('configural', 'scalar', 'strict'), 'strict')
    """
    check_choice("test", test, RobustTest)
    check_fraction("level", level)
    sample, pattern = sample_of(correlations, model)
    chosen = _levels(levels, sample)
    fits = tuple(fit_sample(sample, pattern, tuple(model), kind, free, test) for kind in chosen)
    return MeasurementInvariance(
        levels=chosen,
        fits=fits,
        differences=tuple(fit_difference(larger, smaller) for larger, smaller in pairwise(fits)),
        level=level,
    )


def _levels(levels: Sequence[Invariance] | None, sample: Sample) -> tuple[Invariance, ...]:
    """Return the levels to fit, in their order."""
    if levels is None:
        most = int(sample.cuts.max())
        if most < 2:
            return ("configural", "scalar", "strict")
        return tuple(level for level in LEVELS if most > 2 or level != "thresholds")
    for name in levels:
        check_choice("levels", name, Invariance)
    order = [LEVELS.index(name) for name in levels]
    if not order or sorted(set(order)) != order:
        msg = f"levels={tuple(levels)!r} must be some of {LEVELS}, each once and in this order"
        raise OptionError(msg)
    return tuple(levels)
