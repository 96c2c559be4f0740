r"""Linking of two question sets to one scale through their common items.

For linking, abilities of the second fit are transformed by :math:`\theta_1 = A\theta_2 + B`. A
slope a is then divided by A, and a difficulty b becomes A b + B. The mean-sigma method computes A
and B from the moments of difficulties; the mean-mean method computes A from the mean slopes. Items
with more than two answer categories contribute the difficulties of all steps. Haebara's method
minimises squared differences between the curves of all answers. Stocking and Lord's method
minimises squared differences between expected sums of codes. The methods of Haebara and of
Stocking and Lord average over N(0, 1) abilities on the first scale. Nominal models have no
difficulties and no ordered codes, so only Haebara's method applies. Items count as shared if they
have the same label, model and set of answers in both fits.

References
----------
Kolen, M. J., & Brennan, R. L. (2014). Test equating, scaling, and linking (3rd ed.). Springer.
https://doi.org/10.1007/978-1-4939-0317-7
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.checks import check_choice, float_array
from psychollm._base.errors import OptionError, ShapeError
from psychollm._base.result import Result
from psychollm._base.types import FloatArray, IntArray
from psychollm.data.labels import Labels
from psychollm.irt.families import Family
from psychollm.irt.result import IRTFit

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Method = Literal["stocking_lord", "haebara", "mean_sigma", "mean_mean"]

FEWEST = 2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Linking(Result):
    """Linear transformation of abilities between two fits.

    Attributes
    ----------
    scale, shift : float
        Coefficients A and B in ability_1 = A ability_2 + B.
    rmsd : float
        Root mean square difference between the linked curves of shared items. The compared curves
        are P(yes), or the probabilities of all answers except the first.
    item_rmsd : ndarray of shape (shared,)
        Root mean square difference between the linked curves of each shared item; large values
        indicate parameter drift.
    method : str
        Linking method.
    labels : tuple
        Names of the shared items.
    """

    scale: float
    shift: float
    rmsd: float
    item_rmsd: FloatArray  # (shared,)
    method: Method
    labels: Labels  # shared

    _AXES = Axes({"item": "labels"}, "rmsd=item_rmsd")

    def moved(self, abilities: ArrayLike) -> FloatArray:
        """Return abilities of the second fit on the scale of the first.

        Parameters
        ----------
        abilities : array_like
            Abilities on the scale of the second fit.
        """
        return np.asarray(self.scale * float_array(abilities, "abilities") + self.shift)


def link_scales(first: IRTFit, second: IRTFit, *, method: Method = "stocking_lord") -> Linking:
    """Link the scale of the second fit to the scale of the first fit through common items.

    Parameters
    ----------
    first, second : IRTFit
        Fits with common item labels. Items whose model or answers differ between the fits are
        omitted.
    method : {"stocking_lord", "haebara", "mean_sigma", "mean_mean"}
        Linking method.

    Returns
    -------
    Linking
        Transformation between the scales, with the remaining differences between curves.

    Raises
    ------
    OptionError
        If models, links or answers differ, or the method does not apply to the model.
    ShapeError
        If fewer than two shared items have estimates in both fits.

    Examples
    --------
    >>> from psychollm.irt.fit import fit_irt
    >>> answers = np.random.default_rng(3).random((600, 5)) < [0.2, 0.4, 0.5, 0.6, 0.8]
    >>> fit = fit_irt(answers, model="1pl")
    >>> abs(link_scales(fit, fit).shift) < 1e-6
    True
    """
    check_choice("method", method, Method)
    labels, one, two = _shared(first, second)
    if method != "haebara" and not one.family.ordered:
        msg = f"method={method!r} needs ordered answers: use 'haebara' with a nominal model"
        raise OptionError(msg)
    scale, shift = _moments(one, two, by_spread=method == "mean_sigma")
    if method in ("haebara", "stocking_lord"):
        scale, shift = _by_curves(one, two, (scale, shift), method)
    gaps, weights = _gaps(one, two, scale, shift)
    item = np.sqrt(((gaps[:, 1:] ** 2).sum(axis=1) / one.n_steps[:, None]) @ weights)
    sd_one, sd_two = first.ability_sd, second.ability_sd
    return Linking(
        scale=float(scale * sd_one / sd_two),
        shift=float(shift * sd_one),
        rmsd=float(np.sqrt(np.mean(item**2))),
        item_rmsd=item,
        method=method,
        labels=labels,
    )


@dataclass(frozen=True, slots=True)
class _Side:
    """Items of one fit that both fits share."""

    family: Family
    parameters: FloatArray  # (shared, p)
    n_steps: IntArray  # (shared,) number of answer categories minus one

    @classmethod
    def of(cls, fit: IRTFit, items: IntArray) -> _Side:
        """Return the items at the given positions of a fit."""
        among = np.cumsum(fit.fitted)[items] - 1
        steps = fit.has_answer[items].sum(axis=1) - 1
        return cls(fit.family.select(among), fit.parameters[items], steps)


def _shared(first: IRTFit, second: IRTFit) -> tuple[Labels, _Side, _Side]:
    """Return the shared items in both fits."""
    place = {label: j for j, label in enumerate(second.labels) if second.fitted[j]}
    pairs = [
        (j, place[label])
        for j, label in enumerate(first.labels)
        if first.fitted[j] and label in place
    ]
    kinds = [
        [(fit.item_models[pair[k]], *np.flatnonzero(fit.has_answer[pair[k]])) for pair in pairs]
        for k, fit in enumerate((first, second))
    ]
    same = [pair for pair, *kind in zip(pairs, *kinds, strict=True) if kind[0] == kind[1]]
    if first.link != second.link or (len(pairs) >= FEWEST and not same):
        shown = [
            f"{fit.model} of {fit.n_categories} answers with {fit.link} link"
            for fit in (first, second)
        ]
        msg = (
            f"first is a {shown[0]}, second a {shown[1]}: only fits of the same model can be "
            "linked, "
            "by items with the same answers in both"
        )
        raise OptionError(msg)
    if len(same) < FEWEST:
        msg = (
            f"first and second share {len(same)} items with estimates and equal answers in "
            f"both: linking needs at least {FEWEST}; items are matched by label"
        )
        raise ShapeError(msg)
    own, other = (np.array(side) for side in zip(*same, strict=True))
    labels = tuple(first.labels[j] for j in own)
    return labels, _Side.of(first, own), _Side.of(second, other)


def _moments(one: _Side, two: _Side, *, by_spread: bool) -> tuple[float, float]:
    """Return A and B from mean difficulties and either their SDs (`by_spread`) or mean slopes."""
    if not one.family.ordered:
        return 1.0, 0.0
    b_one, b_two = _step_difficulties(one), _step_difficulties(two)
    if by_spread:
        scale = float(b_one.std() / b_two.std())
    else:
        scale = float(two.parameters[:, 0].mean() / one.parameters[:, 0].mean())
    return scale, float(b_one.mean() - scale * b_two.mean())


def _step_difficulties(side: _Side) -> FloatArray:
    """Return the difficulties of all steps of all items in one array."""
    table = -side.family.step_intercepts(side.parameters) / side.parameters[:, :1]
    return np.asarray(table[np.isfinite(table)])


def _gaps(one: _Side, two: _Side, scale: float, shift: float) -> tuple[FloatArray, FloatArray]:
    """Return differences of curves (shared, C, Q) on the first scale, and weights (Q,)."""
    nodes = np.linspace(-4.0, 4.0, 81)
    weights = np.exp(-0.5 * nodes**2)
    # an ability on the second scale is (theta - B) / A
    moved = two.family.rescaled(two.parameters, -shift / scale, 1.0 / scale)
    ours = one.family.log_probabilities(one.parameters, nodes)
    theirs = two.family.log_probabilities(moved, nodes)
    answers = min(ours.shape[1], theirs.shape[1])  # the remaining columns are padding
    gap = np.exp(ours[:, :answers])
    gap -= np.exp(theirs[:, :answers])
    return gap, weights / weights.sum()


def _by_curves(
    one: _Side, two: _Side, start: tuple[float, float], method: Method
) -> tuple[float, float]:
    """Return A and B that minimise differences of curves, or of expected sums of codes."""
    from scipy.optimize import least_squares

    def residuals(point: FloatArray) -> FloatArray:
        gaps, weights = _gaps(one, two, float(np.exp(point[0])), float(point[1]))
        if method == "stocking_lord":
            gaps = np.einsum("c,jcq->q", np.arange(gaps.shape[1]), gaps)
        return np.asarray((gaps * np.sqrt(weights)).ravel())

    log_scale = np.log(start[0]) if np.isfinite(start[0]) and start[0] > 0.0 else 0.0
    shift = start[1] if np.isfinite(start[1]) else 0.0
    found = least_squares(
        residuals, [log_scale, shift], xtol=1e-14, ftol=1e-14, gtol=1e-14, method="lm"
    )
    return float(np.exp(found.x[0])), float(found.x[1])
