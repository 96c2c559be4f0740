"""A panel in sentences: who claims too much, and whose confidence tells right from wrong."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.types import BoolArray
from psychollm.calibration.panels.metric_words import words_of

if TYPE_CHECKING:
    from psychollm.calibration.panels.panel import CalibrationPanel

# What is told of every model on one screen, where the panel holds it.
TOLD = ("accuracy", "overconfidence", "auroc", "brier", "ece", "corp_mcb", "aurc_normalised")
_MOST_NAMES = 4


def verdict(panel: "CalibrationPanel") -> str:
    """Return in one sentence how many models are overconfident and how many know what they know.

    Examples
    --------
    >>> from psychollm.calibration.panels.panel import calibration_panel
    >>> said, right = [[0.9] * 40 + [0.6] * 40], [[1] * 30 + [0] * 10 + [1, 0] * 20]
    >>> print(verdict(calibration_panel(said, right, n_bootstrap=20, rng=0)))
    The model is overconfident; its confidence tells correct from wrong answers.
    """
    parts = [*_claims(panel), *_knows(panel)]
    n = len(panel.models)
    if not parts:
        return f"{n} model{'s' * (n > 1)} on {len(panel.estimates)} metrics."
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}."


def summary(panel: "CalibrationPanel") -> str:
    """Return the verdict and one row of numbers per model.

    Examples
    --------
    >>> from psychollm.calibration.panels.panel import calibration_panel
    >>> panel = calibration_panel([0.9, 0.2, 0.7], [1, 0, 1], metrics=["brier"], rng=0)
    >>> print(summary(panel))
    1 model on 1 metrics.
    <BLANKLINE>
    model  n        Brier score
    0      3  0.05 [0.0..., 0.09]
    """
    keys = [key for key in TOLD if key in panel.estimates] or list(panel)[: len(TOLD)]
    table = panel.table(digits=2)[keys]
    table.columns = [words_of(key, panel[key].name).heading for key in keys]
    table.insert(0, "n", panel.n.astype(int))
    rows = [["model", *map(str, table.columns)]]
    rows += [
        [str(label), *map(str, row)]
        for label, row in zip(table.index, table.to_numpy(), strict=True)
    ]
    return "\n".join([verdict(panel), "", *_aligned(rows)])


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Set the first column flush left and the others flush right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _claims(panel: "CalibrationPanel") -> list[str]:
    if "overconfidence" not in panel.estimates:
        return []
    low, high = panel["overconfidence"].interval.T
    with np.errstate(invalid="ignore"):
        over, under = low > 0.0, high < 0.0
    if len(panel.models) == 1:
        state = "over" if over[0] else "under" if under[0] else "neither over- nor under"
        return [f"The model is {state}confident"]
    return [
        f"{_of(panel, over)} overconfident, {_of(panel, under, of=False)} underconfident"
        if under.any()
        else f"{_of(panel, over)} overconfident, none is underconfident"
    ]


def _knows(panel: "CalibrationPanel") -> list[str]:
    if "auroc" not in panel.estimates:
        return []
    low, high = panel["auroc"].interval.T
    with np.errstate(invalid="ignore"):
        better, worse = low > 0.5, high < 0.5
    if len(panel.models) == 1:
        if worse[0]:
            return ["its confidence runs against its correctness"]
        verb = "tells" if better[0] else "does not tell"
        return [f"its confidence {verb} correct from wrong answers"]
    parts = [f"the confidence of {_share(better)} tells correct from wrong answers"]
    if worse.any():
        parts.append(f"that of {_names(panel.models, worse)} runs against its correctness")
    return parts


def _share(which: BoolArray) -> str:
    count, n = int(which.sum()), which.size
    return f"all {n}" if count == n else f"{count or 'none'} of {n}"


def _of(panel: "CalibrationPanel", which: BoolArray, *, of: bool = True) -> str:
    count = int(which.sum())
    whole = f"{_share(which)} models" if of else str(count)
    return f"{whole} {'is' if count == 1 or not count else 'are'}"


def _names(labels: Sequence[Any], which: BoolArray) -> str:
    chosen = [str(label) for label, one in zip(labels, which, strict=True) if one]
    more = len(chosen) - _MOST_NAMES
    return ", ".join(chosen[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
