"""Yes/no confidence as a classifier of correctness: the 2 x 2 table of every model.

Positive is "the answer was correct", predicted positive is "yes, I can answer this":

======== ================ ================
.        correct          wrong
======== ================ ================
yes      true positive    false positive
no       false negative   true negative
======== ================ ================
"""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from psychollm._base.result import Result
from psychollm._base.types import FloatArray
from psychollm.calibration.paired import PairedAnswers, paired_answers
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.proportions import (
    paired_difference,
    paired_difference_se,
    proportion,
)
from psychollm.estimates.reasons import Reason, first_reason

if TYPE_CHECKING:
    import pandas as pd

RATES = ("yes_rate", "accuracy", "precision", "recall", "specificity", "agreement")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Confusion(Result):
    """The 2 x 2 table of every model and what follows from it.

    Examples
    --------
    >>> table = confusion([[1, 1, 0, 0], [1, 1, 1, 1]], [[1, 0, 1, 0], [1, 1, 0, 0]])
    >>> table.tp, table.specificity.value
    (array([1., 2.]), array([0.5, 0. ]))
    """

    tp: FloatArray  # (models,) yes and correct
    fp: FloatArray  # (models,) yes and wrong
    fn: FloatArray  # (models,) no and correct
    tn: FloatArray  # (models,) no and wrong
    n: FloatArray  # (models,) questions with both answers
    left_out: FloatArray  # (models,) questions where one of the two is missing
    yes_rate: Estimate  # share of yes, (tp + fp) / n
    accuracy: Estimate  # share correct, (tp + fn) / n
    precision: Estimate  # share correct among yes, tp / (tp + fp)
    recall: Estimate  # share yes among correct, tp / (tp + fn)
    specificity: Estimate  # share no among wrong, tn / (tn + fp)
    agreement: Estimate  # share where yes/no and correct/wrong coincide, (tp + tn) / n
    overconfidence: Estimate  # yes rate - accuracy, (fp - fn) / n
    labels: tuple[Any, ...]  # (models,)

    def to_frame(self) -> "pd.DataFrame":
        """Return one row per model: counts, then each rate with its bounds."""
        import pandas as pd

        counts = ("n", "left_out", "tp", "fp", "fn", "tn")
        table: dict[str, Any] = {"model": list(self.labels)}
        table |= {name: getattr(self, name).astype(np.int64) for name in counts}
        for name in (*RATES, "overconfidence"):
            estimate: Estimate = getattr(self, name)
            table[name] = estimate.value
            table[f"{name}_lower"], table[f"{name}_upper"] = estimate.interval.T
        return pd.DataFrame(table)


def confusion(confidence: Any, correctness: Any, *, level: float = 0.95) -> Confusion:
    """Compare every model's yes/no confidence with its correctness.

    Parameters
    ----------
    confidence, correctness : Responses, DataFrame, DataArray or array_like (models, questions)
        1 = yes or correct. Questions count where both are known.
    level : float
        Coverage of the intervals: Wilson for proportions, Bonett-Price for `overconfidence`.

    Returns
    -------
    Confusion
        A rate whose denominator is empty is NaN and its `reason` says why.

    Raises
    ------
    LabelError
        If the two tables do not hold the same models and questions.
    CodeError
        If one of them is not binary.
    OptionError
        If `level` is not inside (0, 1).

    Examples
    --------
    >>> always_yes = confusion([[1, 1, 1, 1]], [[1, 1, 1, 0]])
    >>> float(always_yes.recall.value[0]), always_yes.overconfidence.value
    (1.0, array([0.25]))
    """
    return confusion_of(paired_answers(confidence, correctness), level=level)


def confusion_of(paired: PairedAnswers, *, level: float = 0.95) -> Confusion:
    """Return `confusion` of answers that are already side by side.

    Examples
    --------
    >>> confusion_of(paired_answers([[1, 0]], [[0, 1]])).agreement.value
    array([0.])
    """
    n = paired.n
    yes, correct = paired.yes.sum(axis=1), paired.correct.sum(axis=1)
    tp = (paired.yes * paired.correct).sum(axis=1)
    fp, fn = yes - tp, correct - tp
    tn = n - tp - fp - fn
    share = partial(proportion, level=level, labels=paired.models)
    silent, never_yes = (n == 0, Reason.NO_ANSWERS), (yes == 0, Reason.NO_YES)
    never_correct, never_wrong = (correct == 0, Reason.NO_CORRECT), (tn + fp == 0, Reason.NO_WRONG)
    return Confusion(
        tp=tp,
        fp=fp,
        fn=fn,
        tn=tn,
        n=n,
        left_out=paired.present.shape[1] - n,
        yes_rate=share("yes rate", yes, n),
        accuracy=share("accuracy", correct, n),
        precision=share("precision", tp, yes, silent, never_yes),
        recall=share("recall", tp, correct, silent, never_correct),
        specificity=share("specificity", tn, tn + fp, silent, never_wrong),
        agreement=share("agreement", tp + tn, n),
        overconfidence=_overconfidence(fp, fn, n, level, paired.models),
        labels=paired.models,
    )


def _overconfidence(
    fp: FloatArray, fn: FloatArray, n: FloatArray, level: float, labels: tuple[Any, ...]
) -> Estimate:
    with np.errstate(invalid="ignore", divide="ignore"):
        value = (fp - fn) / n
    return Estimate(
        name="overconfidence",
        value=value,
        se=paired_difference_se(fp, fn, n),
        interval=paired_difference(fp, fn, n, level=level),
        n=n,
        flags=first_reason((n == 0, Reason.NO_ANSWERS)),
        method="Bonett-Price",
        level=level,
        labels=labels,
    )
