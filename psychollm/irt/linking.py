r"""Two question sets on one scale, by the items they share.

Abilities of the second fit are moved by :math:`\theta_1 = A\theta_2 + B`, so that slopes become
a/A and difficulties A b + B. Mean-sigma takes A and B from the moments of difficulties, mean-mean
A from the mean slopes; difficulties are those of all steps where there are several answers.
Haebara minimises the squared differences of the curves of all answers, Stocking and Lord those of
the expected sum of codes, over abilities N(0, 1) on the first scale. Answers of the nominal model
have neither difficulties nor codes to sum: only Haebara's way is open to them.

References
----------
Kolen, M. J., & Brennan, R. L. (2014). Test equating, scaling, and linking (3rd ed.). Springer.
https://doi.org/10.1007/978-1-4939-0317-7
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from psychollm._base.checks import check_choice
from psychollm._base.errors import OptionError, ShapeError
from psychollm._base.result import Result
from psychollm._base.types import FloatArray
from psychollm.data.labels import Labels
from psychollm.irt.families import Family
from psychollm.irt.result import IRTFit

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike

Method = Literal["stocking_lord", "haebara", "mean_sigma", "mean_mean"]

FEWEST = 2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Linking(Result):
    """How one fit's abilities become the other's.

    Attributes
    ----------
    scale, shift : float
        A and B of ability_1 = A ability_2 + B.
    rmsd : float
        Root mean square difference of the curves of shared items once linked: of P(yes), or of
        all answers but the first where there are more.
    item_rmsd : ndarray of shape (shared,)
        The same for each shared item: large where an item changed its meaning.
    method : str
        How they were found.
    labels : tuple
        The shared items.
    """

    scale: float
    shift: float
    rmsd: float
    item_rmsd: FloatArray  # (shared,)
    method: Method
    labels: Labels  # shared

    def moved(self, abilities: ArrayLike) -> FloatArray:
        """Return abilities of the second fit on the scale of the first."""
        return np.asarray(self.scale * np.asarray(abilities, dtype=np.float64) + self.shift)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per shared item."""
        import pandas as pd

        return pd.DataFrame({"item": list(self.labels), "rmsd": self.item_rmsd})


def link_scales(first: IRTFit, second: IRTFit, *, method: Method = "stocking_lord") -> Linking:
    """Put the second fit on the scale of the first by the items both have.

    Parameters
    ----------
    first, second : IRTFit
        Fits of the same model whose items share labels.
    method : {"stocking_lord", "haebara", "mean_sigma", "mean_mean"}
        How A and B are found.

    Raises
    ------
    OptionError
        If models, links or numbers of answers differ, or the method is not for the model.
    ShapeError
        If fewer than two shared items have estimates in both.

    Examples
    --------
    >>> from psychollm.irt.fit import fit_irt
    >>> answers = np.random.default_rng(3).random((600, 5)) < [0.2, 0.4, 0.5, 0.6, 0.8]
    >>> fit = fit_irt(answers, model="1pl")
    >>> abs(link_scales(fit, fit).shift) < 1e-6
    True
    """
    check_choice("method", method, Method)
    _check(first, second, method)
    labels, one, two = _shared(first, second)
    start = 1.0, 0.0
    if first.model != "nominal":
        start = _moments(first.family, one, two, by_spread=method == "mean_sigma")
    scale, shift = start
    if method in ("haebara", "stocking_lord"):
        scale, shift = _by_curves(first.family, (one, two), start, method)
    gaps, weights = _gaps(first.family, (one, two), scale, shift)
    item = np.sqrt(np.mean(gaps[:, 1:] ** 2, axis=1) @ weights)
    sd_one, sd_two = first.ability_sd, second.ability_sd
    return Linking(
        scale=float(scale * sd_one / sd_two),
        shift=float(shift * sd_one),
        rmsd=float(np.sqrt(np.mean(item**2))),
        item_rmsd=item,
        method=method,
        labels=labels,
    )


def _check(first: IRTFit, second: IRTFit, method: Method) -> None:
    """Raise where two fits cannot be linked, or not in this way."""
    kinds = [f"{fit.model} of {fit.n_categories} answers" for fit in (first, second)]
    if kinds[0] != kinds[1] or first.link != second.link:
        msg = (
            f"first is a {kinds[0]} with {first.link} link, second a {kinds[1]} with "
            f"{second.link} link: only fits of one model can be linked"
        )
        raise OptionError(msg)
    if first.model == "nominal" and method != "haebara":
        msg = f"method={method!r} needs ordered answers: use 'haebara' with a nominal model"
        raise OptionError(msg)


def _shared(first: IRTFit, second: IRTFit) -> tuple[Labels, FloatArray, FloatArray]:
    """Return the shared items with parameters in both."""
    place = {label: j for j, label in enumerate(second.labels) if second.fitted[j]}
    pairs = [
        (j, place[label])
        for j, label in enumerate(first.labels)
        if first.fitted[j] and label in place
    ]
    if len(pairs) < FEWEST:
        msg = (
            f"first and second share {len(pairs)} items with estimates in both: linking needs at "
            f"least {FEWEST}; items are matched by label"
        )
        raise ShapeError(msg)
    own, other = (np.array(side) for side in zip(*pairs, strict=True))
    labels = tuple(first.labels[j] for j in own)
    return labels, first.parameters[own], second.parameters[other]


def _moments(
    family: Family, one: FloatArray, two: FloatArray, *, by_spread: bool
) -> tuple[float, float]:
    """Return A and B from moments of difficulties, A from slopes unless `by_spread`."""
    b_one, b_two = _step_difficulties(family, one), _step_difficulties(family, two)
    if by_spread:
        scale = float(b_one.std() / b_two.std())
    else:
        scale = float(two[:, 0].mean() / one[:, 0].mean())
    return scale, float(b_one.mean() - scale * b_two.mean())


def _step_difficulties(family: Family, parameters: FloatArray) -> FloatArray:
    """Return the difficulty of each step (J, C - 1)."""
    intercepts = parameters[:, 1 : family.n_categories]
    if family.model == "gpcm":  # of steps are the differences of the cumulative ones
        intercepts = np.diff(intercepts, axis=1, prepend=0.0)
    return np.asarray(-intercepts / parameters[:, :1])


Pair: TypeAlias = tuple[FloatArray, FloatArray]


def _gaps(family: Family, items: Pair, scale: float, shift: float) -> Pair:
    """Return differences of curves (shared, C, Q) on the first scale, and weights (Q,)."""
    one, two = items
    nodes = np.linspace(-4.0, 4.0, 81)
    weights = np.exp(-0.5 * nodes**2)
    # an ability on the second scale is (theta - B) / A
    moved = family.rescaled(two, -shift / scale, 1.0 / scale)
    gap = np.exp(family.log_probabilities(one, nodes))
    gap -= np.exp(family.log_probabilities(moved, nodes))
    return gap, weights / weights.sum()


def _by_curves(
    family: Family, items: Pair, start: tuple[float, float], method: Method
) -> tuple[float, float]:
    """Minimise the differences of curves, or of the expected sums of codes."""
    from scipy.optimize import least_squares

    code = np.arange(family.n_categories)

    def residuals(point: FloatArray) -> FloatArray:
        gaps, weights = _gaps(family, items, float(np.exp(point[0])), float(point[1]))
        if method == "stocking_lord":
            gaps = np.einsum("c,jcq->q", code, gaps)
        return np.asarray((gaps * np.sqrt(weights)).ravel())

    log_scale = np.log(start[0]) if np.isfinite(start[0]) and start[0] > 0.0 else 0.0
    shift = start[1] if np.isfinite(start[1]) else 0.0
    found = least_squares(
        residuals, [log_scale, shift], xtol=1e-14, ftol=1e-14, gtol=1e-14, method="lm"
    )
    return float(np.exp(found.x[0])), float(found.x[1])
