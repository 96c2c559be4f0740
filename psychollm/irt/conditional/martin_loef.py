r"""Martin-Loef test of whether two sets of items measure the same ability.

If one Rasch model is true for all items, the scores r, s on two sets of items carry no information
beyond their sum. Of n respondents, let :math:`n_{rs}` have the scores r and s, and let :math:`n_t`
have scores with the sum t. With the conditional log-likelihoods of both sets and of all items,

.. math:: ML = 2\Big(\sum_{rs} n_{rs}\log\frac{n_{rs}}{n} - \sum_t n_t\log\frac{n_t}{n}
               + \log L_c^{(1)} + \log L_c^{(2)} - \log L_c\Big)                        \quad (1)

is chi-square with :math:`J_1 J_2 - 1` degrees of freedom (Martin-Loef, 1973; Verguts & De Boeck,
2000). The test needs many respondents without missing answers. With few respondents per pair of
scores, the statistic is far too small.

References
----------
Verguts, T., & De Boeck, P. (2000). A note on the Martin-Loef test for unidimensionality. Methods
of Psychological Research Online, 5(1), 77-82.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.axes import Axes
from psychollm._base.errors import ShapeError
from psychollm._base.numbers import p_equals
from psychollm._base.result import Result
from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm.data.labels import Labels, positions
from psychollm.data.responses import ResponsesLike, as_responses
from psychollm.irt.answers import Respondents, orient
from psychollm.irt.conditional.likelihood import climb, connected, sufficient
from psychollm.irt.conditional.rasch import check_items

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class MartinLoefTest(Result):
    """Martin-Löf test of whether two sets of items measure the same ability.

    Attributes
    ----------
    statistic, df, p_value : float, int, float
        Likelihood-ratio test.
    n_complete : int
        Number of respondents without missing answers; the test uses only these respondents.
    respondents_per_cell : float
        Respondents per degree of freedom; the p-value is reliable from about five.
    first, second : tuple
        Labels of the items in the two sets.
    """

    statistic: float
    df: int
    p_value: float
    n_complete: int
    respondents_per_cell: float
    first: Labels
    second: Labels

    _AXES = Axes({}, "statistic", "df", "p_value", "n_complete", "respondents_per_cell")

    def summary(self) -> str:
        """Describe the test in one sentence."""
        sparse = (
            " The p-value is unreliable: fewer than 5 respondents per cell."
            if self.respondents_per_cell < 5
            else ""
        )
        return (
            f"Martin-Loef LR({self.df}) = {self.statistic:.2f}, {p_equals(self.p_value)} for "
            f"{len(self.first)} against {len(self.second)} items.{sparse}"
        )


def martin_loef_test(
    responses: ResponsesLike,
    items: Sequence[Any],
    *,
    respondents: Respondents = "models",
) -> MartinLoefTest:
    """Test whether two sets of items measure the same ability.

    Parameters
    ----------
    responses : Responses or table of shape (models, questions)
        Binary answers; respondents with missing answers are omitted.
    items : sequence of labels
        Items of the first set; all other items form the second set.
    respondents : {"models", "questions"}
        Side of the table that contains the respondents.

    Returns
    -------
    MartinLoefTest
        Likelihood-ratio test, with the number of respondents per degree of freedom.

    Raises
    ------
    LabelError
        If an item is not in the table.
    ShapeError
        If a set has fewer than two items, or items without finite difficulties.

    Examples
    --------
    >>> answers = np.random.default_rng(3).random((600, 5)) < [0.2, 0.4, 0.5, 0.6, 0.8]
    >>> martin_loef_test(answers, [0, 1]).df
    5
    """
    from scipy.stats import chi2

    table = as_responses(responses, binary=True)
    answers = orient(table, respondents)
    check_items(answers.codes)
    inside = _chosen(items, answers.items)
    codes = answers.codes[(answers.codes >= 0).all(axis=1)]
    _check(codes, inside)
    first, second = codes[:, inside].sum(axis=1), codes[:, ~inside].sum(axis=1)
    value = _entropy(np.bincount(first * codes.shape[1] + second))
    value -= _entropy(np.bincount(first + second))
    for columns, sign in ((inside, 1.0), (~inside, 1.0), (np.ones_like(inside), -1.0)):
        value += sign * climb(sufficient(codes[:, columns])).log_likelihood
    n_first = int(inside.sum())
    df = n_first * (inside.size - n_first) - 1
    return MartinLoefTest(
        statistic=max(2.0 * value, 0.0),
        df=df,
        p_value=float(chi2.sf(2.0 * value, df)),
        n_complete=codes.shape[0],
        respondents_per_cell=codes.shape[0] / df,
        first=tuple(answers.items[j] for j in np.flatnonzero(inside)),
        second=tuple(answers.items[j] for j in np.flatnonzero(~inside)),
    )


def _chosen(items: Sequence[Any], labels: Labels) -> BoolArray:
    """Return a mask of the items in the first set (J,)."""
    inside = np.zeros(len(labels), dtype=np.bool_)
    inside[positions("item", labels, items)] = True
    return inside


def _check(codes: IntArray, inside: BoolArray) -> None:
    """Raise an error if a set cannot be fitted."""
    for name, columns in (("items", inside), ("the other items", ~inside)):
        if columns.sum() < 2 or not connected(codes[:, columns]).all():
            msg = (
                f"{name}: a set needs at least two items with finite difficulties; leave out "
                "items that everybody or nobody says yes to"
            )
            raise ShapeError(msg)


def _entropy(counts: IntArray) -> float:
    """Return the sum of n log(n / total) over the counts n."""
    known: FloatArray = counts[counts > 0].astype(np.float64)
    return float((known * np.log(known / known.sum())).sum())
