r"""Log score of a Beta prior: stated confidence defines a prior that the answers update.

If a model states the confidence f, its accuracy at f has the prior :math:`\text{Beta}(\alpha,
\beta)` with the parameters of equation (1).

.. math:: \alpha = c f + \tfrac12, \qquad \beta = c (1 - f) + \tfrac12.                \quad (1)

The prior is Jeffreys' prior updated by c hypothetical answers, of which a proportion f is correct.
Each answer is predicted from the previous answers with the same confidence. The joint probability
of all answers does not depend on their order. The score, equation (2), is the negative logarithm
of the joint probability per answer, for :math:`n_1` correct and :math:`n_0` wrong answers at f.

.. math:: S = -\frac1n \sum_f \ln \frac{B(\alpha + n_1, \beta + n_0)}{B(\alpha, \beta)}.  \quad (2)

The score is Dawid's prequential log score and, with c = 0, the code length of Krichevsky and
Trofimov. The score is proper: if accuracy has the assumed prior, stating f minimises the expected
loss. As c increases, this score converges to the ordinary log score. With a finite c, predictions
adapt to the answers, so that small errors of confidence increase the score only slightly. Clipping
is not required, because all answers have positive probability under the prior.

In resamples, copies of the same answer would predict each other. The score of a resample is
therefore computed by a first-order approximation at the sample, and the interval uses the delta
method.

References
----------
Dawid, A. P. (1984). Statistical theory: The prequential approach. Journal of the Royal
Statistical Society A, 147, 278-292.

Krichevsky, R. E., & Trofimov, V. K. (1981). The performance of universal encoding. IEEE
Transactions on Information Theory, 27, 199-207.
"""

from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.special import betaln, digamma

from psychollm._base.errors import OptionError
from psychollm._base.types import FloatArray
from psychollm.calibration.influence import Gradient, delta_interval
from psychollm.calibration.metric import Metric, Output
from psychollm.calibration.tally import Tally
from psychollm.estimates.reasons import Reason

PRIOR_ANSWERS = 10.0  # c of equation (1)


class _Sample(NamedTuple):
    """Negative log probability of all answers in the sample, and its derivatives."""

    total: float
    gradient: Gradient
    correct: FloatArray  # (groups,) number of correct answers in the sample
    wrong: FloatArray


def beta_log_score_metric(prior_answers: float = PRIOR_ANSWERS) -> Metric:
    """Return the log score of a Beta prior as a metric."""
    if not prior_answers >= 0.0:
        msg = f"prior_answers={prior_answers!r} must be a number of answers, at least 0"
        raise OptionError(msg)
    return Metric(
        names=(f"log score of a Beta prior ({prior_answers:g} answers)",),
        prepare=partial(_sample, prior_answers=prior_answers),
        compute=_score,
        flags=lambda _: (Reason.NONE,),
        analytic=partial(_closed_form, prior_answers=prior_answers),
        method="delta, log",
        robust_method="sandwich, log",
    )


def _sample(tally: Tally, prior_answers: float) -> _Sample:
    alpha = prior_answers * tally.values + 0.5
    beta = prior_answers * (1.0 - tally.values) + 0.5
    after = alpha + tally.correct, beta + tally.wrong
    both = digamma(after[0] + after[1])
    return _Sample(
        total=float((betaln(alpha, beta) - betaln(*after)).sum()),
        gradient=(both - digamma(after[0]), both - digamma(after[1])),
        correct=tally.correct,
        wrong=tally.wrong,
    )


def _score(sample: _Sample, correct: FloatArray, wrong: FloatArray) -> FloatArray:
    by_correct, by_wrong = sample.gradient
    change = (correct - sample.correct) @ by_correct + (wrong - sample.wrong) @ by_wrong
    n = (correct + wrong).sum(axis=1)
    return ((sample.total + change) / np.where(n > 0.0, n, np.nan))[:, None]


def _closed_form(
    tally: Tally, values: FloatArray, level: float, *, prior_answers: float
) -> tuple[FloatArray, FloatArray]:
    by_correct, by_wrong = _sample(tally, prior_answers).gradient
    n = tally.weight.sum()
    return delta_interval(tally, float(values[0]), (by_correct / n, by_wrong / n), "log", level)


BETA_LOG_SCORE = beta_log_score_metric().in_panel(
    "scores",
    12,
    Output(
        "beta_log_score",
        "log score of a Beta prior",
        "mean −ln of the probability of the outcomes, if each confidence is a Beta prior with "
        "the weight of ten answers",
        better="lower",
    ),
)
