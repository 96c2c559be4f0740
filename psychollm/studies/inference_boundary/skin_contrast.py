"""Contrast of pass rates between two surface forms ("skins") of the same worlds.

The items of two skins form pairs that differ in wording only. The difference of rates is computed
for each model, with pairs as sampling units. The method `Estimate.difference` of the result
compares this difference between models (the interaction of model and skin).
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

import numpy as np

from psychollm._base.checks import shown
from psychollm._base.errors import LabelError
from psychollm._base.frames import long_table
from psychollm._base.types import RandomState
from psychollm.data.labels import listed
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.resampling import Bootstrap, Resampling
from psychollm.reliability.raters.rate_contrast import rate_contrast
from psychollm.reliability.raters.ratings import Ratings

if TYPE_CHECKING:
    import pandas as pd


def skin_contrast(
    answers: pd.DataFrame,
    kind: Hashable,
    first: Hashable,
    second: Hashable,
    *,
    bootstrap: Bootstrap | int = 2000,
    level: float = 0.95,
    rng: RandomState = None,
) -> Estimate:
    """Estimate each model's difference in pass rates between two surface forms of rule worlds.

    Parameters
    ----------
    answers : DataFrame
        One row per answer: model, type, item, run, score, skin, and structure, a label shared by
        the surface forms of a world. `RuleWorldScores.to_frame` returns such a table for one skin.
    kind : hashable
        Type of question.
    first, second : hashable
        Labels of the two skins to contrast.
    bootstrap : int or Bootstrap
        Number of resamples of worlds with all their surface forms; resamples are the same for all
        models.
    level : float
        Coverage of the intervals, between 0 and 1.
    rng : Generator, int or None
        Random generator or seed.

    Returns
    -------
    Estimate
        The estimate keeps the resamples that `Estimate.difference` requires.

    Raises
    ------
    LabelError
        If a column, the type or a skin does not exist.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"model": "m", "type": "C", "item": range(8), "run": 1,
    ...                       "structure": [0, 1, 2, 3] * 2, "skin": ["x"] * 4 + ["y"] * 4,
    ...                       "score": [1, 1, 0, 1, 0, 1, 0, 0]})
    >>> skin_contrast(table, "C", "x", "y", bootstrap=200, rng=0).value
    array([0.5])
    """
    needed = ("model", "type", "item", "run", "score", "skin", "structure")
    answers = long_table(answers, needed, argument="answers", row="answer")
    for name, label in {"kind": kind, "first": first, "second": second}.items():
        if not isinstance(label, Hashable):
            msg = f"{name}={shown(label)} is not a label: pass one from the table"
            raise LabelError(msg)
    here = np.array([one == kind for one in answers["type"].tolist()])
    for skin in (first, second):
        if not any(one == skin for one in answers["skin"][here].tolist()):
            types, skins = (listed(answers[name].unique().tolist()) for name in ("type", "skin"))
            msg = (
                f"answers has no row of type kind={kind!r} in skin {skin!r}: skins are {skins}, "
                f"types {types}"
            )
            raise LabelError(msg)
    own = answers[here & answers["skin"].isin([first, second])]
    scores = Ratings.from_long(own, question="item", value="score")
    told = own.drop_duplicates("item").set_index("item").loc[list(scores.questions)]
    return rate_contrast(
        scores,
        told["skin"].tolist(),
        {first: 1.0, second: -1.0},
        clusters=told["structure"].tolist(),
        bootstrap=bootstrap,
        level=level,
        rng=rng,
    )


def skin_contrasts(answers: pd.DataFrame, resampling: Resampling) -> dict[str, Estimate]:
    """Contrast each further surface form with the first, by type, if both forms have answers."""
    if not {"skin", "structure"} <= set(answers.columns):
        return {}
    base, *others = dict.fromkeys(answers["skin"].tolist())
    found = {}
    for kind, own in answers.groupby("type", sort=False):
        held = set(own["skin"])
        for skin in others:
            if {base, skin} <= held:
                found[f"{kind}: {skin} minus {base}"] = skin_contrast(
                    answers, kind, skin, base, **resampling.arguments
                )
    return found
