"""Keyword scores of questions with an undefined word, and their comparison with strict scores."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

import numpy as np

from psychollm.estimates.estimate import Estimate
from psychollm.estimates.resampling import Resampling
from psychollm.reliability.raters.rate_contrast import rate_contrast
from psychollm.reliability.raters.ratings import Ratings
from psychollm.reliability.raters.retest import retest

if TYPE_CHECKING:
    import pandas as pd

BOTH = ("keyword", "strict")


def keyword_scoring(
    answers: pd.DataFrame, lexical: Hashable, resampling: Resampling
) -> tuple[Estimate | None, Estimate | None]:
    """Return the keyword pass rate, and its difference from the strict rate, paired by answer.

    A keyword score counts any answer that contains a word of doubt as passed. Both results are
    None if the keyword score and the strict score never differ.
    """
    if "keyword" not in answers:
        return None, None
    own = answers[np.array([one == lexical for one in answers["type"].tolist()])]
    if (own["keyword"] == own["score"]).where(own["score"].notna(), other=True).all():
        return None, None
    import pandas as pd

    loose = retest(
        Ratings.from_long(own, question="item", value="keyword"), **resampling.arguments
    )
    place = pd.factorize(own["item"])[0]
    n = int(place.max()) + 1
    twice = pd.concat(
        [own.assign(item=place, score=own["keyword"]), own.assign(item=place + n)],
        ignore_index=True,
    )
    scores = Ratings.from_long(twice, question="item", value="score")
    at = np.array(scores.questions, dtype=np.int64)
    kinds = [BOTH[one // n] for one in at]
    difference = rate_contrast(
        scores, kinds, dict(zip(BOTH, (1.0, -1.0), strict=True)), clusters=at % n,
        **resampling.arguments,
    )  # fmt: skip
    return loose.rate, difference
